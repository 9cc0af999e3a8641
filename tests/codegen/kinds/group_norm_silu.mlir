// Groups of channels are rows; weight and bias vary inside of them.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.cluster =
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.nvvm.mapa.shared.cluster
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: .reqnctapercluster
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: mapa.shared::cluster
// PTX: st.global.v4.b32
// From group_norm_silu of tests/python/support/gpu_kinds.py: `scripts/gpu-table group_norm_silu` writes what follows.
module {
  frit.graph @main(%arg0: tensor<1x320x64x64xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1310720, 4096, 64, 1]>, frit.name = "arg0_1"}, %arg1: tensor<320xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}, %arg2: tensor<320xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg2_1"}) -> (tensor<1x320x64x64xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1310720, 4096, 64, 1]>, frit.storage = #frit.storage<fresh, 6>}) attributes {device = "cpu", symbols = []} {
    %0:3 = frit.aten "aten.native_group_norm.default"(%arg0, %arg1, %arg2) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, 1, 320, 4096, 32, 1.000000e-05] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[1310720, 4096, 64, 1]>, #frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], result_layouts = [#frit.layout<[1310720, 4096, 64, 1]>, #frit.layout<[32, 1]>, #frit.layout<[32, 1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, #frit.storage<fresh, 2>]} : (tensor<1x320x64x64xbf16>, tensor<320xbf16>, tensor<320xbf16>) -> (tensor<1x320x64x64xbf16>, tensor<1x32xbf16>, tensor<1x32xbf16>)
    %1 = frit.aten "aten._to_copy.default"(%0#0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1x320x64x64xbf16>) -> tensor<1x320x64x64xf32>
    %2 = frit.aten "aten.sigmoid.default"(%1) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1x320x64x64xf32>) -> tensor<1x320x64x64xf32>
    %3 = frit.aten "aten.mul.Tensor"(%1, %2) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[1310720, 4096, 64, 1]>, #frit.layout<[1310720, 4096, 64, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1x320x64x64xf32>, tensor<1x320x64x64xf32>) -> tensor<1x320x64x64xf32>
    %4 = frit.aten "aten._to_copy.default"(%3) [#frit.operand<0>, #frit.dtype<bf16>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1310720, 4096, 64, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1x320x64x64xf32>) -> tensor<1x320x64x64xbf16>
    frit.return %4 : tensor<1x320x64x64xbf16>
  }
}
