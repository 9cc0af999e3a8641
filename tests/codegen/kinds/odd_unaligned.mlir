// Rows of odd length in a view that is not aligned: one dim all the same, with vectors where the pointer allows them.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From odd_unaligned of tests/python/support/gpu_kinds.py: `scripts/gpu-table odd_unaligned` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16383x8191xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[8191, 1], offset 1>, frit.name = "arg0_1"}) -> (tensor<16383x8191xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[8191, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.mul.Tensor"(%arg0) [#frit.operand<0>, 2.500000e+00] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8191, 1], offset 1>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8191, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16383x8191xf32>) -> tensor<16383x8191xf32>
    %1 = frit.aten "aten.add.Tensor"(%0) [#frit.operand<0>, 1, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8191, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8191, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16383x8191xf32>) -> tensor<16383x8191xf32>
    frit.return %1 : tensor<16383x8191xf32>
  }
}
