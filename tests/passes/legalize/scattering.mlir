// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Writes at known positions are joins and choices; others stay.

// CHECK-LABEL: frit.graph @slice_scatter
// CHECK:         frit.concat
frit.graph @slice_scatter(%a: tensor<8xf32>, %b: tensor<2xf32>) -> tensor<8xf32> {
  %0 = frit.aten "aten.slice_scatter.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 0, 2, 4, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>, tensor<2xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: frit.graph @select_scatter
// CHECK:         frit.concat
frit.graph @select_scatter(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten.select_scatter.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 0, -1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// The index is read through a checked gather, so that one out of range raises.
// CHECK-LABEL: frit.graph @one_index_a_row
// CHECK:         frit.iota
// CHECK:         frit.gather
// CHECK:         check <non_negative>
// CHECK:         arith.cmpi eq
// CHECK:         arith.select
frit.graph @one_index_a_row(%a: tensor<4x8xf32>, %b: tensor<4x1xi64>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten.scatter.value"(%a, %b) [#frit.operand<0>, 1, #frit.operand<1>, -1.0] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<4x1xi64>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @two_indices_a_row
// CHECK-NEXT:    frit.aten "aten.scatter_.value"
// CHECK-SAME:      reason = "more than one index a row, or fewer rows than the destination"
// CHECK-NEXT:    frit.return
frit.graph @two_indices_a_row(%a: tensor<4x8xf32>, %b: tensor<4x2xi64>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten.scatter.value"(%a, %b) [#frit.operand<0>, 1, #frit.operand<1>, -1.0] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @data_decide
// CHECK-NEXT:    frit.aten "aten.scatter_add_.default"
// CHECK-SAME:      reason = "a write at positions that data decide: not in the vocabulary"
// CHECK-NEXT:    frit.return
frit.graph @data_decide(%a: tensor<4xf32>, %b: tensor<4xi64>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.scatter_add.default"(%a, %b, %c) [#frit.operand<0>, 0, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}
