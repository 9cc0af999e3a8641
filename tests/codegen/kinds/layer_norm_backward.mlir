// Gradients of rows and of columns in one kernel: a row is read once, two vectors a thread of each tensor.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: gpu.func @{{.*}}_0(
// CHECK-SAME: frit.grid = [#frit.size<264>
// CHECK-SAME: nvvm.minctasm = 2
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK-NOT: -> vector<8xbf16>
// CHECK-COUNT-2: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: scf.yield
// CHECK: gpu.func @{{.*}}_1(
// CHECK: gpu.func @{{.*}}_u_0(
// CHECK-NOT: gpu.func
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From layer_norm_backward of tests/python/support/gpu_kinds.py: `scripts/gpu-table layer_norm_backward` writes what follows.
module {
  frit.graph @main(%arg0: tensor<32768x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}, %arg1: tensor<32768x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg1_1"}, %arg2: tensor<32768x1xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1, 1]>, frit.name = "arg2_1"}, %arg3: tensor<32768x1xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1, 1]>, frit.name = "arg3_1"}, %arg4: tensor<4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg4_1"}, %arg5: tensor<4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg5_1"}) -> (tensor<32768x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 0>}, tensor<4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 1>}, tensor<4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0:3 = frit.aten "aten.native_layer_norm_backward.default"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5) [#frit.operand<0>, #frit.operand<1>, [4096], #frit.operand<2>, #frit.operand<3>, #frit.operand<4>, #frit.operand<5>, [true, true, true]] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>, #frit.layout<[1, 1]>, #frit.layout<[1, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, #frit.storage<fresh, 2>]} : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>, tensor<32768x1xf32>, tensor<32768x1xf32>, tensor<4096xbf16>, tensor<4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>)
    frit.return %0#0, %0#1, %0#2 : tensor<32768x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
  }
}
