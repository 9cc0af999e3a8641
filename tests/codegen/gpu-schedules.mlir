// A GPU kernel is what its schedule says: each field changes the code.
// RUN: frit-opt %s --frit-generate-gpu-kernels | FileCheck %s

// Vectors of four along d0, 256 threads.
// CHECK-LABEL: gpu.func @pointwise(
// CHECK-SAME: frit.grid = [#frit.size<4>
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-COUNT-1: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @pointwise(%x: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// Vectors of two.
// CHECK-LABEL: gpu.func @narrow(
// CHECK-SAME: frit.grid = [#frit.size<8>
// CHECK: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.return
frit.kernel @narrow(%x: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 2, threads = 256>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// No vectors: four elements a thread, loaded before the first is stored.
// CHECK-LABEL: gpu.func @no_vectors(
// CHECK-SAME: frit.grid = [#frit.size<4>
// CHECK-COUNT-4: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK-COUNT-4: llvm.store
// CHECK: gpu.return
frit.kernel @no_vectors(%x: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 1, threads = 256, unroll = 4, together = 4>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// 128 threads, and two chunks each.
// CHECK-LABEL: gpu.func @unrolled(
// CHECK-SAME: frit.grid = [#frit.size<4>
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.store
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @unrolled(%x: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 128, unroll = 2>, symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
}

// Lanes along the outer dim, which is not contiguous: single elements.
// CHECK-LABEL: gpu.func @other_lanes(
// CHECK-NOT: vector<
// CHECK: gpu.return
frit.kernel @other_lanes(%x: tensor<64x64xf32>, %y: tensor<64xf32>) -> tensor<64x64xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 1, threads = 256>, symbols = []} {
  %0 = frit.reindex %y <(d0, d1) -> (d1)> : tensor<64xf32> -> tensor<64x64xf32>
  %1 = arith.mulf %x, %0 : tensor<64x64xf32>
  frit.yield %1 : tensor<64x64xf32>
}

// Without vectors a thread loads two elements before it stores the first.
// CHECK-LABEL: gpu.func @together(
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.store
// CHECK: llvm.load {{.*}} -> f32
// CHECK: llvm.store
frit.kernel @together(%x: tensor<4096x3xf32>, %y: tensor<4096xf32>) -> tensor<4096x3xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256, together = 2>, symbols = []} {
  %0 = frit.reindex %y <(d0, d1) -> (d0)> : tensor<4096xf32> -> tensor<4096x3xf32>
  %1 = arith.mulf %x, %0 : tensor<4096x3xf32>
  frit.yield %1 : tensor<4096x3xf32>
}

// Both operands are loaded before anything is computed with the first.
// CHECK-LABEL: gpu.func @in_order(
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: math.exp {{.*}} : vector<4xf32>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-LABEL: gpu.func @loads_first(
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK: math.exp {{.*}} : vector<4xf32>
frit.kernel @in_order(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256>, symbols = []} {
  %0 = math.exp %x : tensor<4096xf32>
  %1 = arith.mulf %y, %0 : tensor<4096xf32>
  frit.yield %1 : tensor<4096xf32>
}
frit.kernel @loads_first(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xf32>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 4, threads = 256, loadsFirst = true>, symbols = []} {
  %0 = math.exp %x : tensor<4096xf32>
  %1 = arith.mulf %y, %0 : tensor<4096xf32>
  frit.yield %1 : tensor<4096xf32>
}

// Tiles of 64 by 64 bf16, whose pairs are tested for alignment; or of 32 by 32.
// CHECK-LABEL: gpu.func @pairs(
// CHECK-SAME: frit.grid = [#frit.size<8>
// CHECK: llvm.load {{.*}} -> vector<2xbf16>
frit.kernel @pairs(%x: tensor<128x256xbf16>) -> tensor<256x128xbf16>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 2>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<128x256xbf16> -> tensor<256x128xbf16>
  %1 = arith.negf %0 : tensor<256x128xbf16>
  frit.yield %1 : tensor<256x128xbf16>
}
// CHECK-LABEL: gpu.func @singles(
// CHECK-SAME: frit.grid = [#frit.size<32>
// CHECK-NOT: vector<2xbf16>
// CHECK: gpu.barrier
// CHECK: arith.negf
frit.kernel @singles(%x: tensor<128x256xbf16>) -> tensor<256x128xbf16>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 1>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<128x256xbf16> -> tensor<256x128xbf16>
  %1 = arith.negf %0 : tensor<256x128xbf16>
  frit.yield %1 : tensor<256x128xbf16>
}
// Lanes along the operand's rows: the result is staged.
// CHECK-LABEL: gpu.func @staged_result(
// CHECK-SAME: frit.grid = [#frit.size<32>
// CHECK-NOT: gpu.barrier
// CHECK: arith.negf
// CHECK: gpu.barrier
frit.kernel @staged_result(%x: tensor<128x256xbf16>) -> tensor<256x128xbf16>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 0, across = 1, neighbours = 1>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<128x256xbf16> -> tensor<256x128xbf16>
  %1 = arith.negf %0 : tensor<256x128xbf16>
  frit.yield %1 : tensor<256x128xbf16>
}

