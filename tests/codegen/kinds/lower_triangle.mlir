// A comparison of row and column for each element.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From lower_triangle of tests/python/support/gpu_kinds.py: `scripts/gpu-table lower_triangle` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x16384xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[16384, 1]>, frit.name = "arg0_1"}) -> (tensor<16384x16384xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[16384, 1]>, frit.storage = #frit.storage<fresh, 7>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.arange.start_step"() [0, 16384, 1, unit, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, false] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<16384xi64>
    %1 = frit.aten "aten.unsqueeze.default"(%0) [#frit.operand<0>, -2] {operand_dtypes = [#frit.dtype<i64>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [unit]} : (tensor<16384xi64>) -> tensor<1x16384xi64>
    %2 = frit.aten "aten.arange.start_step"() [0, 16384, 1, unit, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, false] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<16384xi64>
    %3 = frit.aten "aten.unsqueeze.default"(%2) [#frit.operand<0>, -1] {operand_dtypes = [#frit.dtype<i64>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [unit]} : (tensor<16384xi64>) -> tensor<16384x1xi64>
    %4 = frit.aten "aten.sub.Tensor"(%1, %3) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<i64>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[16384, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1x16384xi64>, tensor<16384x1xi64>) -> tensor<16384x16384xi64>
    %5 = frit.aten "aten.le.Scalar"(%4) [#frit.operand<0>, 0] {operand_dtypes = [#frit.dtype<i64>], operand_layouts = [#frit.layout<[16384, 1]>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x16384xi64>) -> tensor<16384x16384xi1>
    %6 = frit.aten "aten.scalar_tensor.default"() [0, #frit.dtype<f32>, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, unit] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<f32>
    %7 = frit.aten "aten.where.self"(%5, %arg0, %6) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<bool>, #frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[16384, 1]>, #frit.layout<[16384, 1]>, #frit.layout<[]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x16384xi1>, tensor<16384x16384xf32>, tensor<f32>) -> tensor<16384x16384xf32>
    frit.return %7 : tensor<16384x16384xf32>
  }
}
