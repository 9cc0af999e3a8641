// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Comparisons, logic, bits, choices.

// The dtype, not the type, says whether a comparison has a sign.
// CHECK-LABEL: frit.graph @unsigned
// CHECK:         arith.cmpi ult, %arg0, %arg1 : tensor<4xi8>
frit.graph @unsigned(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi1> {
  %0 = frit.aten "aten.lt.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<u8>, #frit.dtype<u8>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: frit.graph @unequal_is_true_of_nan
// CHECK:         arith.cmpf une
frit.graph @unequal_is_true_of_nan(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xi1> {
  %0 = frit.aten "aten.ne.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: frit.graph @logical_of_numbers
// CHECK:         arith.cmpf une, %arg0
// CHECK:         arith.cmpi ne, %arg1
// CHECK:         arith.andi
frit.graph @logical_of_numbers(%a: tensor<4xf32>, %b: tensor<4xi32>) -> tensor<4xi1> {
  %0 = frit.aten "aten.logical_and.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i32>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// Beyond the width a left shift gives 0; the amount is made harmless before it is used.
// CHECK-LABEL: frit.graph @shift
// CHECK:         arith.cmpi sge, %arg1
// CHECK:         arith.select
// CHECK:         arith.shli %arg0
// CHECK:         arith.select
frit.graph @shift(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %0 = frit.aten "aten.bitwise_left_shift.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<i32>, #frit.dtype<i32>], result_dtypes = [#frit.dtype<i32>]} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  frit.return %0 : tensor<4xi32>
}

// -----

// CHECK-LABEL: frit.graph @where_promotes
// CHECK:         arith.extf %arg2 : tensor<bf16> to tensor<f32>
// CHECK:         arith.select
frit.graph @where_promotes(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<bf16>) -> tensor<4xf32> {
  %0 = frit.aten "aten.where.self"(%a, %b, %c) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<bool>, #frit.dtype<f32>, #frit.dtype<bf16>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xi1>, tensor<4xf32>, tensor<bf16>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Eager raises.
// CHECK-LABEL: frit.graph @scalar_out_of_range
// CHECK-NEXT:    frit.aten "aten.eq.Scalar"
// CHECK-SAME:      reason = "the scalar is beyond the range of the tensor's dtype"
// CHECK-NEXT:    frit.return
frit.graph @scalar_out_of_range(%a: tensor<4xi8>) -> tensor<4xi1> {
  %0 = frit.aten "aten.eq.Scalar"(%a) [#frit.operand<0>, 300] {operand_dtypes = [#frit.dtype<u8>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xi8>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: frit.graph @shift_of_floats
// CHECK-NEXT:    frit.aten "aten.__lshift__.Scalar"
// CHECK-SAME:      reason = "a shift of a dtype that is not an integer"
// CHECK-NEXT:    frit.return
frit.graph @shift_of_floats(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.__lshift__.Scalar"(%a) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}
