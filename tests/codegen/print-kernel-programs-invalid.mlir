// RUN: frit-opt %s --frit-print-kernel-programs --verify-diagnostics -o /dev/null

// What has no flat program is an error, as it is to the code generators.
frit.kernel @several(%x: tensor<2xf32>) -> tensor<2xf32> attributes {symbols = []} {
  // expected-error @below {{constant of several values inside a kernel; pass it as an operand}}
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = arith.addf %x, %c : tensor<2xf32>
  frit.yield %0 : tensor<2xf32>
}
