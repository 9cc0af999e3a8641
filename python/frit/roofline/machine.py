"""What the device can do, measured once in a process: bytes and operations a second, the roofs of a roofline."""

import functools
import glob
import platform
import time
from dataclasses import asdict, dataclass, replace

#: Seconds for each measurement; the fastest of at least so many runs counts, because other programs can only slow one down.
_SECONDS, _RUNS = 0.05, 3


@dataclass(frozen=True)
class Machine:
    """`bandwidth`: bytes a second from memory, and from the caches for steps that move at most `cache_bytes`; `peak`: f32 operations a second."""

    name: str
    how: str
    bandwidth: float
    cache_bandwidth: float
    cache_bytes: int
    peak: float

    def bound(self, operations, moved):
        """(what bounds a step, the least seconds that it takes); what is "memory", "caches", "arithmetic", or None for a step of no known cost."""
        cached = moved <= self.cache_bytes
        limits = [(moved / (self.cache_bandwidth if cached else self.bandwidth), "caches" if cached else "memory")] if moved else []
        if operations:
            limits.append((operations / self.peak, "arithmetic"))
        seconds, what = max(limits, default=(None, None))
        return what, seconds

    def at_least(self, peak, bandwidth, cache_bandwidth):
        """The Machine with roofs that are not below these: other programs may have slowed the measurement down."""
        bandwidth = max(self.bandwidth, bandwidth)
        return replace(self, peak=max(self.peak, peak), bandwidth=bandwidth, cache_bandwidth=max(self.cache_bandwidth, cache_bandwidth, bandwidth))

    def to_dict(self):
        return asdict(self)


def _fastest(run, wait):
    """Seconds of the fastest run; the first one only warms up."""
    run()
    wait()
    least, number, began = float("inf"), 0, time.perf_counter()
    while number < _RUNS or time.perf_counter() - began < _SECONDS:
        start = time.perf_counter()
        run()
        wait()
        least, number = min(least, time.perf_counter() - start), number + 1
    return least


@functools.cache
def measured(device="cpu"):
    """The Machine of "cpu", with the threads that torch has now, or of "cuda". Takes a fraction of a second."""
    import torch

    on_gpu = device == "cuda"
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    caches = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size if on_gpu else _cache_bytes()
    size = 256 << 20 if on_gpu else max(64 << 20, min(2 * caches, 512 << 20))
    with torch.no_grad():
        one = torch.zeros(size // 4, device=device)
        other = torch.ones_like(one)
        bandwidth = 2 * size / _fastest(lambda: one.copy_(other), wait)
        if not on_gpu:
            # The lines that a copy writes are read first on some CPUs; a sum only reads.
            bandwidth = max(bandwidth, size / _fastest(one.sum, wait))
        del one, other
        cached = 0.0
        if caches:
            part = caches // 16 if on_gpu else (min(1 << 20, caches // 4) // 4) * torch.get_num_threads()
            # On a GPU a launch takes as long as such a copy; many are waited for together.
            rounds = 50 if on_gpu else 1
            one, other = torch.zeros(part, device=device), torch.ones(part, device=device)
            cached = rounds * 2 * 4 * part / _fastest(lambda: [one.copy_(other) for _ in range(rounds)], wait)
            if not on_gpu:
                cached = max(cached, 4 * part / _fastest(one.sum, wait))
        side = 8192 if on_gpu else 1024
        matrix = torch.rand(side, side, device=device)
        peak = 2 * side**3 / _fastest(lambda: matrix @ matrix, wait)
    how = "copies and f32 products of torch" + ("" if on_gpu else f", {torch.get_num_threads()} threads")
    name = torch.cuda.get_device_name() if on_gpu else _processor()
    return Machine(name, how, bandwidth, max(bandwidth, cached), caches, peak)


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), platform.machine())
    except OSError:
        return platform.machine()


def _cache_bytes():
    """The last cache of the first processor; 0 if the system does not say."""
    largest = 0
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
        except OSError:
            continue
        unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
        if text.rstrip("KM").isdecimal():
            largest = max(largest, int(text.rstrip("KM")) * unit)
    return largest
