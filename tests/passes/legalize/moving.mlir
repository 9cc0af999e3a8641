// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Views and moves are index maps; what an index map cannot prove stays.

// CHECK-LABEL: frit.graph @select
// CHECK:         frit.reindex %arg0 <(d0, d1) -> (d0, d1 + 7)>
frit.graph @select(%a: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.select.int"(%a) [#frit.operand<0>, 1, -1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Two pieces, each read where it lies.
// CHECK-LABEL: frit.graph @roll
// CHECK:         frit.reindex %arg0 <(d0) -> (d0 + 5)> : tensor<8xf32> -> tensor<3xf32>
// CHECK:         frit.reindex %arg0 <(d0) -> (d0)> : tensor<8xf32> -> tensor<5xf32>
// CHECK:         frit.concat
frit.graph @roll(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = frit.aten "aten.roll.default"(%a) [#frit.operand<0>, [3], [0]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

// Padding is a bound with a fill.
// CHECK-LABEL: frit.graph @pad
// CHECK:         frit.reindex %arg0 <(d0) -> (d0 - 1)
// CHECK:         fill 7.0
frit.graph @pad(%a: tensor<4xf32>) -> tensor<7xf32> {
  %0 = frit.aten "aten.constant_pad_nd.default"(%a) [#frit.operand<0>, [1, 2], 7] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<7xf32>
  frit.return %0 : tensor<7xf32>
}

// -----

// Any strides over storage of the graph's own.
// CHECK-LABEL: frit.graph @as_strided
// CHECK:         frit.reshape %arg0
// CHECK:         <(d0, d1) -> (2 * d0 + 4 * d1 + 1)>
frit.graph @as_strided(%a: tensor<4x4xf32>) -> tensor<3x2xf32> {
  %0 = frit.aten "aten.as_strided.default"(%a) [#frit.operand<0>, [3, 2], [2, 4], 1] {placed, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 1]>]} : (tensor<4x4xf32>) -> tensor<3x2xf32>
  frit.return %0 : tensor<3x2xf32>
}

// -----

// Elements are counted in the order of their places.
// CHECK-LABEL: frit.graph @as_strided_of_permuted
// CHECK-NEXT:    %[[T:.*]] = frit.reindex %arg0 <(d0, d1) -> (d1, d0)>
// CHECK-NEXT:    frit.reshape %[[T]]
// CHECK-NEXT:    <(d0, d1) -> (2 * d0 + 4 * d1 + 1)>
frit.graph @as_strided_of_permuted(%a: tensor<4x4xf32>) -> tensor<3x2xf32> {
  %0 = frit.aten "aten.as_strided.default"(%a) [#frit.operand<0>, [3, 2], [2, 4], 1] {placed, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 4]>]} : (tensor<4x4xf32>) -> tensor<3x2xf32>
  frit.return %0 : tensor<3x2xf32>
}

// -----

// Where the caller's tensor begins in its storage is known at the call.
// CHECK-LABEL: frit.graph @as_strided_of_argument
// CHECK-NEXT:    frit.aten "aten.as_strided.default"
// CHECK-SAME:      reason = "it counts from the start of the caller's storage"
// CHECK-NEXT:    frit.return
frit.graph @as_strided_of_argument(%a: tensor<4x4xf32>) -> tensor<3x2xf32> {
  %0 = frit.aten "aten.as_strided.default"(%a) [#frit.operand<0>, [3, 2], [2, 4], 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 1]>]} : (tensor<4x4xf32>) -> tensor<3x2xf32>
  frit.return %0 : tensor<3x2xf32>
}

// -----

// What no index of the operand says is read by its place.
// CHECK-LABEL: frit.graph @as_strided_with_gaps
// CHECK-NEXT:    frit.alias %arg0 <[8, 1]> seen <[8, 4], offset 1> <f32> : tensor<4x4xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    frit.return
frit.graph @as_strided_with_gaps(%a: tensor<4x4xf32>) -> tensor<3x2xf32> {
  %0 = frit.aten "aten.as_strided.default"(%a) [#frit.operand<0>, [3, 2], [8, 4], 1] {placed, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8, 1]>], result_layouts = [#frit.layout<[8, 4], offset 1>]} : (tensor<4x4xf32>) -> tensor<3x2xf32>
  frit.return %0 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: frit.graph @not_a_permutation
// CHECK-NEXT:    frit.aten "aten.permute.default"
// CHECK-SAME:      reason = "the dims are not a permutation"
// CHECK-NEXT:    frit.return
frit.graph @not_a_permutation(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = frit.aten "aten.permute.default"(%a) [#frit.operand<0>, [0, 0]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  frit.return %0 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: frit.graph @dim_out_of_range
// CHECK-NEXT:    frit.aten "aten.unbind.int"
// CHECK-SAME:      reason = "dimension 5 is out of range for rank 2"
// CHECK-NEXT:    frit.return
frit.graph @dim_out_of_range(%a: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = frit.aten "aten.unbind.int"(%a) [#frit.operand<0>, 5] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  frit.return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
