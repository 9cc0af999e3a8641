// RUN: frit-opt %s --frit-schedule-gpu-kernels | FileCheck %s
// RUN: frit-opt %s --frit-schedule-gpu-kernels=arch=90 | FileCheck %s --check-prefix=HOPPER

// CHECK: frit.kernel @pointwise
// CHECK-SAME: gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256, together = 4>
frit.kernel @pointwise(%x: tensor<4096xf32>) -> tensor<4096xf32> attributes {symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// The numbers of the region.
// CHECK: frit.kernel @numbers
// CHECK-SAME: gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 128, unroll = 2, together = 8>
frit.kernel @numbers(%x: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {schedule = #frit.schedule<pointwise, <[4096]>, reduced 0, <threads = 128, unroll = 2>>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// A schedule that is there stays.
// CHECK: frit.kernel @own
// CHECK-SAME: gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 1, threads = 64>
frit.kernel @own(%x: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 1, threads = 64>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// Random numbers come after all loads.
// CHECK: frit.kernel @random
// CHECK-SAME: gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256, loadsFirst = true>
frit.kernel @random(%x: tensor<4096xi32>, %seed: tensor<i64>, %k: i64) -> tensor<4096xi32> attributes {symbols = []} {
  %0 = frit.random %seed, %k : tensor<i64> -> tensor<4096xi32>
  %1 = arith.addi %0, %x : tensor<4096xi32>
  frit.yield %1 : tensor<4096xi32>
}

// One point.
// CHECK: frit.kernel @point
// CHECK-SAME: gpu_schedule = #frit.gpu_pointwise<width = 1, threads = 256>
frit.kernel @point(%x: tensor<1x1xf32>) -> tensor<1x1xf32> attributes {symbols = []} {
  %0 = arith.mulf %x, %x : tensor<1x1xf32>
  frit.yield %0 : tensor<1x1xf32>
}

// Pairs of halves where there are enough and sizes are even, else single elements.
// CHECK: frit.kernel @transpose
// CHECK-SAME: gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 2>
frit.kernel @transpose(%x: tensor<1024x1024xbf16>, %y: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<1024x1024xbf16> -> tensor<1024x1024xbf16>
  %1 = arith.addf %0, %y : tensor<1024x1024xbf16>
  frit.yield %1 : tensor<1024x1024xbf16>
}
// CHECK: frit.kernel @odd_transpose
// CHECK-SAME: neighbours = 1
frit.kernel @odd_transpose(%x: tensor<1023x1025xbf16>, %y: tensor<1025x1023xbf16>) -> tensor<1025x1023xbf16> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<1023x1025xbf16> -> tensor<1025x1023xbf16>
  %1 = arith.addf %0, %y : tensor<1025x1023xbf16>
  frit.yield %1 : tensor<1025x1023xbf16>
}

// CHECK: frit.kernel @rows
// CHECK-SAME: gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 64, block = 128, kept = 4, resident = 8>
frit.kernel @rows(%x: tensor<64x1024xf32>) -> tensor<64xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<64x1024xf32> -> tensor<64xf32>
  frit.yield %0 : tensor<64xf32>
}

// A row whose width 4 does not divide is kept by pairs.
// CHECK: frit.kernel @pairs
// CHECK-SAME: gpu_schedule = #frit.gpu_rows<lane = 1, width = 2,
frit.kernel @pairs(%x: tensor<64x1022xf32>) -> tensor<64xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<64x1022xf32> -> tensor<64xf32>
  frit.yield %0 : tensor<64xf32>
}

// Of unknown length: kept where it is read again, misaligned ones too for a single result.
// CHECK: frit.kernel @unknown
// CHECK-SAME: kept = {{[0-9]+}}, keptElements = {{[0-9]+}}, keepsMisaligned = true
frit.kernel @unknown(%x: tensor<64x?xf32, #frit.dims<[64, p0]>>) -> tensor<64x?xf32, #frit.dims<[64, p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x?xf32, #frit.dims<[64, p0]>> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x?xf32, #frit.dims<[64, p0]>>
  %r = arith.subf %x, %b : tensor<64x?xf32, #frit.dims<[64, p0]>>
  frit.yield %r : tensor<64x?xf32, #frit.dims<[64, p0]>>
}

// A cluster where the region asked for one.
// CHECK: frit.kernel @cluster
// CHECK-SAME: gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = {{[0-9]+}}, block = {{[0-9]+}}, kept = {{[0-9]+}}, cluster = 2>
frit.kernel @cluster(%x: tensor<64x32768xf32>) -> tensor<64x32768xf32>
    attributes {schedule = #frit.schedule<row_reduction, <[64, 32768]>, reduced 1, <threads = 512, vector = 4, cluster = 2>>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x32768xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x32768xf32>
  %r = arith.subf %x, %b : tensor<64x32768xf32>
  frit.yield %r : tensor<64x32768xf32>
}

// Registers are left for three of its blocks.
// CHECK: frit.kernel @small_blocks
// CHECK-SAME: threads = 256, block = 256, kept = 8, cluster = 4, resident = 3>
frit.kernel @small_blocks(%x: tensor<64x32768xf32>) -> tensor<64x32768xf32>
    attributes {schedule = #frit.schedule<row_reduction, <[64, 32768]>, reduced 1, <threads = 256, vector = 4, cluster = 4>>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x32768xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x32768xf32>
  %r = arith.subf %x, %b : tensor<64x32768xf32>
  frit.yield %r : tensor<64x32768xf32>
}

// Of rows that fill their registers two, and three where the assembler needs fewer registers.
// CHECK: frit.kernel @full_blocks
// CHECK-SAME: threads = 256, block = 256, kept = 16, cluster = 4, resident = 2>
// HOPPER: frit.kernel @full_blocks
// HOPPER-SAME: threads = 256, block = 256, kept = 16, cluster = 4, resident = 3>
frit.kernel @full_blocks(%x: tensor<64x65536xf32>) -> tensor<64x65536xf32>
    attributes {schedule = #frit.schedule<row_reduction, <[64, 65536]>, reduced 1, <threads = 256, vector = 4, cluster = 4>>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x65536xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x65536xf32>
  %r = arith.subf %x, %b : tensor<64x65536xf32>
  frit.yield %r : tensor<64x65536xf32>
}

// An exponential that only a sum takes waits for nothing: one value waits at a time, the difference.
// CHECK: frit.kernel @log_softmax
// CHECK-SAME: threads = 128, block = 128, kept = 4, resident = 6>
// HOPPER: frit.kernel @log_softmax
// HOPPER-SAME: threads = 128, block = 128, kept = 4, resident = 8>
frit.kernel @log_softmax(%h: tensor<64x4096xbf16>) -> tensor<64x4096xbf16> attributes {symbols = []} {
  %x = arith.extf %h : tensor<64x4096xbf16> to tensor<64x4096xf32>
  %m = frit.reduce <max> %x dims [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x4096xf32>
  %d = arith.subf %x, %b : tensor<64x4096xf32>
  %e = math.exp %d : tensor<64x4096xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %l = math.log %s : tensor<64xf32>
  %c = frit.reindex %l <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x4096xf32>
  %r = arith.subf %d, %c : tensor<64x4096xf32>
  %t = arith.truncf %r : tensor<64x4096xf32> to tensor<64x4096xbf16>
  frit.yield %t : tensor<64x4096xbf16>
}

// Of many short rows a group of threads takes several.
// CHECK: frit.kernel @short_rows
// CHECK-SAME: gpu_schedule = #frit.gpu_rows<lane = 1, width = 8, threads = 16, block = 128, kept = 1, rows = 2, resident = 8>
frit.kernel @short_rows(%x: tensor<1048576x128xbf16>) -> tensor<1048576xf32>
    attributes {symbols = []} {
  %f = arith.extf %x : tensor<1048576x128xbf16> to tensor<1048576x128xf32>
  %s = frit.reduce <sum> %f dims [1] : tensor<1048576x128xf32> -> tensor<1048576xf32>
  frit.yield %s : tensor<1048576xf32>
}

// Large halves in two orders: squares of vectors, with the operand through the tile.
// CHECK: frit.kernel @squares
// CHECK-SAME: gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 8>
frit.kernel @squares(%x: tensor<8192x4096xbf16>) -> tensor<4096x8192xbf16>
    attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<8192x4096xbf16> -> tensor<4096x8192xbf16>
  %1 = arith.negf %0 : tensor<4096x8192xbf16>
  frit.yield %1 : tensor<4096x8192xbf16>
}

// One long row is split; a short one is a row like others.
// CHECK: frit.kernel @long
// CHECK-SAME: gpu_schedule = #frit.gpu_split_rows<lane = 0, width = 4, unroll = 1, split = 512, chunksOfPart = 1024>
frit.kernel @long(%x: tensor<1048576xf32>) -> tensor<f32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1048576xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}
// CHECK: frit.kernel @short
// CHECK-SAME: gpu_schedule = #frit.gpu_rows<lane = 0,
frit.kernel @short(%x: tensor<4096xf32>) -> tensor<f32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<4096xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// CHECK: frit.kernel @columns
// CHECK-SAME: gpu_schedule = #frit.gpu_columns<lane = 0, width = 4, threadsX = 8, unroll = 4, split = 16, rowsOfPart = 512, resident = 2>
frit.kernel @columns(%x: tensor<65536x256xf32>) -> tensor<256xf32>
    attributes {schedule = #frit.schedule<column_reduction, <[256, 65536]>, reduced 1, <vector = 4, unroll = 4, threadsX = 8, split = 16, rowsOfPart = 512, resident = 2>>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<65536x256xf32> -> tensor<256xf32>
  frit.yield %0 : tensor<256xf32>
}

