"""The user programs frit exists for, the demo that shows them, and the benchmark that compares them."""

import os

# The profiler that measures memory announces itself on standard error otherwise.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
