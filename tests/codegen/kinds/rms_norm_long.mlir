// A long row in the registers of a cluster of blocks.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: frit.cluster =
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.nvvm.mapa.shared.cluster
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// PTX: .reqnctapercluster
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: mapa.shared::cluster
// PTX: st.global.v4.b32
// From rms_norm_long of tests/python/support/gpu_kinds.py: `scripts/gpu-table rms_norm_long` writes what follows.
module {
  frit.graph @main(%arg0: tensor<8192x65536xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[65536, 1]>, frit.name = "arg0_1"}, %arg1: tensor<65536xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}) -> (tensor<8192x65536xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[65536, 1]>, frit.storage = #frit.storage<fresh, 5>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.pow.Tensor_Scalar"(%arg0) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[65536, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[65536, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x65536xf32>) -> tensor<8192x65536xf32>
    %1 = frit.aten "aten.mean.dim"(%0) [#frit.operand<0>, [1], true, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[65536, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x65536xf32>) -> tensor<8192x1xf32>
    %2 = frit.aten "aten.add.Scalar"(%1) [#frit.operand<0>, 1.1920928955078125E-7, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x1xf32>) -> tensor<8192x1xf32>
    %3 = frit.aten "aten.rsqrt.default"(%2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x1xf32>) -> tensor<8192x1xf32>
    %4 = frit.aten "aten.mul.Tensor"(%arg0, %3) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[65536, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[65536, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x65536xf32>, tensor<8192x1xf32>) -> tensor<8192x65536xf32>
    %5 = frit.aten "aten.mul.Tensor"(%4, %arg1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[65536, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[65536, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x65536xf32>, tensor<65536xf32>) -> tensor<8192x65536xf32>
    frit.return %5 : tensor<8192x65536xf32>
  }
}
