// RUN: frit-opt --split-input-file --verify-diagnostics --frit-verify-outlined-form %s

frit.graph @left_outside(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'math.exp' is not part of the outlined form; frit-fuse-regions left it outside of kernels}}
  %0 = math.exp %x : tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

frit.graph @region(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'frit.region' is not part of the outlined form; frit-outline-regions has not run}}
  %0 = frit.region(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    frit.yield %a : tensor<8xf32>
  }
  frit.return %0 : tensor<8xf32>
}

// -----

frit.graph @no_layout(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{makes 1 tensors and has 0 layouts; frit-assign-layouts has not run after it was made}}
  %0 = frit.reshape %x : tensor<8xf32> -> tensor<2x4xf32>
  frit.return %0 : tensor<2x4xf32>
}

// -----

frit.kernel @k(%a: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  frit.yield %a : tensor<8xf32>
}
frit.graph @no_buffer(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has 1 results and 0 buffers; frit-plan-buffers has not run}}
  %0 = frit.launch @k [](%x) {frit.layouts = [#frit.layout<[1]>]} : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

frit.kernel @k(%a: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  frit.yield %a : tensor<8xf32>
}
frit.graph @unknown_buffer(%x: tensor<8xf32>) -> tensor<8xf32> attributes {buffers = []} {
  // expected-error @below {{writes buffer 3 of 0}}
  %0 = frit.launch @k [](%x) {buffers = [3], frit.layouts = [#frit.layout<[1]>]} : (tensor<8xf32>) -> tensor<8xf32>
  frit.return %0 : tensor<8xf32>
}

// -----

module {
  // expected-error @below {{an outlined module holds kernels and graphs, found 'builtin.module'}}
  module {}
}

// -----

frit.graph @two_dtypes(%x: tensor<8xi8> {frit.dtype = #frit.dtype<i8>}) -> (tensor<8xi8> {frit.dtype = #frit.dtype<u8>}) {
  // expected-error @below {{takes operand 0 for u8, which is i8; frit-separate-dtypes has not run}}
  frit.return %x : tensor<8xi8>
}
