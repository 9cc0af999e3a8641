// One sweep for mean and variance of a channel, shared by blocks, one for what they normalise.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for {{.*}} -> (vector<4xf32>, f32, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: .entry {{.*}}_0(
// PTX: ld.global.nc.v4.b32
// PTX: .entry {{.*}}_1(
// PTX: .entry {{.*}}_2(
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// PTX: .entry {{.*}}_u_0(
// PTX: .entry {{.*}}_u_2(
// PTX-NOT: .entry
// From batch_norm_channels of tests/python/support/gpu_kinds.py: `scripts/gpu-table batch_norm_channels` writes what follows.
module {
  frit.graph @main(%arg0: tensor<256x64x56x56xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[200704, 3136, 56, 1]>, frit.name = "arg0_1"}, %arg1: tensor<64xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}, %arg2: tensor<64xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg2_1"}) -> (tensor<256x64x56x56xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[200704, 3136, 56, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0:3 = frit.aten "aten._native_batch_norm_legit.no_stats"(%arg0, %arg1, %arg2) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, true, 1.000000e-01, 1.000000e-05] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[200704, 3136, 56, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_layouts = [#frit.layout<[200704, 3136, 56, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, #frit.storage<fresh, 2>]} : (tensor<256x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<256x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>)
    frit.return %0#0 : tensor<256x64x56x56xf32>
  }
}
