// RUN: frit-opt --split-input-file --frit-fuse-convolutions --canonicalize %s | FileCheck %s

// What is the same for a channel is a vector; then a residual, then limits.
// CHECK-LABEL: @all
// CHECK: %[[CENTRE:.*]] = arith.negf %arg2 : tensor<8xf32>
// CHECK: frit.aten "frit.convolution.default"(%arg0, %arg1, %[[CENTRE]], %arg3, %arg4, %arg5)
// CHECK-SAME: [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, [1, 1], [1, 1], [1, 1], false, [0, 0], 1, #frit.operand<3>, #frit.operand<4>, #frit.operand<5>, 0.000000e+00, 6.000000e+00, unit]
// CHECK-SAME: reason = "a convolution: a library has the kernel; frit's own where it is faster, with a factor and a summand of channels, a residual, limits"
// CHECK-NOT: arith
// CHECK: frit.return
!i = tensor<2x8x6x6xf32>
!w = tensor<8x8x3x3xf32>
!c = tensor<8xf32>
frit.graph @all(%x: !i, %w: !w, %mean: !c, %factor: !c, %summand: !c, %residual: !i) -> !i {
  %y = frit.aten "aten.convolution.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!i, !w) -> !i
  %m = frit.reindex %mean <(d0, d1, d2, d3) -> (d1)> : !c -> !i
  %f = frit.reindex %factor <(d0, d1, d2, d3) -> (d1)> : !c -> !i
  %s = frit.reindex %summand <(d0, d1, d2, d3) -> (d1)> : !c -> !i
  %0 = arith.subf %y, %m : !i
  %1 = arith.mulf %0, %f : !i
  %2 = arith.addf %1, %s : !i
  %3 = arith.addf %residual, %2 : !i
  %zero = arith.constant dense<0.0> : tensor<f32>
  %low = frit.reindex %zero <(d0, d1, d2, d3) -> ()> : tensor<f32> -> !i
  %isLow = arith.cmpf olt, %3, %low : !i
  %4 = arith.select %isLow, %low, %3 : tensor<2x8x6x6xi1>, !i
  %six = arith.constant dense<6.0> : tensor<f32>
  %high = frit.reindex %six <(d0, d1, d2, d3) -> ()> : tensor<f32> -> !i
  %isHigh = arith.cmpf ogt, %4, %high : !i
  %5 = arith.select %isHigh, %high, %4 : tensor<2x8x6x6xi1>, !i
  frit.return %5 : !i
}

// -----

// Somebody else reads the sums, so nothing is taken along; and what comes after a residual is not.
// CHECK-LABEL: @read_twice
// CHECK: %[[Y:.*]] = frit.aten "frit.convolution.default"(%arg0, %arg1)
// CHECK-SAME: reason = "a convolution: a library has the kernel; frit's own where it is faster"
// CHECK: arith.addf %[[Y]]
// CHECK: frit.return
!i = tensor<2x8x6x6xf32>
!w = tensor<8x8x1x1xf32>
frit.graph @read_twice(%x: !i, %w: !w) -> (!i, !i) {
  %y = frit.aten "aten.convolution.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!i, !w) -> !i
  %0 = arith.addf %y, %x : !i
  frit.return %y, %0 : !i, !i
}

// -----

// The residual may be written before the end of the chain.
// CHECK-LABEL: @written_between
// CHECK: frit.aten "frit.convolution.default"(%arg0, %arg1)
// CHECK: frit.store
// CHECK: arith.addf
!i = tensor<2x8x6x6xf32>
!w = tensor<8x8x1x1xf32>
frit.graph @written_between(%x: !i, %w: !w, %other: !i) -> !i {
  %y = frit.aten "aten.convolution.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!i, !w) -> !i
  frit.store %other into %x : !i, !i
  %0 = arith.addf %y, %other : !i
  frit.return %0 : !i
}

// -----

