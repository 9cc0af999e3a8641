// A transpose that was flattened: parted again it goes through a tile.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %read_only %no_shuffle < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.load {{.*}} : !llvm.ptr<3>
// CHECK: llvm.store {{.*}} : {{.*}}, !llvm.ptr<1>
// PTX: ld.global.nc.
// PTX: st.shared
// PTX: bar.sync
// From dynamic_flat_transpose of tests/python/support/gpu_dynamic_kinds.py: `scripts/gpu-table dynamic_flat_transpose` writes what follows.
module {
  frit.graph @main(%arg0: i64 {frit.kind = "user_input", frit.name = "arg0_1", frit.size = #frit.size<s77>}, %arg1: i64 {frit.kind = "user_input", frit.name = "arg1_1", frit.size = #frit.size<s27>}, %arg2: tensor<?x?xf32, #frit.dims<[s77, s27]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[s27, 1]>, frit.name = "arg2_1"}, %arg3: tensor<?xf32, #frit.dims<[s27 * s77]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input", frit.layout = #frit.layout<[1]>, frit.name = "arg3_1"}) -> (tensor<?xf32, #frit.dims<[s27 * s77]>> {frit.device = "cpu", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 3>}) attributes {device = "cpu", symbols = [#frit.symbol<"s77", min = 2, hint = 8192>, #frit.symbol<"s27", min = 2, hint = 4096>]} {
    %0 = frit.aten "aten.t.default"(%arg2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s27, 1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1, s27]>], result_storage = [#frit.storage<view_of_argument, 2>]} : (tensor<?x?xf32, #frit.dims<[s77, s27]>>) -> tensor<?x?xf32, #frit.dims<[s27, s77]>>
    %1 = frit.aten "aten.clone.default"(%0) [#frit.operand<0>, #frit.torch<"memory_format", 0, "contiguous_format">] {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, s27]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s77, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?x?xf32, #frit.dims<[s27, s77]>>) -> tensor<?x?xf32, #frit.dims<[s27, s77]>>
    %2 = frit.size <s27 * s77>
    %3 = frit.aten "aten._unsafe_view.default"(%1, %2) [#frit.operand<0>, [#frit.operand<1>]] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], operand_layouts = [#frit.layout<[s77, 1]>, unit], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [unit]} : (tensor<?x?xf32, #frit.dims<[s27, s77]>>, i64) -> tensor<?xf32, #frit.dims<[s27 * s77]>>
    %4 = frit.aten "aten.add.Tensor"(%3, %arg3) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>, #frit.layout<[1]>], result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<?xf32, #frit.dims<[s27 * s77]>>, tensor<?xf32, #frit.dims<[s27 * s77]>>) -> tensor<?xf32, #frit.dims<[s27 * s77]>>
    frit.return %4 : tensor<?xf32, #frit.dims<[s27 * s77]>>
  }
}
