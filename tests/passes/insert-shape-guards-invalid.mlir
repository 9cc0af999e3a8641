// RUN: not frit-opt --pass-pipeline='builtin.module(frit.graph(frit-insert-shape-guards{target=abacus}))' %s 2>&1 | FileCheck %s

// CHECK: error: unknown guard target 'abacus': expected cpu or gpu
frit.graph @target(%x: tensor<4xf32>) -> tensor<4xf32> {
  frit.return %x : tensor<4xf32>
}
