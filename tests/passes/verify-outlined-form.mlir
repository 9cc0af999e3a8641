// RUN: frit-opt --frit-verify-outlined-form %s | FileCheck %s

// CHECK-LABEL: frit.graph @main
frit.kernel @frit_exp_0(%a: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %e = math.exp %a : tensor<8xf32>
  frit.yield %e : tensor<8xf32>
}
frit.graph @main(%x: tensor<8xf32>, %n: i64) -> tensor<2x4xf32> attributes {
    buffers = [#frit.buffer<output, <32>>]} {
  %c = arith.addi %n, %n : i64
  %0 = frit.launch @frit_exp_0 [](%x) {buffers = [0], frit.layouts = [#frit.layout<[1]>]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = frit.reshape %0 {frit.layouts = [#frit.layout<[4, 1]>]} : tensor<8xf32> -> tensor<2x4xf32>
  frit.return %1 : tensor<2x4xf32>
}
