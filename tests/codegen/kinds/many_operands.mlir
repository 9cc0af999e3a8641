// Eight operands: 8 bytes an access, so that all loads are in flight.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xbf16>
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// PTX: ld.global.nc.{{v4.b16|v2.b32}}
// From many_operands of tests/python/support/gpu_kinds.py: `scripts/gpu-table many_operands` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg1_1"}, %arg2: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg2_1"}, %arg3: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg3_1"}, %arg4: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg4_1"}, %arg5: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg5_1"}, %arg6: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg6_1"}, %arg7: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg7_1"}) -> (tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[4096, 1]>, frit.storage = #frit.storage<fresh, 8>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.add.Tensor"(%arg0) [#frit.operand<0>, 0, 1] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %1 = frit.aten "aten.add.Tensor"(%0, %arg1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %2 = frit.aten "aten.add.Tensor"(%1, %arg2) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %3 = frit.aten "aten.add.Tensor"(%2, %arg3) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %4 = frit.aten "aten.add.Tensor"(%3, %arg4) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %5 = frit.aten "aten.add.Tensor"(%4, %arg5) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %6 = frit.aten "aten.add.Tensor"(%5, %arg6) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %7 = frit.aten "aten.add.Tensor"(%6, %arg7) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>, #frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    %8 = frit.aten "aten.mul.Tensor"(%7) [#frit.operand<0>, 1.250000e-01] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4096, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    frit.return %8 : tensor<16384x4096xbf16>
  }
}
