// RUN: frit-opt --frit-simplify-shape-guards %s | FileCheck %s

// What ranges and divisors decide.
// CHECK-LABEL: frit.graph @facts
// CHECK-NEXT: frit.guard <range, sizes [s0, 0, 59], origin "e">
// CHECK-NEXT: frit.return
frit.graph @facts(%n: i64, %m: i64) attributes {
    symbols = [#frit.symbol<"s0", min = 2, max = 60>, #frit.symbol<"s1", min = 8, divisor = 8>],
    arg_attrs = [{frit.size = #frit.size<s0>}, {frit.size = #frit.size<s1>}]} {
  frit.guard <range, sizes [s0, 0, 60], origin "a">
  frit.guard <divisor, sizes [s0 * s1, 4], origin "b">
  frit.guard <index32, sizes [4 * s0], origin "c">
  frit.guard <equal, sizes [max(s0, 1), s0], origin "d">
  frit.guard <range, sizes [s0, 0, 59], origin "e">
  frit.return
}

// What another guard says, whoever comes first, and with equal sizes taken for each other.
// CHECK-LABEL: frit.graph @guards
// CHECK-NEXT: frit.guard <equal, sizes [s1, s0], origin "a">
// CHECK-NEXT: frit.guard <divisor, sizes [s0, 8], origin "d">
// CHECK-NEXT: frit.guard <index32, sizes [s0 * s1], origin "g">
// CHECK-NEXT: frit.guard <aligned, operands [0], sizes [32], origin "i">
// CHECK-NEXT: frit.guard <aligned, operands [1], sizes [16], origin "j">
// CHECK-NEXT: frit.return
frit.graph @guards(%x: tensor<?xf32, #frit.dims<[s0]>>, %y: tensor<?xf32, #frit.dims<[s1]>>) attributes {
    symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2>]} {
  frit.guard <equal, sizes [s1, s0], origin "a">
  frit.guard <equal, sizes [s1, s0], origin "again">
  frit.guard <equal, sizes [s0, 2 * floordiv(s0, 2)], origin "b">
  frit.guard <divisor, sizes [s1, 4], origin "c">
  frit.guard <divisor, sizes [s0, 8], origin "d">
  frit.guard <index32, sizes [s0], origin "f">
  frit.guard <index32, sizes [s0 * s1], origin "g">
  frit.guard <aligned, operands [0], sizes [16], origin "h">
  frit.guard <aligned, operands [0], sizes [32], origin "i">
  frit.guard <aligned, operands [1], sizes [16], origin "j">
  frit.return
}

// The first variant loses what always holds, the second cannot be reached behind it, the third never runs; the next
// region's always runs and so is no variant.
// CHECK-LABEL: frit.graph @variants
// CHECK: frit.region(%arg0) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0, <vector = 1>>,
// CHECK-SAME: variants = [#frit.variant<[<divisor, sizes [s0, 8], origin "b">]>]}
// CHECK: frit.region(%arg0) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0, <vector = 1>>}
frit.graph @variants(%x: tensor<?xf32, #frit.dims<[s0]>>) -> (tensor<?xf32, #frit.dims<[s0]>>, tensor<?xf32, #frit.dims<[s0]>>) attributes {
    symbols = [#frit.symbol<"s0", min = 2, max = 60>]} {
  %0 = frit.region(%x) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0, <vector = 1>>, variants = [
      #frit.variant<[<index32, sizes [s0], origin "a">, <divisor, sizes [s0, 8], origin "b">]>,
      #frit.variant<[<divisor, sizes [s0, 16], origin "c">]>,
      #frit.variant<[<range, sizes [s0, 70, 80], origin "d">]>]}
      : (tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>> {
  ^bb0(%a: tensor<?xf32, #frit.dims<[s0]>>):
    %e = math.exp %a : tensor<?xf32, #frit.dims<[s0]>>
    frit.yield %e : tensor<?xf32, #frit.dims<[s0]>>
  }
  %1 = frit.region(%x) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0, <vector = 1>>, variants = [
      #frit.variant<[<index32, sizes [s0], origin "a">]>]}
      : (tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>> {
  ^bb0(%a: tensor<?xf32, #frit.dims<[s0]>>):
    %e = math.exp %a : tensor<?xf32, #frit.dims<[s0]>>
    frit.yield %e : tensor<?xf32, #frit.dims<[s0]>>
  }
  frit.return %0, %1 : tensor<?xf32, #frit.dims<[s0]>>, tensor<?xf32, #frit.dims<[s0]>>
}
