// RUN: frit-opt %s --frit-materialize-padding=mode=force --split-input-file | FileCheck %s
// RUN: frit-opt %s --frit-materialize-padding=mode=off --split-input-file | FileCheck %s --check-prefix=OFF
// RUN: frit-opt %s --frit-materialize-padding=mode=force --frit-lower-padding --split-input-file | FileCheck %s --check-prefix=LOW

// OFF-NOT: frit.pad

// Zeros on both sides of the summed dimension; the rows are cut back by a view.
// CHECK-LABEL: frit.graph @product
// CHECK-SAME:    frit.padding = [{op = "aten.mm.default", padded = "8 x 8 x 8 * floordiv(s0 + 7, 8)", sizes = "6 x 8 x s0", waste = {{.*}}, why = "multiples"}]
// CHECK-DAG:     %[[A:.+]] = frit.pad %arg0 fill 0.000000e+00 : f32 : {{.*}} -> tensor<?x8xf32, #frit.dims<[8 * floordiv(s0 + 7, 8), 8]>>
// CHECK-DAG:     %[[B:.+]] = frit.pad %arg1 fill 0.000000e+00 : f32 : tensor<6x8xf32> -> tensor<8x8xf32>
// CHECK:         %[[R:.+]] = frit.aten "aten.mm.default"(%[[A]], %[[B]]) {{.*}}padded
// CHECK:         %[[U:.+]] = frit.unpad %[[R]]
// CHECK:         frit.return %[[U]]
// LOW-LABEL: frit.graph @product
// LOW-DAG:     frit.reindex %arg0 <(d0, d1) -> (d0, d1) where [d0 in 0 to s0, d1 in 0 to 6]> fill 0.000000e+00 : f32
// LOW-DAG:     frit.reindex %arg1 <(d0, d1) -> (d0, d1) where [d0 in 0 to 6]> fill 0.000000e+00 : f32
// LOW:         %[[R:.+]] = frit.aten
// LOW:         frit.reindex %[[R]] <(d0, d1) -> (d0, d1)> : {{.*}} -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
frit.graph @product(%a: tensor<?x6xf32, #frit.dims<[s0, 6]>>, %b: tensor<6x8xf32>) -> tensor<?x8xf32, #frit.dims<[s0, 8]>> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.aten "aten.mm.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x6xf32, #frit.dims<[s0, 6]>>, tensor<6x8xf32>) -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
  frit.return %0 : tensor<?x8xf32, #frit.dims<[s0, 8]>>
}

// -----

// A slice that begins at 0 has the map of a permutation: what it leaves out is no padding.
// CHECK-LABEL: frit.graph @slice
// CHECK:         %[[S:.+]] = frit.reindex %arg0
// CHECK:         frit.pad %[[S]] fill 0.000000e+00 : f32 : tensor<3x3xf32> -> tensor<8x8xf32>
// LOW-LABEL: frit.graph @slice
frit.graph @slice(%a: tensor<3x6xf32>, %b: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = frit.reindex %a <(d0, d1) -> (d0, d1)> : tensor<3x6xf32> -> tensor<3x3xf32>
  %1 = frit.aten "aten.mm.default"(%0, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3x3xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  frit.return %1 : tensor<3x8xf32>
}

// -----

// Rows may hold anything: between two calls everything runs on the bucket, and nothing is filled again.
// CHECK-LABEL: frit.graph @rows_stay_padded
// CHECK-SAME:    padded = "8 x 16 x b0"{{.*}}waste = 6.25{{.*}}why = "bucket"
// CHECK:         %[[A:.+]] = frit.pad %arg0 : {{.*}} -> tensor<?x8xf32, #frit.dims<[b0, 8]>>
// CHECK-NEXT:    %[[P:.+]] = frit.aten "aten.mm.default"(%[[A]], %arg1)
// CHECK-NEXT:    %[[B:.+]] = frit.reindex %arg3 <(d0, d1) -> (d1)> : tensor<16xf32> -> tensor<?x16xf32, #frit.dims<[b0, 16]>>
// CHECK-NEXT:    %[[S:.+]] = arith.addf %[[P]], %[[B]]
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[S]]
// CHECK-NEXT:    %[[Q:.+]] = frit.aten "aten.mm.default"(%[[E]], %arg2)
// CHECK-NEXT:    frit.unpad %[[Q]]
frit.graph @rows_stay_padded(%x: tensor<?x8xf32, #frit.dims<[s0, 8]>>, %w: tensor<8x16xf32>, %v: tensor<16x8xf32>, %b: tensor<16xf32>) -> tensor<?x8xf32, #frit.dims<[s0, 8]>> attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 128, buckets = [8, 136]>, #frit.symbol<"b0", min = 2, divisor = 8, bucket_of = "s0">]} {
  %0 = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #frit.dims<[s0, 16]>>
  %bb = frit.reindex %b <(d0, d1) -> (d1)> : tensor<16xf32> -> tensor<?x16xf32, #frit.dims<[s0, 16]>>
  %1 = arith.addf %0, %bb : tensor<?x16xf32, #frit.dims<[s0, 16]>>
  %2 = math.exp %1 : tensor<?x16xf32, #frit.dims<[s0, 16]>>
  %3 = frit.aten "aten.mm.default"(%2, %v) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x16xf32, #frit.dims<[s0, 16]>>, tensor<16x8xf32>) -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
  frit.return %3 : tensor<?x8xf32, #frit.dims<[s0, 8]>>
}

