// Long and odd: single elements, kept by a cluster.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.cluster =
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.nvvm.mapa.shared.cluster
// CHECK: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: .reqnctapercluster
// PTX: ld.global.nc.{{[bsu](8|16|32|64)}}
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: mapa.shared::cluster
// From softmax_long_odd of tests/python/support/gpu_kinds.py: `scripts/gpu-table softmax_long_odd` writes what follows.
module {
  frit.graph @main(%arg0: tensor<4096x50257xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[50257, 1]>, frit.name = "arg0_1"}) -> (tensor<4096x50257xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[50257, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._softmax.default"(%arg0) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[50257, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[50257, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<4096x50257xbf16>) -> tensor<4096x50257xbf16>
    frit.return %0 : tensor<4096x50257xbf16>
  }
}
