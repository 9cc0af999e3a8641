// RUN: frit-opt --split-input-file --verify-diagnostics --frit-inline-calls %s

frit.graph @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = frit.call @a(%x) : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}
frit.graph @a(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{calls nest deeper than 64; a graph that calls itself cannot be inlined}}
  %0 = frit.call @a(%x) : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}
