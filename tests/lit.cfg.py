# What a lit test may assume: the frit tools, FileCheck, `not`, and ptxas and the tree's Python behind features.
import os

import lit.formats

config.name = "frit"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "python", "lint", "golden"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.frit_build, "tests")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.frit_build, "bin"), config.llvm_tools, os.environ["PATH"]]
)
config.environment["PYTHONPATH"] = os.path.join(config.frit_source, "python")
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
config.environment["ASAN_OPTIONS"] = "detect_leaks=0"

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%frit_source", config.frit_source))
config.substitutions.append(("%ptxas", config.ptxas))
# Kinds of GPU kernels (tests/codegen/kinds): from a graph to kernels, and what the PTX of none of them has.
config.substitutions.append(("%gpu_kernels", '--frit-graph-pipeline="target=gpu arch=90 philox" --frit-generate-gpu-kernels'))
config.substitutions.append(("%ptx_loops", f"{config.python} {config.frit_source}/tests/codegen/Inputs/ptx-loops.py"))
config.substitutions.append(("%no_local", "--implicit-check-not=.local"))
config.substitutions.append(("%no_division", "'--implicit-check-not={{(div|rem)[.][usb][0-9]}}'"))
config.substitutions.append(("%no_shuffle", "--implicit-check-not=shfl"))
config.substitutions.append(("%no_barrier", "--implicit-check-not=bar.sync"))
config.substitutions.append(("%no_atomics", "'--implicit-check-not={{atom[.]|red[.]global}}'"))
config.substitutions.append(("%read_only", "'--implicit-check-not={{ld[.]global[.][vbsuf][0-9]}}'"))
# The debug lines of passes exist only in such a build.
config.available_features.add("asserts" if config.has_asserts else "no-asserts")
if config.have_torch:
    config.available_features.add("torch")
if config.ptxas and not config.ptxas.endswith("NOTFOUND"):
    config.available_features.add("ptxas")
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("gpu")
