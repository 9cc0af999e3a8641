// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Functions of one tensor: half types in f32, integers promoted, roundings of integers nothing.

// CHECK-LABEL: frit.graph @exp_of_half
// CHECK:         %[[W:.+]] = arith.extf %arg0
// CHECK:         %[[E:.+]] = math.exp %[[W]] : tensor<4xf32>
// CHECK:         arith.truncf %[[E]] {frit.implicit}
frit.graph @exp_of_half(%a: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4xbf16>) -> tensor<4xbf16>
  frit.return %0 : tensor<4xbf16>
}

// -----

// An integer becomes the default dtype first.
// CHECK-LABEL: frit.graph @sqrt_of_integers
// CHECK:         %[[F:.+]] = arith.sitofp %arg0 : tensor<4xi32> to tensor<4xf32>
// CHECK:         math.sqrt %[[F]]
frit.graph @sqrt_of_integers(%a: tensor<4xi32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.sqrt.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xi32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// The inverse hyperbolic functions are one operation each, in f32 for a half.
// CHECK-LABEL: frit.graph @inverse_hyperbolic
// CHECK:         %[[S:.+]] = math.asinh %arg0 : tensor<4xf32>
// CHECK:         %[[C:.+]] = math.acosh %arg0 : tensor<4xf32>
// CHECK:         %[[W:.+]] = arith.extf %arg1
// CHECK:         %[[T:.+]] = math.atanh %[[W]] : tensor<4xf32>
// CHECK:         %[[N:.+]] = arith.truncf %[[T]] {frit.implicit}
// CHECK:         frit.return %[[S]], %[[C]], %[[N]]
frit.graph @inverse_hyperbolic(%a: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) {
  %0 = frit.aten "aten.asinh.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = frit.aten "aten.acosh.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = frit.aten "aten.atanh.default"(%h) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f16>], result_dtypes = [#frit.dtype<f16>]} : (tensor<4xf16>) -> tensor<4xf16>
  frit.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}

// -----

// A function that the math dialect lacks is an operation of frit's; integers become floats first.
// CHECK-LABEL: frit.graph @log_gamma
// CHECK:         %[[S:.+]] = frit.lgamma %arg0 : tensor<4xf32>
// CHECK:         %[[W:.+]] = arith.extf %arg1
// CHECK:         %[[H:.+]] = frit.lgamma %[[W]] : tensor<4xf32>
// CHECK:         %[[N:.+]] = arith.truncf %[[H]] {frit.implicit}
// CHECK:         %[[F:.+]] = arith.sitofp %arg2
// CHECK:         %[[I:.+]] = frit.lgamma %[[F]] : tensor<4xf32>
// CHECK:         frit.return %[[S]], %[[N]], %[[I]]
frit.graph @log_gamma(%a: tensor<4xf32>, %h: tensor<4xbf16>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>) {
  %0 = frit.aten "aten.lgamma.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = frit.aten "aten.lgamma.default"(%h) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4xbf16>) -> tensor<4xbf16>
  %2 = frit.aten "aten.lgamma.default"(%i) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xi32>) -> tensor<4xf32>
  frit.return %0, %1, %2 : tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @floor_of_integers
// CHECK-NEXT:    frit.return %arg0
frit.graph @floor_of_integers(%a: tensor<4xi32>) -> tensor<4xi32> {
  %0 = frit.aten "aten.floor.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i32>], result_dtypes = [#frit.dtype<i32>]} : (tensor<4xi32>) -> tensor<4xi32>
  frit.return %0 : tensor<4xi32>
}

// -----

// Without sign there is nothing to do.
// CHECK-LABEL: frit.graph @abs_of_bytes
// CHECK-NEXT:    frit.return %arg0
frit.graph @abs_of_bytes(%a: tensor<4xi8>) -> tensor<4xi8> {
  %0 = frit.aten "aten.abs.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<u8>], result_dtypes = [#frit.dtype<u8>]} : (tensor<4xi8>) -> tensor<4xi8>
  frit.return %0 : tensor<4xi8>
}

// -----

// CHECK-LABEL: frit.graph @isnan_of_integers
// CHECK:         arith.constant dense<false> : tensor<i1>
// CHECK:         frit.reindex
frit.graph @isnan_of_integers(%a: tensor<4xi64>) -> tensor<4xi1> {
  %0 = frit.aten "aten.isnan.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xi64>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// Eager raises, so the operator stays to raise.
// CHECK-LABEL: frit.graph @negated_bool
// CHECK-NEXT:    frit.aten "aten.neg.default"
// CHECK-SAME:      reason = "ATen has no kernel for bool"
// CHECK-NEXT:    frit.return
frit.graph @negated_bool(%a: tensor<4xi1>) -> tensor<4xi1> {
  %0 = frit.aten "aten.neg.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bool>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xi1>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// No rule, and none of another overload.
// CHECK-LABEL: frit.graph @i0
// CHECK-NEXT:    frit.aten "aten.i0.default"
// CHECK-SAME:      reason = "no rule for this operator"
// CHECK-NEXT:    frit.return
frit.graph @i0(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.i0.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}
