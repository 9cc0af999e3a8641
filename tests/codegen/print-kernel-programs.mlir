// RUN: frit-opt %s --frit-print-kernel-programs -o %t.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=MODULE < %t.mlir
// RUN: not frit-opt %s --frit-print-kernel-programs="output=%t.mlir/no" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ERROR

// Dims of the domain, what each value depends on, and behind how many reductions it stands.
// CHECK:      kernel softer
// CHECK-NEXT: domain [p0 | p1]
// CHECK-NEXT: %0 = load arg0[d0 * p1 + d1] : f32 dims {0,1} level 0
// CHECK-NEXT: %1 = reduce max %0 : f32 dims {0} level 0
// CHECK-NEXT: %2 = apply arith.subf %0, %1 : f32 dims {0,1} level 1
// CHECK-NEXT: store %2 -> result 0[d0 * p1 + d1]
frit.kernel @softer(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.subf %x, %b : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// CHECK-NEXT: kernel double
// CHECK-NEXT: domain [8]
// CHECK-NEXT: %0 = load arg0[d0] : f32 dims {0} level 0
// CHECK-NEXT: %1 = apply arith.addf %0, %0 : f32 dims {0} level 0
// CHECK-NEXT: store %1 -> result 0[d0]
frit.kernel @double(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = arith.addf %x, %x : tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// A scan belongs to the whole domain; its dim is the reduced one.
// CHECK-NEXT: kernel scan
// CHECK-NEXT: domain [4, 64 | 8]
// CHECK-NEXT: %0 = load arg0[{{.*}}] : f32 dims {0,1,2} level 0
// CHECK-NEXT: %1 = scan sum %0 : f32 dims {0,1,2} level 0
// CHECK-NEXT: %2 = apply arith.mulf %1, %0 : f32 dims {0,1,2} level 0
// CHECK-NEXT: store %2 -> result 0[{{.*}}]
frit.kernel @scan(%x: tensor<4x8x64xf32>) -> tensor<4x8x64xf32> attributes {symbols = []} {
  %s = frit.scan <sum> %x dim 1 : tensor<4x8x64xf32>
  %m = arith.mulf %s, %x : tensor<4x8x64xf32>
  frit.yield %m : tensor<4x8x64xf32>
}

// What a segment sums up is read at positions between its bounds, which are a name in addresses.
// CHECK-NEXT: kernel segments
// CHECK-NEXT: domain [3, 64]
// CHECK-NEXT: %0 = load arg3[d0] : i64 dims {0} level 0
// CHECK-NEXT: %1 = load arg2[d0] : i64 dims {0} level 0
// CHECK-NEXT: %2 = position : i64 dims {} level 0
// CHECK-NEXT: %3 = load arg1[v2] : i64 dims {} level 0
// CHECK-NEXT: %4 = check unchecked < 8 %3 : i64 dims {} level 0
// CHECK-NEXT: %5 = load arg0[d1 + 64 * v4] : f32 dims {1} level 0
// CHECK-NEXT: %6 = segment sum of %5 at %2 from %1, %0 : f32 dims {0,1} level 0
// CHECK-NEXT: store %6 -> result 0[64 * d0 + d1]
frit.kernel @segments(%x: tensor<8x64xf32>, %order: tensor<8xi64>, %begin: tensor<3xi64>, %end: tensor<3xi64>) -> tensor<3x64xf32> attributes {symbols = []} {
  %b = frit.reindex %begin <(d0, d1) -> (d0)> : tensor<3xi64> -> tensor<3x64xi64>
  %e = frit.reindex %end <(d0, d1) -> (d0)> : tensor<3xi64> -> tensor<3x64xi64>
  %s = frit.segment_sum %x order %order from %b to %e : tensor<8x64xf32> [tensor<8xi64>], tensor<3x64xi64> -> tensor<3x64xf32>
  frit.yield %s : tensor<3x64xf32>
}

// A graph has no program of its own.
// CHECK-NOT: kernel
frit.graph @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  frit.return %x : tensor<8xf32>
}


// The module is what it was.
// MODULE: frit.kernel @softer
// MODULE: frit.kernel @double
// MODULE: frit.kernel @scan
// MODULE: frit.kernel @segments
// MODULE: frit.graph @main

// ERROR: error: cannot open output file
