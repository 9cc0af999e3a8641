// Contiguous operands: 16 bytes an access, through the read-only path.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX-COUNT-2: ld.global.nc.v4.b32
// PTX-NOT: ld.global.nc.v4
// PTX: st.global.v4.b32
// PTX-NOT: st.global.v4
// From mul_add of tests/python/support/gpu_kinds.py: `scripts/gpu-table mul_add` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg1_1"}) -> (tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[8192, 1]>, frit.storage = #frit.storage<fresh, 1>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.mul.Tensor"(%arg0, %arg1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>, tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    %1 = frit.aten "aten.add.Tensor"(%0, %arg0) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>, tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    frit.return %1 : tensor<16384x8192xbf16>
  }
}
