// Squares around a mean become one reduction beside it where nothing keeps what both read.
// RUN: frit-opt --split-input-file --frit-single-pass-variance %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-single-pass-variance=arch=90 %s | FileCheck %s --check-prefix=NEW
// RUN: frit-opt --split-input-file --frit-single-pass-variance --frit-fuse-regions --frit-choose-schedules="target=gpu arch=90" %s | FileCheck %s --check-prefix=FUSED
// RUN: not frit-opt --split-input-file --frit-single-pass-variance=arch=70 %s 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: unknown architecture 70: expected 80, 90 or 100

// Down the columns; the squares are gone, and what is left is one region of one round.
// CHECK-LABEL: @columns
// CHECK: frit.reduce <sum> %{{.*}} dims [0]
// CHECK-NOT: arith.mulf
// CHECK: frit.reduce <deviations> %arg0 dims [0] : tensor<16384x8192xf32> -> tensor<8192xf32>
// CHECK-NOT: frit.reduce
// NEW-LABEL: @columns
// NEW: <deviations>
// FUSED-LABEL: @columns
// FUSED: frit.region({{.*}}schedule = #frit.schedule<column_reduction
// FUSED: <deviations>
// FUSED-NOT: frit.region
// FUSED-LABEL: @symbolic
!x = tensor<16384x8192xf32>
!c = tensor<1x8192xf32>
!r = tensor<8192xf32>
frit.graph @columns(%x: !x) -> (!r, !c) {
  %n = arith.constant dense<1.638400e+04> : tensor<f32>
  %s = frit.reduce <sum> %x dims [0] : !x -> !r
  %k = frit.reindex %s <(d0, d1) -> (d1)> : !r -> !c
  %nn = frit.reindex %n <(d0, d1) -> ()> : tensor<f32> -> !c
  %m = arith.divf %k, %nn : !c
  %b = frit.reindex %m <(d0, d1) -> (0, d1)> : !c -> !x
  %d = arith.subf %x, %b : !x
  %q = arith.mulf %d, %d : !x
  %v = frit.reduce <sum> %q dims [0] : !x -> !r
  frit.return %v, %m : !r, !c
}

// -----

// A number of rows that is known when it runs; the differences have another reader.
// CHECK-LABEL: @symbolic
// CHECK: arith.subf
// CHECK: frit.reduce <deviations>
!x = tensor<?x64xf32, #frit.dims<[s0, 64]>>
!r = tensor<64xf32>
frit.graph @symbolic(%x: !x) -> (!r, !x) attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 16384>]} {
  %size = frit.size <s0>
  %e = tensor.from_elements %size : tensor<i64>
  %n = arith.sitofp %e : tensor<i64> to tensor<f32>
  %s = frit.reduce <sum> %x dims [0] : !x -> !r
  %nn = frit.reindex %n <(d0) -> ()> : tensor<f32> -> !r
  %m = arith.divf %s, %nn : !r
  %b = frit.reindex %m <(d0, d1) -> (d1)> : !r -> !x
  %d = arith.subf %x, %b : !x
  %q = arith.mulf %d, %d : !x
  %v = frit.reduce <sum> %q dims [0] : !x -> !r
  frit.return %v, %d : !r, !x
}

// -----

// Rows that a block of an A100 does not keep, and a cluster of an H100 does.
// CHECK-LABEL: @long_rows
// CHECK: <deviations>
// NEW-LABEL: @long_rows
// NEW-NOT: <deviations>
!x = tensor<4096x131072xf32>
!r = tensor<4096xf32>
frit.graph @long_rows(%x: !x) -> !r {
  %n = arith.constant dense<1.310720e+05> : tensor<4096xf32>
  %s = frit.reduce <sum> %x dims [1] : !x -> !r
  %m = arith.divf %s, %n : !r
  %b = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !x
  %d = arith.subf %x, %b : !x
  %q = arith.mulf %d, %d : !x
  %v = frit.reduce <sum> %q dims [1] : !x -> !r
  frit.return %v : !r
}

// -----

// Rows that a block keeps.
// CHECK-LABEL: @rows
// CHECK-NOT: <deviations>
// NEW-LABEL: @rows
// NEW-NOT: <deviations>
!x = tensor<4096x4096xf32>
!r = tensor<4096xf32>
frit.graph @rows(%x: !x) -> !r {
  %n = arith.constant dense<4.096000e+03> : !r
  %s = frit.reduce <sum> %x dims [1] : !x -> !r
  %m = arith.divf %s, %n : !r
  %b = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !x
  %d = arith.subf %x, %b : !x
  %q = arith.mulf %d, %d : !x
  %v = frit.reduce <sum> %q dims [1] : !x -> !r
  frit.return %v : !r
}

