// The rows of the result are parted into the two that they are sums of, so a place has three indices, which single elements carry.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From dynamic_pairs of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_pairs` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}, %arg3: i64 {frit.kind = "user_input", frit.name = "arg3_1", frit.size = #frit.size<s17>}, %arg4: tensor<?x?xbf16, #frit.dims<[s17, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg4_1"}, %arg5: tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg5_1"}) -> (tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 4>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 512>, #frit.symbol<"s27", min = 2, hint = 257>, #frit.symbol<"s17", min = 2, hint = 513>]} {
    %0 = frit.aten "aten.slice.Tensor"(%arg2) [#frit.operand<0>, 0, 0, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<view_of_argument, 2>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s77, s27]>>
    %1 = frit.aten "aten.unsqueeze.default"(%0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, s27, 1]>], result_storage = [#frit.storage<view_of_argument, 2>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>) -> tensor<?x1x?xbf16, #frit.dims<[s77, 1, s27]>>
    %2 = frit.aten "aten.add.Tensor"(%1, %arg4) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, s27, 1]>, #frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s17 * s27, s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x1x?xbf16, #frit.dims<[s77, 1, s27]>>, tensor<?x?xbf16, #frit.dims<[s17, s27]>>) -> tensor<?x?x?xbf16, #frit.dims<[s77, s17, s27]>>
    %3 = frit.size <s17 * s77>
    %4 = frit.size <s27>
    %5 = frit.aten "aten.view.default"(%2, %3, %4) [#frit.operand<0>, [#frit.operand<1>, #frit.operand<2>]] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[s17 * s27, s27, 1]>, unit, unit], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [unit]} : (tensor<?x?x?xbf16, #frit.dims<[s77, s17, s27]>>, i64, i64) -> tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>>
    %6 = frit.aten "aten.mul.Tensor"(%5, %arg5) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>, #frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>>, tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>>
    frit.return %6 : tensor<?x?xbf16, #frit.dims<[s17 * s77, s27]>>
  }
}
