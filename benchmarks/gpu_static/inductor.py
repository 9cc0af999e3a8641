"""Inductor's own kernels for programs, made without a GPU: its lowering and heuristics for an H200, and triton's cubins.

    python -m benchmarks.gpu_static.inductor FOLDER [PROGRAM ...]        # an environment with torch (for CPUs) and the triton of its release

torch is told that there is an H200. Fake tensors go through torch.compile; the wrapper that Inductor writes is executed with kernels that
only note their launches. Then each configuration that Inductor would try on a device is compiled by triton. FOLDER/PROGRAM.json lists the
launches in order, each with the cubins of all configurations.
"""

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from unittest import mock

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

ARCHITECTURE = 90
DEVICE = types.SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, warp_size=32, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048,
    max_threads_per_block=1024, shared_memory_per_block=48 << 10, shared_memory_per_block_optin=227 << 10, shared_memory_per_multiprocessor=228 << 10,
    L2_cache_size=60 << 20, total_memory=141 << 30, gcnArchName="", is_integrated=False, uuid="0",
)  # fmt: skip
#: A guard for devices that torch was built without: fake tensors of a GPU are sliced under it.
GUARD = """#include <c10/core/impl/DeviceGuardImplInterface.h>
namespace c10::impl { C10_REGISTER_GUARD_IMPL(CUDA, NoOpDeviceGuardImpl<DeviceType::CUDA>) }
"""


