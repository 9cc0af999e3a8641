"""`frit bench model.frit`: latency, throughput, memory and a table of the kernels of one artifact, on random inputs."""

import collections
import json
import resource
import time

from ..errors import FritError, OptionError
from ..inspect.reader import read_file
from ..inspect.sizes import typical
from ..inspect.traffic import Traffic
from ..modes.cuda_graphs import in_bytes

_DTYPES = {
    "bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32",
    "f64": "float64", "c64": "complex64", "c128": "complex128",
}
_PERCENTILES = (50, 90, 95, 99)


def parse_input(text):
    """(name or "", sizes, dtype or "") of an --input such as ids=4x64xi64, 4x64 or f32 (a tensor without dimensions); OptionError if malformed."""
    name, _, form = text.rpartition("=")
    parts = form.split("x") if form else []
    dtype = parts.pop() if parts and not parts[-1].isdecimal() else ""
    if form.endswith("x") or (dtype and dtype not in _DTYPES) or not all(part.isdecimal() for part in parts) or not form:
        raise OptionError(f"--input={text!r} is not of the form ids=4x64xi64; types: {', '.join(_DTYPES)}")
    return name, [int(part) for part in parts], dtype


def _random(value, sizes, dtype):
    import torch

    dtype = getattr(torch, _DTYPES[dtype] if dtype else value.dtype.removeprefix("torch."))
    if dtype == torch.bool:
        return torch.randint(0, 2, sizes, device=value.device or "cpu", dtype=dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        # 0 and 1 are valid indices in almost any model.
        return torch.randint(0, 2, sizes, device=value.device or "cpu").to(dtype)
    return torch.randn(sizes, device=value.device or "cpu").to(dtype)


def inputs_of(model, given, plan):
    """Random arguments for a loaded model: in the forms of --input, by name or in order, else in the model's own with typical sizes."""
    symbols = {one["name"]: typical(one) for one in plan["symbols"]}
    forms = [parse_input(text) for text in given]
    named = {name: form for name, *form in forms if name}
    rest = [form for name, *form in forms if not name]
    known = {value.name for value in model.inputs}
    if unknown := sorted(set(named) - known):
        raise OptionError(f"the model has no input {unknown[0]!r}; it has {', '.join(sorted(known))}")
    found = []
    for value in model.inputs:
        if value.kind != "tensor":
            found.append({"int": 2, "float": 0.5, "bool": True}.get(value.kind))
            continue
        form = named.get(value.name) or (rest.pop(0) if rest else None)
        sizes, dtype = form or ([_size(size, symbols) for size in value.shape or ()], "")
        found.append(_random(value, sizes, dtype))
        symbols.update({name: size for name, size in zip(value.shape or (), sizes) if isinstance(name, str)})
    for one in plan["symbols"]:
        if one["dim"] < 0:
            # A size that is an argument of its own is that of the tensors.
            found[one["input"]] = symbols[one["name"]] * one["scale"] + one["offset"]
    if rest:
        raise OptionError(f"{len(rest)} --input more than the model's {len(model.inputs)} inputs")
    return found


def _size(size, symbols):
    """A size of an input: a number, or the name of a symbol."""
    return size if isinstance(size, int) else symbols.get(size, 16)


def measure(model, inputs, iterations, warmup):
    """Seconds of each call."""
    import torch

    wait = torch.cuda.synchronize if any(getattr(one, "is_cuda", False) for one in inputs) else lambda: None
    spent = []
    for number in range(warmup + iterations):
        start = time.perf_counter()
        model(*inputs)
        wait()
        if number >= warmup:
            spent.append(time.perf_counter() - start)
    return spent


def step_times(model, inputs, calls, traffic, target):
    """Number of a step -> its mean microseconds, from torch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    from ..roofline.timing import steps_of

    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * any(getattr(one, "is_cuda", False) for one in inputs)
    with profile(activities=activities) as found:
        for _ in range(calls):
            model(*inputs)
    sums = collections.Counter()
    for event in found.events():
        if event.name == f"frit::{traffic.artifact['graph']}":
            for number, seconds in steps_of(event.cpu_children, traffic.steps, target):
                sums[number] += 1e6 * seconds / calls
    return sums


def run(path, given, iterations, warmup, as_json, allow_host_code):
    """Measures the model and prints the result; returns the exit status."""
    from ..loading import load

    if iterations < 1 or warmup < 0:
        raise OptionError("--iterations takes a number from 1, --warmup one from 0")
    model = load(path, allow_host_code=allow_host_code)
    artifact = read_file(path)
    inputs = inputs_of(model, given, artifact["plans"][0])
    try:
        spent = sorted(measure(model, inputs, iterations, warmup))
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise FritError(f"the model refuses these inputs: {str(error).splitlines()[0]}") from error
    symbols = {name: size for value, one in zip(model.inputs, inputs) if value.kind == "tensor" and value.shape
               for name, size in zip(value.shape, one.shape) if isinstance(name, str)}
    traffic = Traffic(artifact, artifact["plans"][0], symbols)
    stats = model.stats()
    result = {
        "model": path,
        "inputs": [f"{tuple(one.shape)} {one.dtype}" if hasattr(one, "shape") else str(one) for one in inputs],
        "iterations": iterations,
        "milliseconds": {"mean": 1e3 * sum(spent) / len(spent), "least": 1e3 * spent[0], "most": 1e3 * spent[-1],
                         **{f"p{one}": 1e3 * spent[min(len(spent) - 1, len(spent) * one // 100)] for one in _PERCENTILES}},
        "calls_per_second": len(spent) / sum(spent),
        "bytes_moved": traffic.moved,
        "peak_bytes": stats.get("peak_bytes", 0),
        "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "kernels": _table(model, inputs, traffic),
    }
    print(json.dumps(result, indent=1) if as_json else "\n".join(_lines(result)))
    return 0


def _table(model, inputs, traffic):
    """A row for each kernel and operator, the slowest first."""
    times = step_times(model, inputs, 5, traffic, traffic.plan["target"])
    rows = {}
    for step in traffic.steps:
        row = rows.setdefault(step.name, {"name": step.name, "kind": step.kind, "count": 0, "bytes": 0, "microseconds": None})
        row["count"] += 1
        row["bytes"] += step.bytes
        if step.number in times:
            row["microseconds"] = (row["microseconds"] or 0) + times[step.number]
    return sorted(rows.values(), key=lambda row: -(row["microseconds"] or 0))


def _lines(result):
    times = result["milliseconds"]
    yield f"{result['model']} on {'; '.join(result['inputs'])}"
    yield "latency (ms): " + ", ".join(f"{name} {times[name]:.3g}" for name in ("least", "mean", "p50", "p90", "p95", "p99", "most"))
    rate = result["bytes_moved"] * result["calls_per_second"] / 1e9
    yield f"throughput: {result['calls_per_second']:.4g} calls a second, {rate:.3g} GB a second of {in_bytes(result['bytes_moved'])} a call"
    yield f"memory: {in_bytes(result['peak_bytes'])} beyond the arguments at the peak, {in_bytes(result['resident_bytes'])} of the whole process"
    yield f"{'us':>10} {'count':>6} {'bytes':>12}  kernel or operator"
    for row in result["kernels"]:
        spent = "?" if row["microseconds"] is None else f"{row['microseconds']:.1f}"
        yield f"{spent:>10} {row['count']:>6} {in_bytes(row['bytes']):>12}  {row['name']}"