// Zeros around the image become padding, uneven too. Not those of another value, in channels, or
// of an image that is written before the convolution.
// CHECK-LABEL: @zeros_around
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x6x6xf32>
// CHECK-NOT: frit.reindex
// CHECK: "frit.convolution.default"(%[[X]], %{{.*}}) [#frit.operand<0>, #frit.operand<1>, unit, [2, 2], [1, 1], [1, 1], false, [0, 0], 1, unit, unit, unit, unit, unit, [2, 1]]
!i = tensor<2x8x6x6xf32>
!p = tensor<2x8x7x6xf32>
!r = tensor<2x8x4x3xf32>
!w = tensor<8x8x3x3xf32>
frit.graph @zeros_around(%x: !i, %w: !w) -> !r {
  %p = frit.reindex %x <(d0, d1, d2, d3) -> (d0, d1, d2, d3) where [d2 in 0 to 6]> fill 0.0 : f32 : !i -> !p
  %0 = frit.aten "aten.convolution.default"(%p, %w) [#frit.operand<0>, #frit.operand<1>, unit, [2, 2], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!p, !w) -> !r
  frit.return %0 : !r
}

// -----

// CHECK-LABEL: @other_pads
// CHECK: frit.reindex
// CHECK: "frit.convolution.default"
// CHECK: frit.reindex
// CHECK: "frit.convolution.default"
!i = tensor<2x8x6x6xf32>
!p = tensor<2x8x7x6xf32>
!r = tensor<2x8x4x3xf32>
!w = tensor<8x8x3x3xf32>
frit.graph @other_pads(%x: !i, %w: !w) -> (!r, !r) {
  %p = frit.reindex %x <(d0, d1, d2, d3) -> (d0, d1, d2, d3) where [d2 in 0 to 6]> fill 1.0 : f32 : !i -> !p
  %0 = frit.aten "aten.convolution.default"(%p, %w) [#frit.operand<0>, #frit.operand<1>, unit, [2, 2], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!p, !w) -> !r
  %q = frit.reindex %x <(d0, d1, d2, d3) -> (d0, d1 - 1, d2, d3) where [d1 - 1 in 0 to 8, d2 in 0 to 6]> fill 0.0 : f32 : !i -> !p
  %1 = frit.aten "aten.convolution.default"(%q, %w) [#frit.operand<0>, #frit.operand<1>, unit, [2, 2], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!p, !w) -> !r
  frit.return %0, %1 : !r, !r
}

// -----

// CHECK-LABEL: @written_after_the_pad
// CHECK: frit.reindex
// CHECK: frit.store
// CHECK: "frit.convolution.default"
!i = tensor<2x8x6x6xf32>
!p = tensor<2x8x7x6xf32>
!r = tensor<2x8x4x3xf32>
!w = tensor<8x8x3x3xf32>
frit.graph @written_after_the_pad(%x: !i, %w: !w, %other: !i) -> !r {
  %p = frit.reindex %x <(d0, d1, d2, d3) -> (d0, d1, d2, d3) where [d2 in 0 to 6]> fill 0.0 : f32 : !i -> !p
  frit.store %other into %x : !i, !i
  %0 = frit.aten "aten.convolution.default"(%p, %w) [#frit.operand<0>, #frit.operand<1>, unit, [2, 2], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!p, !w) -> !r
  frit.return %0 : !r
}

// -----

// A filter for each channel: lanes are channels.
// CHECK-LABEL: @depthwise
// CHECK: "frit.convolution.default"
!i = tensor<2x8x6x6xf32>
!g = tensor<8x1x1x1xf32>
frit.graph @depthwise(%x: !i, %g: !g) -> !i {
  %0 = frit.aten "aten.convolution.default"(%x, %g) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 8]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!i, !g) -> !i
  frit.return %0 : !i
}

// -----

// Transposed, of another type, without a vector of outputs in each group: ATen's.
// CHECK-LABEL: @left
// CHECK-COUNT-3: "aten.convolution.default"
// CHECK-NOT: "frit.convolution.default"
!i = tensor<2x8x6x6xf32>
!d = tensor<2x8x6x6xf64>
!w = tensor<8x8x1x1xf32>
!dw = tensor<8x8x1x1xf64>
!g = tensor<8x4x1x1xf32>
frit.graph @left(%x: !i, %w: !w, %d: !d, %dw: !dw, %g: !g) -> (!i, !d, !i) {
  %0 = frit.aten "aten.convolution.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], true, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!i, !w) -> !i
  %1 = frit.aten "aten.convolution.default"(%d, %dw) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f64>, #frit.dtype<f64>], result_dtypes = [#frit.dtype<f64>]} : (!d, !dw) -> !d
  %2 = frit.aten "aten.convolution.default"(%x, %g) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 2]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!i, !g) -> !i
  frit.return %0, %1, %2 : !i, !d, !i
}
