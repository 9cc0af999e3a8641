// Rows by index, reduced by a warp each.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: st.global.{{b(8|16|32|64)}}
// From gathered_rows_sum of tests/python/support/gpu_kinds.py: `scripts/gpu-table gathered_rows_sum` writes what follows.
module {
  frit.graph @main(%arg0: tensor<65536xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg0_1"}, %arg1: tensor<128256x1024xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[1024, 1]>, frit.name = "arg1_1"}) -> (tensor<65536xf32> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 2>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.embedding.default"(%arg1, %arg0) [#frit.operand<0>, #frit.operand<1>, -1, false, false] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[1024, 1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[1024, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<128256x1024xbf16>, tensor<65536xi64>) -> tensor<65536x1024xbf16>
    %1 = frit.aten "aten._to_copy.default"(%0) [#frit.operand<0>, #frit.dtype<f32>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[1024, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1024, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<65536x1024xbf16>) -> tensor<65536x1024xf32>
    %2 = frit.aten "aten.sum.dim_IntList"(%1) [#frit.operand<0>, [-1], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1024, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<65536x1024xf32>) -> tensor<65536xf32>
    frit.return %2 : tensor<65536xf32>
  }
}
