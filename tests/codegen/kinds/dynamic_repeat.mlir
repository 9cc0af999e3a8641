// The columns of the result are parted into copies: what is read comes in vectors as well.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From dynamic_repeat of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_repeat` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}, %arg3: i64 {frit.kind = "user_input", frit.name = "arg3_1", frit.size = #frit.size<s72>}, %arg4: tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27 * s72, 1]>, frit.name = "arg4_1"}) -> (tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27 * s72, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 63>, #frit.symbol<"s72", min = 2, hint = 65>]} {
    %0 = frit.size <s72>
    %1 = frit.aten "aten.repeat.default"(%arg2, %0) [#frit.operand<0>, [1, #frit.operand<1>]] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[s27, 1]>, unit], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27 * s72, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>, i64) -> tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>>
    %2 = frit.aten "aten.mul.Tensor"(%1, %arg4) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27 * s72, 1]>, #frit.layout<[s27 * s72, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27 * s72, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>>, tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>>) -> tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>>
    frit.return %2 : tensor<?x?xbf16, #frit.dims<[s77, s27 * s72]>>
  }
}
