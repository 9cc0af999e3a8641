// Mean, variance, weight and bias; the statistics are results too.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: st.global.v4.b32
// From layer_norm of tests/python/support/gpu_kinds.py: `scripts/gpu-table layer_norm` writes what follows.
module {
  frit.graph @main(%arg0: tensor<32768x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}, %arg1: tensor<4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}, %arg2: tensor<4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg2_1"}) -> (tensor<32768x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 0>}, tensor<32768x1xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1, 1]>, frit.storage = #frit.storage<fresh, 1>}, tensor<32768x1xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0:3 = frit.aten "aten.native_layer_norm.default"(%arg0, %arg1, %arg2) [#frit.operand<0>, [4096], #frit.operand<1>, #frit.operand<2>, 1.000000e-05] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[1, 1]>, #frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, #frit.storage<fresh, 2>]} : (tensor<32768x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<32768x1xbf16>, tensor<32768x1xbf16>)
    frit.return %0#0, %0#1, %0#2 : tensor<32768x4096xbf16>, tensor<32768x1xbf16>, tensor<32768x1xbf16>
  }
}
