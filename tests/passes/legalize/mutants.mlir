// RUN: frit-opt %s --frit-legalize-aten='mutant=*:list' | FileCheck %s --check-prefix=LIST
// RUN: frit-opt %s --frit-legalize-aten='mutant=aten.sub.Tensor:operands/arith.subf/0' | FileCheck %s --check-prefix=OPERANDS
// RUN: frit-opt %s --frit-legalize-aten='mutant=aten.sub.Tensor:argument/2/0' | FileCheck %s --check-prefix=ARGUMENT
// RUN: frit-opt %s --frit-legalize-aten='mutant=aten.maximum.default:nan/arith.maximumf/0' | FileCheck %s --check-prefix=NAN
// RUN: frit-opt %s --frit-legalize-aten='mutant=aten.maximum.default:operands/arith.subf/0' | FileCheck %s --check-prefix=NOWHERE
// RUN: frit-opt %s --frit-legalize-aten | FileCheck %s --check-prefix=NONE

// LIST: frit.mutants = {"aten.maximum.default:nan/arith.maximumf/0" = 1
// LIST-SAME: "aten.maximum.default:operation/arith.maximumf/0" = 1
// LIST-SAME: "aten.sub.Tensor:argument/2/0" = 1
// LIST-SAME: "aten.sub.Tensor:operands/arith.subf/0" = 1
// LIST: arith.subf %arg0, %arg1
// LIST: arith.maximumf

// OPERANDS: frit.mutants = {"aten.sub.Tensor:operands/arith.subf/0" = 1
// OPERANDS: arith.subf %arg1, %arg0
// OPERANDS: arith.maximumf

// An alpha of 1 becomes 0.
// ARGUMENT: frit.mutants = {"aten.sub.Tensor:argument/2/0" = 1
// ARGUMENT: arith.constant dense<0.000000e+00>

// NAN: arith.cmpf ogt, %[[X:.*]], %[[Y:.*]] :
// NAN: arith.select %{{.*}}, %[[X]], %[[Y]] :

// NOWHERE-NOT: frit.mutants
// NONE-NOT: frit.mutants
frit.graph @two(%arg0: tensor<4xf32> {frit.dtype = #frit.dtype<f32>}, %arg1: tensor<4xf32> {frit.dtype = #frit.dtype<f32>})
    -> (tensor<4xf32> {frit.dtype = #frit.dtype<f32>}) attributes {symbols = []} {
  %0 = frit.aten "aten.sub.Tensor"(%arg0, %arg1) [#frit.operand<0>, #frit.operand<1>, 1]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = frit.aten "aten.maximum.default"(%0, %arg1) [#frit.operand<0>, #frit.operand<1>]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  frit.return %1 : tensor<4xf32>
}
