// RUN: frit-opt %s --frit-materialize-padding=gpu --split-input-file | FileCheck %s
// RUN: frit-opt %s --frit-materialize-padding --split-input-file | FileCheck %s --check-prefix=CPU
// RUN: frit-opt %s "--frit-materialize-padding=gpu fixed-sizes" --split-input-file | FileCheck %s --check-prefix=FIXED

// CPU-NOT: frit.pad

// Half types, rows of both matrices along the unaligned sizes: 1021 and 1023 become multiples of 8; the rows of the left do not count.
// CHECK-LABEL: frit.graph @large_halves
// CHECK:         (tensor<1001x1024xf16>, tensor<1024x1024xf16>) -> tensor<1001x1024xf16>
frit.graph @large_halves(%a: tensor<1001x1021xf16>, %b: tensor<1021x1023xf16>) -> tensor<1001x1023xf16> {
  %0 = frit.aten "aten.mm.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f16>, #frit.dtype<f16>], operand_layouts = [#frit.layout<[1021, 1]>, #frit.layout<[1023, 1]>], result_dtypes = [#frit.dtype<f16>]} : (tensor<1001x1021xf16>, tensor<1021x1023xf16>) -> tensor<1001x1023xf16>
  frit.return %0 : tensor<1001x1023xf16>
}

// -----

// The copies would take longer.
// CHECK-LABEL: frit.graph @small_halves
// CHECK-SAME:    frit.padding_refused = [{op = "aten.mm.default", why = "copies cost more than aligned sizes gain"}]
// CHECK-NOT:     frit.pad %
frit.graph @small_halves(%a: tensor<9x9xbf16>, %b: tensor<9x9xbf16>) -> tensor<9x9xbf16> {
  %0 = frit.aten "aten.mm.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<9x9xbf16>, tensor<9x9xbf16>) -> tensor<9x9xbf16>
  frit.return %0 : tensor<9x9xbf16>
}

// -----

// f32 gains nothing from alignment, but a graph of fixed sizes needs the bucket.
// CHECK-LABEL: frit.graph @bucketed
// CHECK-NOT:     frit.pad %
// FIXED-LABEL: frit.graph @bucketed
// FIXED:         frit.pad %arg0 : {{.*}} -> tensor<?x9xf32, #frit.dims<[b0, 9]>>
frit.graph @bucketed(%a: tensor<?x9xf32, #frit.dims<[s0, 9]>>, %b: tensor<9x9xf32>) -> tensor<?x9xf32, #frit.dims<[s0, 9]>> attributes {symbols = [#frit.symbol<"s0", min = 2, buckets = [8, 16]>, #frit.symbol<"b0", min = 2, bucket_of = "s0">]} {
  %0 = frit.aten "aten.mm.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x9xf32, #frit.dims<[s0, 9]>>, tensor<9x9xf32>) -> tensor<?x9xf32, #frit.dims<[s0, 9]>>
  frit.return %0 : tensor<?x9xf32, #frit.dims<[s0, 9]>>
}
