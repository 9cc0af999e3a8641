// A schedule that does not fit its kernel is an error at the kernel, never another choice.
// RUN: not frit-opt %s --frit-generate-gpu-kernels --split-input-file 2>&1 | FileCheck %s

// CHECK: error: kernel 'none': its gpu_schedule is missing; --frit-schedule-gpu-kernels chooses one
frit.kernel @none(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'point': its gpu_schedule names a lane dim exactly where the kernel has dims
frit.kernel @point(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<width = 1, threads = 256>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'reduces': its gpu_schedule is pointwise, and the kernel reduces
frit.kernel @reduces(%x: tensor<8xf32>) -> tensor<f32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<8xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// -----

// CHECK: error: kernel 'far': its gpu_schedule has its lanes along d3, one of d0 to d0 is expected
frit.kernel @far(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 3, width = 4, threads = 256>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'strided': its gpu_schedule has vectors of 4 along d0, along which no access can be one
frit.kernel @strided(%x: tensor<8x16xf32>, %y: tensor<16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256>, symbols = []} {
  %0 = frit.reindex %y <(d0, d1) -> (d1)> : tensor<16xf32> -> tensor<8x16xf32>
  %1 = arith.mulf %x, %0 : tensor<8x16xf32>
  frit.yield %1 : tensor<8x16xf32>
}

// -----

// CHECK: error: kernel 'tiles': its gpu_schedule has tiles, and no access is contiguous along d0
frit.kernel @tiles(%x: tensor<8x16xf32>, %y: tensor<16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 1>, symbols = []} {
  %0 = frit.reindex %y <(d0, d1) -> (d1)> : tensor<16xf32> -> tensor<8x16xf32>
  %1 = arith.mulf %x, %0 : tensor<8x16xf32>
  frit.yield %1 : tensor<8x16xf32>
}

// -----

// CHECK: error: kernel 'heavy': its gpu_schedule has tiles of 65536 bytes, more than the shared memory of a launch
frit.kernel @heavy(%x: tensor<128x256xbf16>, %y: tensor<128x256xbf16>) -> tensor<256x128xbf16>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 8>, symbols = []} {
  %0 = arith.mulf %x, %y : tensor<128x256xbf16>
  %1 = frit.reindex %0 <(d0, d1) -> (d1, d0)> : tensor<128x256xbf16> -> tensor<256x128xbf16>
  frit.yield %1 : tensor<256x128xbf16>
}

// -----

// CHECK: error: kernel 'sum': its gpu_schedule has tiles, and the kernel reduces or runs over a list
frit.kernel @sum(%x: tensor<8x16xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'pointwise': its gpu_schedule reduces along its lanes, and the kernel does not, or both ways
frit.kernel @pointwise(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 32, block = 128>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'parallel': its gpu_schedule has its lanes along d0, one of d1 to d1 is expected
frit.kernel @parallel(%x: tensor<8x16xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 32, block = 128>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'partial': its gpu_schedule keeps a row that is empty, or no whole number of chunks
frit.kernel @partial(%x: tensor<18xf32>) -> tensor<f32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 32, block = 128, kept = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<18xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// -----

// CHECK: error: kernel 'short': its gpu_schedule keeps fewer chunks than the row has, which is 64
frit.kernel @short(%x: tensor<8x256xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 32, block = 128, kept = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x256xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'unknown': its gpu_schedule shares out a row of unknown length to a cluster
frit.kernel @unknown(%x: tensor<8x?xf32, #frit.dims<[8, p0]>>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 32, block = 32, kept = 1, cluster = 2>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x?xf32, #frit.dims<[8, p0]>> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'columns': its gpu_schedule reduces across its lanes, and the kernel does not, or both ways
frit.kernel @columns(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_columns<lane = 1, width = 4, threadsX = 32, unroll = 1>, symbols = []} {
  frit.yield %x : tensor<8x16xf32>
}

// -----

// CHECK: error: kernel 'again': its gpu_schedule splits columns that are read again
frit.kernel @again(%x: tensor<256x16xf32>) -> tensor<256x16xf32>
    attributes {gpu_schedule = #frit.gpu_columns<lane = 0, width = 4, threadsX = 32, unroll = 1, split = 2, rowsOfPart = 8>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<256x16xf32> -> tensor<16xf32>
  %1 = frit.reindex %0 <(d0, d1) -> (d1)> : tensor<16xf32> -> tensor<256x16xf32>
  %2 = arith.subf %x, %1 : tensor<256x16xf32>
  frit.yield %2 : tensor<256x16xf32>
}

// -----

// CHECK: error: kernel 'one_way': its gpu_schedule reduces over rows, and the kernel does not
frit.kernel @one_way(%x: tensor<8x16xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows_and_columns<lane = 1, width = 4, threads = 32, block = 64, parts = 8>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'both': its gpu_schedule keeps rows whose length is unknown, 0, or no whole number of chunks
!rows = tensor<8x?xf32, #frit.dims<[8, p0]>>
!columns = tensor<?xf32, #frit.dims<[p0]>>
frit.kernel @both(%x: !rows) -> (tensor<8xf32>, !columns)
    attributes {gpu_schedule = #frit.gpu_rows_and_columns<lane = 1, width = 4, threads = 32, block = 64, parts = 8>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = frit.reduce <sum> %x dims [1] : !rows -> tensor<8xf32>
  %1 = frit.reduce <sum> %x dims [0] {across} : !rows -> !columns
  frit.yield %0, %1 : tensor<8xf32>, !columns
}

// -----

// CHECK: error: width is 3, a power of two from 1 to 8 is expected
frit.kernel @width(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 3, threads = 256>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: one point has width 1 and unroll 1
frit.kernel @points(%x: tensor<f32>) -> tensor<f32>
    attributes {gpu_schedule = #frit.gpu_pointwise<width = 4, threads = 256>, symbols = []} {
  frit.yield %x : tensor<f32>
}

// -----

// CHECK: error: together is 8, a thread has 4 elements
frit.kernel @together(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256, together = 8>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: unroll is 8, a power of two from 1 to 4 is expected
frit.kernel @unroll(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256, unroll = 8>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: across is a dim beside the lane dim
frit.kernel @across(%x: tensor<8x8xf32>) -> tensor<8x8xf32>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 1, neighbours = 1>, symbols = []} {
  frit.yield %x : tensor<8x8xf32>
}

// -----

// CHECK: error: block is 64, a power of two from 128 to 512 is expected
frit.kernel @block(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 128, block = 64>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: a cluster keeps its row, with all threads of its blocks
frit.kernel @cluster(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 128, block = 128, cluster = 2>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: threads that take several rows keep them, and are at most 32
frit.kernel @several(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 64, block = 128, kept = 1, rows = 2>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kept is 0 and keptElements 4: elements are kept where chunks are
frit.kernel @elements(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 128, block = 128, keptElements = 4>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: usual is 2, fewer than the 2 that are kept is expected
frit.kernel @usual(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 0, width = 4, threads = 128, block = 128, kept = 2, usual = 2>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: split is 2 and rowsOfPart 0: rows are counted where columns are split
frit.kernel @parts(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_columns<lane = 0, width = 4, threadsX = 32, unroll = 1, split = 2>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: resident is 5, 1 to 4 is expected
frit.kernel @resident(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {gpu_schedule = #frit.gpu_split_rows<lane = 0, width = 4, unroll = 1, split = 2, chunksOfPart = 4, resident = 5>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: the numbers of a schedule are positive, or 0 for none, not -1
frit.kernel @numbers(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {schedule = #frit.schedule<pointwise, <[8]>, reduced 0, <threads = -1>>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'no_scan': its gpu_schedule is of a scan, and the kernel has none
frit.kernel @no_scan(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 0, width = 4, threads = 8, block = 128, unroll = 1>, symbols = []} {
  frit.yield %x : tensor<8x16xf32>
}

// -----

// CHECK: error: kernel 'scan_lane': its gpu_schedule shares rows along d0, the innermost dim of the scan is d1
frit.kernel @scan_lane(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 0, width = 1, threads = 8, block = 128, unroll = 1>, symbols = []} {
  %0 = frit.scan <sum> %x dim 1 : tensor<8x16xf32>
  frit.yield %0 : tensor<8x16xf32>
}

// -----

// CHECK: error: kernel 'scan_column': its gpu_schedule has its lanes along d1, one of d0 to d0 is expected
frit.kernel @scan_column(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 1, threads = 1, block = 32, unroll = 1>, symbols = []} {
  %0 = frit.scan <sum> %x dim 0 : tensor<8x16xf32>
  frit.yield %0 : tensor<8x16xf32>
}

// -----

// CHECK: error: kernel 'scan_pointwise': its gpu_schedule is pointwise, and the kernel reduces
frit.kernel @scan_pointwise(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256>, symbols = []} {
  %0 = frit.scan <sum> %x dim 1 : tensor<8x16xf32>
  frit.yield %0 : tensor<8x16xf32>
}
