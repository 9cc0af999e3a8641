// RUN: frit-opt %s --frit-legalize-aten=gpu=true --canonicalize --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: frit-opt %s --frit-legalize-aten --canonicalize --split-input-file | FileCheck %s --check-prefixes=CHECK,KEPT
// RUN: frit-opt %s --frit-legalize-aten="gpu=true eager-numerics=true" --canonicalize --split-input-file | FileCheck %s --check-prefixes=CHECK,KEPT

// A product that is added to what nothing reads afterwards adds in place, on GPUs.

// CHECK-LABEL: frit.graph @residual
// CHECK:         %[[H:.*]] = math.exp %arg0
// GPU-NOT:     aten.mm
// GPU:         %[[SUM:.*]] = frit.aten "aten.addmm_.default"(%[[H]], %arg0, %arg1) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, 1, 1] {mutated_operands = array<i64: 0>
// GPU-NOT:     addf
// KEPT:        frit.aten "aten.mm.default"
// KEPT:        arith.addf
frit.graph @residual(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = frit.aten "aten.exp.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[8, 1]>, #frit.layout<[1, 8]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8, 1]>]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = frit.aten "aten.add.Tensor"(%h, %p) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  frit.return %0 : tensor<8x8xf32>
}

// -----

// Arguments are not written.
// CHECK-LABEL: frit.graph @argument
// CHECK:         frit.aten "aten.mm.default"
// CHECK:         arith.addf
frit.graph @argument(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %p = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[8, 1]>, #frit.layout<[8, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8, 1]>]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = frit.aten "aten.add.Tensor"(%x, %p) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  frit.return %0 : tensor<8x8xf32>
}
