// One place of each row by index: the indices are vectors.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi64>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v2.b64
// PTX: st.global.v4.b32
// From gathered_elements of tests/python/support/gpu_kinds.py: `scripts/gpu-table gathered_elements` writes what follows.
module {
  frit.graph @main(%arg0: tensor<65536xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg0_1"}, %arg1: tensor<65536x1024xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1024, 1]>, frit.name = "arg1_1"}) -> (tensor<65536x1xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.unsqueeze.default"(%arg0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<i64>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<65536xi64>) -> tensor<65536x1xi64>
    %1 = frit.aten "aten.gather.default"(%arg1, %0) [#frit.operand<0>, 1, #frit.operand<1>, false] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[1024, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<65536x1024xbf16>, tensor<65536x1xi64>) -> tensor<65536x1xbf16>
    frit.return %1 : tensor<65536x1xbf16>
  }
}
