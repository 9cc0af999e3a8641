"""Programs as users write them, the demo that shows them, and the benchmarks that compare frit with other backends.

First calls are cold: no disk cache is used, neither frit's nor torch's.
"""

import os

# Otherwise the profiler that measures memory prints a message on standard error.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
os.environ.setdefault("FRIT_CACHE", "0")
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
