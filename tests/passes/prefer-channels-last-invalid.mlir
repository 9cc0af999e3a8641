// RUN: not frit-opt --frit-prefer-channels-last="inputs=0" %s 2>&1 | FileCheck %s

// CHECK: error: input 0 is not a 4-d tensor, so it cannot be channels-last
frit.graph @flat(%x: tensor<8xf32>) -> tensor<8xf32> {
  frit.return %x : tensor<8xf32>
}
