// Mean and squares around it in one sweep: two rows are read, then gone over twice.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, f32, vector<4xf32>, vector<4xf32>)
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK: arith.subf
// CHECK: math.fma
// CHECK: gpu.barrier
// PTX: .entry frit_sum_div_deviations_{{.*}}_0(
// PTX-COUNT-2: ld.global.nc.v4.b32
// PTX-NOT: ld.global
// PTX: st.shared
// PTX: .entry frit_sum_div_deviations_{{.*}}_1(
// PTX: .entry frit_sum_div_deviations_{{.*}}_u_0(
// PTX-NOT: .entry
// From var_mean_columns of tests/python/support/gpu_kinds.py: `scripts/gpu-table var_mean_columns` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}, tensor<8192xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0:2 = frit.aten "aten.var_mean.correction"(%arg0) [#frit.operand<0>, [0], 1, false] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_layouts = [#frit.layout<[1]>, #frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>]} : (tensor<16384x8192xf32>) -> (tensor<8192xf32>, tensor<8192xf32>)
    frit.return %0#0, %0#1 : tensor<8192xf32>, tensor<8192xf32>
  }
}
