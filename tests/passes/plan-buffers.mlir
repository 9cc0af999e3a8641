// RUN: frit-opt --split-input-file --frit-plan-buffers %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-plan-buffers=gpu %s | FileCheck %s --check-prefix=GPU

// The chain needs two temporaries: the third region takes over the first's. A
// region that reads its operand only where it writes runs in place.
// CHECK-LABEL: @reuse
// CHECK-SAME: buffers = [#frit.buffer<temporary, <32 * s0>>, #frit.buffer<temporary, <32 * s0>>, #frit.buffer<output, <32 * s0>>]
// CHECK: frit.region(%arg0) {buffers = [0]
// CHECK: frit.region({{.*}}) {buffers = [1]
// CHECK: frit.region({{.*}}) {buffers = [0]
// CHECK: frit.region({{.*}}) {buffers = [0]
// CHECK: frit.region({{.*}}) {buffers = [2]
!t = tensor<?x8xf32, #frit.dims<[s0, 8]>>
!u = tensor<8x?xf32, #frit.dims<[8, s0]>>
frit.graph @reuse(%x: !t) -> !t attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %a = frit.region(%x) {frit.layouts = [#frit.layout<[s0, 1]>]} : (!t) -> !u {
  ^bb0(%0: !t):
    %1 = frit.reindex %0 <(d0, d1) -> (d1, d0)> : !t -> !u
    frit.yield %1 : !u
  }
  %b = frit.region(%a) {frit.layouts = [#frit.layout<[8, 1]>]} : (!u) -> !t {
  ^bb0(%0: !u):
    %1 = frit.reindex %0 <(d0, d1) -> (d1, d0)> : !u -> !t
    frit.yield %1 : !t
  }
  %c = frit.region(%b) {frit.layouts = [#frit.layout<[s0, 1]>]} : (!t) -> !u {
  ^bb0(%0: !t):
    %1 = frit.reindex %0 <(d0, d1) -> (d1, d0)> : !t -> !u
    frit.yield %1 : !u
  }
  %d = frit.region(%c) {frit.layouts = [#frit.layout<[s0, 1]>]} : (!u) -> !u {
  ^bb0(%0: !u):
    %1 = math.exp %0 : !u
    frit.yield %1 : !u
  }
  %e = frit.region(%d) {frit.layouts = [#frit.layout<[8, 1]>]} : (!u) -> !t {
  ^bb0(%0: !u):
    %1 = frit.reindex %0 <(d0, d1) -> (d1, d0)> : !u -> !t
    frit.yield %1 : !t
  }
  frit.return %e : !t
}

// -----

// A mutated argument is written in place when every read of it is at the place
// that is written.
// CHECK-LABEL: @store_in_place
// CHECK-SAME: buffers = [#frit.buffer<argument 0, <128>>]
// CHECK: frit.region(%arg0, %arg1) {buffers = [0], frit.layouts = [#frit.layout<[8, 1]>], writes = array<i64: 0>}
// CHECK: frit.store %{{.*}} into %arg0 {in_place}
!t = tensor<4x8xf32>
frit.graph @store_in_place(%p: !t, %g: !t) {
  %n = frit.region(%p, %g) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t, !t) -> !t {
  ^bb0(%a: !t, %b: !t):
    %s = arith.subf %a, %b : !t
    frit.yield %s : !t
  }
  frit.store %n into %p : !t, !t
  frit.return
}

// -----

// A call that may raise an error must find the argument as it was; a product raises none. On a GPU
// errors have no order.
// CHECK-LABEL: @no_store_before_an_error
// CHECK: frit.region({{.*}}) {buffers = [1], frit.layouts = [#frit.layout<[8, 1]>]}
// CHECK: frit.store %{{.*}} into %arg0 : tensor<4x8xf32>
// CHECK: frit.region({{.*}}writes = array<i64: 1>}
// CHECK: frit.store %{{.*}} into %arg1 {in_place}
// GPU-LABEL: @no_store_before_an_error
// GPU: frit.store %{{.*}} into %arg0 {in_place}
!t = tensor<4x8xf32>
frit.graph @no_store_before_an_error(%p: !t, %q: !t, %i: tensor<2xi64>, %w: tensor<8x8xf32>) -> (!t, !t) {
  %n = frit.region(%p) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %f = math.exp %a : !t
    frit.yield %f : !t
  }
  %r = frit.aten "aten.index_fill.int_Scalar"(%n, %i) [#frit.operand<0>, 0 : i64, #frit.operand<1>, 1 : i64]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>], frit.layouts = [#frit.layout<[8, 1]>]} : (!t, tensor<2xi64>) -> !t
  frit.store %n into %p : !t, !t
  %m = frit.region(%q) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %f = math.exp %a : !t
    frit.yield %f : !t
  }
  %y = frit.aten "aten.mm.default"(%m, %w) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], frit.layouts = [#frit.layout<[8, 1]>]} : (!t, tensor<8x8xf32>) -> !t
  frit.store %m into %q : !t, !t
  frit.return %r, %y : !t, !t
}

// -----

// A flip reads what another element overwrites: through a temporary.
// CHECK-LABEL: @no_store_in_place_flip
// CHECK-SAME: buffers = [#frit.buffer<temporary, <128>>]
// CHECK: frit.store
!t = tensor<4x8xf32>
frit.graph @no_store_in_place_flip(%p: !t) {
  %n = frit.region(%p) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %f = frit.reindex %a <(d0, d1) -> (d0, 7 - d1)> : !t -> !t
    frit.yield %f : !t
  }
  frit.store %n into %p : !t, !t
  frit.return
}

// -----

// The old value is needed afterwards.
// CHECK-LABEL: @no_store_in_place_later_reader
// CHECK: frit.store
!t = tensor<4x8xf32>
frit.graph @no_store_in_place_later_reader(%p: !t) -> !t {
  %n = frit.region(%p) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%a: !t):
    %f = math.exp %a : !t
    frit.yield %f : !t
  }
  %s = frit.aten "aten.sort.default"(%p) [#frit.operand<0>]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t
  frit.store %n into %p : !t, !t
  frit.return %s : !t
}

