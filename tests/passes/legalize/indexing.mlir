// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Reads at positions that data decide.

// CHECK-LABEL: frit.graph @embedding
// CHECK:         frit.gather %arg0
// CHECK:         <(d0, d1, d2)[v0] -> (v0, d2)>
// CHECK:         check <non_negative>
frit.graph @embedding(%a: tensor<11x7xf32>, %b: tensor<3x4xi64>) -> tensor<3x4x7xf32> {
  %0 = frit.aten "aten.embedding.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, -1, false, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<11x7xf32>, tensor<3x4xi64>) -> tensor<3x4x7xf32>
  frit.return %0 : tensor<3x4x7xf32>
}

// -----

// CHECK-LABEL: frit.graph @narrow_index
// CHECK:         arith.extsi %arg1 : tensor<3xi32> to tensor<3xi64>
// CHECK:         frit.gather
frit.graph @narrow_index(%a: tensor<11x7xf32>, %b: tensor<3xi32>) -> tensor<3x7xf32> {
  %0 = frit.aten "aten.index_select.default"(%a, %b) [#frit.operand<0>, 0, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<11x7xf32>, tensor<3xi32>) -> tensor<3x7xf32>
  frit.return %0 : tensor<3x7xf32>
}

// -----

// An index tensor between others' places puts its dims in front.
// CHECK-LABEL: frit.graph @index_around_a_slice
// CHECK:         <(d0, d1)[v0, v1] -> (v0, d1, v1)> check <wrap>
frit.graph @index_around_a_slice(%a: tensor<4x5x6xf32>, %b: tensor<3xi64>, %c: tensor<3xi64>) -> tensor<3x5xf32> {
  %0 = frit.aten "aten.index.Tensor"(%a, %b, %c) [#frit.operand<0>, [#frit.operand<1>, unit, #frit.operand<2>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x5xf32>
  frit.return %0 : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: frit.graph @mask
// CHECK-NEXT:    frit.aten "aten.index.Tensor"
// CHECK-SAME:      reason = "a mask as an index: its result's size depends on data"
// CHECK-NEXT:    frit.return
frit.graph @mask(%a: tensor<4xf32>, %b: tensor<4xi1>) -> tensor<?xf32, #frit.dims<[u0]>> attributes {symbols = [#frit.symbol<"u0", min = 0, unbacked>]} {
  %0 = frit.aten "aten.index.Tensor"(%a, %b) [#frit.operand<0>, [#frit.operand<1>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<bool>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xi1>) -> tensor<?xf32, #frit.dims<[u0]>>
  frit.return %0 : tensor<?xf32, #frit.dims<[u0]>>
}

// -----

// CHECK-LABEL: frit.graph @gather_of_a_scalar
// CHECK-NEXT:    frit.aten "aten.gather.default"
// CHECK-SAME:      reason = "a gather of a scalar"
// CHECK-NEXT:    frit.return
frit.graph @gather_of_a_scalar(%a: tensor<f32>, %b: tensor<i64>) -> tensor<f32> {
  %0 = frit.aten "aten.gather.default"(%a, %b) [#frit.operand<0>, 0, #frit.operand<1>, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<f32>, tensor<i64>) -> tensor<f32>
  frit.return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: frit.graph @slice_that_defines_its_size
// CHECK:         frit.aten "aten.slice.Tensor"
// CHECK-SAME:      reason = "its result defines the size u1"
frit.graph @slice_that_defines_its_size(%a: tensor<8xf32>, %n: i64) -> tensor<?xf32, #frit.dims<[u1]>> attributes {symbols = [#frit.symbol<"u0", unbacked>, #frit.symbol<"u1", min = 0, max = 8, unbacked>]} {
  frit.bind "u0" = %n : i64
  %0 = frit.aten "aten.slice.Tensor"(%a, %n) [#frit.operand<0>, 0, 0, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>, i64) -> tensor<?xf32, #frit.dims<[u1]>>
  frit.bind "u1" = %0 dim 0 : tensor<?xf32, #frit.dims<[u1]>>
  frit.return %0 : tensor<?xf32, #frit.dims<[u1]>>
}
