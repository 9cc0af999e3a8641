// Code generation as passes for frit-opt; the compiler runs these steps without the pass manager.
#ifndef FRIT_CODEGEN_PASSES_TD
#define FRIT_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def GenerateGpuKernelsPass : Pass<"frit-generate-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "generate the gpu.funcs of every frit.kernel";
  let description = [{
    One gpu.module replaces the kernels, and the graphs that launch them are
    removed. Attributes of each function describe its launch: the grid as a function of
    the kernel's parameters, the bytes of shared memory, and the block as
    `known_block_size`.

    ```mlir
    frit.kernel @add(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {...}
    ```

    becomes

    ```mlir
    gpu.module @kernels {
      gpu.func @add(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %r: !llvm.ptr<1>) kernel
          attributes {frit.grid = [...], known_block_size = array<i32: 256, 1, 1>} {...}
    }
    ```
  }];
  let statistics = [Statistic<"numKernels", "kernels", "frit.kernels converted">];
}

def GenerateCpuKernelsPass : Pass<"frit-generate-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "generate the CPU functions of every frit.kernel";
  let description = [{
    Functions replace the kernels; each computes a range of units of one launch.
    Its attributes are the number of units (as a function of the kernel's parameters)
    and the least number worth a thread. Everything else is removed.

    ```mlir
    frit.kernel @add(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {...}
    ```

    becomes

    ```mlir
    func.func @add(%context: !llvm.ptr, %begin: i64, %end: i64) -> i32
        attributes {frit.units = #frit.size<1>, frit.grain = 24 : i64} {...}
    ```
  }];
  let options = [
    Option<"level", "level", "std::string", "\"x86-64-v4\"", "x86-64-v3 (AVX2) or x86-64-v4 (AVX-512)">];
  let statistics = [Statistic<"numKernels", "kernels", "frit.kernels converted">];
}

def PrintKernelProgramsPass : Pass<"frit-print-kernel-programs", "::mlir::ModuleOp"> {
  let summary = "print the flat program of every frit.kernel";
  let description = [{
    Code generators do not read the body of a kernel but its kernel program: the
    iteration domain (parallel dims, then reduced ones), a line for each load,
    operation and reduction with the dims that it depends on and the number of
    reductions before it (`level`), and the stores. The pass prints it to `output`
    (`-` is the standard output) and does not change the module.

    ```mlir
    frit.kernel @double(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = arith.addf %x, %x : tensor<8xf32>
      frit.yield %0 : tensor<8xf32>
    }
    ```

    prints

    ```
    kernel double
    domain [8]
    %0 = load arg0[d0] : f32 dims {0} level 0
    %1 = apply arith.addf %0, %0 : f32 dims {0} level 0
    store %1 -> result 0[d0]
    ```
  }];
  let options = [Option<"output", "output", "std::string", "\"-\"", "file to write">];
  let statistics = [Statistic<"numKernels", "kernels", "kernels printed">];
}

def EmitPtxPass : Pass<"frit-emit-ptx", "::mlir::ModuleOp"> {
  let summary = "compile every gpu.module to PTX and print it";
  let description = [{
    Lowers each `gpu.module` to NVVM, LLVM and PTX and writes the text to
    `output` (`-` is the standard output). The gpu.modules are removed.

    ```mlir
    gpu.module @kernels {
      gpu.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel { ... gpu.return }
    }
    ```

    prints

    ```
    .visible .entry copy(.param .u64 .ptr .global ...
    ```
  }];
  let options = [
    Option<"arch", "arch", "unsigned", "90", "compute capability times ten: 80, 90 or 100">,
    Option<"output", "output", "std::string", "\"-\"", "file to write">];
  let statistics = [Statistic<"numModules", "modules", "gpu.modules printed">];
}

#endif
