// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// What torch.compile decomposes and an exported program keeps.

// CHECK-LABEL: frit.graph @layer_norm
// CHECK:         frit.reduce <sum>
// CHECK:         math.rsqrt
frit.graph @layer_norm(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten.layer_norm.default"(%a) [#frit.operand<0>, [8], unit, unit, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @softmax
// CHECK:         arith.extf
// CHECK:         frit.reduce <max>
// CHECK:         math.exp
// CHECK:         frit.reduce <sum>
// CHECK:         arith.divf
// CHECK:         arith.truncf
frit.graph @softmax(%a: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = frit.aten "aten.softmax.int"(%a) [#frit.operand<0>, -1, unit] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  frit.return %0 : tensor<4x8xbf16>
}

// -----

// CHECK-LABEL: frit.graph @dropout_in_eval
// CHECK-NEXT:    frit.return %arg0
frit.graph @dropout_in_eval(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.dropout.default"(%a) [#frit.operand<0>, 0.5, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @dropout_in_training
// CHECK-NEXT:    frit.aten "aten.dropout.default"
// CHECK-SAME:      reason = "dropout in training draws random numbers"
// CHECK-NEXT:    frit.return
frit.graph @dropout_in_training(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.dropout.default"(%a) [#frit.operand<0>, 0.5, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @batch_norm_in_eval
// CHECK:         math.rsqrt
// CHECK:         arith.mulf
frit.graph @batch_norm_in_eval(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = frit.aten "aten.batch_norm.default"(%a, %b, %c) [#frit.operand<0>, unit, unit, #frit.operand<1>, #frit.operand<2>, false, 0.1, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  frit.return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: frit.graph @linear
// CHECK-NEXT:    frit.aten "aten.linear.default"
// CHECK-SAME:      reason = "a matrix product: a library has the kernel"
// CHECK-NEXT:    frit.return
frit.graph @linear(%a: tensor<4x8xf32>, %b: tensor<3x8xf32>) -> tensor<4x3xf32> {
  %0 = frit.aten "aten.linear.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, unit] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  frit.return %0 : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: frit.graph @attention
// CHECK-NEXT:    frit.aten "aten.scaled_dot_product_attention.default"
// CHECK-SAME:      reason = "attention: a library has the kernel"
// CHECK-NEXT:    frit.return
frit.graph @attention(%a: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %0 = frit.aten "aten.scaled_dot_product_attention.default"(%a) [#frit.operand<0>, #frit.operand<0>, #frit.operand<0>, unit, 0.0, false, unit, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  frit.return %0 : tensor<1x2x4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @unknown_namespace
// CHECK-NEXT:    frit.aten "transformers.grouped_mm_fallback.default"
// CHECK-SAME:      reason = "an operator of 'transformers', which frit does not know"
// CHECK-NEXT:    frit.return
frit.graph @unknown_namespace(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = frit.aten "transformers.grouped_mm_fallback.default"(%a) [#frit.operand<0>, #frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  frit.return %0 : tensor<4x4xf32>
}