// Squares of 8 by 8 are turned in registers, between a swizzled tile and memory: a block has 256 of them.
// CHECK-LABEL: gpu.func @squares(
// CHECK-SAME: frit.grid = [#frit.size<2>
// CHECK-SAME: frit.shared_bytes = 32768
// CHECK: arith.xori
// CHECK-COUNT-8: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-COUNT-8: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-8: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-8: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: gpu.return
frit.kernel @squares(%x: tensor<128x256xbf16>) -> tensor<256x128xbf16>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 1, across = 0, neighbours = 8>, symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<128x256xbf16> -> tensor<256x128xbf16>
  %1 = arith.negf %0 : tensor<256x128xbf16>
  frit.yield %1 : tensor<256x128xbf16>
}

// Four rows of a group of eight threads: all are loaded, then reduced, then written.
// CHECK-LABEL: gpu.func @rows_at_once(
// CHECK-SAME: frit.grid = [#frit.size<16>
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-12: gpu.shuffle
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-4: llvm.store
// CHECK: gpu.return
frit.kernel @rows_at_once(%x: tensor<1024x32xf32>) -> tensor<1024xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 8, block = 128, kept = 1, rows = 4>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<1024x32xf32> -> tensor<1024xf32>
  frit.yield %m : tensor<1024xf32>
}

