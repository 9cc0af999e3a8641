// RUN: frit-opt %S/Inputs/lists.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %S/Inputs/lists.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: frit-opt %S/Inputs/lists.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=100 output=%t.100.ptx" -o /dev/null && FileCheck %s --check-prefix=SM100 < %t.100.ptx
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=80 output=%t.80.ptx" -o /dev/null && FileCheck %s --check-prefix=CLASSIC < %t.80.ptx

// One argument, a table: the block finds its item by 8 probes, moves the pointers in 64 bits and counts on in 32.
// CHECK-LABEL: gpu.func @adamw(%arg0: !llvm.ptr)
// CHECK-SAME: frit.grid = [#frit.size<floordiv(p0 + 16383, 16384)>
// CHECK-SAME: frit.table = 13024 : i64
// CHECK: gpu.block_id
// CHECK-COUNT-8: arith.select
// CHECK-NOT: arith.select
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: divui
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @halves(
// CHECK-SAME: frit.grid = [#frit.size<floordiv(p0 + 2047, 2048)>
// CHECK: vector<8xbf16>
// CHECK-LABEL: gpu.func @count(
// CHECK-SAME: frit.grid = [#frit.size<1>, #frit.size<1>, #frit.size<1>]

// More than 4096 bytes of parameters need PTX 8.1. Nothing lies in local memory: the table is read where the driver put it. What all
// elements share is computed in front of the loop.
// PTX: .version 8.1
// PTX: .entry adamw(
// PTX-NEXT: .param .align 8 .b8 adamw_param_0[13024]
// PTX-NEXT: )
// PTX-NOT: .local
// PTX-COUNT-8: selp
// PTX: rcp.approx.ftz
// PTX-NOT: {{div|rem}}.{{[us]}}
// PTX: ld.global.v4.b32
// PTX-NOT: rcp.approx.ftz
// PTX: st.global.v4.b32
// PTX: .entry halves(
// SM100: .version 8.6

// A short table leaves the version alone that old drivers know.
// CLASSIC: .version 7.8
// CLASSIC: .param .align 8 .b8 short_param_0[4096]
frit.kernel @short(%p: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {list = 128 : i64, sweeps = 1 : i64, symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.negf %p : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}
