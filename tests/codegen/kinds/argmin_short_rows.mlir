// Several rows to a warp.
// RUN: frit-opt %s %gpu_kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local %no_division %read_only %no_barrier < %t.ptx
// RUN: %ptx_loops %t.ptx
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: llvm.store {{.*}} : i64, !llvm.ptr<1>
// PTX: ld.global.nc.v4.b32
// PTX: shfl.sync.bfly
// PTX: st.global.{{b(8|16|32|64)}}
// From argmin_short_rows of tests/python/support/gpu_kinds.py: `scripts/gpu-table argmin_short_rows` writes what follows.
module {
  frit.graph @main(%arg0: tensor<1048576x32xbf16> {frit.device = "cpu", frit.dtype = #frit.dtype<bf16>, frit.kind = "user_input", frit.layout = #frit.layout<[32, 1]>, frit.name = "arg0_1"}) -> (tensor<1048576xi64> {frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}) attributes {device = "cpu", symbols = []} {
    %0 = frit.aten "aten.argmin.default"(%arg0) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<bf16>], operand_layouts = [#frit.layout<[32, 1]>], result_dtypes = [#frit.dtype<i64>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<1048576x32xbf16>) -> tensor<1048576xi64>
    frit.return %0 : tensor<1048576xi64>
  }
}
