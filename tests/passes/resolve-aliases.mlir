// RUN: frit-opt --split-input-file --frit-resolve-aliases %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-resolve-aliases=first-kept=1 %s | FileCheck %s --check-prefix=KEPT

// Results of one storage are looks at the value that owns it, unless only a backward graph takes them.
// CHECK-LABEL: @one_storage
// CHECK: %[[V:.*]] = frit.aten "aten.exp.default"
// CHECK: %[[S:.*]] = frit.alias %[[V]] <[1]> seen <[1], offset 1> <f32> : tensor<6xf32> -> tensor<5xf32>
// CHECK: frit.return %[[V]], %[[S]]
// KEPT-LABEL: @one_storage
// KEPT-NOT: frit.alias
// KEPT: frit.return
frit.graph @one_storage(%a: tensor<6xf32> {frit.dtype = #frit.dtype<f32>})
    -> (tensor<6xf32> {frit.storage = #frit.storage<fresh, 0>}, tensor<5xf32> {frit.storage = #frit.storage<fresh, 0>}) {
  %v = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<6xf32>) -> tensor<6xf32>
  %s = frit.aten "aten.slice.Tensor"(%v) [#frit.operand<0>, 0, 1, 6, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1], offset 1>], result_storage = [unit]} : (tensor<6xf32>) -> tensor<5xf32>
  frit.return %v, %s : tensor<6xf32>, tensor<5xf32>
}

// -----

// A slice that stands alone is computed alone; one with gaps is not.
// CHECK-LABEL: @alone
// CHECK: frit.aten "aten.slice.Tensor"
// CHECK: %[[G:.*]] = frit.alias %{{.*}} <[6, 1]> seen <[6, 1], offset 2> <f32>
// CHECK: frit.return %{{.*}}, %[[G]]
frit.graph @alone(%a: tensor<4x6xf32> {frit.dtype = #frit.dtype<f32>})
    -> (tensor<3x6xf32> {frit.storage = #frit.storage<fresh, 0>}, tensor<4x4xf32> {frit.storage = #frit.storage<fresh, 1>}) {
  %v = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = frit.aten "aten.slice.Tensor"(%v) [#frit.operand<0>, 0, 1, 4, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1], offset 6>], result_storage = [unit]} : (tensor<4x6xf32>) -> tensor<3x6xf32>
  %w = frit.aten "aten.sin.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = frit.aten "aten.slice.Tensor"(%w) [#frit.operand<0>, 1, 2, 6, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1], offset 2>], result_storage = [unit]} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  frit.return %s, %g : tensor<3x6xf32>, tensor<4x4xf32>
}

// -----

// A view of an argument lies where the argument does, counted from the argument's own start.
// CHECK-LABEL: @view_of_argument
// CHECK: %[[R:.*]] = frit.alias %arg0 <[8, 1], offset 2> seen <[8, 2, 1], offset 8> <f32>
// CHECK: frit.return %[[R]]
frit.graph @view_of_argument(%a: tensor<6x4xf32> {frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[8, 1], offset 2>})
    -> (tensor<5x2x2xf32> {frit.storage = #frit.storage<view_of_argument, 0>}) {
  %s = frit.aten "aten.slice.Tensor"(%a) [#frit.operand<0>, 0, 1, 6, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8, 1], offset 2>], result_layouts = [#frit.layout<[8, 1], offset 10>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<6x4xf32>) -> tensor<5x4xf32>
  %v = frit.aten "aten.view.default"(%s) [#frit.operand<0>, [5, 2, 2]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[8, 1], offset 10>], result_layouts = [#frit.layout<[8, 2, 1], offset 10>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<5x4xf32>) -> tensor<5x2x2xf32>
  frit.return %v : tensor<5x2x2xf32>
}

// -----

// as_strided counts from the start of the storage, whatever it is called on.
// CHECK-LABEL: @strided_twice
// CHECK: %[[V:.*]] = frit.aten "aten.exp.default"
// CHECK: frit.aten "aten.as_strided.default"(%[[V]]) [#frit.operand<0>, [2, 2], [6, 2], 7] {operand_dtypes = {{.*}}, operand_layouts = [#frit.layout<[6, 1]>], placed
frit.graph @strided_twice(%a: tensor<4x6xf32> {frit.dtype = #frit.dtype<f32>}) -> (tensor<2x2xf32>) {
  %v = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = frit.aten "aten.as_strided.default"(%v) [#frit.operand<0>, [3, 3], [6, 1], 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1], offset 1>], result_storage = [unit]} : (tensor<4x6xf32>) -> tensor<3x3xf32>
  %w = frit.aten "aten.as_strided.default"(%s) [#frit.operand<0>, [2, 2], [6, 2], 7] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1], offset 1>], result_layouts = [#frit.layout<[6, 2], offset 7>], result_storage = [unit]} : (tensor<3x3xf32>) -> tensor<2x2xf32>
  frit.return %w : tensor<2x2xf32>
}

// -----

// A write through a view of storage is a write to the storage, and a view of it.
// CHECK-LABEL: @scatter
// CHECK: %[[V:.*]] = frit.aten "aten.exp.default"
// CHECK: %[[W:.*]] = frit.aten "aten.as_strided_scatter.default"(%[[V]], %arg1) [#frit.operand<0>, #frit.operand<1>, [2, 2], [6, 2], 7]
// CHECK-SAME: -> tensor<4x6xf32>
// CHECK: frit.alias %[[W]] <[6, 1]> seen <[6, 1], offset 1> <f32> : tensor<4x6xf32> -> tensor<3x3xf32>
frit.graph @scatter(%a: tensor<4x6xf32> {frit.dtype = #frit.dtype<f32>}, %b: tensor<2x2xf32> {frit.dtype = #frit.dtype<f32>}) -> (tensor<3x3xf32>) {
  %v = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = frit.aten "aten.as_strided.default"(%v) [#frit.operand<0>, [3, 3], [6, 1], 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1]>], result_layouts = [#frit.layout<[6, 1], offset 1>], result_storage = [unit]} : (tensor<4x6xf32>) -> tensor<3x3xf32>
  %w = frit.aten "aten.as_strided_scatter.default"(%s, %b) [#frit.operand<0>, #frit.operand<1>, [2, 2], [6, 2], 7] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[6, 1], offset 1>, #frit.layout<[2, 1]>], result_layouts = [#frit.layout<[6, 1], offset 1>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<3x3xf32>, tensor<2x2xf32>) -> tensor<3x3xf32>
  frit.return %w : tensor<3x3xf32>
}

// -----

// What lies around a copied argument is there at the call: the copy and its views stay calls.
// CHECK-LABEL: @around_a_copy
// CHECK: frit.aten "aten.slice.Tensor"(%arg0) {{.*}}reason = "as_strided reads the whole storage behind its result"
// CHECK: frit.aten "aten.copy.default"{{.*}}reason = "as_strided reads the whole storage behind its result"
// CHECK: frit.aten "aten.as_strided.default"(%{{.*}}) [#frit.operand<0>, [3], [1], 0] {operand_dtypes
frit.graph @around_a_copy(%a: tensor<6xf32> {frit.dtype = #frit.dtype<f32>}, %b: tensor<5xf32> {frit.dtype = #frit.dtype<f32>}) -> (tensor<3xf32>) {
  %s = frit.aten "aten.slice.Tensor"(%a) [#frit.operand<0>, 0, 1, 6, 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1], offset 1>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<6xf32>) -> tensor<5xf32>
  %c = frit.aten "aten.copy.default"(%s, %b) [#frit.operand<0>, #frit.operand<1>, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1], offset 1>, #frit.layout<[1]>], result_layouts = [#frit.layout<[1], offset 1>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %w = frit.aten "aten.as_strided.default"(%c) [#frit.operand<0>, [3], [1], 0] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1], offset 1>], result_layouts = [#frit.layout<[1]>], result_storage = [unit]} : (tensor<5xf32>) -> tensor<3xf32>
  frit.return %w : tensor<3xf32>
}

// -----

// Where elements share a place a write of one writes the others, which values cannot say.
// CHECK-LABEL: @shared_places
// CHECK: frit.aten "aten.select_scatter.default"{{.*}}reason = "its elements share places, so that a write of one writes others"
// CHECK: frit.aten "aten.select_scatter.default"
// CHECK-NOT: reason
// CHECK: frit.return
frit.graph @shared_places(%a: tensor<6xf32> {frit.dtype = #frit.dtype<f32>}, %b: tensor<2xf32> {frit.dtype = #frit.dtype<f32>}) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %s0 = frit.aten "aten.as_strided.default"(%a) [#frit.operand<0>, [2, 2], [1, 1], 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1, 1], offset 1>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<6xf32>) -> tensor<2x2xf32>
  %c0 = frit.aten "aten.select_scatter.default"(%s0, %b) [#frit.operand<0>, #frit.operand<1>, 0, 0] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1, 1], offset 1>, #frit.layout<[1]>], result_layouts = [#frit.layout<[1, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %s1 = frit.aten "aten.as_strided.default"(%a) [#frit.operand<0>, [2, 2], [2, 1], 1] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[2, 1], offset 1>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<6xf32>) -> tensor<2x2xf32>
  %c1 = frit.aten "aten.select_scatter.default"(%s1, %b) [#frit.operand<0>, #frit.operand<1>, 0, 0] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[2, 1], offset 1>, #frit.layout<[1]>], result_layouts = [#frit.layout<[2, 1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  frit.return %c0, %c1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// ATen makes the views that lead to a result with a lazy bit, wherever in the chain the bit is set; others are lowered.
// CHECK-LABEL: @lazy
// CHECK: frit.aten "aten.slice.Tensor"{{.*}}reason = "its result has a lazy conjugate or negative bit"
// CHECK: frit.aten "aten._conj.default"
// CHECK: frit.aten "aten.slice.Tensor"{{.*}}reason = "its result has a lazy conjugate or negative bit"
// CHECK: frit.alias
// CHECK: frit.return
frit.graph @lazy(%a: tensor<6xcomplex<f32>> {frit.dtype = #frit.dtype<c64>})
    -> (tensor<4xcomplex<f32>> {frit.storage = #frit.storage<view_of_argument, 0>}, tensor<5xcomplex<f32>> {frit.storage = #frit.storage<view_of_argument, 0>}) {
  %s = frit.aten "aten.slice.Tensor"(%a) [#frit.operand<0>, 0, 1, 6, 1] {operand_dtypes = [#frit.dtype<c64>], result_dtypes = [#frit.dtype<c64>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1], offset 1>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<6xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  %c = frit.aten "aten._conj.default"(%s) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<c64>], result_dtypes = [#frit.dtype<c64>], operand_layouts = [#frit.layout<[1], offset 1>], result_layouts = [#frit.layout<[1], offset 1>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  %t = frit.aten "aten.slice.Tensor"(%c) [#frit.operand<0>, 0, 1, 5, 1] {operand_dtypes = [#frit.dtype<c64>], result_dtypes = [#frit.dtype<c64>], operand_layouts = [#frit.layout<[1], offset 1>], result_layouts = [#frit.layout<[1], offset 2>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<5xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %u = frit.aten "aten.slice.Tensor"(%a) [#frit.operand<0>, 0, 0, 5, 1] {operand_dtypes = [#frit.dtype<c64>], result_dtypes = [#frit.dtype<c64>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<view_of_argument, 0>]} : (tensor<6xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  frit.return %t, %u : tensor<4xcomplex<f32>>, tensor<5xcomplex<f32>>
}

// -----

// Equal results with a lazy bit that have memory of their own stay two: a copy of one would have no bit.
// CHECK-LABEL: @lazy_twice
// CHECK: frit.aten "aten.exp.default"{{.*}}frit.lazy_in = #frit.storage<fresh, 0>
// CHECK: frit.aten "aten._neg_view.default"{{.*}}frit.lazy_in = #frit.storage<fresh, 0>
// CHECK: frit.aten "aten.exp.default"{{.*}}frit.lazy_in = #frit.storage<fresh, 1>
// CHECK: frit.aten "aten._neg_view.default"{{.*}}frit.lazy_in = #frit.storage<fresh, 1>
frit.graph @lazy_twice(%a: tensor<6xf32> {frit.dtype = #frit.dtype<f32>})
    -> (tensor<6xf32> {frit.storage = #frit.storage<fresh, 0>}, tensor<6xf32> {frit.storage = #frit.storage<fresh, 1>}) {
  %v = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<6xf32>) -> tensor<6xf32>
  %n = frit.aten "aten._neg_view.default"(%v) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1]>], result_storage = [unit]} : (tensor<6xf32>) -> tensor<6xf32>
  %w = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (tensor<6xf32>) -> tensor<6xf32>
  %m = frit.aten "aten._neg_view.default"(%w) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[1]>], result_layouts = [#frit.layout<[1]>], result_storage = [unit]} : (tensor<6xf32>) -> tensor<6xf32>
  frit.return %n, %m : tensor<6xf32>, tensor<6xf32>
}
