// Equal calls of pure operators are one call; two draws of random numbers are two.
// RUN: frit-opt %s -cse | FileCheck %s

// CHECK-LABEL: @merge(
// CHECK-NEXT: %[[A:.*]] = frit.aten "aten.relu.default"
// CHECK-NEXT: %[[B:.*]] = frit.aten "aten.rand_like.default"
// CHECK-NEXT: %[[C:.*]] = frit.aten "aten.rand_like.default"
// CHECK-NEXT: frit.return %[[A]], %[[A]], %[[B]], %[[C]]
frit.graph @merge(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = frit.aten "aten.relu.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %b = frit.aten "aten.relu.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %c = frit.aten "aten.rand_like.default"(%x) [#frit.operand<0>, unit, unit, unit, unit, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %d = frit.aten "aten.rand_like.default"(%x) [#frit.operand<0>, unit, unit, unit, unit, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
