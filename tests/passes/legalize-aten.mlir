// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Half types are computed in f32; the rounding back may be skipped inside a chain.
// CHECK-LABEL: frit.graph @half_addition_with_broadcast
// CHECK-DAG:     %[[A:.+]] = arith.extf %arg0 : tensor<?x8xbf16
// CHECK-DAG:     %[[B:.+]] = arith.extf %arg1 : tensor<8xbf16> to tensor<8xf32>
// CHECK:         %[[BB:.+]] = frit.reindex %[[B]] <(d0, d1) -> (d1)>
// CHECK:         %[[S:.+]] = arith.addf %[[A]], %[[BB]] fastmath<contract>
// CHECK:         arith.truncf %[[S]] {frit.implicit}
frit.graph @half_addition_with_broadcast(%a: tensor<?x8xbf16, #frit.dims<[s0, 8]>>, %b: tensor<8xbf16>) -> tensor<?x8xbf16, #frit.dims<[s0, 8]>> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.aten "aten.add.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<?x8xbf16, #frit.dims<[s0, 8]>>, tensor<8xbf16>) -> tensor<?x8xbf16, #frit.dims<[s0, 8]>>
  frit.return %0 : tensor<?x8xbf16, #frit.dims<[s0, 8]>>
}

// -----

// A cast the program wrote always rounds.
// CHECK-LABEL: frit.graph @explicit_cast
// CHECK:         arith.truncf %arg0 : tensor<4xf32> to tensor<4xf16>
frit.graph @explicit_cast(%a: tensor<4xf32>) -> tensor<4xf16> {
  %0 = frit.aten "aten._to_copy.default"(%a) [#frit.operand<0>, #frit.dtype<f16>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f16>]} : (tensor<4xf32>) -> tensor<4xf16>
  frit.return %0 : tensor<4xf16>
}

// -----

// The dtype, not the type, says whether a comparison has a sign.
// CHECK-LABEL: frit.graph @unsigned_comparison
// CHECK:         arith.cmpi ult, %arg0, %arg1 : tensor<4xi8>
frit.graph @unsigned_comparison(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi1> {
  %0 = frit.aten "aten.lt.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<u8>, #frit.dtype<u8>], result_dtypes = [#frit.dtype<bool>]} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>
  frit.return %0 : tensor<4xi1>
}

// -----

// An integer over a literal float promotes to the default dtype.
// CHECK-LABEL: frit.graph @scalar_promotes
// CHECK-DAG:     arith.sitofp %arg0 : tensor<4xi32> to tensor<4xf32>
// CHECK-DAG:     arith.constant dense<5.000000e-01> : tensor<f32>
// CHECK:         arith.mulf
frit.graph @scalar_promotes(%a: tensor<4xi32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.mul.Tensor"(%a) [#frit.operand<0>, 0.5] {operand_dtypes = [#frit.dtype<i32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xi32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Integer sums accumulate in i64, bool included.
// CHECK-LABEL: frit.graph @sum_of_bool
// CHECK:         %[[W:.+]] = arith.extui %arg0 : tensor<4x8xi1> to tensor<4x8xi64>
// CHECK:         frit.reduce <sum> %[[W]] dims [1]
frit.graph @sum_of_bool(%a: tensor<4x8xi1>) -> tensor<4xi64> {
  %0 = frit.aten "aten.sum.dim_IntList"(%a) [#frit.operand<0>, [1], false, unit] {operand_dtypes = [#frit.dtype<bool>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4x8xi1>) -> tensor<4xi64>
  frit.return %0 : tensor<4xi64>
}

// -----

// A negative start counts from the end, at a symbolic size too.
// CHECK-LABEL: frit.graph @slice_from_the_end
// CHECK:         frit.reindex %arg0 <(d0) -> (d0 + s0 - 2)>
frit.graph @slice_from_the_end(%a: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<2xf32> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.aten "aten.slice.Tensor"(%a) [#frit.operand<0>, 0, -2, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?xf32, #frit.dims<[s0]>>) -> tensor<2xf32>
  frit.return %0 : tensor<2xf32>
}

// -----

// A gather says which operator's error an index out of range is.
// CHECK-LABEL: frit.graph @errors_of_indexing
// CHECK:         frit.gather {{.*}} check <non_negative> {raises = #frit.index_error<gather>}
// CHECK:         frit.gather {{.*}} check <non_negative> {raises = #frit.index_error<embedding>}
// CHECK:         frit.gather {{.*}} check <non_negative> {raises = #frit.index_error<index_select>}
frit.graph @errors_of_indexing(%a: tensor<4x5xf32>, %i: tensor<3xi64>, %j: tensor<2x5xi64>) -> (tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x3xf32>) {
  %0 = frit.aten "aten.gather.default"(%a, %j) [#frit.operand<0>, 0, #frit.operand<1>, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x5xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  %1 = frit.aten "aten.embedding.default"(%a, %i) [#frit.operand<0>, #frit.operand<1>, -1, false, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<3x5xf32>
  %2 = frit.aten "aten.index_select.default"(%a, %i) [#frit.operand<0>, 1, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  frit.return %0, %1, %2 : tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x3xf32>
}

// -----

// An index tensor between others' places puts its dims in front.
// CHECK-LABEL: frit.graph @index_around_a_slice
// CHECK:         frit.gather %arg0[{{.*}}] <(d0, d1)[v0, v1] -> (v0, d1, v1)> check <wrap>
frit.graph @index_around_a_slice(%a: tensor<4x5x6xf32>, %i: tensor<3xi64>, %j: tensor<3xi64>) -> tensor<3x5xf32> {
  %0 = frit.aten "aten.index.Tensor"(%a, %i, %j) [#frit.operand<0>, [#frit.operand<1>, unit, #frit.operand<2>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x5xf32>
  frit.return %0 : tensor<3x5xf32>
}

// -----

// What has no rule, or no dtype in the vocabulary, or a refused form stays with its reason, and
// nothing of a refused rule is left.
// CHECK-LABEL: frit.graph @stays
// CHECK-NEXT:    frit.aten "aten.mm.default"
// CHECK-SAME:      reason = "a matrix product: a library has the kernel"
// CHECK-NEXT:    frit.aten "aten.index.Tensor"
// CHECK-SAME:      reason = "a mask as an index: its result's size depends on data"
// CHECK-NEXT:    frit.aten "aten.mul.Tensor"
// CHECK-SAME:      reason = "dtype c64 is not in the vocabulary"
// CHECK-NEXT:    frit.return
frit.graph @stays(%a: tensor<4x4xf32>, %m: tensor<4xi1>, %c: tensor<4xcomplex<f32>>) -> (tensor<4x4xf32>, tensor<?x4xf32, #frit.dims<[u0, 4]>>, tensor<4xcomplex<f32>>) attributes {symbols = [#frit.symbol<"u0", min = 0, unbacked>]} {
  %0 = frit.aten "aten.mm.default"(%a, %a) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = frit.aten "aten.index.Tensor"(%a, %m) [#frit.operand<0>, [#frit.operand<1>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<bool>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x4xf32>, tensor<4xi1>) -> tensor<?x4xf32, #frit.dims<[u0, 4]>>
  %2 = frit.aten "aten.mul.Tensor"(%c, %c) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<c64>, #frit.dtype<c64>], result_dtypes = [#frit.dtype<c64>]} : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  frit.return %0, %1, %2 : tensor<4x4xf32>, tensor<?x4xf32, #frit.dims<[u0, 4]>>, tensor<4xcomplex<f32>>
}

// -----

// What clones a tensor to write a part of it writes into the tensor; who still reads the old value is assign-layouts' business.
// CHECK-LABEL: frit.graph @write_at_positions
// CHECK:         frit.aten "aten.index_put_.default"(%arg0, %arg1, %arg2)
// CHECK-SAME:      mutated_operands = array<i64: 0>
// CHECK-SAME:      reason = "a write at positions that data decide: not in the vocabulary", result_dtypes = [#frit.dtype<f32>], result_storage = [unit]
frit.graph @write_at_positions(%x: tensor<8x4xf32>, %i: tensor<2xi64>, %v: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %0 = frit.aten "aten.index_put.default"(%x, %i, %v) [#frit.operand<0>, [#frit.operand<1>], #frit.operand<2>, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  frit.return %0 : tensor<8x4xf32>
}

// -----

// The clone keeps the operand's strides; a result that is promised others stays one.
// CHECK-LABEL: frit.graph @write_to_other_strides
// CHECK:         frit.aten "aten.index_add.default"
frit.graph @write_to_other_strides(%x: tensor<8x4xf32>, %i: tensor<2xi64>, %v: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %0 = frit.aten "aten.index_add.default"(%x, %i, %v) [#frit.operand<0>, 0, #frit.operand<1>, #frit.operand<2>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 8]>, #frit.layout<[1]>, #frit.layout<[4, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4, 1]>]} : (tensor<8x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  frit.return %0 : tensor<8x4xf32>
}
