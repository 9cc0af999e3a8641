// RUN: frit-opt %s --frit-functionalize --split-input-file --verify-diagnostics

frit.graph @write_through_an_expansion(%x: tensor<1x8xf32>) -> tensor<4x8xf32> {
  // expected-note @+1 {{the view is here}}
  %v = frit.aten "aten.expand.default"(%x) [#frit.operand<0>, [4, 8], false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{'aten.relu_.default' writes through 'aten.expand.default', which cannot be inverted; export the program with run_decompositions()}}
  %w = frit.aten "aten.relu_.default"(%v) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %w : tensor<4x8xf32>
}

// -----

frit.graph @possible_copy(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  // expected-note @+1 {{the possible copy is here}}
  %v = frit.aten "aten.reshape.default"(%x) [#frit.operand<0>, [32]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<32xf32>
  // expected-error @+1 {{'aten.relu_.default' writes to storage that 'aten.reshape.default' may share or copy; export the program with run_decompositions()}}
  %w = frit.aten "aten.relu_.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  frit.return %v : tensor<32xf32>
}

// -----

frit.graph @no_functional_form(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'aten._foreach_neg_.default' has no functional form that writes one tensor; export the program with run_decompositions()}}
  frit.aten "aten._foreach_neg_.default"(%x) [[#frit.operand<0>]] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = []} : (tensor<4xf32>) -> ()
  frit.return %x : tensor<4xf32>
}

// -----

frit.graph @instance_norm_with_running_statistics(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>) -> tensor<2x3x4xf32> {
  // expected-error @+1 {{'aten.instance_norm.default' updates running statistics, which no functional form of it does; export the program with run_decompositions()}}
  %y = frit.aten "aten.instance_norm.default"(%x, %mean, %var) [#frit.operand<0>, unit, unit, #frit.operand<1>, #frit.operand<2>, true, 0.1, 1.0e-05, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  frit.return %y : tensor<2x3x4xf32>
}

// -----

frit.graph @narrowed_from_data(%x: tensor<8xf32>, %start: i64) {
  // expected-note @+1 {{the view is here}}
  %v = frit.aten "aten.narrow.default"(%x, %start) [#frit.operand<0>, 0, #frit.operand<1>, 2] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>, i64) -> tensor<2xf32>
  // expected-error @+1 {{'aten.relu_.default' writes through 'aten.narrow.default', which cannot be inverted; export the program with run_decompositions()}}
  %w = frit.aten "aten.relu_.default"(%v) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<2xf32>) -> tensor<2xf32>
  frit.return
}
