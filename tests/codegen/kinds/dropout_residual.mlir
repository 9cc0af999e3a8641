// The kernel draws its numbers: a seed of 8 bytes is all that it reads beside the operands, and a block of four words serves four elements. The
// upper halves of products are counted, 16 of a block (those of the first round and the last are other instructions): two blocks for the 8
// elements of a thread, which are asked for before, and one in each of two loops, over the rest and where pointers are not aligned.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %no_shuffle %no_barrier < %t.ptx
// RUN: grep -c 'mul.hi.u32' %t.ptx | FileCheck %s --check-prefix=ROUNDS
// RUN: %ptx_loops %t.ptx
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: ld.global.nc.v4.b32
// PTX-COUNT-32: mul.hi.u32
// PTX-NOT: mul.hi.u32
// PTX: st.global.v4.b32
// ROUNDS: {{^64$}}
// From dropout_residual of tests/python/support/gpu_kinds.py: `scripts/gpu-table dropout_residual` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}, %arg1: tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg1_1"}) -> (tensor<16384x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[8192, 1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0:2 = frit.aten "aten.native_dropout.default"(%arg0) [#frit.operand<0>, 1.000000e-01, true] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bool>], result_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>]} : (tensor<16384x8192xbf16>) -> (tensor<16384x8192xbf16>, tensor<16384x8192xi1>)
    %1 = frit.aten "aten.add.Tensor"(%0#0, %arg1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x8192xbf16>, tensor<16384x8192xbf16>) -> tensor<16384x8192xbf16>
    frit.return %1 : tensor<16384x8192xbf16>
  }
}
