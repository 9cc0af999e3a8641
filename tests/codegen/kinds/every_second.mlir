// Read with a step, written as vectors.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: ld.global.nc.{{[bsu](8|16|32|64)}}
// PTX: st.global.v4.b32
// From every_second of tests/python/support/gpu_kinds.py: `scripts/gpu-table every_second` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<16384x4096xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.slice.Tensor"(%arg0) [#frit.operand<0>, 1, 0, 9223372036854775807, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 2]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<16384x8192xf32>) -> tensor<16384x4096xf32>
    %1 = frit.aten "aten.mul.Tensor"(%0) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 2]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    frit.return %1 : tensor<16384x4096xf32>
  }
}