// -----

// The first result may be written over the operand that only it reads; the
// second region's first result may not: its second is computed from it later.
// CHECK-LABEL: @several_results_in_place
// CHECK: frit.region(%arg0, %arg1) {buffers = [0, 1]
// CHECK: frit.region({{.*}}) {buffers = [0, 1]
// CHECK: frit.region({{.*}}) {buffers = [2, 0]
!t = tensor<4x8xf32>
frit.graph @several_results_in_place(%x: !t, %y: !t) -> !t {
  %a:2 = frit.region(%x, %y) {frit.layouts = [#frit.layout<[8, 1]>, #frit.layout<[8, 1]>]} : (!t, !t) -> (!t, !t) {
  ^bb0(%0: !t, %1: !t):
    %2 = math.exp %0 : !t
    %3 = math.exp %1 : !t
    frit.yield %2, %3 : !t, !t
  }
  %b:2 = frit.region(%a#0, %a#1) {frit.layouts = [#frit.layout<[8, 1]>, #frit.layout<[8, 1]>]} : (!t, !t) -> (!t, !t) {
  ^bb0(%0: !t, %1: !t):
    %2 = math.sin %0 : !t
    %3 = math.sin %1 : !t
    frit.yield %2, %3 : !t, !t
  }
  %c:2 = frit.region(%b#0) {frit.layouts = [#frit.layout<[8, 1]>, #frit.layout<[8, 1]>]} : (!t) -> (!t, !t) {
  ^bb0(%0: !t):
    %1 = math.exp %0 : !t
    %2 = math.sin %0 : !t
    frit.yield %1, %2 : !t, !t
  }
  %d = frit.region(%b#1, %c#0, %c#1) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t, !t, !t) -> !t {
  ^bb0(%0: !t, %1: !t, %2: !t):
    %3 = arith.addf %0, %1 : !t
    %4 = arith.addf %3, %2 : !t
    frit.yield %4 : !t
  }
  frit.return %d : !t
}

// -----

// Rows are whole before they are written: a softmax runs in place. A sum that is
// also a result keeps its operand from being overwritten.
// CHECK-LABEL: @rows_in_place
// CHECK: frit.region(%arg0) {buffers = [0]
// CHECK: frit.region({{.*}}) {buffers = [0]
// CHECK: frit.region({{.*}}) {buffers = [1, 2]
!t = tensor<4x8xf32>
!r = tensor<4xf32>
frit.graph @rows_in_place(%x: !t) -> !r {
  %a = frit.region(%x) {frit.layouts = [#frit.layout<[8, 1]>]} : (!t) -> !t {
  ^bb0(%0: !t):
    %1 = math.exp %0 : !t
    frit.yield %1 : !t
  }
  %b = frit.region(%a) {frit.layouts = [#frit.layout<[8, 1]>], schedule = #frit.schedule<row_reduction, <[4, 8]>, reduced 1>} : (!t) -> !t {
  ^bb0(%0: !t):
    %1 = frit.reduce <max> %0 dims [1] : !t -> !r
    %2 = frit.reindex %1 <(d0, d1) -> (d0)> : !r -> !t
    %3 = arith.subf %0, %2 : !t
    frit.yield %3 : !t
  }
  %c:2 = frit.region(%b) {frit.layouts = [#frit.layout<[8, 1]>, #frit.layout<[1]>], schedule = #frit.schedule<row_reduction, <[4, 8]>, reduced 1>} : (!t) -> (!t, !r) {
  ^bb0(%0: !t):
    %1 = math.exp %0 : !t
    %2 = frit.reduce <sum> %0 dims [1] : !t -> !r
    frit.yield %1, %2 : !t, !r
  }
  %d = frit.region(%c#0, %c#1) {frit.layouts = [#frit.layout<[1]>], schedule = #frit.schedule<row_reduction, <[4, 8]>, reduced 1>} : (!t, !r) -> !r {
  ^bb0(%0: !t, %1: !r):
    %2 = frit.reduce <sum> %0 dims [1] : !t -> !r
    %3 = arith.addf %2, %1 : !r
    frit.yield %3 : !r
  }
  frit.return %d : !r
}
