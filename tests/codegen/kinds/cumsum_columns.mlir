// A thread a column, eight rows ahead.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: gpu.func
// CHECK-COUNT-8: llvm.load {{.*}} -> f32
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-8: llvm.store
// PTX: .entry
// PTX-COUNT-8: ld.global.nc.b32
// PTX-NOT: bar.sync
// PTX-COUNT-8: st.global.b32
// From cumsum_columns of tests/python/support/gpu_scan_kinds.py: `scripts/gpu-table cumsum_columns` writes what follows.
module {
  frit.graph @main(%arg0: tensor<1024x64x512xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[32768, 512, 1]>, frit.name = "arg0_1"}) -> (tensor<1024x64x512xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[32768, 512, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.cumsum.default"(%arg0) [#frit.operand<0>, 1, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[32768, 512, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[32768, 512, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1024x64x512xf32>) -> tensor<1024x64x512xf32>
    frit.return %0 : tensor<1024x64x512xf32>
  }
}
