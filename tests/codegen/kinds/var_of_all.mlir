// One sweep of everything by as many blocks as fill a device, and a launch that makes one of what they leave.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_atomics < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.workspace
// CHECK: scf.for {{.*}} -> (vector<4xf32>, f32, vector<4xf32>, vector<4xf32>)
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// PTX: .entry frit_deviations_div_{{.*}}_0(
// PTX: ld.global.nc.v4.b32
// PTX: .entry frit_deviations_div_{{.*}}_1(
// PTX: .entry frit_deviations_div_{{.*}}_u_0(
// PTX-NOT: .entry
// From var_of_all of tests/python/support/gpu_kinds.py: `scripts/gpu-table var_of_all` writes what follows.
module {
  frit.graph @main(%arg0: tensor<268435456xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg0_1"}) -> (tensor<f32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.var.correction"(%arg0) [#frit.operand<0>, unit, unit, false] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<268435456xf32>) -> tensor<f32>
    frit.return %0 : tensor<f32>
  }
}
