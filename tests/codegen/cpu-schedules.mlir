// A CPU kernel is what its schedule says: each field changes the code.
// RUN: frit-opt %s --frit-generate-cpu-kernels | FileCheck %s

// Vectors along d0, a step of one; then of four.
// CHECK-LABEL: func.func @pointwise(
// CHECK-SAME: frit.grain = 7
// CHECK-SAME: frit.units = #frit.size<3>
// CHECK: scf.for
// CHECK-COUNT-1: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<16xf32>
// CHECK: nontemporal
// CHECK: return
frit.kernel @pointwise(%x: tensor<10000xf32>) -> tensor<10000xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 4096, unroll = 1, once = false, streams = true, grain = 7>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<10000xf32>
  frit.yield %0 : tensor<10000xf32>
}

// CHECK-LABEL: func.func @unrolled_without_streams_in_long_stretches(
// CHECK-SAME: frit.units = #frit.size<1>
// CHECK-NOT: nontemporal
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: nontemporal
// CHECK: return
frit.kernel @unrolled_without_streams_in_long_stretches(%x: tensor<10000xf32>) -> tensor<10000xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 16384, unroll = 4, once = false, streams = false, grain = 7>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<10000xf32>
  frit.yield %0 : tensor<10000xf32>
}

// Once: every access under a mask.
// CHECK-LABEL: func.func @once(
// CHECK-NOT: llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.intr.masked.load
// CHECK-NOT: llvm.load {{.*}} -> vector<16xf32>
// CHECK: return
frit.kernel @once(%x: tensor<1001xf32>) -> tensor<1001xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, stretch = 4096, unroll = 1, once = true, streams = false, grain = 7>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<1001xf32>
  frit.yield %0 : tensor<1001xf32>
}

// Vectors along the other dim: what is contiguous is gathered, in tiles of eight rows.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: frit.units = #frit.size<8>
// CHECK: llvm.intr.masked.{{scatter|gather}}
// CHECK: return
frit.kernel @tiles(%x: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 0, tileDim = 1, tileRows = 8, stretch = 4096, unroll = 1, once = false, streams = false, grain = 7>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = arith.addf %0, %x : tensor<64x64xf32>
  frit.yield %1 : tensor<64x64xf32>
}

// Two accumulators, then eight.
// CHECK-LABEL: func.func @two_accumulators(
// CHECK: iter_args({{%[^,]*, %[^,]*}}) -> (vector<16xf32>, vector<16xf32>)
// CHECK: return
frit.kernel @two_accumulators(%x: tensor<64x1000xf32>) -> tensor<64xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [2], once = [false], keep = 4, writeOnce = false, recomputeOnce = false, streams = true, grain = 3>, symbols = []} {
  %0 = frit.reduce <max> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  frit.yield %0 : tensor<64xf32>
}

// CHECK-LABEL: func.func @four_accumulators(
// CHECK: -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: return
frit.kernel @four_accumulators(%x: tensor<64x1000xf32>) -> tensor<64xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [4], once = [false], keep = 4, writeOnce = false, recomputeOnce = false, streams = true, grain = 3>, symbols = []} {
  %0 = frit.reduce <max> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  frit.yield %0 : tensor<64xf32>
}

// A row that is shared out has two launches, of at most 4 parts.
// CHECK-LABEL: func.func @split_parts(
// CHECK-SAME: frit.units = #frit.size<4>
// CHECK-LABEL: func.func @split(
// CHECK-SAME: frit.units = #frit.size<1>
frit.kernel @split(%x: tensor<100000xf32>) -> tensor<f32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 0, unroll = [4], once = [false], keep = 4, writeOnce = false, recomputeOnce = false, streams = true, splitElements = 16384, mostParts = 4, grain = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<100000xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// The exponential of each element waits in scratch memory for the second sweep, or is computed again.
// CHECK-LABEL: func.func @kept(
// CHECK: llvm.alloca
// CHECK: return
frit.kernel @kept(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [4], once = [true], keep = 4, writeOnce = false, recomputeOnce = true, streams = true, grain = 3>, symbols = []} {
  %0 = math.exp %x : tensor<64x1000xf32>
  %1 = frit.reduce <sum> %0 dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %2 = frit.reindex %1 <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1000xf32>
  %3 = arith.divf %0, %2 : tensor<64x1000xf32>
  frit.yield %3 : tensor<64x1000xf32>
}

