// Halves of a row change places: vectors stay whole.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From rotated of tests/python/support/gpu_kinds.py: `scripts/gpu-table rotated` writes what follows.
module {
  frit.graph @main(%arg0: tensor<65536x128xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[128, 1]>, frit.name = "arg0_1"}) -> (tensor<65536x128xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[128, 1]>, frit.storage = #frit.storage<fresh, 4>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.slice.Tensor"(%arg0) [#frit.operand<0>, 1, 64, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[128, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[128, 1], offset 64>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<65536x128xbf16>) -> tensor<65536x64xbf16>
    %1 = frit.aten "aten.neg.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[128, 1], offset 64>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<65536x64xbf16>) -> tensor<65536x64xbf16>
    %2 = frit.aten "aten.slice.Tensor"(%arg0) [#frit.operand<0>, 1, 0, 64, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[128, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[128, 1]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<65536x128xbf16>) -> tensor<65536x64xbf16>
    %3 = frit.aten "aten.cat.default"(%1, %2) [[#frit.operand<0>, #frit.operand<1>], -1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[64, 1]>, #frit.layout<[128, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[128, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<65536x64xbf16>, tensor<65536x64xbf16>) -> tensor<65536x128xbf16>
    %4 = frit.aten "aten.mul.Tensor"(%3) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[128, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[128, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<65536x128xbf16>) -> tensor<65536x128xbf16>
    frit.return %4 : tensor<65536x128xbf16>
  }
}