// Rows.
// CHECK-LABEL: gpu.func @rows(
// CHECK-SAME: frit.grid = [#frit.size<16>
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @rows(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 32, block = 128, kept = 8>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1024xf32>
  %r = arith.subf %x, %b : tensor<64x1024xf32>
  frit.yield %r : tensor<64x1024xf32>
}
// Without `kept` each sweep reads the row again.
// CHECK-LABEL: gpu.func @swept(
// CHECK-SAME: frit.grid = [#frit.size<16>
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: scf.yield
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @swept(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 32, block = 128>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1024xf32>
  %r = arith.subf %x, %b : tensor<64x1024xf32>
  frit.yield %r : tensor<64x1024xf32>
}
// CHECK-LABEL: gpu.func @wide_rows(
// CHECK-SAME: frit.grid = [#frit.size<32>
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.return
frit.kernel @wide_rows(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 2, threads = 256, block = 512, kept = 2>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1024xf32>
  %r = arith.subf %x, %b : tensor<64x1024xf32>
  frit.yield %r : tensor<64x1024xf32>
}
// CHECK-LABEL: gpu.func @cluster(
// CHECK-SAME: frit.cluster = 2
// CHECK-SAME: frit.grid = [#frit.size<128>
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @cluster(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 64, block = 64, kept = 2, cluster = 2>, symbols = []} {
  %m = frit.reduce <max> %x dims [1] : tensor<64x1024xf32> -> tensor<64xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1024xf32>
  %r = arith.subf %x, %b : tensor<64x1024xf32>
  frit.yield %r : tensor<64x1024xf32>
}
!dyn = tensor<?x?xf32, #frit.dims<[p0, p1]>>
!dynRow = tensor<?xf32, #frit.dims<[p0]>>
// Kept as vectors or, misaligned, by elements; kept by single elements; swept.
// CHECK-LABEL: gpu.func @dynamic(
// CHECK-COUNT-36: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load {{.*}} -> f32
// CHECK: gpu.return
frit.kernel @dynamic(%x: !dyn) -> !dyn
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 64, block = 128, kept = 4, keptElements = 8, keepsMisaligned = true>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : !dyn -> !dynRow
  %b = frit.reindex %m <(d0, d1) -> (d0)> : !dynRow -> !dyn
  %r = arith.subf %x, %b : !dyn
  frit.yield %r : !dyn
}
// All but the last of three chunks a thread need no comparison in rows of the usual length.
// CHECK-LABEL: gpu.func @dynamic_usual(
// CHECK: arith.constant 193 :
// CHECK: scf.if
// CHECK: %[[OWN:.*]] = arith.divui
// CHECK: arith.cmpi slt, %{{.*}}, %[[OWN]]
// CHECK-NOT: arith.cmpi slt, %{{.*}}, %[[OWN]]
// CHECK: gpu.barrier
// CHECK: else
// CHECK: %[[ANY:.*]] = arith.divui
// CHECK-COUNT-4: arith.cmpi slt, %{{.*}}, %[[ANY]]
// CHECK: gpu.return
frit.kernel @dynamic_usual(%x: !dyn) -> !dyn
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 64, block = 128, kept = 4, usual = 3>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : !dyn -> !dynRow
  %b = frit.reindex %m <(d0, d1) -> (d0)> : !dynRow -> !dyn
  %r = arith.subf %x, %b : !dyn
  frit.yield %r : !dyn
}
// CHECK-LABEL: gpu.func @dynamic_without_misaligned(
// CHECK-COUNT-20: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load {{.*}} -> f32
// CHECK: gpu.return
frit.kernel @dynamic_without_misaligned(%x: !dyn) -> !dyn
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 64, block = 128, kept = 4, keptElements = 8>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : !dyn -> !dynRow
  %b = frit.reindex %m <(d0, d1) -> (d0)> : !dynRow -> !dyn
  %r = arith.subf %x, %b : !dyn
  frit.yield %r : !dyn
}
// CHECK-LABEL: gpu.func @dynamic_without_elements(
// CHECK-COUNT-11: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load {{.*}} -> f32
// CHECK: gpu.return
frit.kernel @dynamic_without_elements(%x: !dyn) -> !dyn
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 64, block = 128, kept = 4>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : !dyn -> !dynRow
  %b = frit.reindex %m <(d0, d1) -> (d0)> : !dynRow -> !dyn
  %r = arith.subf %x, %b : !dyn
  frit.yield %r : !dyn
}