// CHECK-LABEL: func.func @recomputed(
// CHECK-NOT: llvm.alloca
// CHECK: return
frit.kernel @recomputed(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32>
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [4], once = [true], keep = 0, writeOnce = true, recomputeOnce = true, streams = true, grain = 3>, symbols = []} {
  %0 = math.exp %x : tensor<64x1000xf32>
  %1 = frit.reduce <sum> %0 dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %2 = frit.reindex %1 <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1000xf32>
  %3 = arith.divf %0, %2 : tensor<64x1000xf32>
  frit.yield %3 : tensor<64x1000xf32>
}

// Two costly values that later sweeps read are both kept.
// CHECK-LABEL: func.func @two_kept(
// CHECK-COUNT-2: llvm.alloca
// CHECK-NOT: llvm.alloca
// CHECK: return
frit.kernel @two_kept(%x: tensor<64x1000xf32>) -> (tensor<64x1000xf32>, tensor<64x1000xf32>)
    attributes {cpu_schedule = #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = [2], once = [true], keep = 4, writeOnce = false, recomputeOnce = true, streams = true, grain = 3>, symbols = []} {
  %0 = math.sin %x : tensor<64x1000xf32>
  %1 = math.cos %x : tensor<64x1000xf32>
  %2 = frit.reduce <sum> %0 dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %3 = frit.reduce <sum> %1 dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %4 = frit.reindex %2 <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1000xf32>
  %5 = frit.reindex %3 <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1000xf32>
  %6 = arith.mulf %0, %4 : tensor<64x1000xf32>
  %7 = arith.mulf %1, %5 : tensor<64x1000xf32>
  frit.yield %6, %7 : tensor<64x1000xf32>, tensor<64x1000xf32>
}

// A tile of one vector, then of four.
// CHECK-LABEL: func.func @one_vector(
// CHECK-SAME: frit.units = #frit.size<64>
// CHECK: -> (vector<16xf32>)
// CHECK: return
frit.kernel @one_vector(%x: tensor<100x1024xf32>) -> tensor<1024xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 1, unitRows = 1, packs = false, once = false, grain = 2>, symbols = []} {
  %0 = frit.reduce <max> %x dims [0] : tensor<100x1024xf32> -> tensor<1024xf32>
  frit.yield %0 : tensor<1024xf32>
}

// CHECK-LABEL: func.func @four_vectors(
// CHECK-SAME: frit.units = #frit.size<16>
// CHECK: -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: return
frit.kernel @four_vectors(%x: tensor<100x1024xf32>) -> tensor<1024xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 4, unitRows = 1, packs = false, once = false, grain = 2>, symbols = []} {
  %0 = frit.reduce <max> %x dims [0] : tensor<100x1024xf32> -> tensor<1024xf32>
  frit.yield %0 : tensor<1024xf32>
}

// Distances of pairs: tiles of 2 rows by 1 vector, what lies across the lanes packed; then gathered.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: frit.units = #frit.size<16>
// CHECK: llvm.alloca
// CHECK: -> (vector<16xf32>, vector<16xf32>)
// CHECK: return
frit.kernel @packed(%x: tensor<128x32xf32>, %y: tensor<64x32xf32>) -> tensor<128x64xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 1, rowDim = 0, rows = 2, vectors = 1, unitRows = 32, packs = true, once = false, grain = 2>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<128x32xf32> -> tensor<128x64x32xf32>
  %1 = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<64x32xf32> -> tensor<128x64x32xf32>
  %2 = arith.subf %0, %1 : tensor<128x64x32xf32>
  %3 = frit.reduce <max> %2 dims [2] : tensor<128x64x32xf32> -> tensor<128x64xf32>
  frit.yield %3 : tensor<128x64xf32>
}

