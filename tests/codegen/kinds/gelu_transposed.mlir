// Lines on both sides by vectors of 16 bytes: a swizzled tile of squares of 8 by 8 halves; from any pointer, a tile of single elements.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle < %t.ptx
// RUN: %ptx_loops %t.ptx
// RUN: FileCheck %s --check-prefix=SQUARES < %t.ptx
// CHECK: gpu.func {{.*}}_u(
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> ->
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.load {{.*}} : !llvm.ptr<3>
// CHECK: llvm.store {{.*}} : {{.*}}, !llvm.ptr<1>
// PTX: .entry {{.*}}_u(
// PTX: ld.global.nc.
// PTX: st.shared
// PTX: bar.sync
// PTX: ld.shared
// PTX: st.global.
// SQUARES: .entry
// SQUARES-COUNT-8: ld.global.nc.v4.b32
// SQUARES-NOT: {{ld[.]global|bar[.]sync}}
// SQUARES-COUNT-8: st.shared.v4.b32
// SQUARES-NOT: {{st[.]shared|[.]global}}
// SQUARES: bar.sync
// SQUARES-COUNT-8: ld.shared.v4.b32
// SQUARES-NOT: {{ld[.]shared|bar[.]sync}}
// SQUARES-COUNT-8: st.global.v4.b32
// SQUARES-NOT: {{[.]global|[.]shared|bar[.]sync}}
// SQUARES: .entry {{.*}}_u(
// From gelu_transposed of tests/python/support/gpu_kinds.py: `scripts/gpu-table gelu_transposed` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192x16384xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[16384, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.gelu.default"(%arg0) [#frit.operand<0>, "none"] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    %1 = frit.aten "aten.t.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1, 8192]>], result_storage = [unit]} : (tensor<16384x8192xbf16>) -> tensor<8192x16384xbf16>
    %2 = frit.aten "aten.clone.default"(%1) [#frit.operand<0>, #frit.torch<"memory_format", 0, "contiguous_format">] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[1, 8192]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x16384xbf16>) -> tensor<8192x16384xbf16>
    frit.return %2 : tensor<8192x16384xbf16>
  }
}
