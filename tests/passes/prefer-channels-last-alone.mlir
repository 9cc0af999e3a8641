// RUN: frit-opt --split-input-file --frit-prefer-channels-last %s | FileCheck %s

// Pooling without a convolution, doubles and transposed convolutions stay as they are.
// CHECK-LABEL: @pooling
// CHECK: result_layouts = [#frit.layout<[64, 16, 4, 1]>]
frit.graph @pooling(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32> {
  %v = frit.region(%x) : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  ^bb0(%a: tensor<2x4x8x8xf32>):
    %0 = math.exp %a : tensor<2x4x8x8xf32>
    frit.yield %0 : tensor<2x4x8x8xf32>
  }
  %y = frit.aten "aten.avg_pool2d.default"(%v) [#frit.operand<0>, [2, 2], [], [0], false, true, unit]
      {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[256, 64, 8, 1]>], result_layouts = [#frit.layout<[64, 16, 4, 1]>]}
      : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  frit.return %y : tensor<2x4x4x4xf32>
}

// -----

// CHECK-LABEL: @doubles
// CHECK: result_layouts = [#frit.layout<[256, 64, 8, 1]>]
frit.graph @doubles(%x: tensor<2x3x8x8xf64>, %w: tensor<4x3x3x3xf64>) -> tensor<2x4x8x8xf64> {
  %v = frit.region(%x) : (tensor<2x3x8x8xf64>) -> tensor<2x3x8x8xf64> {
  ^bb0(%a: tensor<2x3x8x8xf64>):
    %0 = math.exp %a : tensor<2x3x8x8xf64>
    frit.yield %0 : tensor<2x3x8x8xf64>
  }
  %y = frit.aten "aten.convolution.default"(%v, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f64>, #frit.dtype<f64>], result_dtypes = [#frit.dtype<f64>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (tensor<2x3x8x8xf64>, tensor<4x3x3x3xf64>) -> tensor<2x4x8x8xf64>
  frit.return %y : tensor<2x4x8x8xf64>
}

// -----

// CHECK-LABEL: @transposed
// CHECK: result_layouts = [#frit.layout<[256, 64, 8, 1]>]
frit.graph @transposed(%x: tensor<2x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) -> tensor<2x4x8x8xf32> {
  %v = frit.region(%x) : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  ^bb0(%a: tensor<2x3x8x8xf32>):
    %0 = math.exp %a : tensor<2x3x8x8xf32>
    frit.yield %0 : tensor<2x3x8x8xf32>
  }
  %y = frit.aten "aten.convolution.default"(%v, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], true, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[36, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  frit.return %y : tensor<2x4x8x8xf32>
}

// -----

// An argument that lies otherwise would be copied.
// CHECK-LABEL: @argument
// CHECK: result_layouts = [#frit.layout<[256, 64, 8, 1]>]
frit.graph @argument(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32> {
  %y = frit.aten "aten.convolution.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  frit.return %y : tensor<2x4x8x8xf32>
}
