// Rows whose length was odd: what is no whole number of chunks is kept by elements, 32 a thread, whose loads are in no branch.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: arith.cmpi ne, %{{.*}}, %{{.*}} : i64
// CHECK: arith.constant 8193 : i64
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-NOT: llvm.load {{.*}} !llvm.ptr<1>
// CHECK-COUNT-32: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: ld.global.nc.{{[bsu](8|16|32|64)}}
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: st.global.b16
// From dynamic_softmax_odd of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_softmax_odd` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}) -> (tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 4095>]} {
    %0 = frit.aten "aten._softmax.default"(%arg2) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s77, s27]>>
    frit.return %0 : tensor<?x?xbf16, #frit.dims<[s77, s27]>>
  }
}
