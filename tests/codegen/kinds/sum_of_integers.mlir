// Integers of 32 bits are summed in 64.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} : i64, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From sum_of_integers of tests/python/support/gpu_kinds.py: `scripts/gpu-table sum_of_integers` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xi32> {frit.device = "cpu", frit.dtype = #frit.dtype<i32>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}) -> (tensor<16384xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.sum.dim_IntList"(%arg0) [#frit.operand<0>, [-1], false, unit] {operand_dtypes = [#frit.dtype<i32>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xi32>) -> tensor<16384xi64>
    frit.return %0 : tensor<16384xi64>
  }
}
