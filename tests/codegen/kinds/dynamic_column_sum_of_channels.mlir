// Columns whose rows have two indices.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// From dynamic_column_sum_of_channels of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_column_sum_of_channels` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s15>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s21>}, %arg2: tensor<?x?xf32, #frit.dims<[s15, s21]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[s21, 1]>, frit.name = "arg2_1"}, %arg3: i64 {frit.kind = "user_input", frit.name = "arg3_1", frit.size = #frit.size<s27>}, %arg4: tensor<?x?x?xf32, #frit.dims<[s15, s27, s21]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[s21 * s27, s21, 1]>, frit.name = "arg4_1"}) -> (tensor<?xf32, #frit.dims<[s21]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 3>}) attributes {device = "cpu", symbols = [#frit.symbol<"s15", min = 2, hint = 256>, #frit.symbol<"s21", min = 2, hint = 4096>, #frit.symbol<"s27", min = 2, hint = 64>]} {
    %0 = frit.aten "aten.slice.Tensor"(%arg2) [#frit.operand<0>, 0, 0, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s21, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s21, 1]>], result_storage = [#frit.storage<view_of_argument, 2>]} : (tensor<?x?xf32, #frit.dims<[s15, s21]>>) -> tensor<?x?xf32, #frit.dims<[s15, s21]>>
    %1 = frit.aten "aten.unsqueeze.default"(%0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s21, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s21, s21, 1]>], result_storage = [#frit.storage<view_of_argument, 2>]} : (tensor<?x?xf32, #frit.dims<[s15, s21]>>) -> tensor<?x1x?xf32, #frit.dims<[s15, 1, s21]>>
    %2 = frit.aten "aten.mul.Tensor"(%arg4, %1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[s21 * s27, s21, 1]>, #frit.layout<[s21, s21, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s21 * s27, s21, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?x?xf32, #frit.dims<[s15, s27, s21]>>, tensor<?x1x?xf32, #frit.dims<[s15, 1, s21]>>) -> tensor<?x?x?xf32, #frit.dims<[s15, s27, s21]>>
    %3 = frit.aten "aten.sum.dim_IntList"(%2) [#frit.operand<0>, [0, 1], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s21 * s27, s21, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?x?xf32, #frit.dims<[s15, s27, s21]>>) -> tensor<?xf32, #frit.dims<[s21]>>
    frit.return %3 : tensor<?xf32, #frit.dims<[s21]>>
  }
}
