// RUN: frit-opt --frit-simplify-shape-guards --split-input-file --verify-diagnostics %s

frit.graph @range(%n: i64) attributes {symbols = [#frit.symbol<"s0", min = 2, max = 8>], arg_attrs = [{frit.size = #frit.size<s0>}]} {
  // expected-error@+1 {{can never run: s0 must be between 9 and 12, which the graph's sizes rule out; assumed by aten.view.default (model.py:4)}}
  frit.guard <range, sizes [s0, 9, 12], origin "aten.view.default (model.py:4)">
  frit.return
}

// -----

frit.graph @divisor(%n: i64) attributes {symbols = [#frit.symbol<"s0", min = 2>], arg_attrs = [{frit.size = #frit.size<s0>}]} {
  // expected-error@+1 {{can never run: 4 * s0 + 2 must be a multiple of 4}}
  frit.guard <divisor, sizes [4 * s0 + 2, 4], origin "x">
  frit.return
}

// -----

frit.graph @equal(%n: i64) attributes {symbols = [#frit.symbol<"s0", min = 2>], arg_attrs = [{frit.size = #frit.size<s0>}]} {
  // expected-error@+1 {{can never run: s0 + 1 must equal s0}}
  frit.guard <equal, sizes [s0 + 1, s0], origin "x">
  frit.return
}
