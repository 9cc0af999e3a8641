// Indices of 64 bits.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: arith.addf
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// From column_sums_beyond_32_bits of tests/python/support/gpu_kinds.py: `scripts/gpu-table column_sums_beyond_32_bits` writes what follows.
module {
  frit.graph @main(%arg0: tensor<1048576x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._to_copy.default"(%arg0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xbf16>) -> tensor<1048576x8192xf32>
    %1 = frit.aten "aten.sum.dim_IntList"(%0) [#frit.operand<0>, [0], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xf32>) -> tensor<8192xf32>
    frit.return %1 : tensor<8192xf32>
  }
}
