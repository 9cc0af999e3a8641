// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx

// Pointwise: 16-byte vectors and a loop over what is left, for pointers that are assumed to be aligned, and single elements for others; no
// division where there is one dim.
// CHECK-LABEL: gpu.func @add(
// CHECK-SAME: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: frit.grid = [#frit.size<floordiv(p0 + 1023, 1024)>
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK: scf.for
// CHECK-NOT: divui
// CHECK-LABEL: gpu.func @add_u(
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias, llvm.readonly}
// CHECK-NOT: vector<
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: vector<
// PTX-LABEL: .entry add(
// PTX-NEXT: .align 16
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// PTX-NOT: {{div|rem}}
// PTX: .entry row_max(
frit.kernel @add(%x: tensor<?xf32, #frit.dims<[p0]>>, %y: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %0 = arith.addf %x, %y : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// A row in the registers of a warp: two loads a thread, shuffles, no shared memory and no barrier.
// CHECK-LABEL: gpu.func @row_max(
// CHECK-SAME: frit.grid = [#frit.size<floordiv(p0 + 3, 4)>
// CHECK-SAME: frit.shared_bytes = 0
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK-NOT: gpu.barrier
// PTX: ld.global.nc.v4
// PTX: shfl.sync.bfly
// PTX-NOT: bar.sync
// PTX: .entry column_sum(
frit.kernel @row_max(%x: tensor<?x256xf32, #frit.dims<[p0, 256]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = frit.reduce <max> %x dims [1] : tensor<?x256xf32, #frit.dims<[p0, 256]>> -> tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// Columns meet in shared memory, behind a barrier.
// CHECK-LABEL: gpu.func @column_sum(
// CHECK: gpu.barrier
// PTX: st.shared
// PTX: bar.sync
// PTX: ld.shared
frit.kernel @column_sum(%x: tensor<?x256xf32, #frit.dims<[p0, 256]>>) -> tensor<256xf32>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<?x256xf32, #frit.dims<[p0, 256]>> -> tensor<256xf32>
  frit.yield %0 : tensor<256xf32>
}

// A bias is read as a vector along the columns; one division finds the row of a chunk, a constant one here, so none is left.
// CHECK-LABEL: gpu.func @bias(
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// PTX: .entry bias(
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX-NOT: {{div|rem|\.local}}
// PTX: .entry softmax(
frit.kernel @bias(%x: tensor<?x768xf32, #frit.dims<[p0, 768]>>, %b: tensor<768xf32>) -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 65536>]} {
  %w = frit.reindex %b <(d0, d1) -> (d1)> : tensor<768xf32> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %0 = arith.addf %x, %w : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  frit.yield %0 : tensor<?x768xf32, #frit.dims<[p0, 768]>>
}

// The row stays in registers over both reductions and the results, four loads a thread and no fifth, exp once an element; where its
// pointer is not aligned it is read by single elements, and still once.
// CHECK-LABEL: gpu.func @softmax(
// CHECK-SAME: frit.shared_bytes = 64
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-COUNT-4: math.exp
// CHECK: gpu.barrier
// CHECK-NOT: math.exp
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xf32>
// CHECK-LABEL: gpu.func @softmax_u(
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: scf.for
// PTX-COUNT-4: shfl.sync.bfly
// PTX-NOT: .local
// PTX: .entry total_0(
frit.kernel @softmax(%x: tensor<?x1024xf32, #frit.dims<[p0, 1024]>>) -> tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 65536>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x1024xf32, #frit.dims<[p0, 1024]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mb = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
  %d = arith.subf %x, %mb : tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
  %e = math.exp %d : tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x1024xf32, #frit.dims<[p0, 1024]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
  %y = arith.divf %e, %sb fastmath<contract> : tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
  frit.yield %y : tensor<?x1024xf32, #frit.dims<[p0, 1024]>>
}

// A whole tensor in two launches: a partial a block, then one block over the partials; no atomics.
// CHECK-LABEL: gpu.func @total_0(
// CHECK-SAME: frit.workspace
// CHECK-LABEL: gpu.func @total_1(
// CHECK-SAME: frit.grid = [#frit.size<1>
// PTX-NOT: {{atom\.|red\.global}}
// PTX: .entry total_1(
// PTX: .entry halves(
frit.kernel @total(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<f32>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000000000>]} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// Eight halves are sixteen bytes.
// CHECK-LABEL: gpu.func @halves(
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// PTX: .entry transposed(
frit.kernel @halves(%x: tensor<?xbf16, #frit.dims<[p0]>>) -> tensor<?xbf16, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %0 = arith.addf %x, %x : tensor<?xbf16, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xbf16, #frit.dims<[p0]>>
}

// Lines on both sides: a tile of 32 x 33 elements in shared memory, four loads a thread before the barrier.
// CHECK-LABEL: gpu.func @transposed(
// CHECK-SAME: frit.shared_bytes = 4224
// CHECK-COUNT-4: llvm.load {{.*}} !llvm.ptr<1> -> f32
// CHECK: gpu.barrier
// CHECK: llvm.load {{.*}} !llvm.ptr<3> -> f32
// CHECK-NOT: gpu.barrier
// PTX-COUNT-4: ld.global.nc.b32
// PTX-COUNT-4: st.shared.b32
// PTX: bar.sync
// PTX-NOT: {{ld\.global|\.local}}
// PTX: .entry split_0(
frit.kernel @transposed(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>> {frit.layout = #frit.layout<[1, p0]>}) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 16384>, #frit.symbol<"p1", min = 0, max = 16384>]} {
  %0 = arith.addf %x, %x : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Rows that do not fill a device: a block for each part of a row, then a block for each row; no atomics.
// CHECK-LABEL: gpu.func @split_0(
// CHECK-SAME: frit.workspace
// CHECK-SAME: frit.grid = [#frit.size<16 * {{.*}}p0
// CHECK-LABEL: gpu.func @split_1(
// CHECK-SAME: frit.grid = [#frit.size<16>
// PTX: ld.global.nc.v4.b32
// PTX-NOT: {{atom\.|red\.global|\.local}}
// PTX: .entry split_1(
// PTX: .entry in_place(
frit.kernel @split(%x: tensor<16x?xf32, #frit.dims<[16, p0]>>) -> tensor<16xf32>
    attributes {schedule = #frit.schedule<row_reduction, <[16, p0]>, reduced 1, <split = 8>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %0 = frit.reduce <sum> %x dims [1] : tensor<16x?xf32, #frit.dims<[16, p0]>> -> tensor<16xf32>
  frit.yield %0 : tensor<16xf32>
}

// Where the plan lets a result overwrite an operand, nothing promises that they are apart: no load through the read-only path,
// which does not see what the kernel writes.
// CHECK-LABEL: gpu.func @in_place(
// CHECK-NOT: noalias
// CHECK: kernel attributes
// PTX-NOT: ld.global.nc
// PTX: ld.global.v4.b32
// PTX-NOT: ld.global.nc
frit.kernel @in_place(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %0 = arith.addf %x, %x : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}
frit.graph @g(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
    attributes {symbols = [#frit.symbol<"s0">],
                buffers = [#frit.buffer<argument 0, <4 * s0>>]} {
  %0 = frit.launch @in_place [#frit.size<s0>](%x) {buffers = [0], writes = array<i64: 0>}
      : (tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
  frit.return %0 : tensor<?xf32, #frit.dims<[s0]>>
}
