// Indices of 64 bits.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From row_sums_beyond_32_bits of tests/python/support/gpu_kinds.py: `scripts/gpu-table row_sums_beyond_32_bits` writes what follows.
module {
  frit.graph @main(%arg0: tensor<1048576x8192xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[8192, 1]>, frit.name = "arg0_1"}) -> (tensor<1048576xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 12>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten._to_copy.default"(%arg0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xbf16>) -> tensor<1048576x8192xf32>
    %1 = frit.aten "aten.amax.default"(%0) [#frit.operand<0>, [-1], true] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xf32>) -> tensor<1048576x1xf32>
    %2 = frit.aten "aten.abs.default"(%1) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x1xf32>) -> tensor<1048576x1xf32>
    %3 = frit.aten "aten.eq.Scalar"(%2) [#frit.operand<0>, 0x7FF0000000000000 : f64] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<bool>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x1xf32>) -> tensor<1048576x1xi1>
    %4 = frit.aten "aten.scalar_tensor.default"() [0.000000e+00, #frit.dtype<f32>, #frit.torch<"layout", 0, "strided">, #frit.torch<"device", 0, "cpu">, unit] {operand_dtypes = [], operand_layouts = [], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 0>]} : () -> tensor<f32>
    %5 = frit.aten "aten.where.self"(%3, %4, %1) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<bool>, #frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>, #frit.layout<[]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x1xi1>, tensor<f32>, tensor<1048576x1xf32>) -> tensor<1048576x1xf32>
    %6 = frit.aten "aten.squeeze.dims"(%5) [#frit.operand<0>, [-1]] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [unit]} : (tensor<1048576x1xf32>) -> tensor<1048576xf32>
    %7 = frit.aten "aten.sub.Tensor"(%0, %5) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xf32>, tensor<1048576x1xf32>) -> tensor<1048576x8192xf32>
    %8 = frit.aten "aten.exp.default"(%7) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[8192, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xf32>) -> tensor<1048576x8192xf32>
    %9 = frit.aten "aten.sum.dim_IntList"(%8) [#frit.operand<0>, [-1], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8192, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x8192xf32>) -> tensor<1048576xf32>
    %10 = frit.aten "aten.log.default"(%9) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576xf32>) -> tensor<1048576xf32>
    %11 = frit.aten "aten.add.Tensor"(%10, %6) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
    %12 = frit.aten "aten._to_copy.default"(%11) [#frit.operand<0>, #frit.dtype<bf16>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576xf32>) -> tensor<1048576xbf16>
    frit.return %12 : tensor<1048576xbf16>
  }
}
