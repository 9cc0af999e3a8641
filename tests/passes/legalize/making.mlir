// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s

// Tensors from nothing.

// CHECK-LABEL: frit.graph @full
// CHECK:         dense<1.500000e+00> : tensor<f32>
// CHECK:         frit.reindex
frit.graph @full() -> tensor<2x3xf32> {
  %0 = frit.aten "aten.full.default"() [[2, 3], 1.5] {operand_dtypes = [], result_dtypes = [#frit.dtype<f32>]} : () -> tensor<2x3xf32>
  frit.return %0 : tensor<2x3xf32>
}

// -----

// Integers by an index expression.
// CHECK-LABEL: frit.graph @arange
// CHECK:         frit.iota <3 * d0 + 1>
frit.graph @arange() -> tensor<3xi64> {
  %0 = frit.aten "aten.arange.start_step"() [1, 10, 3] {operand_dtypes = [], result_dtypes = [#frit.dtype<i64>]} : () -> tensor<3xi64>
  frit.return %0 : tensor<3xi64>
}

// -----

// Computed in f64 and rounded once.
// CHECK-LABEL: frit.graph @arange_of_floats
// CHECK:         arith.sitofp
// CHECK:         arith.mulf
// CHECK:         arith.truncf
frit.graph @arange_of_floats() -> tensor<4xf32> {
  %0 = frit.aten "aten.arange.start_step"() [0.0, 1.0, 0.25] {operand_dtypes = [], result_dtypes = [#frit.dtype<f32>]} : () -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @random
// CHECK-NEXT:    frit.aten "aten.rand.default"
// CHECK-SAME:      reason = "random numbers come in eager's order"
// CHECK-NEXT:    frit.return
frit.graph @random() -> tensor<4xf32> {
  %0 = frit.aten "aten.rand.default"() [[4]] {operand_dtypes = [], result_dtypes = [#frit.dtype<f32>]} : () -> tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}
