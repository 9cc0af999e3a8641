// Two operands, element by element beside each other: read as vectors.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: st.global.{{b(8|16|32|64)}}
// From stacked of tests/python/support/gpu_kinds.py: `scripts/gpu-table stacked` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg1_1"}) -> (tensor<16384x4096x2xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[8192, 2, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.unsqueeze.default"(%arg0) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1, 1]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096x1xbf16>
    %1 = frit.aten "aten.unsqueeze.default"(%arg1) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096x1xbf16>
    %2 = frit.aten "aten.cat.default"(%0, %1) [[#frit.operand<0>, #frit.operand<1>], -1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1, 1]>, #frit.layout<[4096, 1, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 2, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096x1xbf16>, tensor<16384x4096x1xbf16>) -> tensor<16384x4096x2xbf16>
    frit.return %2 : tensor<16384x4096x2xbf16>
  }
}
