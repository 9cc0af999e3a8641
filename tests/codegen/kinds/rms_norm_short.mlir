// A row in the registers of a warp.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: st.global.v4.b32
// From rms_norm_short of tests/python/support/gpu_kinds.py: `scripts/gpu-table rms_norm_short` writes what follows.
module {
  frit.graph @main(%arg0: tensor<262144x512xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[512, 1]>, frit.name = "arg0_1"}, %arg1: tensor<512xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}) -> (tensor<262144x512xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[512, 1]>, frit.storage = #frit.storage<fresh, 7>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._to_copy.default"(%arg0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[512, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[512, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x512xbf16>) -> tensor<262144x512xf32>
    %1 = frit.aten "aten.pow.Tensor_Scalar"(%0) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[512, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[512, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x512xf32>) -> tensor<262144x512xf32>
    %2 = frit.aten "aten.mean.dim"(%1) [#frit.operand<0>, [-1], true, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[512, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x512xf32>) -> tensor<262144x1xf32>
    %3 = frit.aten "aten.add.Tensor"(%2) [#frit.operand<0>, 9.9999999999999995E-7, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x1xf32>) -> tensor<262144x1xf32>
    %4 = frit.aten "aten.rsqrt.default"(%3) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x1xf32>) -> tensor<262144x1xf32>
    %5 = frit.aten "aten.mul.Tensor"(%0, %4) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[512, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[512, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x512xf32>, tensor<262144x1xf32>) -> tensor<262144x512xf32>
    %6 = frit.aten "aten._to_copy.default"(%5) [#frit.operand<0>, #frit.dtype<bf16>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[512, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[512, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x512xf32>) -> tensor<262144x512xbf16>
    %7 = frit.aten "aten.mul.Tensor"(%6, %arg1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[512, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[512, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<262144x512xbf16>, tensor<512xbf16>) -> tensor<262144x512xbf16>
    frit.return %7 : tensor<262144x512xbf16>
  }
}
