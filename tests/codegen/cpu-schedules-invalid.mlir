// A schedule that does not fit its kernel is an error at the kernel, never another choice.
// RUN: not frit-opt %s --frit-generate-cpu-kernels=level=x86-64-v3 --split-input-file 2>&1 | FileCheck %s

// CHECK: error: kernel 'none': its cpu_schedule is missing; --frit-schedule-cpu-kernels chooses one
frit.kernel @none(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'reduces': its cpu_schedule is pointwise, and the kernel reduces
frit.kernel @reduces(%x: tensor<8xf32>) -> tensor<f32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 64, unroll = 1, once = false, streams = false, grain = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<8xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// -----

// CHECK: error: kernel 'far': its cpu_schedule names a dim that the kernel does not have
frit.kernel @far(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 3, stretch = 64, unroll = 1, once = false, streams = false, grain = 1>, symbols = []} {
  frit.yield %x : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'halves': its cpu_schedule masks elements below 32 bits, which this CPU cannot
frit.kernel @halves(%x: tensor<8xbf16>) -> tensor<8xbf16>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 64, unroll = 1, once = true, streams = false, grain = 1>, symbols = []} {
  frit.yield %x : tensor<8xbf16>
}

// -----

// CHECK: error: kernel 'parallel': its cpu_schedule reduces along a dim that is not reduced
frit.kernel @parallel(%x: tensor<8x9xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 0, unroll = [2], once = [false], keep = 0, writeOnce = false, recomputeOnce = false, streams = false, grain = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x9xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'rounds': its cpu_schedule has 2 rounds of reductions, and the kernel 1
frit.kernel @rounds(%x: tensor<8x9xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [2, 2], once = [false, false], keep = 0, writeOnce = false, recomputeOnce = false, streams = false, grain = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x9xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'several': its cpu_schedule shares out a row, and the kernel has several or writes one
frit.kernel @several(%x: tensor<8x9xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [2], once = [false], keep = 0, writeOnce = false, recomputeOnce = false, streams = false, splitElements = 64, mostParts = 2, grain = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x9xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: kernel 'across': its cpu_schedule has its lanes or rows along a dim that is not parallel
frit.kernel @across(%x: tensor<8x9xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 1, rows = 1, vectors = 1, unitRows = 1, packs = false, once = false, grain = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x9xf32> -> tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}

// -----

// CHECK: error: unroll is 3, a power of two is expected
frit.kernel @three(%x: tensor<8x9xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [3], once = [false], keep = 0, writeOnce = false, recomputeOnce = false, streams = false, grain = 1>, symbols = []} {
}

// -----

// CHECK: error: stretch is 100, a multiple of 64 is expected: whole vectors
frit.kernel @stretch(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 100, unroll = 1, once = false, streams = false, grain = 1>, symbols = []} {
}

// -----

// CHECK: error: rows, unitRows and packs need a rowDim
frit.kernel @no_rows(%x: tensor<8x9xf32>) -> tensor<9xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 1, rows = 2, vectors = 1, unitRows = 1, packs = false, once = false, grain = 1>, symbols = []} {
}

// -----

// CHECK: error: kernel 'maxima': its cpu_schedule walks several tiles together, and the kernel has more than sums along one dim
frit.kernel @maxima(%x: tensor<300x9xf32>) -> tensor<9xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 1, unitRows = 1, packs = false, once = false, grain = 1, tiles = 2>, symbols = []} {
  %0 = frit.reduce <max> %x dims [0] : tensor<300x9xf32> -> tensor<9xf32>
  frit.yield %0 : tensor<9xf32>
}

// -----

// CHECK: error: kernel 'several': its cpu_schedule shares out the reduced dim, and the kernel has several parallel dims
frit.kernel @several(%x: tensor<8x300x9xf32>) -> tensor<8x9xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 1, rows = 1, vectors = 1, unitRows = 1, packs = false, once = false, grain = 1, partSteps = 128, mostParts = 64>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<8x300x9xf32> -> tensor<8x9xf32>
  frit.yield %0 : tensor<8x9xf32>
}

// -----

// CHECK: error: a unit with a rowDim has one tile of lanes and all of the reduced dim
frit.kernel @rows_and_tiles(%x: tensor<8x9xf32>) -> tensor<9xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 1, rowDim = 0, rows = 1, vectors = 1, unitRows = 1, packs = false, once = false, grain = 1, tiles = 2>, symbols = []} {
}

// -----

// CHECK: error: mostParts is 0, at least 1 is expected
frit.kernel @no_parts(%x: tensor<8x9xf32>) -> tensor<9xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 1, unitRows = 1, packs = false, once = false, grain = 1, partSteps = 128>, symbols = []} {
}
