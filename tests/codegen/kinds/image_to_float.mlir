// Three channels side by side, a mean for each: no vector has room for one.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> i8
// CHECK: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: ld.global.nc.{{[bsu](8|16|32|64)}}
// PTX: st.global.{{b(8|16|32|64)}}
// From image_to_float of tests/python/support/gpu_kinds.py: `scripts/gpu-table image_to_float` writes what follows.
module {
  frit.graph @main(%arg0: tensor<64x224x224x3xi8> {frit.device = "cpu", frit.dtype = #frit.dtype<u8>, frit.kind = "user_input", frit.layout = #frit.layout<[150528, 672, 3, 1]>, frit.name = "arg0_1"}, %arg1: tensor<3xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}) -> (tensor<64x224x224x3xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[150528, 672, 3, 1]>, frit.storage = #frit.storage<fresh, 3>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._to_copy.default"(%arg0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<u8>], operand_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<64x224x224x3xi8>) -> tensor<64x224x224x3xf32>
    %1 = frit.aten "aten.div.Tensor"(%0) [#frit.operand<0>, 255] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<64x224x224x3xf32>) -> tensor<64x224x224x3xf32>
    %2 = frit.aten "aten.sub.Tensor"(%1, %arg1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[150528, 672, 3, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<64x224x224x3xf32>, tensor<3xf32>) -> tensor<64x224x224x3xf32>
    %3 = frit.aten "aten._to_copy.default"(%2) [#frit.operand<0>, #frit.dtype<bf16>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[150528, 672, 3, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<64x224x224x3xf32>) -> tensor<64x224x224x3xbf16>
    frit.return %3 : tensor<64x224x224x3xbf16>
  }
}
