// The same chunks, element by element.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK-NOT: vector<4xf32>, !llvm.ptr<1>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// PTX: ld.global.nc.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From cumsum_odd_rows of tests/python/support/gpu_scan_kinds.py: `scripts/gpu-table cumsum_odd_rows` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4095xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[4095, 1]>, frit.name = "arg0_1"}) -> (tensor<16384x4095xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[4095, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.cumsum.default"(%arg0) [#frit.operand<0>, -1, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4095, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4095, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4095xf32>) -> tensor<16384x4095xf32>
    frit.return %0 : tensor<16384x4095xf32>
  }
}
