// RUN: frit-opt %s -canonicalize -split-input-file | FileCheck %s

// Sizes that are constants are constants.
// CHECK-LABEL: @constant_size
// CHECK: %[[C:.*]] = arith.constant 6 : i64
// CHECK: frit.return %[[C]]
frit.graph @constant_size() -> i64 {
  %a = frit.size <2 * 3>
  frit.return %a : i64
}

// -----

// An identity is its operand; one between types that differ is a cast and stays.
// CHECK-LABEL: @identity(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32, #frit.dims<[s0]>>)
// CHECK-NEXT: %[[CAST:.*]] = frit.reindex %[[X]] <(d0) -> (d0)>
// CHECK-NEXT: frit.return %[[X]], %[[CAST]]
frit.graph @identity(%x: tensor<?xf32, #frit.dims<[s0]>>) -> (tensor<?xf32, #frit.dims<[s0]>>, tensor<?xf32, #frit.dims<[s1]>>) {
  %a = frit.reindex %x <(d0) -> (d0)> : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?xf32, #frit.dims<[s0]>>
  %b = frit.reindex %x <(d0) -> (d0)> : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?xf32, #frit.dims<[s1]>>
  frit.return %a, %b : tensor<?xf32, #frit.dims<[s0]>>, tensor<?xf32, #frit.dims<[s1]>>
}

// -----

// permute, slice and broadcast are one map.
// CHECK-LABEL: @compose(
// CHECK-NEXT: frit.reindex %{{.*}} <(d0, d1, d2) -> (d2, 2 * d1 + 1)> : tensor<8x16xf32> -> tensor<3x4x8xf32>
// CHECK-NEXT: frit.return
frit.graph @compose(%x: tensor<8x16xf32>) -> tensor<3x4x8xf32> {
  %a = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<8x16xf32> -> tensor<16x8xf32>
  %b = frit.reindex %a <(d0, d1) -> (2 * d0 + 1, d1)> : tensor<16x8xf32> -> tensor<4x8xf32>
  %c = frit.reindex %b <(d0, d1, d2) -> (d1, d2)> : tensor<4x8xf32> -> tensor<3x4x8xf32>
  frit.return %c : tensor<3x4x8xf32>
}

// -----

// Paddings with one fill are one padding; with two they stay two.
// CHECK-LABEL: @fills(
// CHECK-NEXT: frit.reindex %{{.*}} <(d0) -> (d0 - 3) where [d0 - 1 in 0 to 6, d0 - 3 in 0 to 4]> fill 0.000000e+00 : f32
// CHECK-NEXT: %[[ONE:.*]] = frit.reindex %{{.*}} fill 0.000000e+00 : f32
// CHECK-NEXT: frit.reindex %[[ONE]] <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 6]> fill 1.000000e+00 : f32
frit.graph @fills(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = frit.reindex %x <(d0) -> (d0 - 2) where [d0 - 2 in 0 to 4]> fill 0.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  %b = frit.reindex %a <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 6]> fill 0.0 : f32 : tensor<6xf32> -> tensor<8xf32>
  %c = frit.reindex %x <(d0) -> (d0 - 2) where [d0 - 2 in 0 to 4]> fill 0.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  %d = frit.reindex %c <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 6]> fill 1.0 : f32 : tensor<6xf32> -> tensor<8xf32>
  frit.return %b, %d : tensor<8xf32>, tensor<8xf32>
}

// -----

// A slice that cuts a padding off again leaves nothing of it, whatever the size.
// CHECK-LABEL: @unpad(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: frit.return %[[X]]
frit.graph @unpad(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %a = frit.reindex %x <(d0) -> (d0 - 2) where [d0 - 2 in 0 to s0]> fill 0.0 : f32
       : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?xf32, #frit.dims<[s0 + 4]>>
  %b = frit.reindex %a <(d0) -> (d0 + 2)> : tensor<?xf32, #frit.dims<[s0 + 4]>> -> tensor<?xf32, #frit.dims<[s0]>>
  frit.return %b : tensor<?xf32, #frit.dims<[s0]>>
}

// -----

// One that cuts less keeps the bound.
// CHECK-LABEL: @unpad_less(
// CHECK-NEXT: frit.reindex %{{.*}} <(d0) -> (d0 - 1) where [d0 - 1 in 0 to s0]> fill
frit.graph @unpad_less(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0 + 1]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %a = frit.reindex %x <(d0) -> (d0 - 2) where [d0 - 2 in 0 to s0]> fill 0.0 : f32
       : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?xf32, #frit.dims<[s0 + 4]>>
  %b = frit.reindex %a <(d0) -> (d0 + 1)> : tensor<?xf32, #frit.dims<[s0 + 4]>> -> tensor<?xf32, #frit.dims<[s0 + 1]>>
  frit.return %b : tensor<?xf32, #frit.dims<[s0 + 1]>>
}

// -----

