// Rows that a cluster of blocks keeps: what is emitted, what becomes of it, and that no older architecture is given it.
// RUN: frit-opt %S/Inputs/cluster-kernels.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %S/Inputs/cluster-kernels.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: not frit-opt %S/Inputs/cluster-kernels.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=80 output=%t.old" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLD

// Eight loads a thread and no ninth; only the first exchange has a barrier in front; nobody touches another block's memory behind the last.
// CHECK-LABEL: gpu.func @cluster_softmax(
// CHECK-SAME: frit.cluster = 2 : i64
// CHECK-SAME: frit.grid = [#frit.size<2 * p0>
// CHECK-SAME: frit.shared_bytes = 176
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-COUNT-2: llvm.inline_asm {{.*}}"mbarrier.arrive.expect_tx
// CHECK: llvm.call_intrinsic "llvm.nvvm.fence.mbarrier_init.release.cluster"
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned"
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: -> vector<4xf32>
// CHECK: gpu.barrier
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait.aligned"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"
// CHECK: llvm.inline_asm {{.*}}"st.async
// CHECK: llvm.inline_asm {{.*}}mbarrier.try_wait.parity.acquire.cluster
// CHECK: gpu.barrier
// CHECK-NOT: barrier.cluster
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"
// CHECK: llvm.inline_asm {{.*}}"st.async
// CHECK: llvm.inline_asm {{.*}}mbarrier.try_wait.parity.acquire.cluster
// CHECK-NOT: mapa
// CHECK-COUNT-8: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<1>

// CHECK-LABEL: gpu.func @cluster_none(
// CHECK-NOT: cluster_dim
// CHECK: scf.for

// PTX-LABEL: .entry cluster_softmax(
// PTX: .explicitcluster
// PTX: .reqnctapercluster 2, 1, 1
// PTX: mbarrier.init.shared::cta.b64
// PTX: barrier.cluster.arrive.relaxed.aligned;
// PTX-COUNT-4: ld.global.nc.v4.b32
// PTX: barrier.cluster.wait.aligned;
// PTX: mapa.shared::cluster
// PTX: st.async.shared::cluster.mbarrier::complete_tx::bytes.b32
// PTX: mbarrier.try_wait.parity.acquire.cluster
// PTX-NOT: .local
// PTX-LABEL: .entry cluster_odd(
// PTX: .reqnctapercluster 4, 1, 1
// PTX-LABEL: .entry cluster_norm(
// PTX: .reqnctapercluster 8, 1, 1
// PTX-LABEL: .entry cluster_none(
// PTX-NOT: {{barrier.cluster|.reqnctapercluster}}
// PTX-LABEL: .entry unrolled(
// PTX-NOT: mul.rn.f32
// PTX-COUNT-2: ld.global.nc.v4.b32
// PTX: mul.rn.f32
// PTX: st.global.v4.b32
// PTX: st.global.v4.b32

// OLD: error: {{.*}}runs in clusters of blocks, which sm_80 has not
