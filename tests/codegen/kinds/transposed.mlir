// Lines on both sides: a tile in shared memory between the load and the store.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle < %t.ptx
// RUN: %ptx_loops %t.ptx
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
// From transposed of tests/python/support/gpu_kinds.py: `scripts/gpu-table transposed` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192x16384xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[16384, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.t.default"(%arg0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 8192]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<16384x8192xf32>) -> tensor<8192x16384xf32>
    %1 = frit.aten "aten.clone.default"(%0) [#frit.operand<0>, #frit.torch<"memory_format", 0, "contiguous_format">] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 8192]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x16384xf32>) -> tensor<8192x16384xf32>
    frit.return %1 : tensor<8192x16384xf32>
  }
}
