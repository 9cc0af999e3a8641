// The sum and its norm, both results.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: st.global.v4.b32
// From add_rms_norm of tests/python/support/gpu_kinds.py: `scripts/gpu-table add_rms_norm` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg1_1"}, %arg2: tensor<8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg2_1"}) -> (tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[8192, 1]>, frit.storage = #frit.storage<fresh, 8>}, tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[8192, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.add.Tensor"(%arg0, %arg1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>, tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    %1 = frit.aten "aten._to_copy.default"(%0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>) -> tensor<16384x8192xf32>
    %2 = frit.aten "aten.pow.Tensor_Scalar"(%1) [#frit.operand<0>, 2] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xf32>) -> tensor<16384x8192xf32>
    %3 = frit.aten "aten.mean.dim"(%2) [#frit.operand<0>, [-1], true, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xf32>) -> tensor<16384x1xf32>
    %4 = frit.aten "aten.add.Tensor"(%3) [#frit.operand<0>, 9.9999999999999995E-7, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %5 = frit.aten "aten.rsqrt.default"(%4) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %6 = frit.aten "aten.mul.Tensor"(%1, %5) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xf32>, tensor<16384x1xf32>) -> tensor<16384x8192xf32>
    %7 = frit.aten "aten._to_copy.default"(%6) [#frit.operand<0>, #frit.dtype<bf16>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xf32>) -> tensor<16384x8192xbf16>
    %8 = frit.aten "aten.mul.Tensor"(%7, %arg2) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>, tensor<8192xbf16>) -> tensor<16384x8192xbf16>
    frit.return %8, %0 : tensor<16384x8192xbf16>, tensor<16384x8192xbf16>
  }
}
