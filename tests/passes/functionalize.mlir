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

// -----

// One piece of several: where it begins is what the pieces before it take.
// CHECK-LABEL: frit.graph @write_to_a_piece
// CHECK:         %[[P:.+]]:2 = frit.aten "aten.split_with_sizes.default"(%arg0, %arg1)
// CHECK:         %[[E:.+]] = frit.aten "aten.exp.default"(%[[P]]#1)
// CHECK:         %[[S:.+]] = frit.size <s0>
// CHECK:         %[[T:.+]] = frit.size <s0 + 3>
// CHECK:         %[[N:.+]] = frit.aten "aten.slice_scatter.default"(%arg0, %[[E]], %[[S]], %[[T]]) [#frit.operand<0>, #frit.operand<1>, 0, #frit.operand<2>, #frit.operand<3>, 1]
// CHECK:         frit.store %[[N]] into %arg0
frit.graph @write_to_a_piece(%x: tensor<?x8xf32, #frit.dims<[s0 + 3, 8]>>, %n: i64 {frit.size = #frit.size<s0>}) attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %a, %b = frit.aten "aten.split_with_sizes.default"(%x, %n) [#frit.operand<0>, [#frit.operand<1>, 3], -2] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>]} : (tensor<?x8xf32, #frit.dims<[s0 + 3, 8]>>, i64) -> (tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<3x8xf32>)
  %w = frit.aten "aten.exp_.default"(%b) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3x8xf32>) -> tensor<3x8xf32>
  frit.return
}

// -----

// A cast to another dtype is a copy; a reshape of what is contiguous is a view; dropout in eval is its operand.
// CHECK-LABEL: frit.graph @copies_and_views
// CHECK:         %[[C:.+]] = frit.aten "aten.to.dtype"(%arg0)
// CHECK:         %[[D:.+]] = frit.aten "aten.dropout.default"(%arg0)
// CHECK:         %[[R:.+]] = frit.aten "aten.relu.default"(%[[D]])
// CHECK:         %[[X:.+]] = frit.aten "aten.view.default"(%[[R]])
// CHECK:         %[[V:.+]] = frit.aten "aten.reshape.default"(%arg0)
// CHECK:         frit.store %[[X]] into %arg0
// CHECK:         frit.return %[[C]], %[[V]]
frit.graph @copies_and_views(%x: tensor<4x8xf32>) -> (tensor<4x8xf64>, tensor<32xf32>) {
  %c = frit.aten "aten.to.dtype"(%x) [#frit.operand<0>, #frit.dtype<f64>, false, false, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f64>]} : (tensor<4x8xf32>) -> tensor<4x8xf64>
  %v = frit.aten "aten.reshape.default"(%x) [#frit.operand<0>, [32]] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8, 1]>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<32xf32>
  %d = frit.aten "aten.dropout.default"(%x) [#frit.operand<0>, 0.5, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = frit.aten "aten.relu_.default"(%d) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %c, %v : tensor<4x8xf64>, tensor<32xf32>
}

// -----

// What only looks otherwise from then on is a view.
// CHECK-LABEL: frit.graph @in_place_view
// CHECK:         %[[U:.+]] = frit.aten "aten.unsqueeze.default"(%arg0)
// CHECK:         %[[R:.+]] = frit.aten "aten.relu.default"(%[[U]])
// CHECK:         %[[N:.+]] = frit.aten "aten.view.default"(%[[R]])
// CHECK:         frit.store %[[N]] into %arg0
frit.graph @in_place_view(%x: tensor<4xf32>) {
  %u = frit.aten "aten.unsqueeze_.default"(%x) [#frit.operand<0>, 0] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<1x4xf32>
  %w = frit.aten "aten.relu_.default"(%u) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  frit.return
}

// -----

// Batch normalisation in training writes its running statistics, whatever its schema says; in eval it does not.
// CHECK-LABEL: frit.graph @batch_norm
// CHECK:         frit.aten "aten.batch_norm.default"
// CHECK:         %[[N:.+]]:5 = frit.aten "aten._native_batch_norm_legit_functional.default"(%arg0, %arg1, %arg2) [#frit.operand<0>, unit, unit, #frit.operand<1>, #frit.operand<2>, true, 1.000000e-01, 1.000000e-05]
// CHECK-SAME:    result_layouts = [#frit.layout<[12, 4, 1]>, #frit.layout<[1]>, #frit.layout<[1]>, #frit.layout<[1]>, #frit.layout<[1]>]
// CHECK:         %[[A:.+]] = frit.aten "aten.neg.default"(%[[N]]#3)
// CHECK:         frit.store %[[N]]#3 into %arg1
// CHECK:         frit.store %[[N]]#4 into %arg2
// CHECK:         frit.return %[[N]]#0, %[[A]]
frit.graph @batch_norm(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>) {
  %e = frit.aten "aten.batch_norm.default"(%x, %mean, %var) [#frit.operand<0>, unit, unit, #frit.operand<1>, #frit.operand<2>, false, 0.1, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %y = frit.aten "aten.batch_norm.default"(%x, %mean, %var) [#frit.operand<0>, unit, unit, #frit.operand<1>, #frit.operand<2>, true, 0.1, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[12, 4, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[12, 4, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %a = frit.aten "aten.neg.default"(%mean) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3xf32>) -> tensor<3xf32>
  frit.return %y, %a : tensor<2x3x4xf32>, tensor<3xf32>
}
