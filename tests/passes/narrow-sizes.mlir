// RUN: frit-opt %s --frit-narrow-sizes='ranges=s0=9:16;s2=1:8' | FileCheck %s
// RUN: frit-opt %s --frit-narrow-sizes | FileCheck %s --check-prefix=NONE
// RUN: frit-opt %s --frit-narrow-sizes='ranges=s0=9:16' --frit-outline-regions | FileCheck %s --check-prefix=OUTLINED

// Ranges are intersected; hints, divisors and buckets stay, and so do the symbols as they were.
// CHECK-LABEL: frit.graph @sizes
// CHECK-SAME:    frit.wider_symbols = [#frit.symbol<"s0", min = 2, hint = 100, divisor = 2, buckets = [16]>, #frit.symbol<"s2", min = 4, max = 100>]
// CHECK-SAME:    symbols = [#frit.symbol<"s0", min = 9, max = 16, hint = 100, divisor = 2, buckets = [16]>, #frit.symbol<"b0", min = 2, bucket_of = "s0">, #frit.symbol<"s2", min = 4, max = 8>]
// NONE-NOT:    wider_symbols

// A kernel is made for all sizes, and told which it will see.
// OUTLINED-LABEL: frit.kernel
// OUTLINED-SAME:    ranges = [#frit.assume<range, sizes [p0, 9, 16], origin "bucket">]
// OUTLINED-SAME:    symbols = [#frit.symbol<"p0", min = 2, divisor = 2>]
frit.graph @sizes(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>>, %y: tensor<?xf32, #frit.dims<[s2]>>) -> tensor<4xf32>
    attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 100, divisor = 2, buckets = [16]>, #frit.symbol<"b0", min = 2, bucket_of = "s0">,
                           #frit.symbol<"s2", min = 4, max = 100>]} {
  %0 = frit.region(%x) {frit.layouts = [#frit.layout<[1]>]} : (tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<4xf32> {
  ^bb0(%a: tensor<?x4xf32, #frit.dims<[s0, 4]>>):
    %1 = frit.reduce <sum> %a dims [0] : tensor<?x4xf32, #frit.dims<[s0, 4]>> -> tensor<4xf32>
    frit.yield %1 : tensor<4xf32>
  }
  frit.return %0 : tensor<4xf32>
}