// -----

// Columns become the summed dimension of the next call: junk there, so zeros are filled in.
// CHECK-LABEL: frit.graph @columns_are_filled_again
// CHECK:         %[[P:.+]] = frit.aten "aten.mm.default"
// CHECK:         %[[U:.+]] = frit.unpad %[[P]]
// CHECK:         %[[E:.+]] = math.exp %[[U]]
// CHECK:         %[[F:.+]] = frit.pad %[[E]] fill 0.000000e+00 : f32
// CHECK:         frit.aten "aten.mm.default"(%[[F]],
frit.graph @columns_are_filled_again(%x: tensor<8x8xf32>, %w: tensor<8x10xf32>, %v: tensor<10x8xf32>) -> tensor<8x8xf32> {
  %0 = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x8xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %1 = math.exp %0 : tensor<8x10xf32>
  %2 = frit.aten "aten.mm.default"(%1, %v) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x10xf32>, tensor<10x8xf32>) -> tensor<8x8xf32>
  frit.return %2 : tensor<8x8xf32>
}

// -----

// One pad serves a product and its weight gradient: a permutation carries its lanes.
// CHECK-LABEL: frit.graph @one_pad_for_both_orders
// CHECK-COUNT-1: frit.pad %arg0 fill 0.000000e+00
// CHECK-NOT:     frit.pad %arg0
// CHECK:         frit.reindex %{{.*}} <(d0, d1) -> (d1, d0)> : {{.*}} -> tensor<8x?xf32, #frit.dims<[8, 8 * floordiv(s0 + 7, 8)]>>
frit.graph @one_pad_for_both_orders(%x: tensor<?x8xf32, #frit.dims<[s0, 8]>>, %w: tensor<8x8xf32>) -> (tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<8x8xf32>) attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<8x8xf32>) -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
  %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<?x8xf32, #frit.dims<[s0, 8]>> -> tensor<8x?xf32, #frit.dims<[8, s0]>>
  %1 = frit.aten "aten.mm.default"(%t, %x) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x?xf32, #frit.dims<[8, s0]>>, tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> tensor<8x8xf32>
  frit.return %0, %1 : tensor<?x8xf32, #frit.dims<[s0, 8]>>, tensor<8x8xf32>
}

// -----

