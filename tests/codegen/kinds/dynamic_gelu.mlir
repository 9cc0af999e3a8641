// Unknown sizes: vectors where the length of a row allows them. Single elements look for their column in front of their loop, by a division
// for the first of them and one for the distance to the next.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From dynamic_gelu of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_gelu` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}, %arg3: tensor<?xbf16, #frit.dims<[s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg3_1"}) -> (tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 4096>]} {
    %0 = frit.aten "aten.add.Tensor"(%arg2, %arg3) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>, tensor<?xbf16, #frit.dims<[s27]>>) -> tensor<?x?xbf16, #frit.dims<[s77, s27]>>
    %1 = frit.aten "aten.gelu.default"(%0) [#frit.operand<0>, "none"] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s77, s27]>>
    frit.return %1 : tensor<?x?xbf16, #frit.dims<[s77, s27]>>
  }
}
