// RUN: frit-opt --frit-outline-regions %s | FileCheck %s
// RUN: frit-opt --frit-outline-regions=batch-invariant %s | FileCheck %s --check-prefix=INVARIANT

// INVARIANT: frit.kernel @frit_exp_{{.*}} attributes {frit.batch_invariant

// Two regions that differ only in the names of their sizes are one kernel.
// CHECK: frit.kernel @[[$EXP:frit_exp_[0-9a-f]+]](%arg0: tensor<?x8xf32, #frit.dims<[p0, 8]>>) -> tensor<?x8xf32, #frit.dims<[p0, 8]>>
// CHECK-SAME: symbols = [#frit.symbol<"p0", min = 2>]
// CHECK: math.exp %arg0 : tensor<?x8xf32, #frit.dims<[p0, 8]>>
// The strides of an operand are part of its kernel, the offset is not.
// CHECK: frit.kernel @[[$STRIDED:frit_exp_[0-9a-f]+]](%arg0: tensor<?x8xf32, #frit.dims<[p0, 8]>> {frit.layout = #frit.layout<[1, p0]>})
// CHECK-LABEL: frit.graph @main
// CHECK: frit.launch @[[$EXP]] [#frit.size<s0>](%arg0) {frit.layouts = [#frit.layout<[8, 1]>]}
// CHECK: frit.launch @[[$EXP]] [#frit.size<s1>](%arg1)
// CHECK: frit.launch @[[$STRIDED]] [#frit.size<s0>](%arg2)
!a = tensor<?x8xf32, #frit.dims<[s0, 8]>>
!b = tensor<?x8xf32, #frit.dims<[s1, 8]>>
frit.graph @main(%x: !a, %y: !b, %z: !a {frit.layout = #frit.layout<[1, s0], offset 5>}) -> (!a, !b, !a)
    attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 5>, #frit.symbol<"s1", min = 2>]} {
  %0 = frit.region(%x) {frit.layouts = [#frit.layout<[8, 1]>]} : (!a) -> !a {
  ^bb0(%a: !a):
    %e = math.exp %a : !a
    frit.yield %e : !a
  }
  %1 = frit.region(%y) {frit.layouts = [#frit.layout<[8, 1]>]} : (!b) -> !b {
  ^bb0(%a: !b):
    %e = math.exp %a : !b
    frit.yield %e : !b
  }
  %2 = frit.region(%z) {frit.layouts = [#frit.layout<[8, 1]>]} : (!a) -> !a {
  ^bb0(%a: !a):
    %e = math.exp %a : !a
    frit.yield %e : !a
  }
  frit.return %0, %1, %2 : !a, !b, !a
}
