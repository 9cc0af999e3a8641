// RUN: frit-opt --split-input-file --frit-assign-layouts %s | FileCheck %s

// Views are strides and an offset over the argument's own.
// CHECK-LABEL: @views
// CHECK: frit.reindex {{.*}}frit.layouts = [#frit.layout<[1, 64]>]
// CHECK: frit.reindex {{.*}}frit.layouts = [#frit.layout<[64, 1], offset 640>]
// CHECK: frit.reshape {{.*}}frit.layouts = [#frit.layout<[256, 64, 1], offset 640>]
// CHECK-NOT: frit.region
frit.graph @views(%x: tensor<32x64xf32>)
    -> (tensor<64x32xf32> {frit.layout = #frit.layout<[1, 64]>}, tensor<2x4x64xf32>) {
  %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<32x64xf32> -> tensor<64x32xf32>
  %s = frit.reindex %x <(d0, d1) -> (d0 + 10, d1)> : tensor<32x64xf32> -> tensor<8x64xf32>
  %v = frit.reshape %s : tensor<8x64xf32> -> tensor<2x4x64xf32>
  frit.return %t, %v : tensor<64x32xf32>, tensor<2x4x64xf32>
}

// -----

// Symbolic sizes: rows of s0 columns.
// CHECK-LABEL: @symbolic
// CHECK: frit.reindex {{.*}}frit.layouts = [#frit.layout<[1, s0]>]
!t = tensor<8x?xf32, #frit.dims<[8, s0]>>
!u = tensor<?x8xf32, #frit.dims<[s0, 8]>>
frit.graph @symbolic(%x: !t) -> (!u {frit.layout = #frit.layout<[1, s0]>})
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : !t -> !u
  frit.return %t : !u
}

// -----

// A reshape of a transpose and a flip have no strides: regions that copy.
// CHECK-LABEL: @copies
// CHECK: frit.reindex
// CHECK: frit.region(%{{.*}}) {frit.layouts = [#frit.layout<[1]>]}
// CHECK: frit.reshape
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[8, 1]>]}
// CHECK: frit.reindex
frit.graph @copies(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>) {
  %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<4x8xf32> -> tensor<8x4xf32>
  %v = frit.reshape %t : tensor<8x4xf32> -> tensor<32xf32>
  %f = frit.reindex %x <(d0, d1) -> (d0, 7 - d1)> : tensor<4x8xf32> -> tensor<4x8xf32>
  frit.return %v, %f : tensor<32xf32>, tensor<4x8xf32>
}

// -----

