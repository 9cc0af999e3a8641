// RUN: frit-opt --frit-outline-regions %s | FileCheck %s

// One formula over tensors of different shapes is one kernel over a number of
// elements. A formula that is alone keeps its sizes, and so does one that reads
// out of order.
// CHECK: frit.kernel @[[$FLAT:frit_mul_[0-9a-f]+]](%arg0: tensor<?xf32, #frit.dims<[p0]>>, %arg1: tensor<f32>) -> tensor<?xf32, #frit.dims<[p0]>>
// CHECK-SAME: #frit.schedule<pointwise, <[p0]>, reduced 0>
// CHECK: frit.reindex %arg1 <(d0) -> ()>
// CHECK: frit.kernel @[[$ALONE:frit_exp_[0-9a-f]+]](%arg0: tensor<4x8xf32>)
// CHECK: frit.kernel @[[$STRIDED:frit_mul_[0-9a-f]+]](%arg0: tensor<4x8xf32> {frit.layout = #frit.layout<[1, 4]>}
// CHECK-LABEL: frit.graph @main
// CHECK: frit.launch @[[$FLAT]] [#frit.size<32>](%arg0, %arg3)
// CHECK: frit.launch @[[$FLAT]] [#frit.size<7>](%arg1, %arg3)
// CHECK: frit.launch @[[$ALONE]] [](%arg0)
// CHECK: frit.launch @[[$STRIDED]] [](%arg2, %arg3)
!a = tensor<4x8xf32>
!b = tensor<7xf32>
frit.graph @main(%x: !a, %y: !b, %z: !a {frit.layout = #frit.layout<[1, 4]>}, %c: tensor<f32>) -> (!a, !b, !a, !a) {
  %0 = frit.region(%x, %c) {frit.layouts = [#frit.layout<[8, 1]>], schedule = #frit.schedule<pointwise, <[4, 8]>, reduced 0>} : (!a, tensor<f32>) -> !a {
  ^bb0(%a: !a, %k: tensor<f32>):
    %b = frit.reindex %k <(d0, d1) -> ()> : tensor<f32> -> !a
    %e = arith.mulf %a, %b : !a
    frit.yield %e : !a
  }
  %1 = frit.region(%y, %c) {frit.layouts = [#frit.layout<[1]>], schedule = #frit.schedule<pointwise, <[7]>, reduced 0>} : (!b, tensor<f32>) -> !b {
  ^bb0(%a: !b, %k: tensor<f32>):
    %b = frit.reindex %k <(d0) -> ()> : tensor<f32> -> !b
    %e = arith.mulf %a, %b : !b
    frit.yield %e : !b
  }
  %2 = frit.region(%x) {frit.layouts = [#frit.layout<[8, 1]>], schedule = #frit.schedule<pointwise, <[4, 8]>, reduced 0>} : (!a) -> !a {
  ^bb0(%a: !a):
    %e = math.exp %a : !a
    frit.yield %e : !a
  }
  %3 = frit.region(%z, %c) {frit.layouts = [#frit.layout<[8, 1]>], schedule = #frit.schedule<pointwise, <[4, 8]>, reduced 0>} : (!a, tensor<f32>) -> !a {
  ^bb0(%a: !a, %k: tensor<f32>):
    %b = frit.reindex %k <(d0, d1) -> ()> : tensor<f32> -> !a
    %e = arith.mulf %a, %b : !a
    frit.yield %e : !a
  }
  frit.return %0, %1, %2, %3 : !a, !b, !a, !a
}

// Random bits follow from the linear index, which is the same over the number of elements; streams are operands.
// CHECK: frit.kernel @[[$RANDOM:frit_random_[0-9a-f]+]](%arg0: tensor<i64>, %arg1: i64) -> tensor<?xi32, #frit.dims<[p0]>>
// CHECK: frit.random %arg0, %arg1 : tensor<i64> -> tensor<?xi32, #frit.dims<[p0]>>
// CHECK-LABEL: frit.graph @random
// CHECK: frit.launch @[[$RANDOM]] [#frit.size<32>](%arg0, %{{.*}})
// CHECK: frit.launch @[[$RANDOM]] [#frit.size<7>](%arg0, %{{.*}})
frit.graph @random(%s: tensor<i64>) -> (tensor<4x8xi32>, tensor<7xi32>) {
  %i = arith.constant 0 : i64
  %j = arith.constant 1 : i64
  %0 = frit.region(%s, %i) {frit.layouts = [#frit.layout<[8, 1]>], schedule = #frit.schedule<pointwise, <[4, 8]>, reduced 0>} : (tensor<i64>, i64) -> tensor<4x8xi32> {
  ^bb0(%a: tensor<i64>, %k: i64):
    %e = frit.random %a, %k : tensor<i64> -> tensor<4x8xi32>
    frit.yield %e : tensor<4x8xi32>
  }
  %1 = frit.region(%s, %j) {frit.layouts = [#frit.layout<[1]>], schedule = #frit.schedule<pointwise, <[7]>, reduced 0>} : (tensor<i64>, i64) -> tensor<7xi32> {
  ^bb0(%a: tensor<i64>, %k: i64):
    %e = frit.random %a, %k : tensor<i64> -> tensor<7xi32>
    frit.yield %e : tensor<7xi32>
  }
  frit.return %0, %1 : tensor<4x8xi32>, tensor<7xi32>
}
