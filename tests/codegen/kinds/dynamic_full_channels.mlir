// Everything, at places of three indices that are carried from chunk to chunk, all loads of four chunks before the first sum.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From dynamic_full_channels of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_full_channels` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s15>}, %arg1: tensor<?xf32, #frit.dims<[s15]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}, %arg2: i64 {frit.kind = "user_input", frit.name = "arg2_1", frit.size = #frit.size<s77>}, %arg3: i64 {frit.kind = "user_input", frit.name = "arg3_1", frit.size = #frit.size<s53>}, %arg4: tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[s15 * s53, s53, 1]>, frit.name = "arg4_1"}) -> (tensor<f32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[]>, frit.storage = #frit.storage<fresh, 4>}) attributes {device = "cpu", symbols = [#frit.symbol<"s15", min = 2, hint = 64>, #frit.symbol<"s77", min = 2, hint = 256>, #frit.symbol<"s53", min = 2, hint = 3025>]} {
    %0 = frit.aten "aten.unsqueeze.default"(%arg1) [#frit.operand<0>, 0] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s15, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<?xf32, #frit.dims<[s15]>>) -> tensor<1x?xf32, #frit.dims<[1, s15]>>
    %1 = frit.aten "aten.slice.Tensor"(%0) [#frit.operand<0>, 1, 0, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s15, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s15, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<1x?xf32, #frit.dims<[1, s15]>>) -> tensor<1x?xf32, #frit.dims<[1, s15]>>
    %2 = frit.aten "aten.unsqueeze.default"(%1) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s15, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s15, 1, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<1x?xf32, #frit.dims<[1, s15]>>) -> tensor<1x?x1xf32, #frit.dims<[1, s15, 1]>>
    %3 = frit.aten "aten.mul.Tensor"(%arg4, %2) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[s15 * s53, s53, 1]>, #frit.layout<[s15, 1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s15 * s53, s53, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>>, tensor<1x?x1xf32, #frit.dims<[1, s15, 1]>>) -> tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>>
    %4 = frit.aten "aten.sum.dim_IntList"(%3) [#frit.operand<0>, [], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s15 * s53, s53, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>>) -> tensor<f32>
    frit.return %4 : tensor<f32>
  }
}
