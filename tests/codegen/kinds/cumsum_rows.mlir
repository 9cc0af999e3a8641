// Two vectors of eight halves a thread, shuffles, and one barrier a tile.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: st.global.v4.b32
// From cumsum_rows of tests/python/support/gpu_scan_kinds.py: `scripts/gpu-table cumsum_rows` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}) -> (tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.cumsum.default"(%arg0) [#frit.operand<0>, -1, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    frit.return %0 : tensor<16384x4096xbf16>
  }
}
