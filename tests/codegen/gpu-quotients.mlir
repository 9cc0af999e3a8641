// Divided by what divides nothing: no dim can be parted, so quotients are carried by single elements, and counted on from lane to lane of a
// vector, of which the first lane alone divides. What a known size divides is a multiplication, and not carried.
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && %ptx_loops %t.ptx

// CHECK-LABEL: gpu.func @unknown
// CHECK:         scf.if
// One for the row, two for the quotients.
// CHECK-COUNT-3: arith.divui
// CHECK-NOT:     arith.divui
// CHECK:         llvm.store {{.*}} : vector<4xf32>
// CHECK:         scf.if
// CHECK:         arith.divui
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (i32, i32, i32, i32, i32, i32)
// CHECK-NOT:     arith.divui
// CHECK:         gpu.return
frit.kernel @unknown(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %r: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>, #frit.symbol<"p2", min = 1, max = 64>, #frit.symbol<"p3", min = 1, max = 64>]} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, floordiv(floordiv(d1, p2) + 1, p3 + 1))> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = frit.reindex %r <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %2 = arith.mulf %0, %1 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %2 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// CHECK-LABEL: gpu.func @known
// CHECK:         scf.for
// CHECK-NOT:     iter_args
// CHECK:         gpu.return
frit.kernel @known(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[3 * p0]>> attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = frit.reindex %x <(d0) -> (floordiv(d0, 3))> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?xf32, #frit.dims<[3 * p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[3 * p0]>>
}
