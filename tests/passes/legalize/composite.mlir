// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// What torch.compile decomposes and an exported program keeps.

// CHECK-LABEL: frit.graph @layer_norm
// CHECK:         frit.reduce <sum>
// CHECK:         math.rsqrt
frit.graph @layer_norm(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = frit.aten "aten.layer_norm.default"(%a) [#frit.operand<0>, [8], unit, unit, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @softmax
// CHECK:         arith.extf
// CHECK:         frit.reduce <max>
// CHECK:         math.exp
// CHECK:         frit.reduce <sum>
// CHECK:         arith.divf
// CHECK:         arith.truncf
frit.graph @softmax(%a: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = frit.aten "aten.softmax.int"(%a) [#frit.operand<0>, -1, unit] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  frit.return %0 : tensor<4x8xbf16>
}

// -----

// CHECK-LABEL: frit.graph @dropout_in_eval
// CHECK-NEXT:    frit.return %arg0
frit.graph @dropout_in_eval(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.dropout.default"(%a) [#frit.operand<0>, 0.5, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @dropout_in_training
// CHECK-NEXT:    frit.aten "aten.dropout.default"
// CHECK-SAME:      reason = "dropout in training draws random numbers"
// CHECK-NEXT:    frit.return
frit.graph @dropout_in_training(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.dropout.default"(%a) [#frit.operand<0>, 0.5, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @batch_norm_in_eval
// CHECK:         math.rsqrt
// CHECK:         arith.mulf
frit.graph @batch_norm_in_eval(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = frit.aten "aten.batch_norm.default"(%a, %b, %c) [#frit.operand<0>, unit, unit, #frit.operand<1>, #frit.operand<2>, false, 0.1, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  frit.return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: frit.graph @linear
// CHECK-NEXT:    %[[W:.*]] = frit.reindex %arg1 <(d0, d1) -> (d1, d0)>
// CHECK-NEXT:    frit.aten "aten.mm.default"(%arg0, %[[W]])
// CHECK-SAME:      reason = "a matrix product: a library has the kernel"
// CHECK-NEXT:    frit.return
frit.graph @linear(%a: tensor<4x8xf32>, %b: tensor<3x8xf32>) -> tensor<4x3xf32> {
  %0 = frit.aten "aten.linear.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, unit] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  frit.return %0 : tensor<4x3xf32>
}

// -----

// A bias, a batch that varies, and no depth that is provably equal.
// CHECK-LABEL: frit.graph @linear_of_batches
// CHECK-NEXT:    %[[X:.*]] = frit.reshape %arg0 {{.*}} -> tensor<?x8xf32, #frit.dims<[4 * s0, 8]>>
// CHECK-NEXT:    %[[W:.*]] = frit.reindex %arg1
// CHECK-NEXT:    %[[Y:.*]] = frit.aten "aten.addmm.default"(%arg2, %[[X]], %[[W]]) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, 1, 1]
// CHECK-NEXT:    frit.reshape %[[Y]]
// CHECK-NEXT:    frit.aten "aten.linear.default"
frit.graph @linear_of_batches(%a: tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>, %b: tensor<3x8xf32>, %c: tensor<3xf32>, %d: tensor<3x?xf32, #frit.dims<[3, s0]>>)
    -> (tensor<?x4x3xf32, #frit.dims<[s0, 4, 3]>>, tensor<?x4x3xf32, #frit.dims<[s0, 4, 3]>>) attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.aten "aten.linear.default"(%a, %b, %c) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>, tensor<3x8xf32>, tensor<3xf32>) -> tensor<?x4x3xf32, #frit.dims<[s0, 4, 3]>>
  %1 = frit.aten "aten.linear.default"(%a, %d, %c) [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>, tensor<3x?xf32, #frit.dims<[3, s0]>>, tensor<3xf32>) -> tensor<?x4x3xf32, #frit.dims<[s0, 4, 3]>>
  frit.return %0, %1 : tensor<?x4x3xf32, #frit.dims<[s0, 4, 3]>>, tensor<?x4x3xf32, #frit.dims<[s0, 4, 3]>>
}

// -----

// CHECK-LABEL: frit.graph @convolution
// CHECK-NEXT:    frit.aten "aten.convolution.default"(%arg0, %arg1) [#frit.operand<0>, #frit.operand<1>, unit, [2, 2], [1, 0], [1, 1], false, [0, 0], 1]
frit.graph @convolution(%a: tensor<1x2x5x6xf32>, %b: tensor<3x2x3x3xf32>) -> tensor<1x3x3x2xf32> {
  %0 = frit.aten "aten.conv2d.default"(%a, %b) [#frit.operand<0>, #frit.operand<1>, unit, [2], [1, 0], [1, 1], 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1x2x5x6xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x2xf32>
  frit.return %0 : tensor<1x3x3x2xf32>
}

// -----

// CHECK-LABEL: frit.graph @attention
// CHECK-NEXT:    %[[Y:.*]]:2 = frit.aten "aten._scaled_dot_product_flash_attention_for_cpu.default"(%arg0, %arg0, %arg0)
// CHECK-SAME:      [#frit.operand<0>, #frit.operand<1>, #frit.operand<2>, 0.000000e+00, false, unit, unit]
// CHECK-SAME:      reason = "attention: a library has the kernel"
// CHECK-SAME:      -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
// CHECK-NEXT:    frit.return
frit.graph @attention(%a: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %0 = frit.aten "aten.scaled_dot_product_attention.default"(%a) [#frit.operand<0>, #frit.operand<0>, #frit.operand<0>, unit, 0.0, false, unit, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  frit.return %0 : tensor<1x2x4x8xf32>
}

// -----

// CHECK-LABEL: frit.graph @unknown_namespace
// CHECK-NEXT:    frit.aten "transformers.grouped_mm_fallback.default"
// CHECK-SAME:      reason = "an operator of 'transformers', which frit does not know"
// CHECK-NEXT:    frit.return
frit.graph @unknown_namespace(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = frit.aten "transformers.grouped_mm_fallback.default"(%a) [#frit.operand<0>, #frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  frit.return %0 : tensor<4x4xf32>
}

// -----

// Export asserts dtype and device in front of every cast; what the types say is not asked again, what they deny is.
// CHECK-LABEL: frit.graph @metadata
// CHECK-NEXT:    frit.aten "aten._assert_tensor_metadata.default"(%arg0) [#frit.operand<0>, unit, unit, #frit.dtype<f64>
// CHECK-SAME:      reason = "an assertion that the graph does not prove"
// CHECK-NEXT:    frit.aten "aten._assert_tensor_metadata.default"(%arg0) {{.*}}"cuda:0"
// CHECK-NEXT:    frit.aten "aten._assert_tensor_metadata.default"(%arg0) {{.*}}reason = "strides are asserted"
// CHECK-NEXT:    frit.return
frit.graph @metadata(%a: tensor<?x8xf32, #frit.dims<[s0, 8]>> {frit.device = "cpu"}) attributes {device = "cpu", symbols = [#frit.symbol<"s0", min = 2>]} {
  frit.aten "aten._assert_tensor_metadata.default"(%a) [#frit.operand<0>, unit, unit, #frit.dtype<f32>, #frit.torch<"device", 0, "cpu">, #frit.torch<"layout", 0, "strided">] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> ()
  frit.aten "aten._assert_tensor_metadata.default"(%a) [#frit.operand<0>, unit, unit, #frit.dtype<f64>, unit, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> ()
  frit.aten "aten._assert_tensor_metadata.default"(%a) [#frit.operand<0>, unit, unit, unit, #frit.torch<"device", 0, "cuda:0">, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> ()
  frit.aten "aten._assert_tensor_metadata.default"(%a) [#frit.operand<0>, unit, [8, 1], unit, unit, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<?x8xf32, #frit.dims<[s0, 8]>>) -> ()
  frit.return
}

// -----

// CHECK-LABEL: frit.graph @difference
// CHECK:         frit.concat
// CHECK:         arith.subi
frit.graph @difference(%a: tensor<2x8xi64>, %b: tensor<2x1xi64>) -> tensor<2x8xi64> {
  %0 = frit.aten "aten.diff.default"(%a, %b) [#frit.operand<0>, 1, -1, #frit.operand<1>, unit] {operand_dtypes = [#frit.dtype<i64>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<2x8xi64>, tensor<2x1xi64>) -> tensor<2x8xi64>
  frit.return %0 : tensor<2x8xi64>
}

// -----

// To one pixel a pooling is a mean; to more it stays a call.
// CHECK-LABEL: frit.graph @average_of_all
// CHECK:         frit.reduce <sum> %{{.*}} dims [2, 3]
// CHECK:         frit.aten "aten.adaptive_avg_pool2d.default"{{.*}}reason = "a pooling: a library has the kernel"
frit.graph @average_of_all(%a: tensor<2x3x4x4xf32>) -> (tensor<2x3x1x1xf32>, tensor<2x3x1x2xf32>) {
  %0 = frit.aten "aten.adaptive_avg_pool2d.default"(%a) [#frit.operand<0>, [1, 1]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x1xf32>
  %1 = frit.aten "aten.adaptive_avg_pool2d.default"(%a) [#frit.operand<0>, [1, 2]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2x3x4x4xf32>) -> tensor<2x3x1x2xf32>
  frit.return %0, %1 : tensor<2x3x1x1xf32>, tensor<2x3x1x2xf32>
}

// -----

// CHECK-LABEL: frit.graph @weight_norm
// CHECK:         frit.reduce <sum> %{{.*}} dims [1, 2]
// CHECK:         math.sqrt
frit.graph @weight_norm(%v: tensor<4x3x2xf32>, %g: tensor<4x1x1xf32>) -> tensor<4x3x2xf32> {
  %0 = frit.aten "aten._weight_norm.default"(%v, %g) [#frit.operand<0>, #frit.operand<1>, 0] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<4x3x2xf32>
  frit.return %0 : tensor<4x3x2xf32>
}
