// RUN: frit-opt %s --pass-pipeline='builtin.module(frit-legalize-aten{mark-operators},canonicalize,frit.graph(frit-restore-constants,frit-fuse-regions{merge=false}))' | FileCheck %s
// RUN: frit-opt %s --pass-pipeline='builtin.module(frit-legalize-aten,canonicalize,frit.graph(frit-restore-constants,frit-fuse-regions))' | FileCheck %s --check-prefix=MERGED

// With fusion off each operator is a kernel, however many operations it has.
// CHECK-LABEL: frit.graph @three_operators
// CHECK:         frit.region(%arg0)
// CHECK:           arith.mulf
// CHECK-NOT:       arith.subf
// CHECK:         frit.region
// CHECK:           frit.reduce <max>
// CHECK:           math.exp
// CHECK:           arith.divf
// CHECK:         frit.region
// CHECK:           math.tanh
// CHECK-NOT:     frit.region
// CHECK-NOT:     frit.operator
// CHECK:         frit.return

// MERGED-LABEL: frit.graph @three_operators
// MERGED:         frit.region
// MERGED-NOT:     frit.region
// MERGED:         frit.return
frit.graph @three_operators(%a: tensor<8x33xf32>) -> tensor<8x33xf32> {
  %0 = frit.aten "aten.mul.Tensor"(%a, %a) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x33xf32>, tensor<8x33xf32>) -> tensor<8x33xf32>
  %1 = frit.aten "aten._softmax.default"(%0) [#frit.operand<0>, -1, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x33xf32>) -> tensor<8x33xf32>
  %3 = frit.aten "aten.tanh.default"(%1) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8x33xf32>) -> tensor<8x33xf32>
  frit.return %3 : tensor<8x33xf32>
}
