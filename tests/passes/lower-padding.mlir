// RUN: frit-opt %s --frit-lower-padding --split-input-file | FileCheck %s
// RUN: frit-opt %s --frit-lower-padding=poison --split-input-file | FileCheck %s --check-prefix=POISON

// Only the sizes that differ are bounds; what nobody may depend on is zero, or poison.
// What each pad writes, and how much of that is logical, is kept for the executor's counters.
// CHECK-LABEL: frit.graph @pads
// CHECK-SAME:    frit.padded_elements = [#frit.dims<[64 * floordiv(s0 + 7, 8), 8 * s0]>, #frit.dims<[4, 3]>, #frit.dims<[8, 3]>, #frit.dims<[4, 3]>]
// CHECK:         frit.reindex %arg0 <(d0, d1) -> (d0, d1) where [d0 in 0 to s0]> fill 1.000000e+00 : f32
// CHECK:         frit.reindex %arg1 <(d0) -> (d0) where [d0 in 0 to 3]> fill 0.000000e+00 : f32
// CHECK:         frit.reindex %arg1 <(d0) -> (d0) where [d0 in 0 to 3]> fill 0.000000e+00 : f32
// CHECK:         frit.reindex %arg2 <(d0) -> (d0) where [d0 in 0 to 3]> fill 0 : i32
// POISON-LABEL: frit.graph @pads
// POISON:         fill 1.000000e+00 : f32
// POISON:         fill 0x7FC00000 : f32
// POISON:         fill 1.000000e+30 : f32
// POISON:         fill -2147483648 : i32
frit.graph @pads(%x: tensor<?x8xf32, #frit.dims<[s0, 8]>>, %y: tensor<3xf32>, %z: tensor<3xi32>)
    -> (tensor<?x8xf32, #frit.dims<[8 * floordiv(s0 + 7, 8), 8]>>, tensor<4xf32>, tensor<8xf32>, tensor<4xi32>) attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.pad %x fill 1.0 : f32 : tensor<?x8xf32, #frit.dims<[s0, 8]>> -> tensor<?x8xf32, #frit.dims<[8 * floordiv(s0 + 7, 8), 8]>>
  %1 = frit.pad %y : tensor<3xf32> -> tensor<4xf32>
  %2 = frit.pad %y : tensor<3xf32> -> tensor<8xf32>
  %3 = frit.pad %z : tensor<3xi32> -> tensor<4xi32>
  frit.return %0, %1, %2, %3 : tensor<?x8xf32, #frit.dims<[8 * floordiv(s0 + 7, 8), 8]>>, tensor<4xf32>, tensor<8xf32>, tensor<4xi32>
}

// -----

// A pad of a slice reads through it: one map. What is cut back to it is the slice.
// CHECK-LABEL: frit.graph @through_a_view
// CHECK-NEXT:    frit.reindex %arg0 <(d0) -> (d0 + 2) where [d0 in 0 to 3]> fill 0.000000e+00 : f32 : tensor<9xf32> -> tensor<8xf32>
// CHECK-NEXT:    frit.reindex %arg0 <(d0) -> (d0 + 2)> : tensor<9xf32> -> tensor<3xf32>
frit.graph @through_a_view(%x: tensor<9xf32>) -> (tensor<8xf32>, tensor<3xf32>) {
  %0 = frit.reindex %x <(d0) -> (d0 + 2)> : tensor<9xf32> -> tensor<3xf32>
  %1 = frit.pad %0 fill 0.0 : f32 : tensor<3xf32> -> tensor<8xf32>
  %2 = frit.unpad %1 : tensor<8xf32> -> tensor<3xf32>
  frit.return %1, %2 : tensor<8xf32>, tensor<3xf32>
}
