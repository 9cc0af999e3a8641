// Columns of unknown number.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: arith.addf
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// From dynamic_column_sum of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_column_sum` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xf32, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}) -> (tensor<?xf32, #frit.dims<[s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 4096>]} {
    %0 = frit.aten "aten.sum.dim_IntList"(%arg2) [#frit.operand<0>, [0], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xf32, #frit.dims<[s77, s27]>>) -> tensor<?xf32, #frit.dims<[s27]>>
    frit.return %0 : tensor<?xf32, #frit.dims<[s27]>>
  }
}
