// A frame around odd rows: single elements.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_shuffle %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.store {{.*}} : bf16, !llvm.ptr<1>
// PTX: ld.global.nc.{{[bsu](8|16|32|64)}}
// PTX: st.global.{{b(8|16|32|64)}}
// From padded of tests/python/support/gpu_kinds.py: `scripts/gpu-table padded` writes what follows.
module {
  frit.graph @main(%arg0: tensor<16384x4096xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[4096, 1]>, frit.name = "arg0_1"}) -> (tensor<16391x4099xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.layout = #frit.layout<[4099, 1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.constant_pad_nd.default"(%arg0) [#frit.operand<0>, [1, 2, 3, 4], 1.000000e+00] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[4096, 1]>], result_dtypes = [#frit.dtype<bf16>], result_layouts = [#frit.layout<[4099, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<16384x4096xbf16>) -> tensor<16391x4099xbf16>
    frit.return %0 : tensor<16391x4099xbf16>
  }
}