// addmm: the addend is padded along what it has, a size 1 stays.
// CHECK-LABEL: frit.graph @addend
// CHECK-DAG:     %[[C:.+]] = frit.pad %arg0 : tensor<5xf32> -> tensor<8xf32>
// CHECK:         frit.aten "aten.addmm.default"(%[[C]], {{.*}}(tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK:         frit.aten "aten.bmm.default"{{.*}}(tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
// CHECK:         frit.aten "aten.baddbmm.default"{{.*}}(tensor<1x8x1xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
// CHECK:         frit.aten "aten.linear.default"{{.*}}(tensor<3x8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<3x8x8xf32>
frit.graph @addend(%c: tensor<5xf32>, %a: tensor<6x7xf32>, %b: tensor<7x5xf32>, %x: tensor<3x6x7xf32>, %y: tensor<3x7x5xf32>, %z: tensor<1x6x1xf32>, %w: tensor<5x7xf32>)
    -> (tensor<6x5xf32>, tensor<3x6x5xf32>, tensor<3x6x5xf32>, tensor<3x6x5xf32>) {
  %0 = frit.aten "aten.addmm.default"(%c, %a, %b) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, 1, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<5xf32>, tensor<6x7xf32>, tensor<7x5xf32>) -> tensor<6x5xf32>
  %1 = frit.aten "aten.bmm.default"(%x, %y) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3x6x7xf32>, tensor<3x7x5xf32>) -> tensor<3x6x5xf32>
  %2 = frit.aten "aten.baddbmm.default"(%z, %x, %y) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, 1, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1x6x1xf32>, tensor<3x6x7xf32>, tensor<3x7x5xf32>) -> tensor<3x6x5xf32>
  %3 = frit.aten "aten.linear.default"(%x, %w, %c) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3x6x7xf32>, tensor<5x7xf32>, tensor<5xf32>) -> tensor<3x6x5xf32>
  frit.return %0, %1, %2, %3 : tensor<6x5xf32>, tensor<3x6x5xf32>, tensor<3x6x5xf32>, tensor<3x6x5xf32>
}

// -----

// An integer division would raise in a lane of zeros: it keeps the logical size.
// CHECK-LABEL: frit.graph @divisions_stay_logical
// CHECK:         %[[U:.+]] = frit.unpad
// CHECK:         %[[D:.+]] = arith.divsi %[[U]], %arg2 : tensor<5x8xi64>
// CHECK:         frit.pad %[[D]] : tensor<5x8xi64> -> tensor<8x8xi64>
frit.graph @divisions_stay_logical(%a: tensor<5x8xi64>, %b: tensor<8x8xi64>, %c: tensor<5x8xi64>) -> tensor<5x8xi64> {
  %0 = frit.aten "aten.mm.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<i64>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<5x8xi64>, tensor<8x8xi64>) -> tensor<5x8xi64>
  %1 = arith.divsi %0, %c : tensor<5x8xi64>
  %2 = frit.aten "aten.mm.default"(%1, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<i64>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<5x8xi64>, tensor<8x8xi64>) -> tensor<5x8xi64>
  frit.return %2 : tensor<5x8xi64>
}

// -----

// Refused by name, and left as they are.
// CHECK-LABEL: frit.graph @refused
// CHECK-SAME:    frit.padding_refused = [{op = "aten.sort.default", why = "no rule says what it does with padding"}, {op = "aten.mm.default", why = "sizes s0 and s1 are not provably equal"}, {op = "aten.mm.default", why = "no fill for its element type"}]
// CHECK-NOT:     frit.pad %
frit.graph @refused(%x: tensor<5xf32>, %a: tensor<4x?xf32, #frit.dims<[4, s0]>>, %b: tensor<?x4xf32, #frit.dims<[s1, 4]>>, %c: tensor<3x3xcomplex<f32>>)
    -> (tensor<5xf32>, tensor<4x4xf32>, tensor<3x3xcomplex<f32>>) attributes {symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2>]} {
  %0:2 = frit.aten "aten.sort.default"(%x) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>]} : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xi64>)
  %1 = frit.aten "aten.mm.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x?xf32, #frit.dims<[4, s0]>>, tensor<?x4xf32, #frit.dims<[s1, 4]>>) -> tensor<4x4xf32>
  %2 = frit.aten "aten.mm.default"(%c, %c) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<c64>, #frit.dtype<c64>], result_dtypes = [#frit.dtype<c64>]} : (tensor<3x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  frit.return %0#0, %1, %2 : tensor<5xf32>, tensor<4x4xf32>, tensor<3x3xcomplex<f32>>
}
