// RUN: frit-opt --split-input-file --frit-prefer-channels-last --frit-assign-layouts %s | FileCheck %s

// ATen would copy the filter, which is larger than the input, to the order of the images in each call.
// CHECK-LABEL: @large
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[144, 9, 3, 1]>]
// CHECK: "aten.convolution.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[144, 9, 3, 1]>]
frit.graph @large(%x: tensor<2x16x3x3xf32>, %w: tensor<16x16x3x3xf32>) -> (tensor<2x16x3x3xf32> {frit.layout = #frit.layout<[144, 9, 3, 1]>, frit.storage = #frit.storage<fresh, 1>}) {
  %s = frit.region(%x) : (tensor<2x16x3x3xf32>) -> tensor<2x16x3x3xf32> {
  ^bb0(%a: tensor<2x16x3x3xf32>):
    %0 = math.sin %a : tensor<2x16x3x3xf32>
    frit.yield %0 : tensor<2x16x3x3xf32>
  }
  %y = frit.aten "aten.convolution.default"(%s, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[144, 9, 3, 1]>, #frit.layout<[144, 9, 3, 1]>], result_layouts = [#frit.layout<[144, 9, 3, 1]>],
       result_storage = [#frit.storage<fresh, 0>]}
      : (tensor<2x16x3x3xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x3x3xf32>
  frit.return %y : tensor<2x16x3x3xf32>
}

// -----

// The smaller filter is copied, for images in the order of the library.
// CHECK-LABEL: @small
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[1600, 1, 160, 16]>]
frit.graph @small(%x: tensor<2x16x10x10xf32>, %w: tensor<16x16x3x3xf32>) -> (tensor<2x16x10x10xf32> {frit.layout = #frit.layout<[1600, 100, 10, 1]>, frit.storage = #frit.storage<fresh, 1>}) {
  %s = frit.region(%x) : (tensor<2x16x10x10xf32>) -> tensor<2x16x10x10xf32> {
  ^bb0(%a: tensor<2x16x10x10xf32>):
    %0 = math.sin %a : tensor<2x16x10x10xf32>
    frit.yield %0 : tensor<2x16x10x10xf32>
  }
  %y = frit.aten "aten.convolution.default"(%s, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[1600, 100, 10, 1]>, #frit.layout<[144, 9, 3, 1]>], result_layouts = [#frit.layout<[1600, 100, 10, 1]>],
       result_storage = [#frit.storage<fresh, 0>]}
      : (tensor<2x16x10x10xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x10x10xf32>
  frit.return %y : tensor<2x16x10x10xf32>
}

// -----

// Both orders of this filter are one.
// CHECK-LABEL: @single
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[144, 1, 48, 16]>]
frit.graph @single(%x: tensor<2x16x3x3xf32>, %w: tensor<32x16x1x1xf32>) -> (tensor<2x32x3x3xf32> {frit.layout = #frit.layout<[288, 9, 3, 1]>, frit.storage = #frit.storage<fresh, 1>}) {
  %s = frit.region(%x) : (tensor<2x16x3x3xf32>) -> tensor<2x16x3x3xf32> {
  ^bb0(%a: tensor<2x16x3x3xf32>):
    %0 = math.sin %a : tensor<2x16x3x3xf32>
    frit.yield %0 : tensor<2x16x3x3xf32>
  }
  %y = frit.aten "aten.convolution.default"(%s, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[144, 9, 3, 1]>, #frit.layout<[16, 1, 1, 1]>], result_layouts = [#frit.layout<[288, 9, 3, 1]>],
       result_storage = [#frit.storage<fresh, 0>]}
      : (tensor<2x16x3x3xf32>, tensor<32x16x1x1xf32>) -> tensor<2x32x3x3xf32>
  frit.return %y : tensor<2x32x3x3xf32>
}

// -----

// The gradient of a large filter would be copied back as well.
// CHECK-LABEL: @large_backward
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[144, 9, 3, 1]>]
// CHECK: frit.region(%arg1) {frit.layouts = [#frit.layout<[144, 9, 3, 1]>]
// CHECK: "aten.convolution_backward.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[144, 9, 3, 1]>, #frit.layout<[144, 9, 3, 1]>]
frit.graph @large_backward(%g: tensor<2x16x3x3xf32>, %x: tensor<2x16x3x3xf32>, %w: tensor<16x16x3x3xf32>) -> (tensor<2x16x3x3xf32> {frit.layout = #frit.layout<[144, 9, 3, 1]>, frit.storage = #frit.storage<fresh, 1>}, tensor<16x16x3x3xf32> {frit.layout = #frit.layout<[144, 9, 3, 1]>, frit.storage = #frit.storage<fresh, 2>}) {
  %s = frit.region(%g) : (tensor<2x16x3x3xf32>) -> tensor<2x16x3x3xf32> {
  ^bb0(%a: tensor<2x16x3x3xf32>):
    %0 = math.sin %a : tensor<2x16x3x3xf32>
    frit.yield %0 : tensor<2x16x3x3xf32>
  }
  %t = frit.region(%x) : (tensor<2x16x3x3xf32>) -> tensor<2x16x3x3xf32> {
  ^bb0(%a: tensor<2x16x3x3xf32>):
    %0 = math.sin %a : tensor<2x16x3x3xf32>
    frit.yield %0 : tensor<2x16x3x3xf32>
  }
  %y:3 = frit.aten "aten.convolution_backward.default"(%s, %t, %w) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, [0], [1, 1], [1, 1], [1, 1], false, [0, 0], 1, [true, true, false]]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<bool>],
       operand_layouts = [#frit.layout<[144, 9, 3, 1]>, #frit.layout<[144, 9, 3, 1]>, #frit.layout<[144, 9, 3, 1]>], result_layouts = [#frit.layout<[144, 9, 3, 1]>, #frit.layout<[144, 9, 3, 1]>, unit],
       result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, unit]}
      : (tensor<2x16x3x3xf32>, tensor<2x16x3x3xf32>, tensor<16x16x3x3xf32>) -> (tensor<2x16x3x3xf32>, tensor<16x16x3x3xf32>, none)
  frit.return %y#0, %y#1 : tensor<2x16x3x3xf32>, tensor<16x16x3x3xf32>
}

// -----

// CHECK-LABEL: @small_backward
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[1600, 1, 160, 16]>]
// CHECK: frit.region(%arg1) {frit.layouts = [#frit.layout<[1600, 1, 160, 16]>]
frit.graph @small_backward(%g: tensor<2x16x10x10xf32>, %x: tensor<2x16x10x10xf32>, %w: tensor<16x16x3x3xf32>) -> (tensor<2x16x10x10xf32> {frit.layout = #frit.layout<[1600, 100, 10, 1]>, frit.storage = #frit.storage<fresh, 1>}, tensor<16x16x3x3xf32> {frit.layout = #frit.layout<[144, 9, 3, 1]>, frit.storage = #frit.storage<fresh, 2>}) {
  %s = frit.region(%g) : (tensor<2x16x10x10xf32>) -> tensor<2x16x10x10xf32> {
  ^bb0(%a: tensor<2x16x10x10xf32>):
    %0 = math.sin %a : tensor<2x16x10x10xf32>
    frit.yield %0 : tensor<2x16x10x10xf32>
  }
  %t = frit.region(%x) : (tensor<2x16x10x10xf32>) -> tensor<2x16x10x10xf32> {
  ^bb0(%a: tensor<2x16x10x10xf32>):
    %0 = math.sin %a : tensor<2x16x10x10xf32>
    frit.yield %0 : tensor<2x16x10x10xf32>
  }
  %y:3 = frit.aten "aten.convolution_backward.default"(%s, %t, %w) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, [0], [1, 1], [1, 1], [1, 1], false, [0, 0], 1, [true, true, false]]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<bool>],
       operand_layouts = [#frit.layout<[1600, 100, 10, 1]>, #frit.layout<[1600, 100, 10, 1]>, #frit.layout<[144, 9, 3, 1]>], result_layouts = [#frit.layout<[1600, 100, 10, 1]>, #frit.layout<[144, 9, 3, 1]>, unit],
       result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>, unit]}
      : (tensor<2x16x10x10xf32>, tensor<2x16x10x10xf32>, tensor<16x16x3x3xf32>) -> (tensor<2x16x10x10xf32>, tensor<16x16x3x3xf32>, none)
  frit.return %y#0, %y#1 : tensor<2x16x10x10xf32>, tensor<16x16x3x3xf32>
}
