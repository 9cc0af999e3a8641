// Rows of unknown length: kept where they have four chunks a thread at most, else swept; in vectors where the length allows.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: %[[MOST:.*]] = arith.constant 1025 : i64
// CHECK: arith.cmpi slt, %{{.*}}, %[[MOST]] : i64
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-NOT: llvm.load {{.*}} -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: st.global.v4.b32
// From dynamic_softmax of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_softmax` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}) -> (tensor<?x?xbf16, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 4096>]} {
    %0 = frit.aten "aten._softmax.default"(%arg2) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s77, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s77, s27]>>
    frit.return %0 : tensor<?x?xbf16, #frit.dims<[s77, s27]>>
  }
}
