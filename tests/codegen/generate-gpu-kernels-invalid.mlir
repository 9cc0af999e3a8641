// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" --split-input-file --verify-diagnostics -o /dev/null

// A family that cannot do something says so, with the kernel's name.
frit.kernel @bits(%x: tensor<8xi32>) -> tensor<8xi32> attributes {symbols = []} {
  // expected-error @below {{kernel 'bits': 'math.ctlz' on}}
  %0 = math.ctlz %x : tensor<8xi32>
  frit.yield %0 : tensor<8xi32>
}

// -----

// expected-error @below {{kernel 'long' takes 32768 bytes of parameters, a GPU allows 32760}}
frit.kernel @long(%p: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {list = 1024 : i64, sweeps = 1 : i64, symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.negf %p : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}