def load_guard():
    torch_folder = Path(torch.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "guard.cpp", Path(folder) / "guard.so"
        source.write_text(GUARD)
        command = [os.environ.get("CXX", "c++"), "-std=c++20", "-shared", "-fPIC", source, "-o", library]
        subprocess.run([*command, f"-I{torch_folder}/include", f"-L{torch_folder}/lib", "-lc10"], check=True)
        torch.ops.load_library(str(library))


def pretend():
    """Makes torch, Inductor and triton take this machine for one with an H200."""
    load_guard()

    # Dynamo has a rule for each function, so none may stand for two.
    def nothing():
        return lambda *_, **__: None

    def zero():
        return lambda *_, **__: 0

    answers = {
        "is_available": lambda: True, "is_initialized": lambda: True, "_is_compiled": lambda: True, "device_count": lambda: 1, "current_device": zero(),
        "get_device_capability": lambda *_: (9, 0), "get_device_properties": lambda *_: DEVICE, "get_device_name": lambda *_: DEVICE.name,
        "is_bf16_supported": lambda *_, **__: True, "memory_allocated": zero(), "mem_get_info": lambda *_: (140 << 30, 141 << 30), "init": nothing(),
        "_lazy_init": nothing(), "synchronize": nothing(), "set_device": nothing(), "_exchange_device": zero(), "_maybe_exchange_device": zero(),
        "get_rng_state": lambda *_: torch.get_rng_state(), "set_rng_state": nothing(),
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    for name in ("_cuda_getCurrentRawStream", "_cuda_getDevice"):
        if not hasattr(torch._C, name):
            setattr(torch._C, name, zero())
    torch.version.cuda = "13.0"

    from torch._dynamo import device_interface

    interface = device_interface.CudaInterface
    for name in ("is_available", "current_device", "device_count", "get_device_properties", "set_device", "synchronize", "memory_allocated", "is_bf16_supported"):
        setattr(interface, name, staticmethod(answers[name]))
    for name in ("get_raw_stream", "exchange_device", "maybe_exchange_device"):
        setattr(interface, name, staticmethod(zero()))
    for name in ("cuda", "cuda:0"):
        device_interface.register_interface_for_device(name, interface)

    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    driver.set_active(types.SimpleNamespace(
        binary_ext="cubin", get_current_target=lambda: GPUTarget("cuda", ARCHITECTURE, 32), get_current_device=zero(), get_current_stream=zero(),
        get_active_torch_device=lambda: torch.device("cuda:0"), get_device_interface=lambda: torch.cuda, is_active=lambda: True,
    ))  # fmt: skip

    from torch._inductor import config
    from torch._inductor.fx_passes import joint_graph
    from torch._inductor.runtime import triton_helpers

    # Patterns are traced, and constants are folded, with real tensors on the device. No program here has the patterns (attention, products to pad).
    for module, name in (("fuse_attention", "_sfdp_init"), ("pad_mm", "_pad_mm_init"), ("misc_patterns", "_misc_patterns_init")):
        setattr(importlib.import_module(f"torch._inductor.fx_passes.{module}"), name, nothing())
    joint_graph.UniformValueConstantFolder._deduce_value = lambda self, node: self.unknown_value
    triton_helpers.set_driver_to_gpu = nothing()
    config.force_disable_caches = True
    config.triton.autotune_at_compile_time = False


class Wrapper(BaseException):
    """Carries the source of a wrapper out of Inductor; no handler of torch catches it."""


def wrapper_of(program):
    """Returns the source of the wrapper that Inductor writes for a program, and the fake arguments of its first call."""
    import torch._inductor.graph as graph
    from torch._subclasses.fake_tensor import FakeTensorMode

    def leave(self, code):
        raise Wrapper(code.value)

    graph.GraphLowering._compile_to_module_lines = leave
    given = []
    compile_fx = importlib.import_module("torch._inductor.compile_fx")
    inner = compile_fx.compile_fx_inner

    def observed(gm, example_inputs, *rest, **more):
        given[:] = example_inputs
        return inner(gm, example_inputs, *rest, **more)

    torch._dynamo.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        function, arguments = program.make("cuda:0")
        try:
            torch.compile(function, backend=lambda gm, inputs: compile_fx.compile_fx(gm, inputs, inner_compile=observed), fullgraph=True,
                          dynamic=program.dynamic)(*arguments)  # fmt: skip
        except Wrapper as found:
            return found.args[0], list(given)
    raise RuntimeError("Inductor has written no wrapper")


class Noted:
    """A kernel of the wrapper; its launches are noted."""

    def __init__(self, name, source, launches):
        self.name, self.source, self.launches = name, source, launches

    def run(self, *arguments, stream=None, **_):
        self.launches.append((self, arguments))


def meta(value):
    """Returns a tensor without memory that has the sizes, strides and offset of a fake one; symbolic sizes take their first values. What lies
    in the memory of the host is a number."""
    number = lambda x: int(x.node.hint) if isinstance(x, torch.SymInt) else int(x)  # noqa: E731
    if isinstance(value, (torch.SymInt, int)):
        return number(value)
    if value.device.type == "cpu":
        return torch.ones([number(x) for x in value.size()], dtype=value.dtype)
    sizes, strides = [number(x) for x in value.size()], [number(x) for x in value.stride()]
    offset = number(value.storage_offset())
    span = offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    return torch.empty(span, dtype=value.dtype, device="meta").as_strided(sizes, strides, offset)


class Operators(TorchDispatchMode):
    """Notes the operators of torch that a wrapper calls beside its kernels, with the bytes that each has to move, and its launches. Of a product, which
    is left out, what it adds counts: a kernel's work otherwise."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, operator, types_, arguments=(), keywords=None):
        result = operator(*arguments, **(keywords or {}))
        tensors = lambda x: [each for each in torch.utils._pytree.tree_leaves(x) if isinstance(each, torch.Tensor)]  # noqa: E731
        given, made = tensors((arguments, keywords)), tensors(result)
        storages = {x.untyped_storage()._cdata for x in given}
        if operator is torch.ops.aten.addmm.out:
            self.calls.append([str(operator), arguments[0].nbytes, 0])
        elif given and any(x.untyped_storage()._cdata not in storages for x in made):
            self.calls.append([str(operator), sum(x.nbytes for x in given + made), 1])
        return result


def launches_of(source, given):
    """Executes a wrapper; returns the launches of its kernels in order, and the operators that it calls besides."""
    from torch._inductor.async_compile import AsyncCompile

    launches, nothing = [], lambda *_, **__: None
    # A number in the memory of the host has a kernel for the host, which is left out.
    instead = {"triton": lambda self, name, text, device_str="cuda": Noted(name, text, launches), "wait": lambda self, scope: None,
               "cpp_pybinding": lambda *_, **__: nothing, "cpp": lambda *_, **__: nothing}  # fmt: skip
    allocate = lambda device: lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype, device=device)  # noqa: E731
    module = {"__name__": "wrapper"}
    with contextlib.ExitStack() as stack:
        for name, value in instead.items():
            stack.enter_context(mock.patch.object(AsyncCompile, name, value))
        stack.enter_context(mock.patch.object(torch.cuda, "_DeviceGuard", lambda _: contextlib.nullcontext()))
        exec(compile(re.sub(r"device='cuda:0'|device=device\(type='cuda', index=0\)", "device='meta'", source), "wrapper", "exec"), module)
        module.update(empty_strided_cuda=allocate("meta"), empty_strided_cpu=allocate("cpu"), assert_size_stride=nothing, assert_alignment=nothing,
                      get_raw_stream=lambda *_: 0, copy_if_misaligned=lambda x: x,
                      reinterpret_tensor=lambda x, sizes, strides, offset=0: x.as_strided(sizes, strides, x.storage_offset() + offset))  # fmt: skip
        inputs = [meta(x) for x in given]
        with Operators() as operators:
            module["call"](inputs)
    return launches, operators.calls


def autotuner_of(kernel, folder):
    """Returns Inductor's autotuner of a kernel, whose heuristics have chosen its configurations."""
    path = folder / f"{kernel.name}.py"
    path.write_text(kernel.source)
    module = types.ModuleType(kernel.name)
    module.__file__ = str(path)
    exec(compile(kernel.source, str(path), "exec"), module.__dict__)
    return getattr(module, kernel.name)


def registers_of(cubin):
    """Returns the registers of the one kernel in a cubin: the attribute EIATTR_REGCOUNT, a symbol's number and a count."""
    (count,) = {int.from_bytes(found, "little") for found in re.findall(rb"\x04\x2f\x08\x00.{4}(.{4})", cubin, re.S)}
    return count


def compiled(autotuner, config):
    import triton
    from triton.backends.compiler import GPUTarget

    said = autotuner._create_compile_meta(config)
    source = triton.compiler.ASTSource(autotuner.fn, said["signature"], said["constants"], said["configs"][0])
    return triton.compile(source, target=GPUTarget("cuda", ARCHITECTURE, 32), options=autotuner._create_compile_options(config, said)), said


def parameters_of(ptx):
    """Returns the bytes of each parameter of a PTX text's entry."""
    text = re.search(r"\.entry \w+\((.*?)\)", ptx, re.S).group(1)
    return [int(bits) // 8 for bits in re.findall(r"\.param \.[a-z](\d+)", text)]


def variants_of(autotuner, numbers, folder, name):
    """Compiles every configuration that Inductor tries for one launch; returns descriptions of them."""
    from torch._inductor.runtime.triton_heuristics import GridExpr

    found, results, todo = [], [], list(autotuner.configs)
    while todo:
        for config in todo:
            start = time.perf_counter()
            binary, said = compiled(autotuner, config)
            cubin = binary.asm["cubin"]
            path = folder / f"{name}.{len(found)}.cubin"
            path.write_bytes(cubin)
            grid = GridExpr.from_meta(autotuner.inductor_meta, config).eval_slow({**numbers, **config.kwargs})
            kept = [each for each, kind in said["signature"].items() if kind != "constexpr" and each not in said["constants"]]
            results.append(types.SimpleNamespace(config=config, kernel=types.SimpleNamespace(n_regs=registers_of(cubin))))
            found.append({
                "cubin": path.name, "config": {**config.kwargs, "warps": config.num_warps, "stages": config.num_stages}, "threads": 32 * config.num_warps,
                "shared": binary.metadata.shared, "grid": list(grid), "registers": results[-1].kernel.n_regs,
                "parameters": kept, "bytes": parameters_of(binary.asm["ptx"]),
                "seconds": round(time.perf_counter() - start, 3),
            })  # fmt: skip
        todo = []
        if autotuner._could_rblock_scale and len(results) == len(autotuner.configs):
            # Inductor halves the blocks of reductions whose registers leave a processor half empty.
            autotuner.compile_results = results
            todo = list(autotuner._iter_rblock_scale_candidates())
    return found


def made(program, folder):
    """Compiles one program; returns its launches for the table."""
    source, given = wrapper_of(program)
    (folder / "wrapper.py").write_text(source)
    launches, operators = launches_of(source, given)
    found = []
    for number, (kernel, arguments) in enumerate(launches):
        autotuner = autotuner_of(kernel, folder)
        # The caller passes what is no constant of a configuration, in the order of the signature.
        names = [each for each in autotuner.fn.arg_names if each not in autotuner.configs[0].kwargs and each not in ("num_warps", "num_stages")]
        values = dict(zip(names, arguments))
        numbers = {each: value for each, value in values.items() if isinstance(value, int)}
        tensors = {
            each: [x.untyped_storage().nbytes(), x.storage_offset() * x.itemsize, x.nbytes, x.untyped_storage()._cdata]
            for each, x in values.items() if isinstance(x, torch.Tensor)
        }  # fmt: skip
        found.append({"kernel": kernel.name, "numbers": numbers, "tensors": tensors, "heuristic": str(autotuner.heuristic_type),
                      "configurations": variants_of(autotuner, numbers, folder, f"{number}-{kernel.name}")})  # fmt: skip
    return {"launches": found, "operators": operators}


def main():
    from .programs import programs

    out = Path(sys.argv[1])
    pretend()
    for name, program in programs().items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        try:
            found = made(program, folder)
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"[:500]}
        (folder / "launches.json").write_text(json.dumps(found, indent=1))
        shown = found.get("failed") or [(each["kernel"], len(each["configurations"])) for each in found["launches"]]
        print(name, f"{time.perf_counter() - start:.1f} s", shown, flush=True)


if __name__ == "__main__":
    main()
