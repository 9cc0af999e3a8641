// Bytes: a tile in shared memory between the load and the store.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle < %t.ptx
// RUN: %ptx_loops %t.ptx
// RUN: FileCheck %s --check-prefix=PAIRS < %t.ptx
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> ->
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.load {{.*}} : !llvm.ptr<3>
// CHECK: llvm.store {{.*}} : {{.*}}, !llvm.ptr<1>
// PTX: ld.global.nc.
// PTX: st.shared
// PTX: bar.sync
// PTX: ld.shared
// PTX: st.global.
// Pairs of neighbours on both sides, eight a thread.
// PAIRS-COUNT-8: ld.global.nc.v2.b8
// PAIRS: st.shared
// PAIRS-COUNT-8: st.global.v2.b8
// From transposed_bytes of tests/python/support/gpu_kinds.py: `scripts/gpu-table transposed_bytes` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xi8> {frit.device = "cpu", frit.dtype = #frit.dtype<u8>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192x16384xi8> {frit.device = "cpu", frit.dtype = #frit.dtype<u8>, frit.layout = #frit.layout<[16384, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.t.default"(%arg0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<u8>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<u8>], result_layouts = [#frit.layout<[1, 8192]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<16384x8192xi8>) -> tensor<8192x16384xi8>
    %1 = frit.aten "aten.clone.default"(%0) [#frit.operand<0>, #frit.torch<"memory_format", 0, "contiguous_format">] {operand_dtypes = [#frit.dtype<u8>], operand_layouts = [#frit.layout<[1, 8192]>], result_dtypes = [#frit.dtype<u8>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x16384xi8>) -> tensor<8192x16384xi8>
    %2 = frit.aten "aten.add.Tensor"(%1) [#frit.operand<0>, 1, 1] {operand_dtypes = [#frit.dtype<u8>], operand_layouts = [#frit.layout<[16384, 1]>], result_dtypes = [#frit.dtype<u8>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x16384xi8>) -> tensor<8192x16384xi8>
    frit.return %2 : tensor<8192x16384xi8>
  }
}
