// RUN: frit-opt --split-input-file --frit-prefer-channels-last="first-kept=1" --frit-assign-layouts %s | FileCheck %s
// RUN: frit-opt --split-input-file --frit-prefer-channels-last="inputs=0" --frit-assign-layouts %s | FileCheck %s --check-prefix=INPUTS

// Strides are size expressions: the region in front of the convolution writes channels-last, the region behind it keeps the order
// for the backward, and what the program returns is as promised.
// CHECK-LABEL: @symbolic
// CHECK-SAME: {frit.layout = #frit.layout<[4 * s1 * s2, s1 * s2, s2, 1]>
// CHECK-SAME: {frit.layout = #frit.layout<[4 * s1 * s2, 1, 4 * s2, 4]>
// CHECK-SAME: {frit.layout = #frit.layout<[4 * s1 * s2, 1, 4 * s2, 4]>
// CHECK-SAME: frit.channels_last_results = array<i64: 1, 2>
// CHECK: frit.region(%arg0) {frit.layouts = [#frit.layout<[3 * s1 * s2, 1, 3 * s2, 3]>]
// CHECK: "aten.convolution.default"
// CHECK-SAME: frit.layouts = [#frit.layout<[4 * s1 * s2, 1, 4 * s2, 4]>]
// CHECK: frit.region{{.*}}frit.layouts = [#frit.layout<[4 * s1 * s2, 1, 4 * s2, 4]>]
// CHECK: frit.region{{.*}}frit.layouts = [#frit.layout<[4 * s1 * s2, s1 * s2, s2, 1]>]
// CHECK-NOT: frit.region
// INPUTS-LABEL: @symbolic
// INPUTS-SAME: #frit.dims<[s0, 3, s1, s2]>> {frit.layout = #frit.layout<[3 * s1 * s2, 1, 3 * s2, 3]>}
!x = tensor<?x3x?x?xf32, #frit.dims<[s0, 3, s1, s2]>>
!y = tensor<?x4x?x?xf32, #frit.dims<[s0, 4, s1, s2]>>
frit.graph @symbolic(%x: !x, %w: tensor<4x3x3x3xf32>) -> (
    !y {frit.layout = #frit.layout<[4 * s1 * s2, s1 * s2, s2, 1]>, frit.storage = #frit.storage<fresh, 1>},
    !y {frit.layout = #frit.layout<[4 * s1 * s2, s1 * s2, s2, 1]>, frit.storage = #frit.storage<fresh, 2>},
    !y {frit.layout = #frit.layout<[4 * s1 * s2, s1 * s2, s2, 1]>, frit.storage = #frit.storage<fresh, 3>})
    attributes {symbols = [#frit.symbol<"s0", min = 0>, #frit.symbol<"s1", min = 1>, #frit.symbol<"s2", min = 1>]} {
  %v = frit.region(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %0 = math.exp %a : !x
    frit.yield %0 : !x
  }
  %y = frit.aten "aten.convolution.default"(%v, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[3 * s1 * s2, s1 * s2, s2, 1]>, #frit.layout<[27, 9, 3, 1]>],
       result_layouts = [#frit.layout<[4 * s1 * s2, s1 * s2, s2, 1]>], result_storage = [#frit.storage<fresh, 0>]}
      : (!x, tensor<4x3x3x3xf32>) -> !y
  %k = frit.region(%y) : (!y) -> !y {
  ^bb0(%a: !y):
    %0 = math.exp %a : !y
    frit.yield %0 : !y
  }
  %r = frit.region(%k) : (!y) -> !y {
  ^bb0(%a: !y):
    %0 = math.sqrt %a : !y
    frit.yield %0 : !y
  }
  frit.return %r, %y, %k : !y, !y, !y
}

// -----

// Whose strides are no known order stays as it is.
// CHECK-LABEL: @strided
// CHECK-NOT: frit.channels_last_results
// CHECK: result_layouts = [#frit.layout<[256, 64, 8, 1]>]
!x = tensor<?x3x8x8xf32, #frit.dims<[s0, 3, 8, 8]>>
!y = tensor<?x4x8x8xf32, #frit.dims<[s0, 4, 8, 8]>>
frit.graph @strided(%x: !x, %w: tensor<4x3x3x3xf32>) -> !y attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %v = frit.region(%x) : (!x) -> !x {
  ^bb0(%a: !x):
    %0 = math.exp %a : !x
    frit.yield %0 : !x
  }
  %y = frit.aten "aten.convolution.default"(%v, %w) [#frit.operand<0>, #frit.operand<1>, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[64, 64 * s0, 8, 1]>, #frit.layout<[27, 9, 3, 1]>], result_layouts = [#frit.layout<[256, 64, 8, 1]>]}
      : (!x, tensor<4x3x3x3xf32>) -> !y
  frit.return %y : !y
}
