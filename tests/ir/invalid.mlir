// Every error of the dialect's parsers and verifiers.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{symbol 's0' has the empty range [4, 2]}}
frit.graph @range() attributes {symbols = [#frit.symbol<"s0", min = 4, max = 2>]} { frit.return }

// -----

// expected-error@+1 {{declares symbol 's0' twice}}
frit.graph @twice() attributes {symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s0", min = 3>]} { frit.return }

// -----

// expected-error@+1 {{symbols must be #frit.symbol, found "s0"}}
frit.graph @symbols() attributes {symbols = ["s0"]} { frit.return }

// -----

// expected-error@+1 {{returns values whose types are not its result types}}
frit.graph @result(%a: tensor<4xf32>) -> tensor<5xf32> { frit.return %a : tensor<4xf32> }

// -----

// expected-error@+1 {{parameter 0 must be a symbol named p0, found #frit.symbol<"s0", min = 2>}}
frit.kernel @parameter() attributes {symbols = [#frit.symbol<"s0", min = 2>]} { frit.yield }

// -----

// expected-error@+1 {{yields values whose types are not its result types}}
frit.kernel @yields(%a: tensor<4xf32>) -> tensor<5xf32> { frit.yield %a : tensor<4xf32> }

// -----

frit.graph @unknown_callee(%a: tensor<4xf32>) {
  // expected-error@+1 {{calls 'nothing', which is not a graph of this module}}
  %r = frit.call @nothing(%a) : (tensor<4xf32>) -> tensor<4xf32>
  frit.return
}

// -----

// expected-note@+1 {{the graph is here}}
frit.graph @callee(%a: tensor<5xf32>) { frit.return }
frit.graph @caller(%a: tensor<4xf32>) {
  // expected-error@+1 {{operands and results do not have the types of 'callee'}}
  frit.call @callee(%a) : (tensor<4xf32>) -> ()
  frit.return
}

// -----

frit.graph @unknown_kernel(%a: tensor<4xf32>) {
  // expected-error@+1 {{launches 'nothing', which is not a kernel of this module}}
  %r = frit.launch @nothing [] (%a) : (tensor<4xf32>) -> tensor<4xf32>
  frit.return
}

// -----

frit.kernel @k(%a: tensor<4xf32>) -> tensor<4xf32> { frit.yield %a : tensor<4xf32> }
frit.graph @sizes(%a: tensor<4xf32>) {
  // expected-error@+1 {{passes 1 sizes to a kernel of 0 parameters}}
  %r = frit.launch @k [#frit.size<4>] (%a) : (tensor<4xf32>) -> tensor<4xf32>
  frit.return
}

// -----

frit.kernel @k(%a: tensor<4xf32>) -> tensor<4xf32> { frit.yield %a : tensor<4xf32> }
frit.graph @operands(%a: tensor<4xf32>) {
  // expected-error@+1 {{passes 2 operands for 1 results to a kernel of 1 and 1}}
  %r = frit.launch @k [] (%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return
}

// -----

frit.kernel @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {list = 2 : i64} { frit.yield %a : tensor<4xf32> }
frit.graph @items(%a: tensor<4xf32>) {
  // expected-error@+1 {{has 3 items for a kernel over lists of 2}}
  %r:3 = frit.launch @k [] (%a, %a, %a) {items = 3 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  frit.return
}

// -----

frit.kernel @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {list = 2 : i64} { frit.yield %a : tensor<4xf32> }
frit.graph @shares(%a: tensor<4xf32>) {
  // expected-error@+1 {{passes 1 operands for 2 results to a kernel of 1 and 1}}
  %r:2 = frit.launch @k [] (%a) {items = 2 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{has 1 operands and 0 operand dtypes}}
  frit.aten "aten.relu.default"(%a) [#frit.operand<0>] {operand_dtypes = [], result_dtypes = []} : (tensor<4xf32>) -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{has 0 results and 1 result dtypes}}
  frit.aten "aten.relu.default"() [] {operand_dtypes = [], result_dtypes = [#frit.dtype<f32>]} : () -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{names 2 of 1 arguments}}
  frit.aten "my.op.default"() [1] {argument_names = ["a", "b"], operand_dtypes = [], result_dtypes = []} : () -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{argument names operand 1 of 1}}
  frit.aten "aten.cat.default"(%a) [[#frit.operand<1>]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<4xf32>) -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{is control flow without graphs}}
  frit.aten "higher_order.cond"(%a) [#frit.operand<0>] {argument_names = [""], operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<4xf32>) -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{has graphs, but only control flow calls some}}
  frit.aten "my.op.default"(%a) [#frit.operand<0>] {graphs = [@aten], argument_names = [""], operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<4xf32>) -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{mutates 1 operands and has 0 results}}
  frit.aten "my.op.default"(%a) [#frit.operand<0>] {mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<4xf32>) -> ()
  frit.return
}

// -----

frit.graph @aten(%a: tensor<4xf32>) {
  // expected-error@+1 {{mutated operand 0 has no result of its type}}
  %r = frit.aten "my.op.default"(%a) [#frit.operand<0>] {mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<5xf32>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{changes the element type from 'f32' to 'f64'}}
  %r = frit.reindex %a <(d0) -> (d0)> : tensor<4xf32> -> tensor<4xf64>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{map has 2 dims, the result has rank 1}}
  %r = frit.reindex %a <(d0, d1) -> (d0)> : tensor<4xf32> -> tensor<4xf32>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{map gives 2 indices, the operand has rank 1}}
  %r = frit.reindex %a <(d0) -> (d0, d0)> : tensor<4xf32> -> tensor<4xf32>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{map uses 'd1', which it does not declare}}
  %r = frit.reindex %a <(d0) -> (d1)> : tensor<4xf32> -> tensor<4xf32>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{map reads index values; use frit.gather}}
  %r = frit.reindex %a <(d0)[v0] -> (v0)> : tensor<4xf32> -> tensor<4xf32>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{needs a fill exactly when its map has bounds}}
  %r = frit.reindex %a <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 4]> : tensor<4xf32> -> tensor<6xf32>
  frit.return
}

// -----

frit.graph @reindex(%a: tensor<4xf32>) {
  // expected-error@+1 {{fill has type 'f64', elements have type 'f32'}}
  %r = frit.reindex %a <(d0) -> (d0 - 1) where [d0 - 1 in 0 to 4]> fill 0.0 : f64 : tensor<4xf32> -> tensor<6xf32>
  frit.return
}

// -----

frit.graph @reshape(%a: tensor<4xf32>) {
  // expected-error@+1 {{changes the number of elements from 4 to 6}}
  %r = frit.reshape %a : tensor<4xf32> -> tensor<2x3xf32>
  frit.return
}

// -----

frit.graph @concat(%a: tensor<4xf32>) {
  // expected-error@+1 {{joins along dimension 1 of rank 1}}
  %r = frit.concat %a, %a dim 1 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  frit.return
}

// -----

frit.graph @concat(%a: tensor<4xf32>, %b: tensor<4x1xf32>) {
  // expected-error@+1 {{piece 1 has type 'tensor<4x1xf32>', the result is 'tensor<8xf32>'}}
  %r = frit.concat %a, %b dim 0 : tensor<4xf32>, tensor<4x1xf32> -> tensor<8xf32>
  frit.return
}

// -----

frit.graph @reduce(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{dims must be sorted, distinct and below 2, found 0 at place 1}}
  %r = frit.reduce <sum> %a dims [1, 0] : tensor<4x5xf32> -> tensor<f32>
  frit.return
}

// -----

frit.graph @reduce(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{result must be 'tensor<4xi64>', found 'tensor<4xf32>'}}
  %r = frit.reduce <argmax> %a dims [1] : tensor<4x5xf32> -> tensor<4xf32>
  frit.return
}

// -----

frit.graph @reduce(%a: tensor<4x5xi64>) {
  // expected-error@+1 {{deviations are of floats, found 'i64'}}
  %r = frit.reduce <deviations> %a dims [1] : tensor<4x5xi64> -> tensor<4xi64>
  frit.return
}

// -----

frit.graph @gather(%a: tensor<4xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{map reads 2 index values of 1}}
  %r = frit.gather %a[%i] <(d0)[v0, v1] -> (v0)> check <wrap> : tensor<4xf32>, tensor<3xi64> -> tensor<3xf32>
  frit.return
}

// -----

frit.graph @gather(%a: tensor<4xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{map of a gather has no bounds}}
  %r = frit.gather %a[%i] <(d0)[v0] -> (v0) where [v0 in 0 to 4]> check <wrap> : tensor<4xf32>, tensor<3xi64> -> tensor<3xf32>
  frit.return
}

// -----

frit.graph @gather(%a: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{index 0 has type 'tensor<2xi64>', its sizes must be those of the result 'tensor<3xf32>'}}
  %r = frit.gather %a[%i] <(d0)[v0] -> (v0)> check <wrap> : tensor<4xf32>, tensor<2xi64> -> tensor<3xf32>
  frit.return
}

// -----

frit.graph @gather(%a: tensor<4xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{value v0 must stand alone in exactly one map result}}
  %r = frit.gather %a[%i] <(d0)[v0] -> (v0 + 1)> check <wrap> : tensor<4xf32>, tensor<3xi64> -> tensor<3xf32>
  frit.return
}

// -----

frit.graph @region(%a: tensor<4xf32>) {
  // expected-error@+1 {{body arguments do not have the types of the operands}}
  frit.region(%a) : (tensor<4xf32>) -> () {
  ^bb0(%x: tensor<5xf32>):
    frit.yield
  }
  frit.return
}

// -----

frit.graph @region(%a: tensor<4xf32>) {
  // expected-error@+1 {{must yield values of its result types}}
  %r = frit.region(%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    frit.yield
  }
  frit.return
}

// -----

frit.graph @region(%a: tensor<4xf32>) {
  // expected-error@+1 {{has a schedule with 1 reduced dims, and no reduction}}
  %r = frit.region(%a) {schedule = #frit.schedule<row_reduction, <[4]>, reduced 1>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    frit.yield %x : tensor<4xf32>
  }
  frit.return
}

// -----

// expected-error@+1 {{has a schedule with 0 reduced dims, and a reduction}}
frit.kernel @k(%x: tensor<4xf32>) -> tensor<f32> attributes {schedule = #frit.schedule<pointwise, <[4]>, reduced 0>} {
  %s = frit.reduce <sum> %x dims [0] : tensor<4xf32> -> tensor<f32>
  frit.yield %s : tensor<f32>
}

// -----

// expected-error@+1 {{reduces 2 dims of a domain of 1}}
frit.kernel @k() attributes {schedule = #frit.schedule<row_reduction, <[4]>, reduced 2>} { frit.yield }

// -----

frit.graph @region(%a: tensor<4xf32>) {
  // expected-error@+1 {{has 1 results and 2 layouts}}
  %r = frit.region(%a) {result_layouts = [#frit.layout<[1]>, #frit.layout<[1]>]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    frit.yield %x : tensor<4xf32>
  }
  frit.return
}

// -----

// expected-error@+1 {{unknown fact 'size' of a symbol: expected min, max, hint, divisor >= 1, buckets, bucket_of or unbacked}}
frit.graph @fact() attributes {symbols = [#frit.symbol<"s0", size = 4>]} { frit.return }

// -----

// expected-error@+1 {{expected 'd1', found 'd2'}}
frit.graph @names() attributes {m = #frit.map<(d0, d2) -> (d0)>} { frit.return }

// -----

// expected-error@+1 {{a size function is written inside #frit.size, not alone}}
frit.graph @call() attributes {m = #frit.size_call<floordiv>} { frit.return }

// -----

// expected-error@+1 {{expected a size: an integer, a symbol or a function of sizes}}
frit.graph @size() attributes {m = #frit.size<s0 + >} { frit.return }

// -----

// expected-error@+1 {{division by the constant 0 in a size expression}}
frit.graph @size() attributes {m = #frit.size<mod(s0, 0)>} { frit.return }

// -----

// expected-error@+1 {{expected '(' after the function of a size expression}}
frit.graph @size() attributes {m = #frit.size<floordiv>} { frit.return }

// -----

// expected-error@+1 {{expected ',' between the arguments of a size function}}
frit.graph @size() attributes {m = #frit.size<max(s0)>} { frit.return }

// -----

// expected-error@+1 {{expected ')' after the arguments of a size function}}
frit.graph @size() attributes {m = #frit.size<max(s0, 1, 2)>} { frit.return }

// -----

// expected-error@+1 {{expected ')' in size expression}}
frit.graph @size() attributes {m = #frit.size<(s0 s1)>} { frit.return }

// -----

// expected-error@+1 {{buckets must be positive and ascending, found 8 after 16}}
frit.graph @symbol() attributes {symbols = [#frit.symbol<"s0", min = 2, buckets = [16, 8]>]} { frit.return }

// -----

// expected-error@+1 {{unknown kind of assumption 'even'}}
frit.graph @assume() attributes {a = #frit.assume<even, sizes [s0], origin "x">} { frit.return }

// -----

// expected-error@+1 {{assumption 'equal' has 0 operands and 1 sizes}}
frit.graph @assume() attributes {a = #frit.assume<equal, sizes [s0], origin "x">} { frit.return }

// -----

// expected-error@+1 {{assumption 'divisor' needs a positive constant}}
frit.graph @assume() attributes {a = #frit.assume<divisor, sizes [s0, s1], origin "x">} { frit.return }

// -----

// expected-error@+1 {{assumption 'index32' does not say who makes it}}
frit.graph @assume() attributes {a = #frit.assume<index32, sizes [s0]>} { frit.return }

// -----

frit.graph @guard(%n: i64) {
  // expected-error@+1 {{speaks of argument 0, which is no tensor of the graph}}
  frit.guard <aligned, operands [0], sizes [16], origin "x">
  frit.return
}

// -----

frit.graph @pad(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 0 of size 4 does not fit into 3}}
  %y = frit.pad %x : tensor<4xf32> -> tensor<3xf32>
  frit.return
}

// -----

frit.graph @pad(%x: tensor<4xf32>) {
  // expected-error@+1 {{fill has type 'f64', elements have type 'f32'}}
  %y = frit.pad %x fill 0.0 : f64 : tensor<4xf32> -> tensor<8xf32>
  frit.return
}

// -----

frit.graph @unpad(%x: tensor<4xf32>) {
  // expected-error@+1 {{changes the rank from 2 to 1}}
  %y = frit.unpad %x : tensor<4xf32> -> tensor<2x2xf32>
  frit.return
}

// -----

frit.graph @seed(%seed: tensor<1xi64>, %stream: i64) {
  // expected-error@+1 {{takes a seed of rank 0, found 'tensor<1xi64>'}}
  %bits = frit.random %seed, %stream : tensor<1xi64> -> tensor<8xi32>
  frit.return
}

// -----

frit.graph @words(%seed: tensor<i64>, %stream: i64) {
  // expected-error@+1 {{result #0 must be tensor of 32-bit signless integer or 64-bit signless integer values}}
  %bits = frit.random %seed, %stream : tensor<i64> -> tensor<8xf32>
  frit.return
}

// -----

frit.graph @alias(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{has 1 strides for a tensor of rank 2}}
  %r = frit.alias %x <[4, 1]> seen <[1]> <f32> : tensor<4x4xf32> -> tensor<4x4xf32>
  frit.return
}

// -----

frit.graph @circular(%x: tensor<8xf32>) attributes {symbols = [#frit.symbol<"u0", min = 0, max = 8, unbacked>]} {
  %y = frit.reindex %x <(d0) -> (d0)> : tensor<8xf32> -> tensor<?xf32, #frit.dims<[u0]>>
  // expected-error@+1 {{measures what 'frit.reindex' makes, which needs 'u0' itself}}
  frit.bind "u0" = %y dim 0 : tensor<?xf32, #frit.dims<[u0]>>
  frit.return
}

// -----

frit.graph @function_of_integers(%x: tensor<4xi64>) {
  // expected-error@+1 {{operand #0 must be floating-point-like, but got 'tensor<4xi64>'}}
  %y = frit.lgamma %x : tensor<4xi64>
  frit.return
}

// -----

frit.graph @scan_dim(%a: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // expected-error @below {{dim is 2, the operand has 2 dims}}
  %r = frit.scan <sum> %a dim 2 : tensor<4x5xf32>
  frit.return %r : tensor<4x5xf32>
}

// -----

frit.graph @function_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires the same type for all operands and results}}
  %y = "frit.lgamma"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  frit.return
}

// -----

frit.graph @scan_kind(%a: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // expected-error @below {{is of sums or products, found max}}
  %r = frit.scan <max> %a dim 1 : tensor<4x5xf32>
  frit.return %r : tensor<4x5xf32>
}

// -----

frit.graph @segments_of_other_rows(%a: tensor<4x5xf32>, %b: tensor<3x6xi64>) {
  // expected-error @below {{rows of 'tensor<4x5xf32>' and of 'tensor<3x6xf32>' have different sizes}}
  %r = frit.segment_sum %a from %b to %b : tensor<4x5xf32>, tensor<3x6xi64> -> tensor<3x6xf32>
  frit.return
}

// -----

frit.graph @segments_of_halves(%a: tensor<4x5xf16>, %b: tensor<3x5xi64>) {
  // expected-error @below {{sums of 'f16' are computed in a wider type}}
  %r = frit.segment_sum %a from %b to %b : tensor<4x5xf16>, tensor<3x5xi64> -> tensor<3x5xf16>
  frit.return
}

// -----

frit.graph @segments_with_few_bounds(%a: tensor<4x5xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{bounds have type 'tensor<3xi64>', their sizes must be those of the result 'tensor<3x5xf32>'}}
  %r = frit.segment_sum %a from %b to %b : tensor<4x5xf32>, tensor<3xi64> -> tensor<3x5xf32>
  frit.return
}

// -----

frit.graph @segments_with_an_order_of_two_dims(%a: tensor<4x5xf32>, %b: tensor<3x5xi64>) {
  // expected-error @below {{order has type 'tensor<3x5xi64>', its rank must be 1}}
  %r = frit.segment_sum %a order %b from %b to %b : tensor<4x5xf32> [tensor<3x5xi64>], tensor<3x5xi64> -> tensor<3x5xf32>
  frit.return
}
