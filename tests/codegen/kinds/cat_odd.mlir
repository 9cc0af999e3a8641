// Pieces of odd lengths: vectors are loaded where a piece has whole ones, and always stored.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: st.global.v4.b32
// From cat_odd of tests/python/support/gpu_kinds.py: `scripts/gpu-table cat_odd` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x2047xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[2047, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x1xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1, 1]>, frit.name = "arg1_1"}, %arg2: tensor<16384x1000xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1000, 1]>, frit.name = "arg2_1"}) -> (tensor<16384x3048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[3048, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.cat.default"(%arg0, %arg1, %arg2) [[#frit.operand<0>, #frit.operand<1>, #frit.operand<2>], 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[2047, 1]>, #frit.layout<[1, 1]>, #frit.layout<[1000, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[3048, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x2047xbf16>, tensor<16384x1xbf16>, tensor<16384x1000xbf16>) -> tensor<16384x3048xbf16>
    frit.return %0 : tensor<16384x3048xbf16>
  }
}