// Ranges simplify what is read: row d0 of a flattened matrix.
// CHECK-LABEL: @divisions(
// CHECK-NEXT: frit.reindex %{{.*}} <(d0, d1) -> (d0, d1)>
frit.graph @divisions(%x: tensor<4x?xf32, #frit.dims<[4, s0]>>) -> tensor<2x?xf32, #frit.dims<[2, s0]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %a = frit.reindex %x <(d0, d1) -> (floordiv(d0 * s0 + d1, s0), mod(d0 * s0 + d1, s0))>
       : tensor<4x?xf32, #frit.dims<[4, s0]>> -> tensor<2x?xf32, #frit.dims<[2, s0]>>
  frit.return %a : tensor<2x?xf32, #frit.dims<[2, s0]>>
}

// -----

// Inverse reshapes cancel; two in a row are one.
// CHECK-LABEL: @reshapes(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[FLAT:.*]] = frit.reshape %[[X]] : tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>> -> tensor<?xf32, #frit.dims<[32 * s0]>>
// CHECK-NEXT: frit.return %[[X]], %[[FLAT]]
frit.graph @reshapes(%x: tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>)
    -> (tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>, tensor<?xf32, #frit.dims<[32 * s0]>>) {
  %a = frit.reshape %x : tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>> -> tensor<?x8xf32, #frit.dims<[4 * s0, 8]>>
  %b = frit.reshape %a : tensor<?x8xf32, #frit.dims<[4 * s0, 8]>> -> tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>
  %c = frit.reshape %a : tensor<?x8xf32, #frit.dims<[4 * s0, 8]>> -> tensor<?xf32, #frit.dims<[32 * s0]>>
  frit.return %b, %c : tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>, tensor<?xf32, #frit.dims<[32 * s0]>>
}

// -----

// Dimensions of size 1 that a broadcast reads through vanish, on either side.
// CHECK-LABEL: @unit_dims(
// CHECK-NEXT: frit.reindex %{{.*}} <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
// CHECK-NEXT: frit.reindex %{{.*}} <(d0, d1, d2) -> (d2, d0)> : tensor<4x8xf32> -> tensor<8x1x4xf32>
// CHECK-NEXT: frit.return
frit.graph @unit_dims(%x: tensor<?xf32, #frit.dims<[s0]>>, %y: tensor<4x8xf32>)
    -> (tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<8x1x4xf32>) {
  %a = frit.reshape %x : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?x1xf32, #frit.dims<[s0, 1]>>
  %b = frit.reindex %a <(d0, d1) -> (d0, 0)> : tensor<?x1xf32, #frit.dims<[s0, 1]>> -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
  %c = frit.reindex %y <(d0, d1) -> (d1, d0)> : tensor<4x8xf32> -> tensor<8x4xf32>
  %d = frit.reshape %c : tensor<8x4xf32> -> tensor<8x1x4xf32>
  frit.return %b, %d : tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<8x1x4xf32>
}

// -----

// A reshape that regroups is not an index map.
// CHECK-LABEL: @regroup(
// CHECK-NEXT: frit.reshape
// CHECK-NEXT: frit.reindex
frit.graph @regroup(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = frit.reshape %x : tensor<4x8xf32> -> tensor<8x4xf32>
  %b = frit.reindex %a <(d0, d1) -> (d1, d0)> : tensor<8x4xf32> -> tensor<4x8xf32>
  frit.return %b : tensor<4x8xf32>
}

// -----

// Views of a constant are its one element; a padding with another value is not one.
// CHECK-LABEL: @splats(
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: frit.reindex %[[ONE]] <(d0, d1) -> ()> : tensor<f32> -> tensor<2x2xf32>
// CHECK: frit.reindex %[[ONE]] <(d0) -> ()> : tensor<f32> -> tensor<6xf32>
// CHECK: frit.reindex %[[ONES]] <(d0) -> (d0 - 1) where
frit.graph @splats() -> (tensor<2x2xf32>, tensor<6xf32>, tensor<6xf32>) {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %a = frit.reshape %c : tensor<4xf32> -> tensor<2x2xf32>
  %b = frit.reindex %c <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 4]> fill 1.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  %d = frit.reindex %c <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 4]> fill 0.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  frit.return %a, %b, %d : tensor<2x2xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// A join of one piece is the piece; empty pieces and nested joins along the same dimension vanish.
// CHECK-LABEL: @joins(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[EMPTY:.*]]: tensor<0xf32>)
// CHECK-NEXT: %[[THREE:.*]] = frit.concat %[[X]], %[[X]], %[[X]] dim 0
// CHECK-NEXT: frit.return %[[X]], %[[X]], %[[THREE]]
frit.graph @joins(%x: tensor<4xf32>, %empty: tensor<0xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<12xf32>) {
  %a = frit.concat %x dim 0 : tensor<4xf32> -> tensor<4xf32>
  %b = frit.concat %empty, %x dim 0 : tensor<0xf32>, tensor<4xf32> -> tensor<4xf32>
  %c = frit.concat %x, %x dim 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  %d = frit.concat %c, %x dim 0 : tensor<8xf32>, tensor<4xf32> -> tensor<12xf32>
  frit.return %a, %b, %d : tensor<4xf32>, tensor<4xf32>, tensor<12xf32>
}

