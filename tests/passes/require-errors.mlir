// RUN: frit-opt --split-input-file --frit-require-errors %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-require-errors=gpu %s | FileCheck %s --check-prefix=GPU

// A division raises nothing on a GPU, an index does.
// GPU-COUNT-2: frit.require
// GPU-NOT: frit.require

// A slice cuts elements of a quotient away.
// CHECK-LABEL: @division
// CHECK: %[[Q:.*]] = arith.divsi
// CHECK-NEXT: %[[M:.*]] = frit.reduce <max> %[[Q]] dims [0] : tensor<4xi64> -> tensor<i64>
// CHECK-NEXT: frit.require %[[M]]
frit.graph @division(%a: tensor<4xi64>, %b: tensor<4xi64>) -> (tensor<1xi64>) {
  %q = arith.divsi %a, %b : tensor<4xi64>
  %r = frit.reindex %q <(d0) -> (d0)> : tensor<4xi64> -> tensor<1xi64>
  frit.return %r : tensor<1xi64>
}

// -----

// Of a gather only the indices are required, without the repetition along columns.
// CHECK-LABEL: @gather
// CHECK-SAME: %[[I:[a-z0-9]*]]: tensor<3xi64>)
// CHECK: frit.gather %arg0
// CHECK-NEXT: %[[C:.*]] = frit.iota <d0> : tensor<5xi64>
// CHECK-NEXT: %[[V:.*]] = frit.gather %[[C]][%[[I]]] <(d0)[v0] -> (v0)> check <wrap> {dimension = 0 : i64} : tensor<5xi64>, tensor<3xi64> -> tensor<3xi64>
// CHECK-NEXT: %[[S:.*]] = frit.reduce <sum> %[[V]] dims [0]
// CHECK-NEXT: frit.require %[[S]]
frit.graph @gather(%w: tensor<5x4xf32>, %i: tensor<3xi64>) -> (tensor<1x4xf32>) {
  %k = frit.reindex %i <(d0, d1) -> (d0)> : tensor<3xi64> -> tensor<3x4xi64>
  %g = frit.gather %w[%k] <(d0, d1)[v0] -> (v0, d1)> check <wrap> : tensor<5x4xf32>, tensor<3x4xi64> -> tensor<3x4xf32>
  %r = frit.reindex %g <(d0, d1) -> (d0, d1)> : tensor<3x4xf32> -> tensor<1x4xf32>
  frit.return %r : tensor<1x4xf32>
}

// -----

