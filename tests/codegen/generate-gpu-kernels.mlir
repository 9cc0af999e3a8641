// RUN: frit-opt %s --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %s --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx

// Pointwise: one test chooses between 16-byte vectors and single elements; no division where there is one dim.
// CHECK-LABEL: gpu.func @add(
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias, llvm.readonly}
// CHECK-SAME: frit.grid = [#frit.size<floordiv(p0 + 1023, 1024)>
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK: scf.for
// CHECK-NOT: divui
// PTX-LABEL: .entry add(
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
