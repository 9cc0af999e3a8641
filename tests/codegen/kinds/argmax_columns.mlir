// Value and place of a column.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: arith.cmpf
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// From argmax_columns of tests/python/support/gpu_kinds.py: `scripts/gpu-table argmax_columns` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.argmax.default"(%arg0) [#frit.operand<0>, 0, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>) -> tensor<8192xi64>
    frit.return %0 : tensor<8192xi64>
  }
}
