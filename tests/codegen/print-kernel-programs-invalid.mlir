// RUN: frit-opt %s --frit-print-kernel-programs --split-input-file --verify-diagnostics -o /dev/null

// What has no flat program is an error, as it is to the code generators.
frit.kernel @several(%x: tensor<2xf32>) -> tensor<2xf32> attributes {symbols = []} {
  // expected-error @below {{constant of several values inside a kernel; pass it as an operand}}
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = arith.addf %x, %c : tensor<2xf32>
  frit.yield %0 : tensor<2xf32>
}

// -----

frit.kernel @scan_and_sum(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) attributes {symbols = []} {
  // expected-error @below {{a kernel has one scan, and no reduction beside it}}
  %s = frit.scan <sum> %x dim 1 : tensor<4x8xf32>
  %r = frit.reduce <sum> %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  frit.yield %s, %r : tensor<4x8xf32>, tensor<4xf32>
}

// -----

frit.kernel @scan_elsewhere(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  // expected-error @below {{scan is read at another place than it is computed in}}
  %s = frit.scan <sum> %x dim 1 : tensor<4x8xf32>
  %f = frit.reindex %s <(d0, d1) -> (d0, 7 - d1)> : tensor<4x8xf32> -> tensor<4x8xf32>
  frit.yield %f : tensor<4x8xf32>
}

// -----

// expected-error @below {{result of 4 elements beside a scan of 32}}
frit.kernel @beside_scan(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) attributes {symbols = []} {
  %s = frit.scan <sum> %x dim 1 : tensor<4x8xf32>
  %e = arith.negf %y : tensor<4xf32>
  frit.yield %s, %e : tensor<4x8xf32>, tensor<4xf32>
}
