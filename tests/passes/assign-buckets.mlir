// RUN: frit-opt %s --split-input-file --frit-assign-buckets | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: frit-opt %s --split-input-file --frit-assign-buckets='policy=ramp' | FileCheck %s --check-prefixes=CHECK,RAMP
// RUN: frit-opt %s --split-input-file --frit-assign-buckets='policy=off' | FileCheck %s --check-prefix=OFF
// RUN: frit-opt %s --split-input-file --frit-assign-buckets='policy=off buckets=%%s0=8,32,64' | FileCheck %s --check-prefix=LIST

// A ramp from the least size to the declared maximum; the bucket's own range and hint follow.
// CHECK-LABEL: frit.graph @declared
// AUTO-SAME: frit.bucketed = [{asked = false, bucket = "b0", names = ["x[0]", "y[1]"], policy = "ramp", symbol = "s0"}]
// RAMP-SAME: frit.bucketed = [{asked = true, bucket = "b0", names = ["x[0]", "y[1]"], policy = "ramp", symbol = "s0"}]
// CHECK-SAME: symbols = [#frit.symbol<"s0", min = 2, max = 60, hint = 17, buckets = [2, 4, 8, 16, 32, 60]>, #frit.symbol<"b0", min = 2, max = 60, hint = 32, bucket_of = "s0">]
// OFF-LABEL: frit.graph @declared
// OFF-SAME: symbols = [#frit.symbol<"s0", min = 2, max = 60, hint = 17>]
// A list is clipped to the declared maximum.
// LIST-LABEL: frit.graph @declared
// LIST-SAME: policy = "list"
// LIST-SAME: buckets = [8, 32, 60]>
frit.graph @declared(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>> {frit.name = "x"}, %y: tensor<4x?xf32, #frit.dims<[4, s0]>> {frit.name = "y"})
    -> tensor<?x4xf32, #frit.dims<[s0, 4]>> attributes {symbols = [#frit.symbol<"s0", min = 2, max = 60, hint = 17>]} {
  frit.return %x : tensor<?x4xf32, #frit.dims<[s0, 4]>>
}

// -----

// Two ramps share 64 entries; one that needs few leaves the rest to the other. A divisor rounds entries up.
// CHECK-LABEL: frit.graph @shared
// CHECK-SAME: #frit.symbol<"s0", min = 2, max = 16, buckets = [2, 4, 8, 16]>
// CHECK-SAME: #frit.symbol<"s1", min = 2, divisor = 8, buckets = [8, 16, 32, 64, 72, {{.*}}, 7680, 8192]>
frit.graph @shared(%x: tensor<?x?xf32, #frit.dims<[s0, s1]>> {frit.name = "x"}) -> tensor<?x?xf32, #frit.dims<[s0, s1]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2, max = 16>, #frit.symbol<"s1", min = 2, divisor = 8>]} {
  frit.return %x : tensor<?x?xf32, #frit.dims<[s0, s1]>>
}

// -----

// Where the entries do not reach for all, they lie about the sizes seen.
// CHECK-LABEL: frit.graph @large
// CHECK-SAME: #frit.symbol<"s0", min = 2, hint = 1000, buckets = [288, 320, {{.*}}, 3840, 4096]>
// CHECK-SAME: #frit.symbol<"s1", min = 2, hint = 1500, buckets = [576, 640, {{.*}}, 7680, 8192]>
frit.graph @large(%x: tensor<?x?xf32, #frit.dims<[s0, s1]>> {frit.name = "x"}) -> tensor<?x?xf32, #frit.dims<[s0, s1]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 1000>, #frit.symbol<"s1", min = 2, hint = 1500>]} {
  frit.return %x : tensor<?x?xf32, #frit.dims<[s0, s1]>>
}

// -----

// Integers that are no dimension and sizes only an operator knows have no buckets unless asked for.
// CHECK-LABEL: frit.graph @unasked
// CHECK-NOT: buckets
// CHECK: frit.return
// A list by symbol that this graph does not have changes nothing.
// LIST-LABEL: frit.graph @unasked
// LIST-NOT: buckets
frit.graph @unasked(%n: i64 {frit.name = "n", frit.size = #frit.size<s5>}) -> i64
    attributes {symbols = [#frit.symbol<"s5", min = 0>, #frit.symbol<"u0", min = 0, unbacked>]} {
  %0 = frit.size <s5>
  frit.return %0 : i64
}

// -----

// Three symbols: the names do not collide.
// CHECK-LABEL: frit.graph @names
// CHECK-SAME: #frit.symbol<"b77", {{[^>]*}}bucket_of = "s77">, #frit.symbol<"b_n", {{[^>]*}}bucket_of = "n">, #frit.symbol<"b_size", {{[^>]*}}bucket_of = "size">]
frit.graph @names(%x: tensor<?x?x?xf32, #frit.dims<[s77, n, size]>> {frit.name = "x"}) -> tensor<?x?x?xf32, #frit.dims<[s77, n, size]>>
    attributes {symbols = [#frit.symbol<"s77", min = 2>, #frit.symbol<"n", min = 2>, #frit.symbol<"size", min = 2>]} {
  frit.return %x : tensor<?x?x?xf32, #frit.dims<[s77, n, size]>>
}
