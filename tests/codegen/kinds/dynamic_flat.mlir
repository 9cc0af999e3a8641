// One dim, since two operands know no rows. Whose row an element is, is looked for once a vector, and counted on from lane to lane; single elements
// carry it. Nothing is asked of the length of rows, but that there are vectors.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-COUNT-1: arith.divui
// CHECK-NOT: arith.divui
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> {{i16|bf16}}
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From dynamic_flat of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_flat` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s52>}, %arg1: tensor<?xbf16, #frit.dims<[s52]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}, %arg2: i64 {frit.kind = "user_input", frit.name = "arg2_1", frit.size = #frit.size<s27>}, %arg3: tensor<?x?xbf16, #frit.dims<[s52, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg3_1"}, %arg4: tensor<?xbf16, #frit.dims<[s27 * s52]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg4_1"}) -> (tensor<?xbf16, #frit.dims<[s27 * s52]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 5>}) attributes {device = "cpu", symbols = [#frit.symbol<"s52", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 4095>]} {
    %0 = frit.aten "aten.slice.Tensor"(%arg1) [#frit.operand<0>, 0, 0, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<?xbf16, #frit.dims<[s52]>>) -> tensor<?xbf16, #frit.dims<[s52]>>
    %1 = frit.aten "aten.unsqueeze.default"(%0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<?xbf16, #frit.dims<[s52]>>) -> tensor<?x1xbf16, #frit.dims<[s52, 1]>>
    %2 = frit.aten "aten.mul.Tensor"(%arg3, %1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s52, s27]>>, tensor<?x1xbf16, #frit.dims<[s52, 1]>>) -> tensor<?x?xbf16, #frit.dims<[s52, s27]>>
    %3 = frit.aten "aten.relu.default"(%2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s52, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s52, s27]>>
    %4 = frit.size <s27 * s52>
    %5 = frit.aten "aten.view.default"(%3, %4) [#frit.operand<0>, [#frit.operand<1>]] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[s27, 1]>, unit], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1]>], result_storage = [unit]} : (tensor<?x?xbf16, #frit.dims<[s52, s27]>>, i64) -> tensor<?xbf16, #frit.dims<[s27 * s52]>>
    %6 = frit.aten "aten.mul.Tensor"(%5, %arg4) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?xbf16, #frit.dims<[s27 * s52]>>, tensor<?xbf16, #frit.dims<[s27 * s52]>>) -> tensor<?xbf16, #frit.dims<[s27 * s52]>>
    frit.return %6 : tensor<?xbf16, #frit.dims<[s27 * s52]>>
  }
}
