// RUN: frit-opt --split-input-file --frit-prefer-channels-last="first-kept=1" --frit-assign-layouts %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-prefer-channels-last="relay=false" --frit-assign-layouts %s | FileCheck %s --check-prefix=OFF
// RUN: frit-opt --split-input-file --frit-prefer-channels-last="inputs=1" --frit-assign-layouts %s 2>/dev/null | FileCheck %s --check-prefix=INPUTS

// The region in front of the convolution writes channels-last, pooling follows, and a region that only regions and
// the backward read keeps the order. What the program returns is as promised; what the backward gets is as it lies.
// CHECK-LABEL: @training
// CHECK-SAME: -> (tensor<2x4x4x4xf32> {frit.layout = #frit.layout<[64, 16, 4, 1]>
// CHECK-SAME: tensor<2x4x8x8xf32> {frit.layout = #frit.layout<[256, 1, 32, 4]>
// CHECK-SAME: tensor<2x4x4x4xf32> {frit.layout = #frit.layout<[64, 1, 16, 4]>
// CHECK-SAME: frit.channels_last_results = array<i64: 1, 2>
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[192, 1, 24, 3]>]
// CHECK: "aten.convolution.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[256, 1, 32, 4]>]
// CHECK: "aten.max_pool2d_with_indices.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[64, 1, 16, 4]>, #frit.layout<[64, 1, 16, 4]>]
// CHECK: frit.region{{.*}}frit.layouts = [#frit.layout<[64, 1, 16, 4]>]
// CHECK: frit.region{{.*}}frit.layouts = [#frit.layout<[64, 16, 4, 1]>]
// OFF-LABEL: @training
// OFF-NOT: frit.channels_last_results
// OFF: frit.region(%arg0) {frit.layouts = [#frit.layout<[192, 64, 8, 1]>]
// INPUTS-LABEL: @training
// INPUTS-SAME: tensor<4x3x3x3xf32> {frit.layout = #frit.layout<[27, 1, 9, 3]>}
frit.graph @training(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (
    tensor<2x4x4x4xf32> {frit.layout = #frit.layout<[64, 16, 4, 1]>, frit.storage = #frit.storage<fresh, 1>},
    tensor<2x4x8x8xf32> {frit.layout = #frit.layout<[256, 64, 8, 1]>, frit.storage = #frit.storage<fresh, 2>},
    tensor<2x4x4x4xf32> {frit.layout = #frit.layout<[64, 16, 4, 1]>, frit.storage = #frit.storage<fresh, 3>}) {
  %s = frit.region(%x) : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  ^bb0(%a: tensor<2x3x8x8xf32>):
    %0 = math.sin %a : tensor<2x3x8x8xf32>
    frit.yield %0 : tensor<2x3x8x8xf32>
  }
  %y = frit.aten "aten.convolution.default"(%s, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>],
       result_storage = [#frit.storage<fresh, 0>]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %m:2 = frit.aten "aten.max_pool2d_with_indices.default"(%y) [#frit.operand<0>, [2, 2], [], [0], [1], false]
      {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>],
       operand_layouts = [#frit.layout<[256, 64, 8, 1]>], result_layouts = [#frit.layout<[64, 16, 4, 1]>, #frit.layout<[64, 16, 4, 1]>],
       result_storage = [#frit.storage<fresh, 0>, #frit.storage<fresh, 1>]}
      : (tensor<2x4x8x8xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi64>)
  %k = frit.region(%m#0) : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32> {
  ^bb0(%a: tensor<2x4x4x4xf32>):
    %0 = math.exp %a : tensor<2x4x4x4xf32>
    frit.yield %0 : tensor<2x4x4x4xf32>
  }
  %r = frit.region(%k) : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32> {
  ^bb0(%a: tensor<2x4x4x4xf32>):
    %0 = math.sqrt %a : tensor<2x4x4x4xf32>
    frit.yield %0 : tensor<2x4x4x4xf32>
  }
  frit.return %r, %y, %k : tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>, tensor<2x4x4x4xf32>
}

// -----

// Exported programs say conv2d and max_pool2d.
// CHECK-LABEL: @exported
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[192, 1, 24, 3]>]
// CHECK: "aten.conv2d.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[256, 1, 32, 4]>]
// CHECK: "aten.max_pool2d.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[64, 1, 16, 4]>]
frit.graph @exported(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<2x4x4x4xf32> {frit.layout = #frit.layout<[64, 16, 4, 1]>, frit.storage = #frit.storage<fresh, 1>}) {
  %s = frit.region(%x) : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  ^bb0(%a: tensor<2x3x8x8xf32>):
    %0 = math.sin %a : tensor<2x3x8x8xf32>
    frit.yield %0 : tensor<2x3x8x8xf32>
  }
  %y = frit.aten "aten.conv2d.default"(%s, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>],
       result_storage = [#frit.storage<fresh, 0>]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %m = frit.aten "aten.max_pool2d.default"(%y) [#frit.operand<0>, [2, 2], [], [0], [1], false]
      {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[256, 64, 8, 1]>], result_layouts = [#frit.layout<[64, 16, 4, 1]>],
       result_storage = [#frit.storage<fresh, 1>]}
      : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  frit.return %m : tensor<2x4x4x4xf32>
}
