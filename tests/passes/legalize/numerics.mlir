// RUN: frit-opt %s --frit-legalize-aten | FileCheck %s
// RUN: frit-opt %s --frit-legalize-aten=eager-numerics=true | FileCheck %s --check-prefix=EAGER
// RUN: frit-opt %s --frit-legalize-aten=list-rules=true -o /dev/null | FileCheck %s --check-prefix=RULES

// What is a product or a sum may be contracted; `frit-limit-contraction` decides where. Eager's numerics contract
// nothing.
// CHECK-LABEL: frit.graph @products
// CHECK:         %[[X:.+]] = arith.mulf %arg0, %arg0 fastmath<contract>
// CHECK:         %[[Y:.+]] = arith.mulf %arg1, %arg1 fastmath<contract>
// CHECK:         %[[S:.+]] = arith.addf %[[X]], %[[Y]] fastmath<contract>
// CHECK:         arith.subf %[[S]], %[[X]] fastmath<contract>
// EAGER-LABEL: frit.graph @products
// EAGER-NOT:     fastmath

// RULES: aten.add.Tensor
// RULES: aten.relu.default
frit.graph @products(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.mul.Tensor"(%a, %a) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = frit.aten "aten.mul.Tensor"(%b, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = frit.aten "aten.add.Tensor"(%0, %1) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = frit.aten "aten.sub.Tensor"(%2, %0) [#frit.operand<0>, #frit.operand<1>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %3 : tensor<4xf32>
}

// What a kernel that writes half types may approximate says where it may not.
// CHECK-LABEL: frit.graph @rounded
// CHECK-NOT:     frit.ieee
// EAGER-LABEL: frit.graph @rounded
// EAGER:         math.exp {{.*}} {frit.ieee}
// EAGER:         arith.divf {{.*}} {frit.ieee}
frit.graph @rounded(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = frit.aten "aten.exp.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = frit.aten "aten.div.Tensor"(%0, %b) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %1 : tensor<4xf32>
}
