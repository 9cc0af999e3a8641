// Rows of whole vectors at odd strides and pointers: the code that keeps vectors, with a second form of its loads and stores.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: arith.constant 1025 : i64
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: } else {
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.bitcast {{.*}} : vector<8xbf16> to vector<4xi32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-NOT: llvm.load {{.*}} !llvm.ptr<1>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NEXT: } else {
// CHECK-COUNT-8: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// PTX: st.global.b16
// From dynamic_softmax_of_slice of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_softmax_of_slice` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s83>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: i64 {frit.kind = "user_input", frit.name = "arg2_1", frit.size = #frit.size<s64>}, %arg3: tensor<?x?xbf16, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s64, 1], offset 1>, frit.name = "arg3_1"}) -> (tensor<?x?xbf16, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = [#frit.symbol<"s83", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 4096>, #frit.symbol<"s64", min = 2, hint = 4097>]} {
    %0 = frit.aten "aten._softmax.default"(%arg3) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s64, 1], offset 1>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s83, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s83, s27]>>
    frit.return %0 : tensor<?x?xbf16, #frit.dims<[s83, s27]>>
  }
}
