// Two reductions of everything in one read; partial results of blocks, no atomics.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From full_sum_max of tests/python/support/gpu_kinds.py: `scripts/gpu-table full_sum_max` writes what follows.
module {
  frit.graph @main(%arg0: tensor<268435456xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg0_1"}) -> (tensor<f32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[]>, frit.storage = #frit.storage<fresh, 0>}, tensor<f32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.sum.dim_IntList"(%arg0) [#frit.operand<0>, [], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<268435456xf32>) -> tensor<f32>
    %1 = frit.aten "aten.amax.default"(%arg0) [#frit.operand<0>, [], false] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<268435456xf32>) -> tensor<f32>
    frit.return %0, %1 : tensor<f32>, tensor<f32>
  }
}
