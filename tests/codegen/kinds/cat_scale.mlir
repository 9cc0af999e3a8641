// Four pieces side by side: the piece is chosen once for a vector.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
// From cat_scale of tests/python/support/gpu_kinds.py: `scripts/gpu-table cat_scale` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x2048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[2048, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x2048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[2048, 1]>, frit.name = "arg1_1"}, %arg2: tensor<16384x2048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[2048, 1]>, frit.name = "arg2_1"}, %arg3: tensor<16384x2048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[2048, 1]>, frit.name = "arg3_1"}) -> (tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[8192, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.cat.default"(%arg0, %arg1, %arg2, %arg3) [[#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, #frit.operand<3>], 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[2048, 1]>, #frit.layout<[2048, 1]>, #frit.layout<[2048, 1]>, #frit.layout<[2048, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x2048xbf16>, tensor<16384x2048xbf16>, tensor<16384x2048xbf16>, tensor<16384x2048xbf16>) -> tensor<16384x8192xbf16>
    %1 = frit.aten "aten.mul.Tensor"(%0) [#frit.operand<0>, 5.000000e-01] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    frit.return %1 : tensor<16384x8192xbf16>
  }
}
