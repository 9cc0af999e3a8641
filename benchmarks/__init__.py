"""What is measured and how; see README.md. First calls are cold: nothing is taken from a disk cache, ours or torch's."""

import os

os.environ.setdefault("FRIT_CACHE", "0")
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
