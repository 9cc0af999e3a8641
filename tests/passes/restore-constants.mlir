// RUN: frit-opt %s --frit-restore-constants --split-input-file | FileCheck %s

// CHECK-LABEL: frit.graph @splat_of_a_whole_tensor
// CHECK-NEXT:    %[[C:.+]] = arith.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[B:.+]] = frit.reindex %[[C]] <(d0) -> ()>
// CHECK:         arith.addf %arg0, %[[B]]
frit.graph @splat_of_a_whole_tensor(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %s = arith.mulf %c, %c : tensor<4xf32>
  %y = arith.addf %x, %s : tensor<4xf32>
  frit.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @identities_at_a_dynamic_size
// CHECK-NEXT:    frit.return %arg0
frit.graph @identities_at_a_dynamic_size(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>> attributes {symbols = [#frit.symbol<"s0", min = 0>]} {
  %one = arith.constant dense<1.0> : tensor<f32>
  %ones = frit.reindex %one <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[s0]>>
  %zero = arith.constant dense<-0.0> : tensor<f32>
  %zeros = frit.reindex %zero <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[s0]>>
  %a = arith.mulf %x, %ones : tensor<?xf32, #frit.dims<[s0]>>
  %b = arith.addf %zeros, %a : tensor<?xf32, #frit.dims<[s0]>>
  %c = arith.divf %b, %ones : tensor<?xf32, #frit.dims<[s0]>>
  frit.return %c : tensor<?xf32, #frit.dims<[s0]>>
}

// -----

// A run-time scalar is computed with once, not once an element.
// CHECK-LABEL: frit.graph @scalar_arithmetic_at_rank_zero
// CHECK-NEXT:    %[[S:.+]] = math.exp %arg1 : tensor<f32>
// CHECK-NEXT:    %[[B:.+]] = frit.reindex %[[S]] <(d0) -> ()>
// CHECK-NEXT:    arith.mulf %arg0, %[[B]]
frit.graph @scalar_arithmetic_at_rank_zero(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<4xf32> {
  %b = frit.reindex %c <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
  %e = math.exp %b : tensor<4xf32>
  %y = arith.mulf %x, %e : tensor<4xf32>
  frit.return %y : tensor<4xf32>
}

// -----

// x + 0.0 is not x: it turns -0.0 into 0.0.
// CHECK-LABEL: frit.graph @adding_positive_zero_stays
// CHECK:         arith.addf
frit.graph @adding_positive_zero_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %zeros = frit.reindex %zero <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
  %y = arith.addf %x, %zeros : tensor<4xf32>
  frit.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: frit.graph @select_of_a_known_condition
// CHECK-NEXT:    frit.return %arg1
frit.graph @select_of_a_known_condition(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<false> : tensor<4xi1>
  %z = arith.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>
  frit.return %z : tensor<4xf32>
}

// -----

// A tensor that may have no elements divides nothing, where its scalar would divide by zero.
// CHECK-LABEL: frit.graph @division_that_may_be_empty
// CHECK:         %[[R:.+]] = frit.reindex
// CHECK:         arith.divsi %[[R]], %[[R]] : tensor<?xi64
frit.graph @division_that_may_be_empty(%x: tensor<?xi64, #frit.dims<[s0]>>) -> tensor<?xi64, #frit.dims<[s0]>> attributes {symbols = [#frit.symbol<"s0", min = 0>]} {
  %zero = arith.constant dense<0> : tensor<i64>
  %zeros = frit.reindex %zero <(d0) -> ()> : tensor<i64> -> tensor<?xi64, #frit.dims<[s0]>>
  %y = arith.divsi %zeros, %zeros : tensor<?xi64, #frit.dims<[s0]>>
  frit.return %y : tensor<?xi64, #frit.dims<[s0]>>
}

// -----

// CHECK-LABEL: frit.graph @division_of_some_elements
// CHECK:         arith.divsi %arg0, %{{.+}} : tensor<i64>
frit.graph @division_of_some_elements(%c: tensor<i64>) -> tensor<?xi64, #frit.dims<[s0]>> attributes {symbols = [#frit.symbol<"s0", min = 1>]} {
  %b = frit.reindex %c <(d0) -> ()> : tensor<i64> -> tensor<?xi64, #frit.dims<[s0]>>
  %s = frit.reindex %c <(d0) -> ()> : tensor<i64> -> tensor<?xi64, #frit.dims<[s0]>>
  %y = arith.divsi %b, %s : tensor<?xi64, #frit.dims<[s0]>>
  frit.return %y : tensor<?xi64, #frit.dims<[s0]>>
}
