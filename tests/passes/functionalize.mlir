// RUN: frit-opt %s --frit-functionalize --split-input-file | FileCheck %s

// CHECK-LABEL: frit.graph @write_through_a_view
// CHECK:         %[[V:.+]] = frit.aten "aten.select.int"(%arg0)
// CHECK:         %[[W:.+]] = frit.aten "aten.add.Tensor"(%[[V]], %arg1)
// CHECK:         %[[N:.+]] = frit.aten "aten.select_scatter.default"(%arg0, %[[W]]) [#frit.operand<0>, #frit.operand<1>, 0, 1]
// CHECK:         %[[U:.+]] = frit.aten "aten.neg.default"(%[[N]])
// CHECK:         frit.store %[[N]] into %arg0
// CHECK:         frit.return %[[U]]
frit.graph @write_through_a_view(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %v = frit.aten "aten.select.int"(%x) [#frit.operand<0>, 0, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<8xf32>
  %w = frit.aten "aten.add_.Tensor"(%v, %y) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %u = frit.aten "aten.neg.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %u : tensor<4x8xf32>
}

// -----

// A view taken before the write is taken again after it; a fresh tensor is not stored.
// CHECK-LABEL: frit.graph @old_view_sees_the_write
// CHECK:         %[[C:.+]] = frit.aten "aten.clone.default"
// CHECK:         %[[R:.+]] = frit.aten "aten.relu.default"(%[[C]])
// CHECK:         %[[T:.+]] = frit.aten "aten.t.default"(%[[R]])
// CHECK-NOT:     frit.store
// CHECK:         frit.return %[[T]]
frit.graph @old_view_sees_the_write(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %c = frit.aten "aten.clone.default"(%x) [#frit.operand<0>, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = frit.aten "aten.t.default"(%c) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = frit.aten "aten.relu_.default"(%c) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %t : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: frit.graph @functional_graphs_stay
// CHECK-NEXT:    frit.aten "aten.neg.default"
// CHECK-NEXT:    frit.return
frit.graph @functional_graphs_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %u = frit.aten "aten.neg.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %u : tensor<4xf32>
}