// A softmax over dim 0 is columns although its region has rows; it is read again, so not split.
// CHECK: frit.kernel @softmax_of_columns
// CHECK-SAME: gpu_schedule = #frit.gpu_columns<lane = 0, width = 4, threadsX = 32, unroll = 1>
frit.kernel @softmax_of_columns(%x: tensor<512x256xf32>) -> tensor<512x256xf32>
    attributes {schedule = #frit.schedule<row_reduction, <[256, 512]>, reduced 1, <threads = 512, vector = 4, split = 8>>, symbols = []} {
  %m = frit.reduce <max> %x dims [0] : tensor<512x256xf32> -> tensor<256xf32>
  %b = frit.reindex %m <(d0, d1) -> (d1)> : tensor<256xf32> -> tensor<512x256xf32>
  %r = arith.subf %x, %b : tensor<512x256xf32>
  frit.yield %r : tensor<512x256xf32>
}

// CHECK: frit.kernel @both
// CHECK-SAME: gpu_schedule = #frit.gpu_rows_and_columns<lane = 1, width = 4, threads = 32, block = 64, parts = 100>
frit.kernel @both(%x: tensor<1024x256xf32>) -> (tensor<1024xf32>, tensor<256xf32>)
    attributes {schedule = #frit.schedule<row_reduction, <[1024, 256]>, reduced 1, <threads = 32, rows = 2, vector = 4, parts = 100>>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = frit.reduce <sum> %x dims [0] {across} : tensor<1024x256xf32> -> tensor<256xf32>
  frit.yield %0, %1 : tensor<1024xf32>, tensor<256xf32>
}

