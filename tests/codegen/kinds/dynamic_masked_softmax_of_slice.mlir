// Booleans are bytes until both forms of their loads have met.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: arith.constant 2049 : i64
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> vector<8xi8>
// CHECK: } else {
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<1> -> i8
// CHECK: llvm.bitcast {{.*}} : vector<8xi8> to vector<2xi32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-NOT: llvm.load {{.*}} !llvm.ptr<1>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: bar.sync
// PTX: st.global.b16
// From dynamic_masked_softmax_of_slice of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_masked_softmax_of_slice` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s83>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: i64 {frit.kind = "user_input", frit.name = "arg2_1", frit.size = #frit.size<s64>}, %arg3: tensor<?x?xbf16, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[s64, 1], offset 1>, frit.name = "arg3_1"}, %arg4: tensor<?x?xi1, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bool>, frit.kind = "user_input", frit.layout = #frit.layout<[s64, 1], offset 1>, frit.name = "arg4_1"}) -> (tensor<?x?xbf16, #frit.dims<[s83, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[s27, 1]>, frit.storage = #frit.storage<fresh, 4>}) attributes {device = "cpu", symbols = [#frit.symbol<"s83", min = 2, hint = 16384>, #frit.symbol<"s27", min = 2, hint = 8192>, #frit.symbol<"s64", min = 2, hint = 8193>]} {
    %0 = frit.aten "aten.bitwise_not.default"(%arg4) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bool>], operand_layouts = [#frit.layout<[s64, 1], offset 1>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xi1, #frit.dims<[s83, s27]>>) -> tensor<?x?xi1, #frit.dims<[s83, s27]>>
    %1 = frit.aten "aten.scalar_tensor.default"() [0xFFF0000000000000 : f64, #frit.dtype<bf16>, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, unit] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<bf16>
    %2 = frit.aten "aten.where.self"(%0, %1, %arg3) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<bool>, #frit.dtype<bf16>, #frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>, #frit.layout<[]>, #frit.layout<[s64, 1], offset 1>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xi1, #frit.dims<[s83, s27]>>, tensor<bf16>, tensor<?x?xbf16, #frit.dims<[s83, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s83, s27]>>
    %3 = frit.aten "aten.mul.Tensor"(%2) [#frit.operand<0>, 1.250000e-01] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s83, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s83, s27]>>
    %4 = frit.aten "aten._softmax.default"(%3) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[s27, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xbf16, #frit.dims<[s83, s27]>>) -> tensor<?x?xbf16, #frit.dims<[s83, s27]>>
    frit.return %4 : tensor<?x?xbf16, #frit.dims<[s83, s27]>>
  }
}
