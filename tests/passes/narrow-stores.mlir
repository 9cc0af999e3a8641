// RUN: frit-opt --split-input-file --frit-narrow-stores %s | FileCheck %s

// x[3:5] = v
// CHECK-LABEL: @slice
// CHECK: %[[PART:.*]] = frit.reindex %arg0 <(d0) -> (d0 + 3)> : tensor<9xf32> -> tensor<2xf32>
// CHECK-NEXT: frit.store %arg1 into %[[PART]]
// CHECK-NEXT: frit.return
frit.graph @slice(%x: tensor<9xf32>, %v: tensor<2xf32>) {
  %a = frit.reindex %x <(d0) -> (d0)> : tensor<9xf32> -> tensor<3xf32>
  %b = frit.reindex %x <(d0) -> (d0 + 5)> : tensor<9xf32> -> tensor<4xf32>
  %y = frit.concat %a, %v, %b dim 0 : tensor<3xf32>, tensor<2xf32>, tensor<4xf32> -> tensor<9xf32>
  frit.store %y into %x : tensor<9xf32>, tensor<9xf32>
  frit.return
}

// -----

// x[1:3, 2:] = v: a concatenation within another, of a dynamic number of columns. The whole value has another reader.
// CHECK-LABEL: @block
// CHECK: %[[ALL:.*]] = frit.concat
// CHECK: %[[ROWS:.*]] = frit.concat %{{.*}}, %[[ALL]], %{{.*}} dim 0
// CHECK-NEXT: %[[PART:.*]] = frit.reindex %arg0 <(d0, d1) -> (d0 + 1, d1 + 2)>
// CHECK-NEXT: frit.store %arg1 into %[[PART]]
// CHECK-NEXT: frit.return %[[ROWS]]
frit.graph @block(%x: tensor<4x?xf32, #frit.dims<[4, s0 + 2]>>, %v: tensor<2x?xf32, #frit.dims<[2, s0]>>) -> (tensor<4x?xf32, #frit.dims<[4, s0 + 2]>>) attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %first = frit.reindex %x <(d0, d1) -> (d0, d1)> : tensor<4x?xf32, #frit.dims<[4, s0 + 2]>> -> tensor<1x?xf32, #frit.dims<[1, s0 + 2]>>
  %left = frit.reindex %x <(d0, d1) -> (d0 + 1, d1)> : tensor<4x?xf32, #frit.dims<[4, s0 + 2]>> -> tensor<2x2xf32>
  %last = frit.reindex %x <(d0, d1) -> (d0 + 3, d1)> : tensor<4x?xf32, #frit.dims<[4, s0 + 2]>> -> tensor<1x?xf32, #frit.dims<[1, s0 + 2]>>
  %middle = frit.concat %left, %v dim 1 : tensor<2x2xf32>, tensor<2x?xf32, #frit.dims<[2, s0]>> -> tensor<2x?xf32, #frit.dims<[2, s0 + 2]>>
  %y = frit.concat %first, %middle, %last dim 0 : tensor<1x?xf32, #frit.dims<[1, s0 + 2]>>, tensor<2x?xf32, #frit.dims<[2, s0 + 2]>>, tensor<1x?xf32, #frit.dims<[1, s0 + 2]>> -> tensor<4x?xf32, #frit.dims<[4, s0 + 2]>>
  frit.store %y into %x : tensor<4x?xf32, #frit.dims<[4, s0 + 2]>>, tensor<4x?xf32, #frit.dims<[4, s0 + 2]>>
  frit.return %y : tensor<4x?xf32, #frit.dims<[4, s0 + 2]>>
}

// -----

// Parts that change their place, parts of another argument and computed values are written: nothing of the argument stays.
// CHECK-LABEL: @moved
// CHECK: frit.store %{{.*}} into %arg0 : tensor<4xf32>, tensor<4xf32>
// CHECK: frit.store %{{.*}} into %arg1 : tensor<4xf32>, tensor<4xf32>
frit.graph @moved(%x: tensor<4xf32>, %z: tensor<4xf32>) {
  %a = frit.reindex %x <(d0) -> (d0)> : tensor<4xf32> -> tensor<2xf32>
  %b = frit.reindex %x <(d0) -> (d0 + 2)> : tensor<4xf32> -> tensor<2xf32>
  %y = frit.concat %b, %a dim 0 : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>
  frit.store %y into %x : tensor<4xf32>, tensor<4xf32>
  %w = frit.concat %a, %b dim 0 : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>
  frit.store %w into %z : tensor<4xf32>, tensor<4xf32>
  frit.return
}
