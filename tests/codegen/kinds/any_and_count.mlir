// A boolean and an integer from halves.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} : i64, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From any_and_count of tests/python/support/gpu_kinds.py: `scripts/gpu-table any_and_count` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}) -> (tensor<16384xi1> {frit.device = "cpu", frit.dtype = #frit.dtype<bool>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 1>}, tensor<16384xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 3>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.gt.Scalar"(%arg0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096xi1>
    %1 = frit.aten "aten.any.dim"(%0) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bool>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xi1>) -> tensor<16384xi1>
    %2 = frit.aten "aten.gt.Scalar"(%arg0) [#frit.operand<0>, 0] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096xi1>
    %3 = frit.aten "aten.sum.dim_IntList"(%2) [#frit.operand<0>, [-1], false, unit] {operand_dtypes = [#frit.dtype<bool>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xi1>) -> tensor<16384xi64>
    frit.return %1, %3 : tensor<16384xi1>, tensor<16384xi64>
  }
}
