// RUN: frit-opt %s --frit-schedule-cpu-kernels | FileCheck %s
// RUN: frit-opt %s --frit-schedule-cpu-kernels=level=x86-64-v3 | FileCheck %s --check-prefix=V3
// RUN: frit-opt %s --frit-schedule-cpu-kernels=choices=list | FileCheck %s --check-prefix=LIST
// RUN: frit-opt %s --frit-schedule-cpu-kernels="choices=2=1;3=3" | FileCheck %s --check-prefix=CHOSEN

// Few elements: one candidate.
// CHECK: frit.kernel @small
// CHECK-SAME: #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 4096, unroll = 1, once = false, streams = true
frit.kernel @small(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = arith.mulf %x, %x : tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// A schedule that is there stays.
// CHECK: frit.kernel @own
// CHECK-SAME: stretch = 128
frit.kernel @own(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 128, unroll = 1, once = false, streams = false, grain = 1>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// CHECK: frit.kernel @rows
// CHECK-SAME: #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [4], once = [false], keep = 4
// CHOSEN: frit.kernel @rows
// CHOSEN-SAME: unroll = [8]
frit.kernel @rows(%x: tensor<64x1000xf32>) -> tensor<64xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  frit.yield %0 : tensor<64xf32>
}

// One long row is shared out.
// CHECK: frit.kernel @row
// CHECK-SAME: splitElements = 16384, mostParts = 64
// CHOSEN: frit.kernel @row
// CHOSEN-SAME: splitElements = 65536
frit.kernel @row(%x: tensor<100000xf32>) -> tensor<f32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<100000xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// CHECK: frit.kernel @columns
// CHECK-SAME: #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 4, unitRows = 1, packs = false, once = false
frit.kernel @columns(%x: tensor<100x1024xf32>) -> tensor<1024xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<100x1024xf32> -> tensor<1024xf32>
  frit.yield %0 : tensor<1024xf32>
}

// Distances of pairs: rows of a tile share what is packed.
// CHECK: frit.kernel @pairs
// CHECK-SAME: #frit.cpu_columns<unrollMembers = false, lane = 1, rowDim = 0, rows = 4, vectors = 2, unitRows = 128, packs = true
frit.kernel @pairs(%x: tensor<128x32xf32>, %y: tensor<64x32xf32>) -> tensor<128x64xf32> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<128x32xf32> -> tensor<128x64x32xf32>
  %1 = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<64x32xf32> -> tensor<128x64x32xf32>
  %2 = arith.subf %0, %1 : tensor<128x64x32xf32>
  %3 = frit.reduce <sum> %2 dims [2] : tensor<128x64x32xf32> -> tensor<128x64xf32>
  frit.yield %3 : tensor<128x64xf32>
}

// Long code is emitted once under masks, unless the CPU cannot mask halves.
// CHECK: frit.kernel @long
// CHECK-SAME: once = true
// V3: frit.kernel @long
// V3-SAME: once = false
frit.kernel @long(%x: tensor<1001xbf16>) -> tensor<1001xbf16> attributes {symbols = []} {
  %0 = arith.extf %x : tensor<1001xbf16> to tensor<1001xf32>
  %1 = math.exp %0 : tensor<1001xf32>
  %2 = arith.truncf %1 : tensor<1001xf32> to tensor<1001xbf16>
  frit.yield %2 : tensor<1001xbf16>
}

// A transpose has tiles along the dim that is contiguous in its operand; boxes of four are unrolled.
// CHECK: frit.kernel @transpose
// CHECK-SAME: tileDim = {{[01]}}, tileRows = 16
frit.kernel @transpose(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = arith.addf %0, %0 : tensor<64x64xf32>
  frit.yield %1 : tensor<64x64xf32>
}

// CHECK: frit.kernel @boxes
// CHECK-SAME: unrollMembers = true, lane = 0
frit.kernel @boxes(%x: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, 0)> : tensor<64x4xf32> -> tensor<64x4xf32>
  %1 = arith.addf %0, %x : tensor<64x4xf32>
  frit.yield %1 : tensor<64x4xf32>
}

// CHECK: frit.graph
// CHECK-NOT: schedule_candidates
// LIST: frit.schedule_candidates = array<i64: 1, 1, 3, 4, 1, 1, 1, 1, 1>
frit.graph @graph(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = frit.launch @small [] (%x) : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}