// CHECK: frit.kernel @scan
// CHECK-SAME: gpu_schedule = #frit.gpu_scan<lane = 1, width = 4, threads = 64, block = 64, unroll = 4>
frit.kernel @scan(%x: tensor<64x768xf32>) -> tensor<64x768xf32> attributes {symbols = []} {
  %0 = frit.scan <sum> %x dim 1 : tensor<64x768xf32>
  frit.yield %0 : tensor<64x768xf32>
}

// CHECK: frit.kernel @scan_of_columns
// CHECK-SAME: gpu_schedule = #frit.gpu_scan<lane = 0, width = 1, threads = 1, block = 32, unroll = 8>
frit.kernel @scan_of_columns(%x: tensor<768x4096xf32>) -> tensor<768x4096xf32> attributes {symbols = []} {
  %0 = frit.scan <sum> %x dim 0 : tensor<768x4096xf32>
  frit.yield %0 : tensor<768x4096xf32>
}

// Few long columns: a group of threads takes one, element by element.
// CHECK: frit.kernel @scan_of_few_columns
// CHECK-SAME: gpu_schedule = #frit.gpu_scan<lane = 1, width = 1, threads = 256, block = 256, unroll = 4>
frit.kernel @scan_of_few_columns(%x: tensor<768x4xf32>) -> tensor<768x4xf32> attributes {symbols = []} {
  %0 = frit.scan <sum> %x dim 0 : tensor<768x4xf32>
  frit.yield %0 : tensor<768x4xf32>
}
