// Images turned to channels last, a tile at a time.
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
// PAIRS-COUNT-8: ld.global.nc.{{b32|v2[.]b16}}
// PAIRS: st.shared
// PAIRS-COUNT-8: st.global.{{b32|v2[.]b16}}
// From channels_last of tests/python/support/gpu_kinds.py: `scripts/gpu-table channels_last` writes what follows.
module {
  frit.graph @main(%arg0: tensor<256x64x56x56xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[200704, 3136, 56, 1]>, frit.name = "arg0_1"}) -> (tensor<256x56x56x64xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[200704, 3584, 64, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.permute.default"(%arg0) [#frit.operand<0>, [0, 2, 3, 1]] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[200704, 3136, 56, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[200704, 56, 1, 3136]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<256x64x56x56xbf16>) -> tensor<256x56x56x64xbf16>
    %1 = frit.aten "aten.clone.default"(%0) [#frit.operand<0>, #frit.torch<"memory_format", 0, "contiguous_format">] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[200704, 56, 1, 3136]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[200704, 3584, 64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<256x56x56x64xbf16>) -> tensor<256x56x56x64xbf16>
    %2 = frit.aten "aten.mul.Tensor"(%1) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[200704, 3584, 64, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[200704, 3584, 64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<256x56x56x64xbf16>) -> tensor<256x56x56x64xbf16>
    frit.return %2 : tensor<256x56x56x64xbf16>
  }
}
