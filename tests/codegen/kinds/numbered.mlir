// Numbers of the columns are computed, not read; of the one operand two vectors are asked for before the math.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX-NOT: fma.rn.f32
// PTX-COUNT-2: ld.global.nc.v4.b32
// PTX: fma.rn.f32
// PTX-NOT: ld.global.nc.v4
// PTX-COUNT-2: st.global.v4.b32
// From numbered of tests/python/support/gpu_kinds.py: `scripts/gpu-table numbered` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}) -> (tensor<16384x4096xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.arange.start_step"() [0, 4096, 1, unit, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, false] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<4096xi64>
    %1 = frit.aten "aten.mul.Tensor"(%0) [#frit.operand<0>, 5.000000e-01] {operand_dtypes = [#frit.dtype<i64>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<4096xi64>) -> tensor<4096xf32>
    %2 = frit.aten "aten.add.Tensor"(%arg0, %1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xf32>, tensor<4096xf32>) -> tensor<16384x4096xf32>
    frit.return %2 : tensor<16384x4096xf32>
  }
}
