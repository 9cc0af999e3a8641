// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Two operands: promotion, rounding of operands, division, contraction.

// The integer is rounded to the common dtype before it takes part.
// CHECK-LABEL: frit.graph @int64_in_half
// CHECK:         %[[F:.+]] = arith.sitofp %arg1 : tensor<4xi64> to tensor<4xf32>
// CHECK:         %[[H:.+]] = arith.truncf %[[F]] : tensor<4xf32> to tensor<4xf16>
// CHECK:         %[[W:.+]] = arith.extf %[[H]]
// CHECK:         arith.subf %{{.+}}, %[[W]]
frit.graph @int64_in_half(%a: tensor<4xf16>, %b: tensor<4xi64>) -> tensor<4xf16> {
  %0 = frit.aten "aten.sub.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f16>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f16>]} : (tensor<4xf16>, tensor<4xi64>) -> tensor<4xf16>
  frit.return %0 : tensor<4xf16>
}

// -----

// A product reads the scalar on its right as it is ...
// CHECK-LABEL: frit.graph @exact_scalar_of_a_product
// CHECK:         arith.constant dense<1.100000e+00> : tensor<f32>
// CHECK:         arith.mulf
frit.graph @exact_scalar_of_a_product(%a: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = frit.aten "aten.mul.Tensor"(%a) [#frit.operand<0>, 1.1] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4xbf16>) -> tensor<4xbf16>
  frit.return %0 : tensor<4xbf16>
}

// -----

// ... a sum rounds it.
// CHECK-LABEL: frit.graph @rounded_scalar_of_a_sum
// CHECK:         arith.constant dense<1.101560e+00> : tensor<bf16>
// CHECK:         arith.extf
// CHECK:         arith.addf
frit.graph @rounded_scalar_of_a_sum(%a: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = frit.aten "aten.add.Tensor"(%a) [#frit.operand<0>, 1.1, 1] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4xbf16>) -> tensor<4xbf16>
  frit.return %0 : tensor<4xbf16>
}

// -----

// Integers: the quotient towards zero, less one where a remainder has the other sign.
// CHECK-LABEL: frit.graph @floor_division
// CHECK:         %[[Q:.+]] = arith.divsi %arg0, %arg1
// CHECK:         %[[M:.+]] = arith.muli %[[Q]], %arg1
// CHECK:         arith.subi %arg0, %[[M]]
// CHECK:         arith.subi %[[Q]]
frit.graph @floor_division(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %0 = frit.aten "aten.div.Tensor_mode"(%a, %b) [#frit.operand<0>, #frit.operand<1>, "floor"] {operand_dtypes = [#frit.dtype<i32>, #frit.dtype<i32>], result_dtypes = [#frit.dtype<i32>]} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  frit.return %0 : tensor<4xi32>
}

// -----

// CHECK-LABEL: frit.graph @square
// CHECK:         arith.mulf %arg0, %arg0
frit.graph @square(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.pow.Tensor_Scalar"(%a) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// x stays unless it is strictly beyond: NaN passes, and so does the sign of a zero.
// CHECK-LABEL: frit.graph @clamp
// CHECK:         %[[LOW:.+]] = arith.cmpf olt, %arg0
// CHECK:         arith.select %[[LOW]]
frit.graph @clamp(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.clamp.default"(%a) [#frit.operand<0>, 0.0, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @subtracted_bool
// CHECK-NEXT:    frit.aten "aten.sub.Tensor"
// CHECK-SAME:      reason = "ATen has no kernel for bool"
// CHECK-NEXT:    frit.return
frit.graph @subtracted_bool(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %0 = frit.aten "aten.sub.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bool>, #frit.dtype<bool>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: frit.graph @integer_power
// CHECK-NEXT:    frit.aten "aten.pow.Tensor_Tensor"
// CHECK-SAME:      reason = "an integer to the power of a tensor"
// CHECK-NEXT:    frit.return
frit.graph @integer_power(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %0 = frit.aten "aten.pow.Tensor_Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<i64>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  frit.return %0 : tensor<4xi64>
}

// -----

// Bits of floats: eager has no kernel, and the reason is a measured one.
// CHECK-LABEL: @bits_of_floats
// CHECK: frit.aten "aten.bitwise_xor.Tensor"
// CHECK-SAME: reason = "ATen has no kernel for f32"
frit.graph @bits_of_floats(%a: tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  %0 = frit.aten "aten.bitwise_xor.Tensor"(%a, %a) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]}
       : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Other devices have other kernels; what the rule then builds does not verify, and is undone.
// CHECK-LABEL: @bits_of_floats_elsewhere
// CHECK-NOT: arith.xori
// CHECK: frit.aten "aten.bitwise_xor.Tensor"
// CHECK-SAME: reason = "no rule for operands of these types"
frit.graph @bits_of_floats_elsewhere(%a: tensor<4xf32>) -> tensor<4xf32> attributes {device = "cuda:0", symbols = []} {
  %0 = frit.aten "aten.bitwise_xor.Tensor"(%a, %a) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]}
       : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// A bound beyond the type raises in eager.
// CHECK-LABEL: @bound_beyond_the_type
// CHECK: frit.aten "aten.clamp.default"
// CHECK-SAME: reason = "eager refuses a bound that the type does not hold"
frit.graph @bound_beyond_the_type(%a: tensor<4xi8>) -> tensor<4xi8> attributes {symbols = []} {
  %0 = frit.aten "aten.clamp.default"(%a) [#frit.operand<0>, unit, 1000]
       {operand_dtypes = [#frit.dtype<i8>], result_dtypes = [#frit.dtype<i8>]} : (tensor<4xi8>) -> tensor<4xi8>
  frit.return %0 : tensor<4xi8>
}
