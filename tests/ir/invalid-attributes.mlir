// RUN: frit-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{itself has the attribute 'frit.colour', which ir/FritAttributes.def does not declare}}
frit.graph @name(%a: tensor<4xf32>) attributes {frit.colour = "red"} { frit.return }

// -----

// expected-error@+1 {{itself has the attribute 'frit.copies', which must be builtin.integer, found "two"}}
frit.graph @type(%a: tensor<4xf32>) attributes {frit.copies = "two"} { frit.return }

// -----

frit.graph @entry(%a: tensor<4xf32>) {
  // expected-error@+1 {{itself has the attribute 'frit.layouts', which must be an array of frit.layout, found [1]}}
  %0 = arith.negf %a {frit.layouts = [1]} : tensor<4xf32>
  frit.return
}

// -----

frit.graph @place(%a: tensor<4xf32>) {
  // expected-error@+1 {{itself has the attribute 'frit.copies', which does not belong here}}
  %0 = arith.negf %a {frit.copies = 1 : i64} : tensor<4xf32>
  frit.return
}

// -----

// expected-error@+1 {{argument 1 has the attribute 'frit.colour', which ir/FritAttributes.def does not declare}}
frit.graph @argument(%a: tensor<4xf32>, %b: tensor<4xf32> {frit.colour = "red"}) { frit.return }

// -----

// expected-error@+1 {{argument 0 has the attribute 'frit.layout', which must be frit.layout, found 3 : i64}}
frit.graph @argument_type(%a: tensor<4xf32> {frit.layout = 3 : i64}) { frit.return }

// -----

// expected-error@+1 {{argument 0 has the attribute 'frit.weight', which does not belong here}}
frit.kernel @argument_place(%a: tensor<4xf32> {frit.weight = 0 : i64}) -> tensor<4xf32> { frit.yield %a : tensor<4xf32> }

// -----

// expected-error@+1 {{result 0 has the attribute 'frit.name', which ir/FritAttributes.def does not declare}}
frit.graph @result(%a: tensor<4xf32>) -> (tensor<4xf32> {frit.name = "y"}) { frit.return %a : tensor<4xf32> }

// -----

// expected-error@+1 {{attribute 'buffers' failed to satisfy constraint: buffers}}
frit.graph @inherent(%a: tensor<4xf32>) attributes {buffers = [4 : i64]} { frit.return }

// -----

// expected-error@+1 {{a buffer names an argument exactly if its storage is that argument's}}
frit.graph @buffer(%a: tensor<4xf32>) attributes {buffers = [#frit.buffer<argument, <4>>]} { frit.return }

// -----

// expected-error@+2 {{threads is 4 and width 1: at least 8 threads share a row, one takes a column of width 1}}
frit.kernel @scan_threads(%a: tensor<4xf32>) -> tensor<4xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 0, width = 1, threads = 4, block = 128, unroll = 1>} { frit.yield %a : tensor<4xf32> }

// -----

// expected-error@+2 {{block is 128, a block of 64 is expected: all of its threads meet at barriers}}
frit.kernel @scan_block(%a: tensor<4xf32>) -> tensor<4xf32>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 0, width = 1, threads = 64, block = 128, unroll = 1>} { frit.yield %a : tensor<4xf32> }

// -----

// expected-error@+1 {{op attribute 'gpu_schedule' failed to satisfy constraint: schedule of a GPU kernel}}
frit.kernel @schedule(%a: tensor<4xf32>) -> tensor<4xf32>
    attributes {gpu_schedule = 1 : i64} { frit.yield %a : tensor<4xf32> }