// -----

// A reduction of no dimension is its operand; positions are not.
// CHECK-LABEL: @reductions(
// CHECK-SAME: %[[X:.*]]: tensor<4xi64>)
// CHECK-NEXT: %[[AT:.*]] = frit.reduce <argmax> %[[X]] dims []
// CHECK-NEXT: frit.return %[[X]], %[[AT]]
frit.graph @reductions(%x: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>) {
  %a = frit.reduce <sum> %x dims [] : tensor<4xi64> -> tensor<4xi64>
  %b = frit.reduce <argmax> %x dims [] : tensor<4xi64> -> tensor<4xi64>
  frit.return %a, %b : tensor<4xi64>, tensor<4xi64>
}

// -----

// Pure operators that nobody uses go; random, mutating, asserting and unknown ones stay.
// CHECK-LABEL: @effects(
// CHECK-NEXT: frit.aten "aten.rand_like.default"
// CHECK-NEXT: frit.aten "aten.add_.Tensor"
// CHECK-NEXT: frit.aten "aten._assert_async.default"
// CHECK-NEXT: frit.aten "my.op.default"
// CHECK-NEXT: frit.return
frit.graph @effects(%x: tensor<4xf32>, %t: tensor<i1>) {
  %a = frit.aten "aten.relu.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %b = frit.aten "aten.rand_like.default"(%x) [#frit.operand<0>, unit, unit, unit, unit, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %c = frit.aten "aten.add_.Tensor"(%x) [#frit.operand<0>, 1, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.aten "aten._assert_async.default"(%t) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bool>], result_dtypes = []} : (tensor<i1>) -> ()
  %d = frit.aten "my.op.default"(%x) [#frit.operand<0>] {argument_names = ["x"], operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return
}

// -----

// A function of a constant is a constant, a splat or not, rounded once; that of a value is computed.
// CHECK-LABEL: @functions(
// CHECK-DAG: %[[MANY:.*]] = arith.constant dense<[0.000000e+00, 0x7F800000, 0.693147182]> : tensor<3xf32>
// CHECK-DAG: %[[SAME:.*]] = arith.constant dense<1.2655121234846454> : tensor<8xf64>
// CHECK-NEXT: %[[Y:.*]] = frit.lgamma %arg0
// CHECK-NEXT: frit.return %[[MANY]], %[[SAME]], %[[Y]]
frit.graph @functions(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<8xf64>, tensor<3xf32>) {
  %many = arith.constant dense<[1.0, -2.0, 3.0]> : tensor<3xf32>
  %same = arith.constant dense<-0.5> : tensor<8xf64>
  %a = frit.lgamma %many : tensor<3xf32>
  %b = frit.lgamma %same : tensor<8xf64>
  %c = frit.lgamma %x : tensor<3xf32>
  frit.return %a, %b, %c : tensor<3xf32>, tensor<8xf64>, tensor<3xf32>
}

// -----

// A slice of a concatenation that lies in one piece is a slice of the piece; one that spans two stays.
// CHECK-LABEL: @pieces(
// CHECK-NEXT: %[[ALL:.*]] = frit.concat %arg0, %arg1 dim 0
// CHECK-NEXT: %[[INSIDE:.*]] = frit.reindex %arg1 <(d0) -> (d0 + 1)> : tensor<?xf32, #frit.dims<[s0]>> -> tensor<2xf32>
// CHECK-NEXT: %[[BOTH:.*]] = frit.reindex %[[ALL]] <(d0) -> (d0 + 3)>
// CHECK-NEXT: frit.return %arg0, %[[INSIDE]], %[[BOTH]]
frit.graph @pieces(%x: tensor<4xf32>, %y: tensor<?xf32, #frit.dims<[s0]>>) -> (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) attributes {symbols = [#frit.symbol<"s0", min = 3>]} {
  %all = frit.concat %x, %y dim 0 : tensor<4xf32>, tensor<?xf32, #frit.dims<[s0]>> -> tensor<?xf32, #frit.dims<[s0 + 4]>>
  %a = frit.reindex %all <(d0) -> (d0)> : tensor<?xf32, #frit.dims<[s0 + 4]>> -> tensor<4xf32>
  %b = frit.reindex %all <(d0) -> (d0 + 5)> : tensor<?xf32, #frit.dims<[s0 + 4]>> -> tensor<2xf32>
  %c = frit.reindex %all <(d0) -> (d0 + 3)> : tensor<?xf32, #frit.dims<[s0 + 4]>> -> tensor<2xf32>
  frit.return %a, %b, %c : tensor<4xf32>, tensor<2xf32>, tensor<2xf32>
}
