// RUN: frit-opt --frit-inline-calls %s | FileCheck %s

// The callee's size is the caller's expression; the callee is gone.
// CHECK-LABEL: frit.graph @main
// CHECK-NEXT: %[[E:.*]] = math.exp %arg0 : tensor<?x8xf32, #frit.dims<[2 * s0, 8]>>
// CHECK-NEXT: %[[F:.*]] = math.exp %[[E]]
// CHECK-NEXT: frit.return %[[F]]
// CHECK-NOT: frit.graph
!t = tensor<?x8xf32, #frit.dims<[2 * s0, 8]>>
!u = tensor<?x8xf32, #frit.dims<[2 * s0, 8]>>
frit.graph @main(%x: !t) -> !t attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.call @block(%x) : (!t) -> !t
  %1 = frit.call @block(%0) : (!t) -> !t
  frit.return %1 : !t
}
frit.graph @block(%x: !u) -> !u attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = math.exp %x : !u
  frit.return %0 : !u
}
