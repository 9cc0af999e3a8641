// RUN: frit-opt %s --frit-verify-imported-form --split-input-file --verify-diagnostics

// What the importer makes: operator calls and host scalars.
frit.graph @operators_and_scalars(%a: tensor<4xf32>, %n: i64) -> (tensor<4xf32>, i64) {
  %0 = frit.aten "aten.relu.default"(%a) [#frit.operand<0>]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]}
       : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addi %n, %n : i64
  frit.return %0, %1 : tensor<4xf32>, i64
}

// -----

// expected-note @+1 {{graph 'legalised' comes from the importer, which makes only frit.aten for operators}}
frit.graph @legalised(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'arith.addf' is not part of the imported form}}
  %0 = arith.addf %a, %a : tensor<4xf32>
  frit.return %0 : tensor<4xf32>
}
