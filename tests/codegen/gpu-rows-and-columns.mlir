// Rows and columns in one pass: what is emitted, and what becomes of it.
// RUN: frit-opt %S/Inputs/row-column-kernels.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %S/Inputs/row-column-kernels.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=80 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: not frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not frit-opt %S/Inputs/row-column-kernels.mlir --frit-schedule-cpu-kernels --frit-generate-cpu-kernels 2>&1 | FileCheck %s --check-prefix=CPU

// The weight once, in front of the loop over rows; in it two tensors once each, in two vectors; partial results behind it.
// CHECK-LABEL: gpu.func @norm_block_0(
// CHECK-SAME: frit.grid = [#frit.size<max(min(p0, 3), 1)>
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<8xbf16>
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<8xbf16>
// CHECK-NOT: -> vector<8xbf16>
// CHECK: gpu.barrier
// CHECK-COUNT-2: llvm.store {{.*}} : vector<8xbf16>
// CHECK: gpu.barrier
// CHECK: scf.yield
// CHECK-NOT: llvm.load
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-LABEL: gpu.func @norm_block_1(
// CHECK-SAME: frit.grid = [#frit.size<256>
// Four rows a block; rows of the last block that are none are masked.
// CHECK-LABEL: gpu.func @norm_groups_0(
// CHECK-SAME: frit.grid = [#frit.size<max(min(floordiv(p0 + 3, 4), 2), 1)>

// PTX-LABEL: .entry norm_block_0(
// PTX-NOT: {{div\.|rem\.|\.local}}
// The weight, then a row.
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// PTX: st.global.v4.b32
// PTX: st.global.v4.b32
// PTX: bar.sync
// PTX-COUNT-4: ld.global.nc.v4.b32
// PTX-NOT: ld.global
// PTX: st.shared
// PTX-NOT: ld.global
// PTX: st.global.b32
// PTX-LABEL: .entry norm_block_1(
// PTX-NOT: {{div\.|rem\.}}
// PTX-LABEL: .entry norm_groups_0(

// ERROR: error: kernel 'unknown' reduces over rows of p1 elements beside their own reductions; that takes rows of known length, not empty
// CPU: error: kernel 'norm_block' reduces over its rows beside its own reductions; on a CPU those are two kernels
frit.kernel @unknown(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p1]>>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, p1]>, reduced 1, <parts = 2>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 64>, #frit.symbol<"p1", min = 0, max = 64>]} {
  %r = frit.reduce <sum> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %c = frit.reduce <sum> %x dims [0] {across} : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %r, %c : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p1]>>
}
