// Functions of the library, with no table in local memory.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From transcendental of tests/python/support/gpu_kinds.py: `scripts/gpu-table transcendental` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}) -> (tensor<16384x4096xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 9>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.sin.default"(%arg0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %1 = frit.aten "aten.erf.default"(%arg0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %2 = frit.aten "aten.mul.Tensor"(%0, %1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>, tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %3 = frit.aten "aten.exp.default"(%arg0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %4 = frit.aten "aten.log1p.default"(%3) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %5 = frit.aten "aten.mul.Tensor"(%arg0, %arg0) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>, tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %6 = frit.aten "aten.add.Tensor"(%5) [#frit.operand<0>, 1, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %7 = frit.aten "aten.sqrt.default"(%6) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %8 = frit.aten "aten.div.Tensor"(%4, %7) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>, tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    %9 = frit.aten "aten.add.Tensor"(%2, %8) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>, tensor<16384x4096xf32>) -> tensor<16384x4096xf32>
    frit.return %9 : tensor<16384x4096xf32>
  }
}
