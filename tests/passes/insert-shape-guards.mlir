// RUN: frit-opt --frit-insert-shape-guards %s | FileCheck %s
// RUN: frit-opt --frit-insert-shape-guards=target=gpu %s | FileCheck %s --check-prefix=GPU

!x = tensor<?xf32, #frit.dims<[s0]>>

// A reshape of a size that need not be even; the strides of what a kernel reads.
// CHECK-LABEL: frit.graph @reshape(
// CHECK-SAME: {frit.origin = "math.exp ({{.*}}.mlir:[[@LINE+7]])"}
// CHECK-NEXT: frit.guard <strides, operands [0], sizes [1], origin "math.exp
// CHECK: frit.guard <equal, sizes [s0, 2 * floordiv(s0, 2)], origin "frit.reshape ({{.*}}.mlir:[[@LINE+6]])">
// CHECK: frit.region
frit.graph @reshape(%x: !x) -> tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.region(%x) : (!x) -> tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>> {
  ^bb0(%a: !x):
    %e = math.exp %a : !x
    %r = frit.reshape %e : !x -> tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>>
    frit.yield %r : tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>>
  }
  frit.return %0 : tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>>
}

// The last element a slice reads; a slice that ranges prove needs nothing, an empty one neither.
// CHECK-LABEL: frit.graph @slice
// CHECK-NEXT: frit.guard <strides, operands [0], sizes [1], origin "frit.reindex
// CHECK-NEXT: frit.guard <range, sizes [s1 + 2, 0, s0 - 1], origin "frit.reindex
// CHECK-NEXT: frit.reindex
// CHECK-NEXT: frit.reindex
// CHECK-NEXT: frit.reindex
frit.graph @slice(%x: !x) -> (tensor<?xf32, #frit.dims<[s1]>>, tensor<2xf32>, tensor<?xf32, #frit.dims<[s2]>>)
    attributes {symbols = [#frit.symbol<"s0", min = 4>, #frit.symbol<"s1", min = 1>, #frit.symbol<"s2", min = 0>]} {
  %0 = frit.reindex %x <(d0) -> (d0 + 3)> : !x -> tensor<?xf32, #frit.dims<[s1]>>
  %1 = frit.reindex %x <(d0) -> (2 * d0 + 1)> : !x -> tensor<2xf32>
  %2 = frit.reindex %x <(d0) -> (d0 + 3)> : !x -> tensor<?xf32, #frit.dims<[s2]>>
  frit.return %0, %1, %2 : tensor<?xf32, #frit.dims<[s1]>>, tensor<2xf32>, tensor<?xf32, #frit.dims<[s2]>>
}

// An argument that is written lies apart from the others; pieces of a concatenation fill it.
// CHECK-LABEL: frit.graph @write
// CHECK: frit.guard <disjoint, operands [0, 1], origin "frit.store ({{.*}}:[[@LINE+4]])">
// CHECK: frit.guard <equal, sizes [s0 + s1, s2], origin "frit.concat
frit.graph @write(%x: !x, %y: !x, %z: tensor<?xf32, #frit.dims<[s1]>>) -> tensor<?xf32, #frit.dims<[s2]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2>, #frit.symbol<"s2", min = 2>]} {
  frit.store %y into %x : !x, !x
  %0 = frit.region(%y, %z) : (!x, tensor<?xf32, #frit.dims<[s1]>>) -> tensor<?xf32, #frit.dims<[s2]>> {
  ^bb0(%a: !x, %b: tensor<?xf32, #frit.dims<[s1]>>):
    %c = frit.concat %a, %b dim 0 : !x, tensor<?xf32, #frit.dims<[s1]>> -> tensor<?xf32, #frit.dims<[s2]>>
    frit.yield %c : tensor<?xf32, #frit.dims<[s2]>>
  }
  frit.return %0 : tensor<?xf32, #frit.dims<[s2]>>
}

// Nothing is known of s0, so a GPU kernel has a variant for what 32 bits can count; a bounded size needs none.
// GPU-LABEL: frit.graph @variants
// GPU: frit.region(%arg0) {schedule = #frit.schedule<pointwise, <[s0, 4]>, reduced 0, <vector = 4>>, variants = [#frit.variant<[<index32, sizes [8 * s0], origin "math.exp ({{.*}})">]>]}
// GPU: frit.region(%arg1) {schedule
frit.graph @variants(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>>, %y: tensor<?xf32, #frit.dims<[s1]>>)
    -> (tensor<?x4xf32, #frit.dims<[s0, 4]>>, tensor<?xf32, #frit.dims<[s1]>>)
    attributes {symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2, max = 4096>]} {
  %0 = frit.region(%x) {schedule = #frit.schedule<pointwise, <[s0, 4]>, reduced 0, <vector = 4>>}
      : (tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x4xf32, #frit.dims<[s0, 4]>> {
  ^bb0(%a: tensor<?x4xf32, #frit.dims<[s0, 4]>>):
    %e = math.exp %a : tensor<?x4xf32, #frit.dims<[s0, 4]>>
    frit.yield %e : tensor<?x4xf32, #frit.dims<[s0, 4]>>
  }
  %1 = frit.region(%y) {schedule = #frit.schedule<pointwise, <[s1]>, reduced 0, <vector = 4>>}
      : (tensor<?xf32, #frit.dims<[s1]>>) -> tensor<?xf32, #frit.dims<[s1]>> {
  ^bb0(%a: tensor<?xf32, #frit.dims<[s1]>>):
    %e = math.exp %a : tensor<?xf32, #frit.dims<[s1]>>
    frit.yield %e : tensor<?xf32, #frit.dims<[s1]>>
  }
  frit.return %0, %1 : tensor<?x4xf32, #frit.dims<[s0, 4]>>, tensor<?xf32, #frit.dims<[s1]>>
}

// The linear index of random bits reaches farther than what is read of them.
// GPU-LABEL: frit.graph @random
// GPU: frit.region(%arg0, %{{.*}}) {{{.*}}variants = [#frit.variant<[<index32, sizes [2 * s0], origin {{.*}}, <index32, sizes [8192 * s0], origin
frit.graph @random(%seed: tensor<i64>) -> tensor<?xi32, #frit.dims<[s0]>> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %k = arith.constant 0 : i64
  %0 = frit.region(%seed, %k) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0>} : (tensor<i64>, i64) -> tensor<?xi32, #frit.dims<[s0]>> {
  ^bb0(%a: tensor<i64>, %b: i64):
    %bits = frit.random %a, %b : tensor<i64> -> tensor<?x4096xi32, #frit.dims<[s0, 4096]>>
    %first = frit.reindex %bits <(d0) -> (d0, 0)> : tensor<?x4096xi32, #frit.dims<[s0, 4096]>> -> tensor<?xi32, #frit.dims<[s0]>>
    frit.yield %first : tensor<?xi32, #frit.dims<[s0]>>
  }
  frit.return %0 : tensor<?xi32, #frit.dims<[s0]>>
}
