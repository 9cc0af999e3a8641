// Few rows, each kept by a cluster of blocks.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.cluster =
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.nvvm.mapa.shared.cluster
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: .reqnctapercluster
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: mapa.shared::cluster
// PTX: st.global.v4.b32
// From softmax_few_rows of tests/python/support/gpu_kinds.py: `scripts/gpu-table softmax_few_rows` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16x131072xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[131072, 1]>, frit.name = "arg0_1"}) -> (tensor<16x131072xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[131072, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._softmax.default"(%arg0) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[131072, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[131072, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16x131072xf32>) -> tensor<16x131072xf32>
    frit.return %0 : tensor<16x131072xf32>
  }
}
