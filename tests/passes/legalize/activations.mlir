// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Activations, as eager computes them, and their gradients.

// CHECK-LABEL: frit.graph @relu
// CHECK:         %[[Z:.+]] = arith.constant dense<0.000000e+00>
// CHECK:         arith.cmpf olt, %arg0
// CHECK:         arith.select
frit.graph @relu(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.relu.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @gelu_tanh
// CHECK:         math.tanh
// CHECK:         arith.mulf
frit.graph @gelu_tanh(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.gelu.default"(%a) [#frit.operand<0>, "tanh"] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @gelu
// CHECK:         math.erf
// CHECK:         arith.mulf
frit.graph @gelu(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.gelu.default"(%a) [#frit.operand<0>, "none"] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Beyond the threshold it is the identity.
// CHECK-LABEL: frit.graph @softplus
// CHECK:         math.log1p
// CHECK:         arith.cmpf ogt
// CHECK:         arith.select %{{.+}}, %arg0
frit.graph @softplus(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.softplus.default"(%a) [#frit.operand<0>, 1, 20] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @threshold_backward
// CHECK:         %[[DEAD:.+]] = arith.cmpf ole, %arg1
// CHECK:         arith.select %[[DEAD]], %{{.+}}, %arg0
frit.graph @threshold_backward(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.threshold_backward.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 0] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Everything in f32, one rounding.
// CHECK-LABEL: frit.graph @silu_backward_of_half
// CHECK-COUNT-2: arith.extf
// CHECK:         arith.truncf
// CHECK-NOT: arith.truncf
// CHECK:         frit.return
frit.graph @silu_backward_of_half(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = frit.aten "aten.silu_backward.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  frit.return %0 : tensor<4xbf16>
}

// -----

// An argument that is no literal.
// CHECK-LABEL: frit.graph @elu_with_unknown_form
// CHECK-NEXT:    frit.aten "aten.hardswish_backward.default"
// CHECK-SAME:      reason = "no rule for this operator"
// CHECK-NEXT:    frit.return
frit.graph @elu_with_unknown_form(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.hardswish_backward.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}
