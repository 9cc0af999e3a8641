// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// A call on lists is one call of the plain operator an element.

// The sum is scaled; the count is by plain operator.
// CHECK-LABEL: frit.graph @lists
// CHECK-SAME:    frit.legalized = {aten.add.Tensor = 2 : i64}
// CHECK:         arith.addf
// CHECK:         arith.extf
// CHECK:         arith.addf
// CHECK:         arith.truncf
frit.graph @lists(%a: tensor<4xf32>, %b: tensor<3xf16>, %c: tensor<4xf32>, %d: tensor<3xf16>) -> (tensor<4xf32>, tensor<3xf16>) {
  %0:2 = frit.aten "aten._foreach_add.List"(%a, %b, %c, %d) [[#frit.operand<0>, #frit.operand<1>], [#frit.operand<2>, #frit.operand<3>], 2] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f16>, #frit.dtype<f32>, #frit.dtype<f16>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f16>]} : (tensor<4xf32>, tensor<3xf16>, tensor<4xf32>, tensor<3xf16>) -> (tensor<4xf32>, tensor<3xf16>)
  frit.return %0#0, %0#1 : tensor<4xf32>, tensor<3xf16>
}

// -----

// CHECK-LABEL: frit.graph @scalars
// CHECK:         dense<2.000000e+00>
// CHECK:         arith.mulf
// CHECK:         dense<3.000000e+00>
// CHECK:         arith.mulf
frit.graph @scalars(%a: tensor<4xf32>, %b: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %0:2 = frit.aten "aten._foreach_mul.ScalarList"(%a, %b) [[#frit.operand<0>, #frit.operand<1>], [2.0, 3.0]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<4xf32>, tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  frit.return %0#0, %0#1 : tensor<4xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: frit.graph @norms
// CHECK-COUNT-2: math.sqrt
frit.graph @norms(%a: tensor<4xf32>, %b: tensor<3x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = frit.aten "aten._foreach_norm.Scalar"(%a, %b) [[#frit.operand<0>, #frit.operand<1>], 2, unit] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<4xf32>, tensor<3x2xf32>) -> (tensor<f32>, tensor<f32>)
  frit.return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// -----

// An element that is refused stays, with its own reason.
// CHECK-LABEL: frit.graph @refused_element
// CHECK:         arith.negf %arg0
// CHECK:         frit.aten "aten.neg.default"(%arg1)
// CHECK-SAME: reason = "ATen has no kernel for bool"
frit.graph @refused_element(%a: tensor<4xf32>, %b: tensor<3xi1>) -> (tensor<4xf32>, tensor<3xi1>) {
  %0:2 = frit.aten "aten._foreach_neg.default"(%a, %b) [[#frit.operand<0>, #frit.operand<1>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<bool>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<bool>]} : (tensor<4xf32>, tensor<3xi1>) -> (tensor<4xf32>, tensor<3xi1>)
  frit.return %0#0, %0#1 : tensor<4xf32>, tensor<3xi1>
}

// -----

// CHECK-LABEL: frit.graph @no_plain_operator
// CHECK-NEXT:    frit.aten "aten._foreach_lgamma.default"
// CHECK-SAME:      reason = "no rule for this operator"
// CHECK-NEXT:    frit.return
frit.graph @no_plain_operator(%a: tensor<4xf32>, %b: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %0:2 = frit.aten "aten._foreach_lgamma.default"(%a, %b) [[#frit.operand<0>, #frit.operand<1>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<4xf32>, tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  frit.return %0#0, %0#1 : tensor<4xf32>, tensor<3xf32>
}