// Split rows.
// CHECK-LABEL: gpu.func @split_0(
// CHECK-SAME: frit.grid = [#frit.size<64>
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @split(%x: tensor<1048576xf32>) -> tensor<f32>
    attributes {gpu_schedule = #frit.gpu_split_rows<lane = 0, width = 4, unroll = 4, split = 64, chunksOfPart = 1024, resident = 2>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1048576xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}
// Parts of 4096 chunks are 128.
// CHECK-LABEL: gpu.func @split_otherwise_0(
// CHECK-SAME: frit.grid = [#frit.size<128>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-COUNT-1: llvm.load {{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.return
frit.kernel @split_otherwise(%x: tensor<1048576xf32>) -> tensor<f32>
    attributes {gpu_schedule = #frit.gpu_split_rows<lane = 0, width = 2, unroll = 1, split = 1000, chunksOfPart = 4096>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1048576xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// Columns.
// CHECK-LABEL: gpu.func @columns(
// CHECK-SAME: frit.grid = [#frit.size<2>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-COUNT-1: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @columns(%x: tensor<1024x256xf32>) -> tensor<256xf32>
    attributes {gpu_schedule = #frit.gpu_columns<lane = 0, width = 4, threadsX = 32, unroll = 1>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1024x256xf32> -> tensor<256xf32>
  frit.yield %0 : tensor<256xf32>
}
// 16 groups of 8 threads with 2 columns each, 4 blocks each.
// CHECK-LABEL: gpu.func @columns_otherwise_0(
// CHECK-SAME: frit.grid = [#frit.size<64>
// CHECK-SAME: frit.shared_bytes = 1024
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.return
frit.kernel @columns_otherwise(%x: tensor<1024x256xf32>) -> tensor<256xf32>
    attributes {gpu_schedule = #frit.gpu_columns<lane = 0, width = 2, threadsX = 8, unroll = 4, split = 4, rowsOfPart = 128, resident = 2>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1024x256xf32> -> tensor<256xf32>
  frit.yield %0 : tensor<256xf32>
}

// Rows and columns.
// CHECK-LABEL: gpu.func @both_0(
// CHECK-SAME: frit.grid = [#frit.size<100>
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.return
frit.kernel @both(%x: tensor<1024x256xf32>) -> (tensor<1024xf32>, tensor<256xf32>)
    attributes {gpu_schedule = #frit.gpu_rows_and_columns<lane = 1, width = 4, threads = 32, block = 64, parts = 100>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = frit.reduce <sum> %x dims [0] {across} : tensor<1024x256xf32> -> tensor<256xf32>
  frit.yield %0, %1 : tensor<1024xf32>, tensor<256xf32>
}
// One row a block, whose second warp is exchanged with.
// CHECK-LABEL: gpu.func @both_otherwise_0(
// CHECK-SAME: frit.grid = [#frit.size<50>
// CHECK-SAME: frit.shared_bytes = 16
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.return
frit.kernel @both_otherwise(%x: tensor<1024x256xf32>) -> (tensor<1024xf32>, tensor<256xf32>)
    attributes {gpu_schedule = #frit.gpu_rows_and_columns<lane = 1, width = 2, threads = 64, block = 64, parts = 50, resident = 2>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = frit.reduce <sum> %x dims [0] {across} : tensor<1024x256xf32> -> tensor<256xf32>
  frit.yield %0, %1 : tensor<1024xf32>, tensor<256xf32>
}

// The same, with the first two rows loaded in front of the loop, and in a step the next row but one after each of two.
// CHECK-LABEL: gpu.func @both_ahead_0(
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<2xf32>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.barrier
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}} -> vector<2xf32>
// CHECK: gpu.return
frit.kernel @both_ahead(%x: tensor<1024x256xf32>) -> (tensor<1024xf32>, tensor<256xf32>)
    attributes {gpu_schedule = #frit.gpu_rows_and_columns<lane = 1, width = 2, threads = 64, block = 64, parts = 50, loadsAhead = true>, symbols = []} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<1024x256xf32> -> tensor<1024xf32>
  %1 = frit.reduce <sum> %x dims [0] {across} : tensor<1024x256xf32> -> tensor<256xf32>
  frit.yield %0, %1 : tensor<1024xf32>, tensor<256xf32>
}

// A scan of rows: a warp's two chunks a thread, 10 shuffles, and a barrier for the other warp.
// CHECK-LABEL: gpu.func @scan(
// CHECK-SAME: frit.grid = [#frit.size<64>
// CHECK-SAME: frit.shared_bytes = 32
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-10: gpu.shuffle
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: gpu.return
frit.kernel @scan(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 4, threads = 64, block = 64, unroll = 2>, symbols = []} {
  %0 = frit.scan <sum> %x dim 1 : tensor<64x1024xf32>
  frit.yield %0 : tensor<64x1024xf32>
}
// Four rows a block, without shared memory.
// CHECK-LABEL: gpu.func @scan_otherwise(
// CHECK-SAME: frit.grid = [#frit.size<16>
// CHECK-SAME: frit.shared_bytes = 0
// CHECK-SAME: known_block_size = array<i32: 32, 1, 1>
// CHECK-COUNT-1: llvm.load {{.*}} -> vector<2xf32>
// CHECK-COUNT-3: gpu.shuffle
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
frit.kernel @scan_otherwise(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 2, threads = 8, block = 32, unroll = 1>, symbols = []} {
  %0 = frit.scan <sum> %x dim 1 : tensor<64x1024xf32>
  frit.yield %0 : tensor<64x1024xf32>
}
// A thread a column, four rows at once.
// CHECK-LABEL: gpu.func @scan_of_columns(
// CHECK-SAME: frit.grid = [#frit.size<16>
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-COUNT-4: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK-COUNT-4: llvm.store
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.return
frit.kernel @scan_of_columns(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 0, width = 1, threads = 1, block = 64, unroll = 4>, symbols = []} {
  %0 = frit.scan <sum> %x dim 0 : tensor<64x1024xf32>
  frit.yield %0 : tensor<64x1024xf32>
}
