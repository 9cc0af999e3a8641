// RUN: frit-opt --split-input-file --frit-order-stores %s | FileCheck %s

// Two arguments stored into each other: one value is copied before it is overwritten.
// CHECK-LABEL: @swap
// CHECK-NEXT: %[[OLD:.*]] = frit.region(%arg0)
// CHECK: frit.store %arg1 into %arg0
// CHECK-NEXT: frit.store %[[OLD]] into %arg1
// CHECK-NEXT: frit.return
!t = tensor<4xf32>
frit.graph @swap(%a: !t, %b: !t) {
  frit.store %b into %a : !t, !t
  frit.store %a into %b : !t, !t
  frit.return
}

// -----

// A chain has an order without a copy.
// CHECK-LABEL: @chain
// CHECK-NEXT: frit.store %arg1 into %arg2
// CHECK-NEXT: frit.store %arg0 into %arg1
// CHECK-NEXT: frit.return
!t = tensor<4xf32>
frit.graph @chain(%a: !t, %b: !t, %c: !t) {
  frit.store %a into %b : !t, !t
  frit.store %b into %c : !t, !t
  frit.return
}

// -----

// A store waits for kernels, also for those that read through a view.
// CHECK-LABEL: @readers
// CHECK-NEXT: frit.reindex
// CHECK-NEXT: frit.region
// CHECK: frit.store %arg1 into %arg0
// CHECK-NEXT: frit.return
!t = tensor<4x4xf32>
frit.graph @readers(%a: !t, %b: !t) -> !t {
  %v = frit.reindex %a <(d0, d1) -> (d1, d0)> {frit.layouts = [#frit.layout<[1, 4]>]} : !t -> !t
  frit.store %b into %a : !t, !t
  %r = frit.region(%v) {frit.layouts = [#frit.layout<[4, 1]>]} : (!t) -> !t {
  ^bb0(%0: !t):
    %1 = math.exp %0 : !t
    frit.yield %1 : !t
  }
  frit.return %r : !t
}

// -----

// An argument stored into itself in another order; kernels do not write complex numbers.
// CHECK-LABEL: @transposed
// CHECK: %[[T:.*]] = frit.reindex %arg0
// CHECK-NEXT: %[[C:.*]] = frit.aten "aten.clone.default"(%[[T]])
// CHECK-NEXT: frit.store %[[C]] into %arg0
!t = tensor<4x4xcomplex<f32>>
frit.graph @transposed(%a: !t {frit.dtype = #frit.dtype<c64>}) {
  %v = frit.reindex %a <(d0, d1) -> (d1, d0)> {frit.layouts = [#frit.layout<[1, 4]>]} : !t -> !t
  frit.store %v into %a : !t, !t
  frit.return
}

// -----

// Nothing to do: what is read before stays, and so do stores that nobody reads behind.
// CHECK-LABEL: @in_order
// CHECK-NEXT: frit.store %arg1 into %arg0
// CHECK-NEXT: %[[R:.*]] = frit.region(%arg1)
// CHECK: frit.return %arg0, %[[R]]
!t = tensor<4xf32>
frit.graph @in_order(%a: !t, %b: !t) -> (!t, !t) {
  frit.store %b into %a : !t, !t
  %r = frit.region(%b) {frit.layouts = [#frit.layout<[1]>]} : (!t) -> !t {
  ^bb0(%0: !t):
    %1 = math.exp %0 : !t
    frit.yield %1 : !t
  }
  frit.return %a, %r : !t, !t
}

// -----

// A store into a part of an argument waits for the readers of the whole argument, and the other way round.
// CHECK-LABEL: @parts
// CHECK-NEXT: %[[PART:.*]] = frit.reindex %arg0
// CHECK-NEXT: %[[OLD:.*]] = frit.region(%arg0)
// CHECK: frit.store %arg1 into %[[PART]]
// CHECK-NEXT: frit.store %[[OLD]] into %arg1
// CHECK-NEXT: frit.return
!t = tensor<4xf32>
frit.graph @parts(%a: !t, %b: !t) {
  %p = frit.reindex %a <(d0) -> (d0)> : !t -> !t
  frit.store %b into %p : !t, !t
  frit.store %a into %b : !t, !t
  frit.return
}
