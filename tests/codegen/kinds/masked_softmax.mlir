// A mask of bytes beside halves: as many of them as of the others.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// PTX: st.global.v4.b32
// From masked_softmax of tests/python/support/gpu_kinds.py: `scripts/gpu-table masked_softmax` writes what follows.
module {
  frit.graph @main(%arg0: tensor<8192x2048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[2048, 1]>, frit.name = "arg0_1"}, %arg1: tensor<8192x2048xi1> {frit.device = "cpu", frit.dtype = #frit.dtype<bool>, frit.kind = "user_input", frit.layout = #frit.layout<[2048, 1]>, frit.name = "arg1_1"}) -> (tensor<8192x2048xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[2048, 1]>, frit.storage = #frit.storage<fresh, 4>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.bitwise_not.default"(%arg1) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bool>], operand_layouts = [#frit.layout<[2048, 1]>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[2048, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x2048xi1>) -> tensor<8192x2048xi1>
    %1 = frit.aten "aten.scalar_tensor.default"() [0xFFF0000000000000 : f64, #frit.dtype<bf16>, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, unit] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<bf16>
    %2 = frit.aten "aten.where.self"(%0, %1, %arg0) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<bool>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[2048, 1]>, #frit.layout<[]>, #frit.layout<[2048, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[2048, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x2048xi1>, tensor<bf16>, tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
    %3 = frit.aten "aten.mul.Tensor"(%2) [#frit.operand<0>, 1.250000e-01] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[2048, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[2048, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
    %4 = frit.aten "aten._softmax.default"(%3) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[2048, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[2048, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16>
    frit.return %4 : tensor<8192x2048xbf16>
  }
}