// CHECK-LABEL: func.func @gathered(
// CHECK-SAME: frit.units = #frit.size<8>
// CHECK-NOT: llvm.alloca
// CHECK: llvm.intr.masked.gather
// CHECK: return
frit.kernel @gathered(%x: tensor<128x32xf32>, %y: tensor<64x32xf32>) -> tensor<128x64xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 1, rowDim = 0, rows = 2, vectors = 1, unitRows = 64, packs = false, once = false, grain = 2>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<128x32xf32> -> tensor<128x64x32xf32>
  %1 = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<64x32xf32> -> tensor<128x64x32xf32>
  %2 = arith.subf %0, %1 : tensor<128x64x32xf32>
  %3 = frit.reduce <max> %2 dims [2] : tensor<128x64x32xf32> -> tensor<128x64xf32>
  frit.yield %3 : tensor<128x64xf32>
}

// Boxes of four coordinates: unrolled, one wide load; or not.
// CHECK-LABEL: func.func @members(
// CHECK: llvm.load {{.*}} -> vector<64xf32>
// CHECK: return
frit.kernel @members(%x: tensor<64x4xf32>) -> tensor<64x4xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = true, lane = 0, stretch = 4096, unroll = 1, once = false, streams = false, grain = 7>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, 0)> : tensor<64x4xf32> -> tensor<64x4xf32>
  %1 = arith.addf %0, %x : tensor<64x4xf32>
  frit.yield %1 : tensor<64x4xf32>
}

// CHECK-LABEL: func.func @no_members(
// CHECK-NOT: vector<64xf32>
// CHECK: return
frit.kernel @no_members(%x: tensor<64x4xf32>) -> tensor<64x4xf32>
    attributes {cpu_schedule = #frit.cpu_pointwise<unrollMembers = false, lane = 1, stretch = 4096, unroll = 1, once = false, streams = false, grain = 7>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, 0)> : tensor<64x4xf32> -> tensor<64x4xf32>
  %1 = arith.addf %0, %x : tensor<64x4xf32>
  frit.yield %1 : tensor<64x4xf32>
}

// Tiles of two vectors take turns along the lanes: three of them are a unit, whose sums lie in memory from turn to turn.
// CHECK-LABEL: func.func @together(
// CHECK-SAME: frit.units = #frit.size<2>
// CHECK: llvm.alloca %{{.*}} x f32
// CHECK: %[[TURN:.*]] = arith.constant 4 : i64
// CHECK: scf.for
// CHECK: return
frit.kernel @together(%x: tensor<100x192xf32>) -> tensor<192xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 2, unitRows = 1, packs = false, once = false, grain = 1, tiles = 3>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<100x192xf32> -> tensor<192xf32>
  frit.yield %0 : tensor<192xf32>
}

// The steps are shared out: five parts by two units of lanes write f64 sums, and a second launch adds them up.
// CHECK-LABEL: func.func @parts_parts(
// CHECK-SAME: frit.grain = 3
// CHECK-SAME: frit.units = #frit.size<10>
// CHECK: llvm.store {{.*}} : vector<16xf64>
// CHECK: return
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: frit.units = #frit.size<2>
// CHECK: llvm.load {{.*}} -> vector<16xf64>
// CHECK: return
frit.kernel @parts(%x: tensor<600x192xf32>) -> tensor<192xf32>
    attributes {cpu_schedule = #frit.cpu_columns<unrollMembers = false, lane = 0, rows = 1, vectors = 2, unitRows = 1, packs = false, once = false, grain = 3, tiles = 3, partSteps = 128, mostParts = 64>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<600x192xf32> -> tensor<192xf32>
  frit.yield %0 : tensor<192xf32>
}
