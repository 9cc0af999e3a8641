// A weight and a bias have two forms as well, and are read when they are used.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: } else {
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: gpu.barrier
// CHECK-NOT: llvm.load {{.*}} !llvm.ptr<1>
// CHECK: gpu.barrier
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: } else {
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// PTX: st.global.b16
// From dynamic_layer_norm_of_slice of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_layer_norm_of_slice` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s83>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: i64 {frit.kind = "user_input", frit.name = "arg2_1", frit.size = #frit.size<s64>}, %arg3: tensor<?x?xbf16, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s64, 1], offset 1>, frit.name = "arg3_1"}, %arg4: tensor<?xbf16, #frit.dims<[s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg4_1"}, %arg5: tensor<?xbf16, #frit.dims<[s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg5_1"}) -> (tensor<?x?xbf16, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = [#frit.symbol<"s83", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 5000>, #frit.symbol<"s64", min = 2, hint = 5001>]} {
    %0 = frit.size <s27>
    %1:3 = frit.aten "aten.native_layer_norm.default"(%arg3, %0, %arg4, %arg5) [#frit.operand<0>, [#frit.operand<1>], #frit.operand<2>, #frit.operand<3>, 1.000000e-05] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s64, 1], offset 1>, unit, #frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>, #frit.layout<[1, 1]>, #frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, #frit.storage<fresh, 2>]} : (tensor<?x?xbf16, #frit.dims<[s83, s27]>>, i64, tensor<?xbf16, #frit.dims<[s27]>>, tensor<?xbf16, #frit.dims<[s27]>>) -> (tensor<?x?xbf16, #frit.dims<[s83, s27]>>, tensor<?x1xbf16, #frit.dims<[s83, 1]>>, tensor<?x1xbf16, #frit.dims<[s83, 1]>>)
    frit.return %1#0 : tensor<?x?xbf16, #frit.dims<[s83, s27]>>
  }
}
