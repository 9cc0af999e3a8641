// RUN: frit-opt --split-input-file --frit-gather-regions %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-gather-regions --frit-plan-buffers --frit-outline-regions %s | FileCheck %s --check-prefix=LAUNCH

// One formula over tensors of other shapes and other scalars: side by side behind what stood between them, one launch, one kernel over a
// number of elements that takes as many items. A region that reads one of them waits for the group; another formula is left alone.
// CHECK-LABEL: frit.graph @lists
// CHECK-NEXT: frit.region(%arg2)
// CHECK: math.exp
// CHECK: %[[A:.*]] = frit.region(%arg0, %arg3) {{{.*}}group = 0
// CHECK: %[[B:.*]] = frit.region(%arg1, %arg4) {{{.*}}group = 0
// CHECK: %[[C:.*]] = frit.region(%arg2, %arg3) {{{.*}}group = 0
// CHECK: frit.region(%[[A]]) {frit.layouts
// CHECK: math.sin
// LAUNCH: frit.kernel @[[$EXP:frit_exp_[0-9a-f]+]](
// LAUNCH: frit.kernel @[[$LIST:frit_foreach_mul_[0-9a-f]+]](%arg0: tensor<?xf32, #frit.dims<[p0]>>, %arg1: tensor<f32>) -> tensor<?xf32, #frit.dims<[p0]>>
// LAUNCH-SAME: list = 3 : i64, sweeps = 1 : i64
// LAUNCH-LABEL: frit.graph @lists
// LAUNCH: frit.launch @[[$EXP]]
// LAUNCH-NEXT: frit.launch @[[$LIST]] [#frit.size<32>, #frit.size<s0>, #frit.size<32>](%arg0, %arg3, %arg1, %arg4, %arg2, %arg3)
// LAUNCH-SAME: buffers = [1, 2, 3], frit.layouts = [#frit.layout<[8, 1]>, #frit.layout<[1]>, #frit.layout<[8, 1]>], items = 3 : i64
// LAUNCH-NEXT: frit.launch @frit_sin
!a = tensor<4x8xf32>
!b = tensor<?xf32, #frit.dims<[s0]>>
frit.graph @lists(%x: !a, %y: !b, %z: !a, %c: tensor<f32>, %d: tensor<f32>) -> (!a, !b, !a, !a, !a) attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.region(%x, %c) {frit.layouts = [#frit.layout<[8, 1]>]} : (!a, tensor<f32>) -> !a {
  ^bb0(%a: !a, %k: tensor<f32>):
    %b = frit.reindex %k <(d0, d1) -> ()> : tensor<f32> -> !a
    %e = arith.mulf %a, %b : !a
    frit.yield %e : !a
  }
  %4 = frit.region(%0) {frit.layouts = [#frit.layout<[8, 1]>]} : (!a) -> !a {
  ^bb0(%a: !a):
    %e = math.sin %a : !a
    frit.yield %e : !a
  }
  %1 = frit.region(%y, %d) {frit.layouts = [#frit.layout<[1]>]} : (!b, tensor<f32>) -> !b {
  ^bb0(%a: !b, %k: tensor<f32>):
    %b = frit.reindex %k <(d0) -> ()> : tensor<f32> -> !b
    %e = arith.mulf %a, %b : !b
    frit.yield %e : !b
  }
  %2 = frit.region(%z) {frit.layouts = [#frit.layout<[8, 1]>]} : (!a) -> !a {
  ^bb0(%a: !a):
    %e = math.exp %a : !a
    frit.yield %e : !a
  }
  %3 = frit.region(%z, %c) {frit.layouts = [#frit.layout<[8, 1]>]} : (!a, tensor<f32>) -> !a {
  ^bb0(%a: !a, %k: tensor<f32>):
    %b = frit.reindex %k <(d0, d1) -> ()> : tensor<f32> -> !a
    %e = arith.mulf %a, %b : !a
    frit.yield %e : !a
  }
  frit.return %0, %1, %3, %2, %4 : !a, !b, !a, !a, !a
}

// -----

// Counters of steps, a number each: a launch for all, and nothing to run over.
// CHECK-LABEL: frit.graph @counters
// CHECK-COUNT-2: group = 0
// LAUNCH: frit.kernel @frit_foreach_add_{{.*}}(%arg0: tensor<f32>) -> tensor<f32>
// LAUNCH: frit.launch @frit_foreach_add_{{.*}} [](%arg0, %arg1) {{.*}}items = 2
!s = tensor<f32>
frit.graph @counters(%x: !s, %y: !s) {
  %0 = frit.region(%x) {frit.layouts = [#frit.layout<[]>]} : (!s) -> !s {
  ^bb0(%a: !s):
    %e = arith.addf %a, %a : !s
    frit.yield %e : !s
  }
  %1 = frit.region(%y) {frit.layouts = [#frit.layout<[]>]} : (!s) -> !s {
  ^bb0(%a: !s):
    %e = arith.addf %a, %a : !s
    frit.yield %e : !s
  }
  frit.store %0 into %x : !s, !s
  frit.store %1 into %y : !s, !s
  frit.return
}

// -----

// Not gathered: one that reads the other; one behind an operator call; one that reads out of order; one whose temporary would be kept.
// CHECK-LABEL: frit.graph @apart
// CHECK-NOT: group =
!t = tensor<4x8xf32>
!l = tensor<64x1024xf32>
frit.graph @apart(%x: !t, %y: !t, %z: !t {frit.layout = #frit.layout<[1, 4]>}, %l: !l, %m: !l) -> (!t, !t, !t, !t, !t) {
  %0 = frit.region(%x) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %e = math.exp %a : !t
    frit.yield %e : !t
  }
  %1 = frit.region(%0) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %e = math.exp %a : !t
    frit.yield %e : !t
  }
  %2 = frit.region(%z) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %e = math.exp %a : !t
    frit.yield %e : !t
  }
  %l0 = frit.region(%l) {frit.layouts = [#frit.layout<[1024, 1]>]} : (!l) -> !l {
  ^bb0(%a: !l):
    %e = math.sin %a : !l
    frit.yield %e : !l
  }
  %l1 = frit.region(%m) {frit.layouts = [#frit.layout<[1024, 1]>]} : (!l) -> !l {
  ^bb0(%a: !l):
    %e = math.sin %a : !l
    frit.yield %e : !l
  }
  %3 = frit.aten "aten.mm.default"(%l0, %l1) [#frit.operand<0>, #frit.operand<1>] {frit.layouts = [#frit.layout<[8, 1]>], operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!l, !l) -> !t
  %4 = frit.region(%y) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %e = math.exp %a : !t
    frit.yield %e : !t
  }
  frit.return %0, %1, %2, %3, %4 : !t, !t, !t, !t, !t
}

// -----

// Members run at once: none writes over what another reads, as a region alone (or the only reader) would.
// CHECK-LABEL: frit.graph @at_once
// LAUNCH-LABEL: frit.graph @at_once
// LAUNCH: frit.launch @frit_foreach_sub_{{.*}}(%arg0, %arg1, %arg1, %arg2)
// LAUNCH-SAME: buffers = [1, 0]
// LAUNCH: frit.store {{.*}} into %arg1 :
// LAUNCH: frit.store {{.*}} into %arg2 {in_place}
!w = tensor<4x8xf32>
frit.graph @at_once(%x: !w, %y: !w, %z: !w) {
  %0 = frit.region(%x, %y) {frit.layouts = [#frit.layout<[8, 1]>]} : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %e = arith.subf %a, %b : !w
    frit.yield %e : !w
  }
  %1 = frit.region(%y, %z) {frit.layouts = [#frit.layout<[8, 1]>]} : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %e = arith.subf %a, %b : !w
    frit.yield %e : !w
  }
  frit.store %0 into %y : !w, !w
  frit.store %1 into %z : !w, !w
  frit.return
}

// -----

// A temporary that ends in the launch is taken over by its reader alone; one that two members read by none.
// LAUNCH-LABEL: frit.graph @taken_over
// LAUNCH-SAME: buffers = [#frit.buffer<temporary, <128>>, #frit.buffer<temporary, <128>>
// LAUNCH: frit.launch @frit_exp_{{.*}}buffers = [0]
// LAUNCH: frit.launch @frit_sin_{{.*}}buffers = [1]
// LAUNCH: frit.launch @frit_foreach_cos_{{.*}}buffers = [1, 2, 3]
!v = tensor<4x8xf32>
frit.graph @taken_over(%x: !v) -> !v {
  %0 = frit.region(%x) {frit.layouts = [#frit.layout<[8, 1]>]} : (!v) -> !v {
  ^bb0(%a: !v):
    %e = math.exp %a : !v
    frit.yield %e : !v
  }
  %1 = frit.region(%x) {frit.layouts = [#frit.layout<[8, 1]>]} : (!v) -> !v {
  ^bb0(%a: !v):
    %e = math.sin %a : !v
    frit.yield %e : !v
  }
  %2 = frit.region(%1) {frit.layouts = [#frit.layout<[8, 1]>]} : (!v) -> !v {
  ^bb0(%a: !v):
    %e = math.cos %a : !v
    frit.yield %e : !v
  }
  %3 = frit.region(%0) {frit.layouts = [#frit.layout<[8, 1]>]} : (!v) -> !v {
  ^bb0(%a: !v):
    %e = math.cos %a : !v
    frit.yield %e : !v
  }
  %4 = frit.region(%0) {frit.layouts = [#frit.layout<[8, 1]>]} : (!v) -> !v {
  ^bb0(%a: !v):
    %e = math.cos %a : !v
    frit.yield %e : !v
  }
  %5 = frit.region(%2, %3, %4) {frit.layouts = [#frit.layout<[8, 1]>]} : (!v, !v, !v) -> !v {
  ^bb0(%a: !v, %b: !v, %c: !v):
    %e = arith.addf %a, %b : !v
    %f = arith.addf %e, %c : !v
    frit.yield %f : !v
  }
  frit.return %5 : !v
}

// -----

// Random bits follow from an element's place in its tensor, which a kernel over a list does not know.
// CHECK-LABEL: frit.graph @random
// CHECK-NOT: group =
// CHECK: frit.return
!v = tensor<4x8xi32>
frit.graph @random(%s: tensor<i64>) -> (!v, !v) {
  %i = arith.constant 0 : i64
  %j = arith.constant 1 : i64
  %0 = frit.region(%s, %i) {frit.layouts = [#frit.layout<[8, 1]>]} : (tensor<i64>, i64) -> !v {
  ^bb0(%a: tensor<i64>, %k: i64):
    %e = frit.random %a, %k : tensor<i64> -> !v
    frit.yield %e : !v
  }
  %1 = frit.region(%s, %j) {frit.layouts = [#frit.layout<[8, 1]>]} : (tensor<i64>, i64) -> !v {
  ^bb0(%a: tensor<i64>, %k: i64):
    %e = frit.random %a, %k : tensor<i64> -> !v
    frit.yield %e : !v
  }
  frit.return %0, %1 : !v, !v
}
