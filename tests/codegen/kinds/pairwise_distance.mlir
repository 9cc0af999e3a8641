// The differences of all pairs live in registers alone.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: ld.global.nc.{{[bsu](8|16|32|64)}}
// PTX: bar.sync
// PTX: st.global.v4.b32
// From pairwise_distance of tests/python/support/gpu_kinds.py: `scripts/gpu-table pairwise_distance` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[4, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x4xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[4, 1]>, frit.name = "arg1_1"}) -> (tensor<16384x16384xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[16384, 1]>, frit.storage = #frit.storage<fresh, 4>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.unsqueeze.default"(%arg0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4, 4, 1]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<16384x4xf32>) -> tensor<16384x1x4xf32>
    %1 = frit.aten "aten.unsqueeze.default"(%arg1) [#frit.operand<0>, 0] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[65536, 4, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<16384x4xf32>) -> tensor<1x16384x4xf32>
    %2 = frit.aten "aten.sub.Tensor"(%0, %1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 4, 1]>, #frit.layout<[65536, 4, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[65536, 4, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x1x4xf32>, tensor<1x16384x4xf32>) -> tensor<16384x16384x4xf32>
    %3 = frit.aten "aten.pow.Tensor_Scalar"(%2) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[65536, 4, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[65536, 4, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x16384x4xf32>) -> tensor<16384x16384x4xf32>
    %4 = frit.aten "aten.sum.dim_IntList"(%3) [#frit.operand<0>, [-1], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[65536, 4, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x16384x4xf32>) -> tensor<16384x16384xf32>
    frit.return %4 : tensor<16384x16384xf32>
  }
}
