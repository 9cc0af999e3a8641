// RUN: frit-opt %s --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" --split-input-file --verify-diagnostics -o /dev/null

// A family that cannot do something says so, with the kernel's name.
frit.kernel @bits(%x: tensor<8xi32>) -> tensor<8xi32> attributes {symbols = []} {
  // expected-error @below {{kernel 'bits': 'math.ctlz' on}}
  %0 = math.ctlz %x : tensor<8xi32>
  frit.yield %0 : tensor<8xi32>
}