// -----

// Of everything, and of the channels of images, with what is normalised by them: few long rows.
// CHECK-LABEL: @everything
// CHECK: <deviations>
// NEW-LABEL: @everything
// NEW: <deviations>
// FUSED-LABEL: @everything
// FUSED: frit.region({{.*}}schedule = #frit.schedule<full_reduction
// FUSED-NOT: frit.region
!x = tensor<1048576xf32>
frit.graph @everything(%x: !x) -> tensor<f32> {
  %n = arith.constant dense<1.048576e+06> : tensor<f32>
  %s = frit.reduce <sum> %x dims [0] : !x -> tensor<f32>
  %m = arith.divf %s, %n : tensor<f32>
  %b = frit.reindex %m <(d0) -> ()> : tensor<f32> -> !x
  %d = arith.subf %x, %b : !x
  %q = arith.mulf %d, %d : !x
  %v = frit.reduce <sum> %q dims [0] : !x -> tensor<f32>
  frit.return %v : tensor<f32>
}

// -----

// CHECK-LABEL: @images
// CHECK: <deviations> %arg0 dims [0, 2]
// FUSED-LABEL: @images
// FUSED: frit.region({{.*}}row_reduction{{.*}}split = 8
// FUSED-NOT: frit.region
!x = tensor<256x64x3136xf32>
!k = tensor<1x64x1xf32>
!r = tensor<64xf32>
frit.graph @images(%x: !x) -> (!x, !r) {
  %n = arith.constant dense<8.028160e+05> : !k
  %s = frit.reduce <sum> %x dims [0, 2] : !x -> !r
  %t = frit.reindex %s <(d0, d1, d2) -> (d1)> : !r -> !k
  %m = arith.divf %t, %n : !k
  %b = frit.reindex %m <(d0, d1, d2) -> (0, d1, 0)> : !k -> !x
  %d = arith.subf %x, %b : !x
  %q = arith.mulf %d, %d : !x
  %v = frit.reduce <sum> %q dims [0, 2] : !x -> !r
  %vb = frit.reindex %v <(d0, d1, d2) -> (d1)> : !r -> !x
  %y = arith.mulf %d, %vb : !x
  frit.return %y, %v : !x, !r
}

// -----

// Not a mean: another count, another operand, other dims, another place, another square.
// CHECK-LABEL: @others
// CHECK-NOT: <deviations>
// FUSED-LABEL: @others
!x = tensor<8192x8192xf32>
!r = tensor<8192xf32>
frit.graph @others(%x: !x, %y: !x) -> (!r, !r, !r, !r, !r) {
  %n = arith.constant dense<8.192000e+03> : !r
  %n1 = arith.constant dense<8.191000e+03> : !r
  %s = frit.reduce <sum> %x dims [0] : !x -> !r
  %t = frit.reduce <sum> %x dims [1] : !x -> !r
  %m = arith.divf %s, %n : !r
  %m1 = arith.divf %s, %n1 : !r
  %mt = arith.divf %t, %n : !r
  %b0 = frit.reindex %m1 <(d0, d1) -> (d1)> : !r -> !x
  %d0 = arith.subf %x, %b0 : !x
  %q0 = arith.mulf %d0, %d0 : !x
  %v0 = frit.reduce <sum> %q0 dims [0] : !x -> !r
  %b = frit.reindex %m <(d0, d1) -> (d1)> : !r -> !x
  %d1 = arith.subf %y, %b : !x
  %q1 = arith.mulf %d1, %d1 : !x
  %v1 = frit.reduce <sum> %q1 dims [0] : !x -> !r
  %b2 = frit.reindex %mt <(d0, d1) -> (d0)> : !r -> !x
  %d2 = arith.subf %x, %b2 : !x
  %q2 = arith.mulf %d2, %d2 : !x
  %v2 = frit.reduce <sum> %q2 dims [0] : !x -> !r
  %b3 = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !x
  %d3 = arith.subf %x, %b3 : !x
  %q3 = arith.mulf %d3, %d3 : !x
  %v3 = frit.reduce <sum> %q3 dims [0] : !x -> !r
  %d4 = arith.subf %x, %b : !x
  %q4 = arith.mulf %d4, %x : !x
  %v4 = frit.reduce <sum> %q4 dims [0] : !x -> !r
  frit.return %v0, %v1, %v2, %v3, %v4 : !r, !r, !r, !r, !r
}
