// A row lies on both sides of what is kept: its places have two indices.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.barrier
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: bar.sync
// From dynamic_rows_of_channels of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_rows_of_channels` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s15>}, %arg1: tensor<?xf32, #frit.dims<[s15]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg1_1"}, %arg2: i64 {frit.kind = "user_input", frit.name = "arg2_1", frit.size = #frit.size<s77>}, %arg3: i64 {frit.kind = "user_input", frit.name = "arg3_1", frit.size = #frit.size<s53>}, %arg4: tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[s15 * s53, s53, 1]>, frit.name = "arg4_1"}) -> (tensor<?xf32, #frit.dims<[s15]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 3>}) attributes {device = "cpu", symbols = [#frit.symbol<"s15", min = 2, hint = 16384>, #frit.symbol<"s77", min = 2, hint = 16>, #frit.symbol<"s53", min = 2, hint = 255>]} {
    %0 = frit.aten "aten.slice.Tensor"(%arg1) [#frit.operand<0>, 0, 0, 9223372036854775807, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<?xf32, #frit.dims<[s15]>>) -> tensor<?xf32, #frit.dims<[s15]>>
    %1 = frit.aten "aten.unsqueeze.default"(%0) [#frit.operand<0>, 1] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<view_of_argument, 1>]} : (tensor<?xf32, #frit.dims<[s15]>>) -> tensor<?x1xf32, #frit.dims<[s15, 1]>>
    %2 = frit.aten "aten.mul.Tensor"(%arg4, %1) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[s15 * s53, s53, 1]>, #frit.layout<[1, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s15 * s53, s53, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>>, tensor<?x1xf32, #frit.dims<[s15, 1]>>) -> tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>>
    %3 = frit.aten "aten.sum.dim_IntList"(%2) [#frit.operand<0>, [0, 2], false, unit] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s15 * s53, s53, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?x?xf32, #frit.dims<[s77, s15, s53]>>) -> tensor<?xf32, #frit.dims<[s15]>>
    frit.return %3 : tensor<?xf32, #frit.dims<[s15]>>
  }
}
