// A softmax whose logarithm is read at one place of each row: of a row the first kernel leaves its maximum and its sum, and the second reads
// one number.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: FileCheck %s --check-prefix=ROWS --implicit-check-not=st.global < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.cluster =
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.nvvm.mapa.shared.cluster
// PTX: .reqnctapercluster
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: mapa.shared::cluster
// ROWS: .entry
// ROWS-COUNT-2: st.global.b32
// ROWS: .entry {{.*}}_u(
// ROWS-COUNT-2: st.global.b32
// ROWS: .entry
// ROWS: st.global.v4.b32
// ROWS: st.global.b16
// ROWS: .entry {{.*}}_u(
// ROWS: st.global.b16
// From cross_entropy of tests/python/support/gpu_kinds.py: `scripts/gpu-table cross_entropy` writes what follows.
module {
  frit.graph @main(%arg0: tensor<8192x128256xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[128256, 1]>, frit.name = "arg0_1"}, %arg1: tensor<8192xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}) -> (tensor<8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._log_softmax.default"(%arg0) [#frit.operand<0>, 1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[128256, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[128256, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x128256xbf16>) -> tensor<8192x128256xbf16>
    %1:2 = frit.aten "aten.nll_loss_forward.default"(%0, %arg1) [#frit.operand<0>, #frit.operand<1>, unit, 0, -100] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[128256, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], result_layouts = [#frit.layout<[1]>, #frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>]} : (tensor<8192x128256xbf16>, tensor<8192xi64>) -> (tensor<8192xbf16>, tensor<bf16>)
    frit.return %1#0 : tensor<8192xbf16>
  }
}
