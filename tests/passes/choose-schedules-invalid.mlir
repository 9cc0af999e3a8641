// RUN: not frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=abacus}))' %s 2>&1 | FileCheck %s

// CHECK: error: unknown schedule target 'abacus': expected cpu or gpu
frit.graph @target(%x: tensor<4xf32>) -> tensor<4xf32> {
  frit.return %x : tensor<4xf32>
}
