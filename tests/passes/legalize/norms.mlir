// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Normalisation, softmax and losses.

// CHECK-LABEL: frit.graph @layer_norm
// CHECK:         frit.reduce <sum> %arg0 dims [1]
// CHECK:         frit.reduce <sum>
// CHECK:         math.rsqrt
frit.graph @layer_norm(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
  %0:3 = frit.aten "aten.native_layer_norm.default"(%a, %b, %c) [#frit.operand<0>, [8], #frit.operand<1>, #frit.operand<2>, 1.0e-05] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  frit.return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}

// -----

// CHECK-LABEL: frit.graph @softmax
// CHECK:         frit.reduce <max>
// CHECK:         math.exp
// CHECK:         frit.reduce <sum>
// CHECK:         arith.divf
frit.graph @softmax(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten._softmax.default"(%a) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @log_softmax_backward
// CHECK:         math.exp %arg1
// CHECK:         frit.reduce <sum> %arg0
// CHECK:         arith.subf %arg0
frit.graph @log_softmax_backward(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten._log_softmax_backward_data.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1, #frit.dtype<f32>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// A row to be ignored reads class 0 and weighs nothing.
// CHECK-LABEL: frit.graph @nll_loss
// CHECK:         arith.cmpi ne, %arg1
// CHECK:         arith.select
// CHECK:         frit.gather %arg0
// CHECK:         frit.reduce <sum>
frit.graph @nll_loss(%a: tensor<4x8xf32>, %b: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = frit.aten "aten.nll_loss_forward.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, unit, 1, -100] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>)
  frit.return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// -----

// CHECK-LABEL: frit.graph @empty_statistics
// CHECK-NEXT:    frit.aten "aten.native_layer_norm.default"
// CHECK-SAME:      reason = "statistics over no elements"
// CHECK-NEXT:    frit.return
frit.graph @empty_statistics(%a: tensor<4x0xf32>) -> (tensor<4x0xf32>, tensor<4x1xf32>, tensor<4x1xf32>) {
  %0:3 = frit.aten "aten.native_layer_norm.default"(%a) [#frit.operand<0>, [0], unit, unit, 1.0e-05] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<4x0xf32>) -> (tensor<4x0xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  frit.return %0#0, %0#1, %0#2 : tensor<4x0xf32>, tensor<4x1xf32>, tensor<4x1xf32>
}

// -----

// CHECK-LABEL: frit.graph @group_norm_of_unknown_channels
// CHECK-NEXT:    frit.aten "aten.native_group_norm.default"
// CHECK-SAME:      reason = "channels are not provably divisible by the groups"
// CHECK-NEXT:    frit.return
frit.graph @group_norm_of_unknown_channels(%a: tensor<2x4x9xf32>) -> (tensor<2x4x9xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0:3 = frit.aten "aten.native_group_norm.default"(%a) [#frit.operand<0>, unit, unit, 2, 4, 9, 3, 1.0e-05] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<2x4x9xf32>) -> (tensor<2x4x9xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  frit.return %0#0, %0#1, %0#2 : tensor<2x4x9xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
