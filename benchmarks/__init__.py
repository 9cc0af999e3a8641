"""The user programs frit exists for, the demo that shows them, and the benchmark that compares them.

First calls are cold: nothing is taken from a disk cache, ours or torch's.
"""

import os

# The profiler that measures memory announces itself on standard error otherwise.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
os.environ.setdefault("FRIT_CACHE", "0")
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