// Sums, pads, flips, permutations, repetitions and concatenations read every element.
// CHECK-LABEL: @whole
// CHECK-NOT: frit.require
frit.graph @whole(%w: tensor<5x4xf32>, %i: tensor<3xi64>, %a: tensor<?xi64, #frit.dims<[s0]>>, %b: tensor<?xi64, #frit.dims<[s0]>>)
    -> (tensor<4xf32>, tensor<?x2xi64, #frit.dims<[2 * s0 + 1, 2]>>) attributes {symbols = [#frit.symbol<"s0", min = 0>]} {
  %k = frit.reindex %i <(d0, d1) -> (d0)> : tensor<3xi64> -> tensor<3x4xi64>
  %g = frit.gather %w[%k] <(d0, d1)[v0] -> (v0, d1)> check <wrap> : tensor<5x4xf32>, tensor<3x4xi64> -> tensor<3x4xf32>
  %t = frit.reindex %g <(d0, d1) -> (2 - d1, d0)> : tensor<3x4xf32> -> tensor<4x3xf32>
  %s = frit.reduce <sum> %t dims [1] : tensor<4x3xf32> -> tensor<4xf32>
  %q = arith.divsi %a, %b : tensor<?xi64, #frit.dims<[s0]>>
  %p = frit.reindex %q <(d0) -> (d0 - 1) where [d0 - 1 in 0 to s0]> fill 0 : i64 : tensor<?xi64, #frit.dims<[s0]>> -> tensor<?xi64, #frit.dims<[s0 + 1]>>
  %c = frit.concat %p, %a dim 0 : tensor<?xi64, #frit.dims<[s0 + 1]>>, tensor<?xi64, #frit.dims<[s0]>> -> tensor<?xi64, #frit.dims<[2 * s0 + 1]>>
  %e = frit.reindex %c <(d0, d1) -> (d0)> : tensor<?xi64, #frit.dims<[2 * s0 + 1]>> -> tensor<?x2xi64, #frit.dims<[2 * s0 + 1, 2]>>
  frit.return %s, %e : tensor<4xf32>, tensor<?x2xi64, #frit.dims<[2 * s0 + 1, 2]>>
}

// -----

// A fold drops these operands; the divisor 2 raises nothing; what nothing reads is not computed.
// CHECK-LABEL: @folds
// CHECK-COUNT-3: frit.require
// CHECK-NOT: frit.require
frit.graph @folds(%a: tensor<4xi64>, %b: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<1xi64>) {
  %zero = arith.constant dense<0> : tensor<i64>
  %zeros = frit.reindex %zero <(d0) -> ()> : tensor<i64> -> tensor<4xi64>
  %two = arith.constant dense<2> : tensor<i64>
  %twos = frit.reindex %two <(d0) -> ()> : tensor<i64> -> tensor<4xi64>
  %q = arith.divsi %a, %b : tensor<4xi64>
  %x = arith.muli %q, %zeros : tensor<4xi64>
  %r = arith.remsi %a, %b : tensor<4xi64>
  %y = arith.subi %r, %r : tensor<4xi64>
  %h = arith.divsi %a, %twos : tensor<4xi64>
  %z = frit.reindex %h <(d0) -> (d0)> : tensor<4xi64> -> tensor<1xi64>
  %unused = arith.divui %a, %b : tensor<4xi64>
  frit.return %x, %y, %z : tensor<4xi64>, tensor<4xi64>, tensor<1xi64>
}

// -----

// A call reads whole tensors; a dropped call reads nothing.
// CHECK-LABEL: @calls
// CHECK-COUNT-1: frit.require
// CHECK-NOT: frit.require
frit.graph @calls(%a: tensor<4xi64>, %b: tensor<4xi64>) -> (tensor<4xi64>) {
  %q = arith.divsi %a, %b : tensor<4xi64>
  %s = frit.aten "aten.sort.stable"(%q) [#frit.operand<0>, false, -1 : i64, false] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4xi64>) -> tensor<4xi64>
  %d = arith.divsi %b, %a : tensor<4xi64>
  %unused = frit.aten "aten.neg.default"(%d) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4xi64>) -> tensor<4xi64>
  frit.return %s : tensor<4xi64>
}

// -----

// Before a store or a call of unknown code everything is required, indices at once; after the last
// one nothing is. A call of torch has no effect.
// CHECK-LABEL: @effects
// CHECK-NEXT: %[[C:.*]] = frit.iota
// CHECK-NEXT: %[[V:.*]] = frit.gather %[[C]][%arg1]
// CHECK-NEXT: %[[S:.*]] = frit.reduce <sum> %[[V]]
// CHECK-NEXT: frit.require %[[S]]
// CHECK-NEXT: %[[Q:.*]] = arith.divsi
// CHECK-NEXT: %[[M:.*]] = frit.reduce <max> %[[Q]]
// CHECK-NEXT: frit.require %[[M]]
// CHECK-NEXT: frit.store
// CHECK-NEXT: frit.gather
// CHECK-NEXT: "me.print.default"
// CHECK-NOT: frit.require
frit.graph @effects(%a: tensor<4xi64>, %i: tensor<3xi64>, %c: tensor<4xi64>) -> (tensor<3xi64>, tensor<4xi64>) {
  %q = arith.divsi %a, %c : tensor<4xi64>
  frit.store %a into %c : tensor<4xi64>, tensor<4xi64>
  %g = frit.gather %q[%i] <(d0)[v0] -> (v0)> check <wrap> : tensor<4xi64>, tensor<3xi64> -> tensor<3xi64>
  frit.aten "me.print.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = []} : (tensor<4xi64>) -> ()
  %r = arith.remsi %a, %q : tensor<4xi64>
  frit.return %g, %r : tensor<3xi64>, tensor<4xi64>
}

// The computation of an index moves along, to after the call that it needs.
// CHECK-LABEL: @computed_index
// CHECK: "aten.sort.stable"
// CHECK-NEXT: %[[I:.*]] = arith.addi
// CHECK-NEXT: frit.iota
// CHECK-NEXT: frit.gather %{{.*}}[%[[I]]]
// CHECK-NEXT: frit.reduce
// CHECK-NEXT: frit.require
// CHECK-NEXT: math.exp
frit.graph @computed_index(%x: tensor<4xf32>, %a: tensor<4xi64>) -> tensor<4xf32> {
  %s = frit.aten "aten.sort.stable"(%a) [#frit.operand<0>, false, -1 : i64, false] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4xi64>) -> tensor<4xi64>
  %e = math.exp %x : tensor<4xf32>
  %i = arith.addi %s, %a : tensor<4xi64>
  %g = frit.gather %e[%i] <(d0)[v0] -> (v0)> check <wrap> : tensor<4xf32>, tensor<4xi64> -> tensor<4xf32>
  frit.store %e into %x : tensor<4xf32>, tensor<4xf32>
  frit.return %g : tensor<4xf32>
}

// CHECK-LABEL: @of_torch
// CHECK-NOT: frit.require
frit.graph @of_torch(%a: tensor<4xi64>, %b: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>) {
  %q = arith.divsi %a, %b : tensor<4xi64>
  %s = frit.aten "aten.bernoulli.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<4xi64>) -> tensor<4xi64>
  frit.return %q, %s : tensor<4xi64>, tensor<4xi64>
}

// -----

// What is repeated along a dim that may be empty is not read where it is. The check is of the index
// before it was repeated along columns, flipped and transposed.
// CHECK-LABEL: @repeated
// CHECK-SAME: %[[I:[a-z0-9]*]]: tensor<3x2xi64>)
// CHECK: %[[V:.*]] = frit.gather %{{.*}}[%[[I]]] <(d0, d1)[v0] -> (v0)> check <wrap> {{.*}} -> tensor<3x2xi64>
// CHECK-NEXT: frit.reduce <sum> %[[V]] dims [0, 1]
// CHECK-COUNT-1: frit.require
// CHECK-NOT: frit.require
frit.graph @repeated(%w: tensor<5x4xf32>, %i: tensor<3x2xi64>)
    -> (tensor<?x2x3x4xf32, #frit.dims<[s0, 2, 3, 4]>>, tensor<?x2x3x4xf32, #frit.dims<[s1, 2, 3, 4]>>)
    attributes {symbols = [#frit.symbol<"s0", min = 0>, #frit.symbol<"s1", min = 1>]} {
  %k = frit.reindex %i <(d0, d1, d2) -> (2 - d1, d0)> : tensor<3x2xi64> -> tensor<2x3x4xi64>
  %g = frit.gather %w[%k] <(d0, d1, d2)[v0] -> (v0, d2)> check <wrap> : tensor<5x4xf32>, tensor<2x3x4xi64> -> tensor<2x3x4xf32>
  %maybe = frit.reindex %g <(d0, d1, d2, d3) -> (d1, d2, d3)> : tensor<2x3x4xf32> -> tensor<?x2x3x4xf32, #frit.dims<[s0, 2, 3, 4]>>
  %h = frit.gather %w[%k] <(d0, d1, d2)[v0] -> (v0, d2)> check <wrap> : tensor<5x4xf32>, tensor<2x3x4xi64> -> tensor<2x3x4xf32>
  %sure = frit.reindex %h <(d0, d1, d2, d3) -> (d1, d2, d3)> : tensor<2x3x4xf32> -> tensor<?x2x3x4xf32, #frit.dims<[s1, 2, 3, 4]>>
  frit.return %maybe, %sure : tensor<?x2x3x4xf32, #frit.dims<[s0, 2, 3, 4]>>, tensor<?x2x3x4xf32, #frit.dims<[s1, 2, 3, 4]>>
}
