// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s
// RUN: frit-opt %s --frit-legalize-aten=gpu --split-input-file | FileCheck %s --check-prefix=GPU

// What is widened before, what is rounded after, what may be empty.

// CHECK-LABEL: frit.graph @sum_of_half
// CHECK:         arith.extf
// CHECK:         frit.reduce <sum>
// CHECK:         arith.truncf
frit.graph @sum_of_half(%a: tensor<4x8xbf16>) -> tensor<4xbf16> {
  %0 = frit.aten "aten.sum.dim_IntList"(%a) [#frit.operand<0>, [1], false, unit] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4x8xbf16>) -> tensor<4xbf16>
  frit.return %0 : tensor<4xbf16>
}

// -----

// Integer sums accumulate in i64.
// CHECK-LABEL: frit.graph @sum_of_bool
// CHECK:         arith.extui %arg0 : tensor<4x8xi1> to tensor<4x8xi64>
// CHECK:         frit.reduce <sum>
frit.graph @sum_of_bool(%a: tensor<4x8xi1>) -> tensor<i64> {
  %0 = frit.aten "aten.sum.default"(%a) [#frit.operand<0>, unit] {operand_dtypes = [#frit.dtype<bool>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4x8xi1>) -> tensor<i64>
  frit.return %0 : tensor<i64>
}

// -----

// CHECK-LABEL: frit.graph @max_of_bytes
// CHECK:         frit.reduce <max> %arg0 dims [1] unsigned
frit.graph @max_of_bytes(%a: tensor<4x8xi8>) -> tensor<4xi8> {
  %0 = frit.aten "aten.amax.default"(%a) [#frit.operand<0>, [1], false] {operand_dtypes = [#frit.dtype<u8>], result_dtypes = [#frit.dtype<u8>]} : (tensor<4x8xi8>) -> tensor<4xi8>
  frit.return %0 : tensor<4xi8>
}

// -----

// CHECK-LABEL: frit.graph @max_with_index
// CHECK:         frit.reduce <max>
// CHECK:         frit.reduce <argmax>
frit.graph @max_with_index(%a: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x1xi64>) {
  %0:2 = frit.aten "aten.max.dim"(%a) [#frit.operand<0>, 1, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>]} : (tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x1xi64>)
  frit.return %0#0, %0#1 : tensor<4x1xf32>, tensor<4x1xi64>
}

// -----

// Two sweeps: the mean, then the squares about it.
// CHECK-LABEL: frit.graph @variance
// CHECK:         frit.reduce <sum> %arg0
// CHECK:         arith.divf
// CHECK:         arith.subf %arg0
// CHECK:         arith.mulf
// CHECK:         frit.reduce <sum>
// CHECK:         arith.constant dense<7.000000e+00>
frit.graph @variance(%a: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.var.correction"(%a) [#frit.operand<0>, [1], 1, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// ATen accumulates in f64 on CPUs: what is squared is scaled by a power of two where the squares themselves are too large or too small. Not on GPUs.
// CHECK-LABEL: frit.graph @deviation
// CHECK:         %[[ALL:.*]] = arith.mulf %{{.*}}, %{{.*}}
// CHECK:         %[[SUM:.*]] = frit.reduce <sum> %[[ALL]]
// CHECK:         %[[ROW:.*]] = frit.reindex %[[SUM]]
// CHECK:         arith.cmpf ogt, %[[ROW]]
// CHECK:         arith.cmpf olt, %[[ROW]]
// CHECK-COUNT-2: arith.select
// CHECK:         arith.divf
// CHECK:         %[[SCALED:.*]] = arith.mulf
// CHECK-NEXT:    %[[SQUARE:.*]] = arith.mulf %[[SCALED]], %[[SCALED]]
// CHECK-NEXT:    frit.reduce <sum> %[[SQUARE]]
// CHECK:         math.sqrt
// CHECK-NEXT:    arith.mulf
// GPU-LABEL: frit.graph @deviation
// GPU-NOT:     arith.select
// GPU:         math.sqrt
// GPU-NOT:     arith.mulf
// GPU:         frit.return
frit.graph @deviation(%a: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.std.correction"(%a) [#frit.operand<0>, [1], 1, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// Eager raises on an empty extent.
// CHECK-LABEL: frit.graph @maybe_empty
// CHECK-NEXT:    frit.aten "aten.amax.default"
// CHECK-SAME:      reason = "the reduced extent may be empty"
// CHECK-NEXT:    frit.return
frit.graph @maybe_empty(%a: tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> tensor<8xf32> attributes {symbols = [#frit.symbol<"s0", min = 0>]} {
  %0 = frit.aten "aten.amax.default"(%a) [#frit.operand<0>, [0], false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

// Scans are kernels on GPUs only.
// GPU-LABEL: frit.graph @scan
// GPU-NEXT:    %[[S:.*]] = frit.scan <sum> %{{.*}} dim 0 : tensor<8xf32>
// GPU-NEXT:    frit.return %[[S]]
// CHECK-LABEL: frit.graph @scan
// CHECK-NEXT:    frit.aten "aten.cumsum.default"
// CHECK-SAME:      reason = "a scan: not in the vocabulary"
// CHECK-NEXT:    frit.return
frit.graph @scan(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = frit.aten "aten.cumsum.default"(%a) [#frit.operand<0>, 0, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: frit.graph @sort
// CHECK-NEXT:    frit.aten "aten.sort.default"
// CHECK-SAME:      reason = "a sort or a search: not in the vocabulary"
// CHECK-NEXT:    frit.return
frit.graph @sort(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>) {
  %0:2 = frit.aten "aten.sort.default"(%a) [#frit.operand<0>, 0, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>]} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>)
  frit.return %0#0, %0#1 : tensor<8xf32>, tensor<8xi64>
}
