// RUN: frit-opt %s --frit-replace-random --split-input-file | FileCheck %s
// RUN: frit-opt %s --frit-replace-random=mark-operators --split-input-file | FileCheck %s --check-prefix=MARK

// One seed for the graph, where the first draw stood; each draw has its own number. A probability is compared as an integer.
// CHECK-LABEL: frit.graph @dropout_and_rand
// CHECK-SAME:      frit.random = {aten.native_dropout.default = 1 : i64, aten.rand.default = 1 : i64}
// CHECK:         %[[SEED:.+]] = frit.aten "aten.randint.low"() [-9223372036854775808, 9223372036854775807, [], #frit.dtype<i64>, unit, #frit.torch<"device", 0, "cuda:0">, false]
// CHECK-SAME:      reason = "the seed of the graph's random numbers, from torch's generator"
// CHECK-SAME:      () -> tensor<i64>
// CHECK:         %[[K0:.+]] = arith.constant 0 : i64
// CHECK:         %[[BITS:.+]] = frit.random %[[SEED]], %[[K0]] : tensor<i64> -> tensor<?x8xi32, #frit.dims<[s0, 8]>>
// CHECK:         %[[UPPER:.+]] = arith.shrui %[[BITS]]
// CHECK:         arith.constant dense<15099495> : tensor<i32>
// CHECK:         %[[MASK:.+]] = arith.cmpi slt, %[[UPPER]]
// CHECK:         %[[FACTOR:.+]] = arith.select %[[MASK]]
// CHECK:         arith.mulf %{{.+}}, %[[FACTOR]]
// CHECK:         arith.truncf
// CHECK:         %[[K1:.+]] = arith.constant 1 : i64
// CHECK:         %[[MORE:.+]] = frit.random %[[SEED]], %[[K1]] : tensor<i64> -> tensor<?x8xi64, #frit.dims<[s0, 8]>>
// CHECK:         arith.constant dense<11> : tensor<i64>
// CHECK:         arith.shrui %[[MORE]]
// CHECK:         arith.sitofp
// CHECK:         arith.constant dense<1.1102230246251565E-16> : tensor<f64>
// CHECK-NOT:     aten.randint
// Operators that share no kernel have numbers of their own.
// MARK-LABEL: frit.graph @dropout_and_rand
// MARK:         frit.random {{.+}} {frit.operator = -1 : i64}
// MARK:         frit.random {{.+}} {frit.operator = -2 : i64}
frit.graph @dropout_and_rand(%x: tensor<?x8xbf16, #frit.dims<[s0, 8]>>) -> (tensor<?x8xbf16, #frit.dims<[s0, 8]>>, tensor<?x8xi1, #frit.dims<[s0, 8]>>, tensor<?x8xf64, #frit.dims<[s0, 8]>>) attributes {device = "cuda:0", symbols = [#frit.symbol<"s0", min = 2>]} {
  %n = frit.size <s0>
  %y, %mask = frit.aten "aten.native_dropout.default"(%x) [#frit.operand<0>, 0.1, true] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>, #frit.dtype<bool>]} : (tensor<?x8xbf16, #frit.dims<[s0, 8]>>) -> (tensor<?x8xbf16, #frit.dims<[s0, 8]>>, tensor<?x8xi1, #frit.dims<[s0, 8]>>)
  %u = frit.aten "aten.rand.default"(%n) [[#frit.operand<0>, 8], #frit.dtype<f64>, unit, #frit.torch<"device", 0, "cuda:0">, false] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<f64>]} : (i64) -> tensor<?x8xf64, #frit.dims<[s0, 8]>>
  frit.return %y, %mask, %u : tensor<?x8xbf16, #frit.dims<[s0, 8]>>, tensor<?x8xi1, #frit.dims<[s0, 8]>>, tensor<?x8xf64, #frit.dims<[s0, 8]>>
}

// -----

// As many bits as the type holds, so that nothing rounds up to 1.
// CHECK-LABEL: frit.graph @halves
// CHECK:         arith.constant dense<24> : tensor<i32>
// CHECK:         arith.constant dense<3.906250e-03> : tensor<f32>
// CHECK:         arith.truncf {{.+}} to tensor<8xbf16>
// CHECK:         arith.constant dense<21> : tensor<i32>
// CHECK:         arith.constant dense<4.8828125E-4> : tensor<f32>
// CHECK:         arith.truncf {{.+}} to tensor<8xf16>
frit.graph @halves(%x: tensor<8xbf16>, %h: tensor<8xf16>) -> (tensor<8xbf16>, tensor<8xf16>) {
  %0 = frit.aten "aten.rand_like.default"(%x) [#frit.operand<0>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<8xbf16>) -> tensor<8xbf16>
  %1 = frit.aten "aten.rand_like.default"(%h) [#frit.operand<0>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<f16>], result_dtypes = [#frit.dtype<f16>]} : (tensor<8xf16>) -> tensor<8xf16>
  frit.return %0, %1 : tensor<8xbf16>, tensor<8xf16>
}

// -----

// A probability of 0 or 1 draws nothing, and needs no seed. What is dropped whole keeps eager's NaN on the CPU and is zero on CUDA.
// CHECK-LABEL: frit.graph @certain
// CHECK-NOT:     frit.random %
// CHECK-NOT:     aten.randint
// CHECK:         arith.mulf
// CHECK:         frit.return
frit.graph @certain(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {device = "cpu"} {
  %y, %mask = frit.aten "aten.native_dropout.default"(%x) [#frit.operand<0>, 1.0, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<bool>]} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>)
  %b = frit.aten "aten.bernoulli.p"(%x) [#frit.operand<0>, 0.0, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %y, %b : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: frit.graph @certain_on_cuda
// CHECK-NOT:     arith.mulf
// CHECK:         frit.return
frit.graph @certain_on_cuda(%x: tensor<8xf32>) -> tensor<8xf32> attributes {device = "cuda:0"} {
  %y, %mask = frit.aten "aten.native_dropout.default"(%x) [#frit.operand<0>, 1.0, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<bool>]} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>)
  frit.return %y : tensor<8xf32>
}

// -----

// Probabilities by element, an exported program's dropout, and a uniform whose rounded upper end is its lower one.
// CHECK-LABEL: frit.graph @others
// CHECK:         frit.random
// CHECK:         arith.cmpf olt
// CHECK:         arith.uitofp
// CHECK:         frit.random
// CHECK:         arith.mulf
// CHECK:         frit.random
// CHECK:         arith.cmpf oeq
// CHECK:         arith.select
frit.graph @others(%p: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = frit.aten "aten.bernoulli.default"(%p) [#frit.operand<0>, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = frit.aten "aten.dropout.default"(%p) [#frit.operand<0>, 0.5, true] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = frit.aten "aten.uniform.default"(%p) [#frit.operand<0>, -1.0, 1.0, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Normal numbers: two words of one draw, in f64 two draws.
// CHECK-LABEL: frit.graph @normal
// CHECK:         frit.random {{.+}} -> tensor<8xi64>
// CHECK:         math.log {{.+}} : tensor<8xf32>
// CHECK:         math.sqrt
// CHECK:         math.cos
// CHECK:         arith.truncf {{.+}} to tensor<8xbf16>
// CHECK-COUNT-2: frit.random {{.+}} -> tensor<8xi64>
// CHECK:         math.cos {{.+}} : tensor<8xf64>
frit.graph @normal(%x: tensor<8xbf16>, %y: tensor<8xf64>) -> (tensor<8xbf16>, tensor<8xf64>) {
  %0 = frit.aten "aten.randn_like.default"(%x) [#frit.operand<0>, unit, unit, unit, false, unit] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<8xbf16>) -> tensor<8xbf16>
  %1 = frit.aten "aten.normal_functional.default"(%y) [#frit.operand<0>, 1.0, 2.0, unit] {operand_dtypes = [#frit.dtype<f64>], result_dtypes = [#frit.dtype<f64>]} : (tensor<8xf64>) -> tensor<8xf64>
  frit.return %0, %1 : tensor<8xbf16>, tensor<8xf64>
}

// -----

// Not: what eager refuses, integers, evaluation, and numbers that are drawn in another way.
// CHECK-LABEL: frit.graph @left_to_torch
// CHECK-NOT:     aten.randint.low
// CHECK-NOT:     frit.random
// CHECK:         "aten.bernoulli.p"(%arg0) [#frit.operand<0>, 1.5
// CHECK:         "aten.uniform.default"(%arg0) [#frit.operand<0>, 2.0{{.+}}, 1.0
// CHECK:         "aten.dropout.default"(%arg0) [#frit.operand<0>, 5.0{{.+}}, false]
// CHECK:         "aten.native_dropout.default"(%arg1)
// CHECK:         "aten.randperm.default"
// CHECK-NOT:     frit.random
frit.graph @left_to_torch(%x: tensor<8xf32>, %i: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>) {
  %0 = frit.aten "aten.bernoulli.p"(%x) [#frit.operand<0>, 1.5, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = frit.aten "aten.uniform.default"(%x) [#frit.operand<0>, 2.0, 1.0, unit] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = frit.aten "aten.dropout.default"(%x) [#frit.operand<0>, 0.5, false] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<8xf32>) -> tensor<8xf32>
  %3, %mask = frit.aten "aten.native_dropout.default"(%i) [#frit.operand<0>, 0.5, true] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>, #frit.dtype<bool>]} : (tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi1>)
  %4 = frit.aten "aten.randperm.default"() [8, #frit.dtype<i64>, unit, #frit.torch<"device", 0, "cpu">, false] {operand_dtypes = [], result_dtypes = [#frit.dtype<i64>]} : () -> tensor<8xi64>
  frit.return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi64>, tensor<8xi64>
}
