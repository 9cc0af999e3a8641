// Lines on both sides by vectors of 16 bytes: a swizzled tile of squares of 4 by 4 floats; from any pointer, a tile of single elements.
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
// SQUARES-COUNT-4: ld.global.nc.v4.b32
// SQUARES-NOT: {{ld[.]global|bar[.]sync}}
// SQUARES-COUNT-4: st.shared.v4.b32
// SQUARES-NOT: {{st[.]shared|[.]global}}
// SQUARES: bar.sync
// SQUARES-COUNT-4: ld.shared.v4.b32
// SQUARES-NOT: {{ld[.]shared|bar[.]sync}}
// SQUARES-COUNT-4: st.global.v4.b32
// SQUARES-NOT: {{[.]global|[.]shared|bar[.]sync}}
// SQUARES: .entry {{.*}}_u(
// From transposed of tests/python/support/gpu_kinds.py: `scripts/gpu-table transposed` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192x16384xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[16384, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.t.default"(%arg0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 8192]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<16384x8192xf32>) -> tensor<8192x16384xf32>
    %1 = frit.aten "aten.clone.default"(%0) [#frit.operand<0>, #frit.torch<"memory_format", 0, "contiguous_format">] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 8192]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[16384, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x16384xf32>) -> tensor<8192x16384xf32>
    frit.return %1 : tensor<8192x16384xf32>
  }
}
