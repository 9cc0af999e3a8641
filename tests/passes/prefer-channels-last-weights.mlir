// RUN: frit-opt --split-input-file --frit-prefer-channels-last="weights=true" %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-prefer-channels-last %s | FileCheck %s --check-prefix=OFF

// A filter with bytes of its own that only a convolution reads is laid out once; one that shares its bytes, one that something else reads
// too and one that is no argument of the file are not.
// CHECK-LABEL: @filters
// CHECK-SAME: %[[OWN:[a-z0-9]+]]: tensor<4x3x3x3xf32> {frit.layout = #frit.layout<[27, 1, 9, 3]>, frit.own_bytes}
// CHECK-SAME: %[[SHARED:[a-z0-9]+]]: tensor<4x3x3x3xf32>,
// CHECK-SAME: %[[READ:[a-z0-9]+]]: tensor<4x3x3x3xf32> {frit.own_bytes}
// CHECK-SAME: frit.relaid_weights = 1 : i64
// CHECK: "aten.convolution.default"(%{{.*}}, %[[OWN]])
// CHECK-SAME: operand_layouts = [#frit.layout<[192, 1, 24, 3]>, #frit.layout<[27, 1, 9, 3]>]
// CHECK: "aten.convolution.default"(%{{.*}}, %[[SHARED]])
// CHECK-SAME: operand_layouts = [#frit.layout<[192, 1, 24, 3]>, #frit.layout<[27, 9, 3, 1]>]
// CHECK: "aten.convolution.default"(%{{.*}}, %[[READ]])
// CHECK-SAME: operand_layouts = [#frit.layout<[192, 1, 24, 3]>, #frit.layout<[27, 9, 3, 1]>]
// OFF-LABEL: @filters
// OFF-NOT: #frit.layout<[27, 1, 9, 3]>
frit.graph @filters(%x: tensor<2x3x8x8xf32>, %own: tensor<4x3x3x3xf32> {frit.own_bytes}, %shared: tensor<4x3x3x3xf32>,
                    %read: tensor<4x3x3x3xf32> {frit.own_bytes})
    -> (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>) {
  %v = frit.region(%x) : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  ^bb0(%a: tensor<2x3x8x8xf32>):
    %0 = math.exp %a : tensor<2x3x8x8xf32>
    frit.yield %0 : tensor<2x3x8x8xf32>
  }
  %y0 = frit.aten "aten.convolution.default"(%v, %own) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %y1 = frit.aten "aten.convolution.default"(%v, %shared) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %y2 = frit.aten "aten.convolution.default"(%v, %read) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[192, 64, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %w = frit.region(%read) : (tensor<4x3x3x3xf32>) -> tensor<4x3x3x3xf32> {
  ^bb0(%a: tensor<4x3x3x3xf32>):
    %0 = math.exp %a : tensor<4x3x3x3xf32>
    frit.yield %0 : tensor<4x3x3x3xf32>
  }
  frit.return %y0, %y1, %y2, %w : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>
}