// An opaque operator gets the strides that the trace saw; a region writes them
// at once, a product takes the transpose as it is.
// CHECK-LABEL: @demands
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[1, 4]>], result_layouts = [#frit.layout<[1, 4]>]}
// CHECK: frit.aten "aten.sort.default"
// CHECK-NOT: frit.region
// CHECK: frit.aten "aten.mm.default"
!t = tensor<4x8xf32>
frit.graph @demands(%x: !t, %w: !t) -> (!t, tensor<4x4xf32>) {
  %r = frit.region(%x) : (!t) -> !t {
  ^bb0(%a: !t):
    %e = math.exp %a : !t
    frit.yield %e : !t
  }
  %s = frit.aten "aten.sort.default"(%r) [#frit.operand<0>]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 4]>]} : (!t) -> !t
  %wt = frit.reindex %w <(d0, d1) -> (d1, d0)> : !t -> tensor<8x4xf32>
  %m = frit.aten "aten.mm.default"(%x, %wt) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!t, tensor<8x4xf32>) -> tensor<4x4xf32>
  frit.return %s, %m : !t, tensor<4x4xf32>
}

// -----

// A fresh result never lies in an argument, and two fresh results never in one
// storage; the argument itself and the same class may.
// CHECK-LABEL: @storage_classes
// CHECK: %[[Y:.*]] = frit.aten
// CHECK: %[[FRESH:.*]] = frit.region(%arg0)
// CHECK: %[[OTHER:.*]] = frit.region(%[[Y]])
// CHECK: frit.return %arg0, %[[FRESH]], %[[Y]], %[[Y]], %[[OTHER]]
!t = tensor<4x8xf32>
frit.graph @storage_classes(%x: !t) -> (!t {frit.storage = #frit.storage<argument, 0>}, !t {frit.storage = #frit.storage<fresh, 0>},
    !t {frit.storage = #frit.storage<fresh, 1>}, !t {frit.storage = #frit.storage<fresh, 1>}, !t {frit.storage = #frit.storage<fresh, 2>}) {
  %y = frit.aten "aten.sort.default"(%x) [#frit.operand<0>]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!t) -> !t
  frit.return %x, %x, %y, %y, %y : !t, !t, !t, !t, !t
}

// -----

// An operator that writes to an operand gets the value itself where nobody else
// looks at it, a copy of an argument and of what is read later, and the argument
// itself where the program stores the result there.
// CHECK-LABEL: @mutated
// CHECK: %[[E:.*]] = frit.region(%arg0)
// CHECK: frit.aten "my.scale.default"(%[[E]])
// CHECK: %[[C:.*]] = frit.region(%arg0) {frit.layouts = [#frit.layout<[1]>]
// CHECK-NEXT: ^bb0
// CHECK-NEXT: frit.yield
// CHECK: frit.aten "my.scale.default"(%[[C]])
// CHECK: frit.aten "my.scale.default"(%arg1)
// CHECK: frit.store %{{.*}} into %arg1 {in_place
// CHECK: frit.return
frit.graph @mutated(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = frit.region(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = math.exp %a : tensor<4xf32>
    frit.yield %1 : tensor<4xf32>
  }
  %0 = frit.aten "my.scale.default"(%e) [#frit.operand<0>] {argument_names = ["x"], mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = frit.aten "my.scale.default"(%x) [#frit.operand<0>] {argument_names = ["x"], mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = frit.aten "my.scale.default"(%y) [#frit.operand<0>] {argument_names = ["x"], mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.store %3 into %y : tensor<4xf32>, tensor<4xf32>
  frit.return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two calls write the same value and want it in rows: the copy that the first one writes is not the second one's.
// CHECK-LABEL: @written_copies
// CHECK: %[[A:.+]] = frit.region(%arg0) {frit.layouts = [#frit.layout<[4, 1]>]
// CHECK: frit.aten "my.scale.default"(%[[A]])
// CHECK: %[[B:.+]] = frit.region(%arg0) {frit.layouts = [#frit.layout<[4, 1]>]
// CHECK: frit.aten "my.scale.default"(%[[B]])
frit.graph @written_copies(%x: tensor<3x4xf32> {frit.layout = #frit.layout<[1, 3]>}) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = frit.aten "my.scale.default"(%x) [#frit.operand<0>] {argument_names = ["x"], mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 1]>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = frit.aten "my.scale.default"(%x) [#frit.operand<0>] {argument_names = ["x"], mutated_operands = array<i64: 0>, operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[4, 1]>], result_dtypes = [#frit.dtype<f32>]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  frit.return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// A result of its own that holds an argument's old value is copied before the argument, or a kernel in its place, is written;
// a view on the way moves with it.
// CHECK-LABEL: @copied_before_the_write
// CHECK: %[[OLD:.+]] = frit.region(%arg0) {{.*}}frit.layouts = [#frit.layout<[1]>]
// CHECK-NOT: arith.addf
// CHECK: %[[NEW:.+]] = frit.region(%arg0)
// CHECK: arith.addf
// CHECK: %[[VIEW:.+]] = frit.reshape %arg0
// CHECK: %[[PAIRS:.+]] = frit.region(%[[VIEW]])
// CHECK: frit.store %[[NEW]] into %arg0
// CHECK: frit.return %[[OLD]], %[[PAIRS]], %arg0
frit.graph @copied_before_the_write(%x: tensor<4xf32>)
    -> (tensor<4xf32> {frit.storage = #frit.storage<fresh, 0>}, tensor<2x2xf32> {frit.storage = #frit.storage<fresh, 1>},
        tensor<4xf32> {frit.storage = #frit.storage<argument, 0>}) {
  %n = frit.region(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = arith.addf %a, %a : tensor<4xf32>
    frit.yield %0 : tensor<4xf32>
  }
  frit.store %n into %x : tensor<4xf32>, tensor<4xf32>
  %v = frit.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  frit.return %x, %v, %x : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
}

// -----

// A copy of an argument and a view of that copy are one storage: the copy that the view needs is the result. Another copy of
// the same argument is its own.
// CHECK-LABEL: @copied_and_seen
// CHECK: %[[COPY:.+]] = frit.region(%arg0) {{.*}}frit.layouts = [#frit.layout<[3, 1]>]
// CHECK: %[[SEEN:.+]] = frit.alias %[[COPY]]
// CHECK: %[[OTHER:.+]] = frit.region(%{{.+}}) {{.*}}frit.layouts = [#frit.layout<[3, 1]>]
// CHECK-NOT: frit.region
// CHECK: frit.return %[[COPY]], %[[SEEN]], %[[OTHER]]
frit.graph @copied_and_seen(%x: tensor<4x3xf32> {frit.layout = #frit.layout<[6, 1]>})
    -> (tensor<4x3xf32> {frit.layout = #frit.layout<[3, 1]>, frit.storage = #frit.storage<fresh, 0>},
        tensor<3x3xf32> {frit.layout = #frit.layout<[3, 1], offset 3>, frit.storage = #frit.storage<fresh, 0>},
        tensor<4x3xf32> {frit.layout = #frit.layout<[3, 1]>, frit.storage = #frit.storage<fresh, 1>}) {
  %v = frit.alias %x <[3, 1]> seen <[3, 1], offset 3> <f32> : tensor<4x3xf32> -> tensor<3x3xf32>
  frit.return %x, %v, %x : tensor<4x3xf32>, tensor<3x3xf32>, tensor<4x3xf32>
}

// What is stored may be computed in the argument, so results in one storage are copied once.
// CHECK-LABEL: frit.graph @stored_and_seen
// CHECK: %[[SUM:.+]] = frit.region(%arg0)
// CHECK: frit.store %[[SUM]] into %arg0
// CHECK: %[[COPY:.+]] = frit.region(%{{.+}}) {{.*}}frit.layouts = [#frit.layout<[1]>]
// CHECK: %[[SEEN:.+]] = frit.alias %[[COPY]]
// CHECK: frit.return %[[COPY]], %[[SEEN]]
frit.graph @stored_and_seen(%x: tensor<4x3xf32> {frit.layout = #frit.layout<[3, 1]>})
    -> (tensor<3xf32> {frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>},
        tensor<1xf32> {frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}) {
  %0 = frit.region(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %2 = arith.addf %a, %a : tensor<4x3xf32>
    frit.yield %2 : tensor<4x3xf32>
  }
  frit.store %0 into %x : tensor<4x3xf32>, tensor<4x3xf32>
  %1 = frit.reindex %0 <(d0) -> (3, d0)> : tensor<4x3xf32> -> tensor<3xf32>
  %v = frit.alias %1 <[1]> seen <[1]> <f32> : tensor<3xf32> -> tensor<1xf32>
  frit.return %1, %v : tensor<3xf32>, tensor<1xf32>
}

// Results that are aliases of one another lie in one copy of what is under them.
// CHECK-LABEL: frit.graph @aliases_of_an_alias
// CHECK: %[[COPY:.+]] = frit.region(%arg0)
// CHECK-NOT: frit.region
// CHECK: %[[WHOLE:.+]] = frit.alias %[[COPY]]
// CHECK: %[[PART:.+]] = frit.alias %[[WHOLE]]
// CHECK: %[[AGAIN:.+]] = frit.alias %[[COPY]]
// CHECK: frit.return %[[PART]], %[[AGAIN]]
frit.graph @aliases_of_an_alias(%x: tensor<4xf32> {frit.layout = #frit.layout<[1]>})
    -> (tensor<2xf32> {frit.layout = #frit.layout<[1], offset 2>, frit.storage = #frit.storage<fresh, 0>},
        tensor<4xf32> {frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 0>}) {
  %0 = frit.alias %x <[1]> seen <[1]> <f32> : tensor<4xf32> -> tensor<4xf32>
  %1 = frit.alias %0 <[1]> seen <[1], offset 2> <f32> : tensor<4xf32> -> tensor<2xf32>
  frit.return %1, %0 : tensor<2xf32>, tensor<4xf32>
}
