// A warp's part has a row: no shared memory.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX-NOT: bar.sync
// PTX: st.global.v4.b32
// From cumsum_short_rows of tests/python/support/gpu_scan_kinds.py: `scripts/gpu-table cumsum_short_rows` writes what follows.
module {
  frit.graph @main(%arg0: tensor<1048576x256xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[256, 1]>, frit.name = "arg0_1"}, %arg1: tensor<256xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}) -> (tensor<1048576x256xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[256, 1]>, frit.storage = #frit.storage<fresh, 3>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.mul.Tensor"(%arg0, %arg1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[256, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[256, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x256xf32>, tensor<256xf32>) -> tensor<1048576x256xf32>
    %1 = frit.aten "aten.cumsum.default"(%0) [#frit.operand<0>, -1, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[256, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[256, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x256xf32>) -> tensor<1048576x256xf32>
    %2 = frit.aten "aten.mul.Tensor"(%1) [#frit.operand<0>, 5.000000e-01] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[256, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[256, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x256xf32>) -> tensor<1048576x256xf32>
    %3 = frit.aten "aten.add.Tensor"(%2, %arg0) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[256, 1]>, #frit.layout<[256, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[256, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x256xf32>, tensor<1048576x256xf32>) -> tensor<1048576x256xf32>
    frit.return %3 : tensor<1048576x256xf32>
  }
}
