// Kernels of every family and of every feature of the vocabulary that code generation sees. They are assembled for three
// architectures (gpu-kernels.mlir) and run under emulation against an interpreter (tests/unit/codegen/simt).

// Contiguous, one dim: 16-byte vectors with a scalar tail.
frit.kernel @mul_add(%x: tensor<?xf32, #frit.dims<[p0]>>, %y: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 100000000>]} {
  %0 = arith.mulf %x, %y fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %1 = arith.addf %0, %x fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %1 : tensor<?xf32, #frit.dims<[p0]>>
}

// No bound on the size: 64-bit indices.
frit.kernel @unbounded(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.negf %x : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// Half types: f32 inside, rounded once; a row broadcast.
frit.kernel @bias_gelu(%x: tensor<?x?xbf16, #frit.dims<[p0, p1]>>, %b: tensor<?xbf16, #frit.dims<[p1]>>, %r: tensor<?x?xbf16, #frit.dims<[p0, p1]>>)
    -> tensor<?x?xbf16, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %half = arith.constant dense<5.0e-01> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %k = arith.constant dense<0.797884583> : tensor<f32>
  %c = arith.constant dense<4.471500e-02> : tensor<f32>
  %half2 = frit.reindex %half <(d0, d1) -> ()> : tensor<f32> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %one2 = frit.reindex %one <(d0, d1) -> ()> : tensor<f32> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %k2 = frit.reindex %k <(d0, d1) -> ()> : tensor<f32> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %c2 = frit.reindex %c <(d0, d1) -> ()> : tensor<f32> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %bb = frit.reindex %b <(d0, d1) -> (d1)> : tensor<?xbf16, #frit.dims<[p1]>> -> tensor<?x?xbf16, #frit.dims<[p0, p1]>>
  %0 = arith.extf %x : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = arith.extf %bb : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %2 = arith.extf %r : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %3 = arith.addf %0, %1 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %4 = arith.mulf %3, %3 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %5 = arith.mulf %4, %3 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %6 = arith.mulf %5, %c2 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %7 = arith.addf %6, %3 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %8 = arith.mulf %7, %k2 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %9 = math.tanh %8 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %10 = arith.addf %9, %one2 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %11 = arith.mulf %3, %half2 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %12 = arith.mulf %10, %11 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %13 = arith.addf %12, %2 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %14 = arith.truncf %13 : tensor<?x?xf32, #frit.dims<[p0, p1]>> to tensor<?x?xbf16, #frit.dims<[p0, p1]>>
  frit.yield %14 : tensor<?x?xbf16, #frit.dims<[p0, p1]>>
}

// Dims of unknown lengths, none of which merges with its neighbour: what is no vector carries its place from element to element.
frit.kernel @broadcasts(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, %c: tensor<?xf32, #frit.dims<[p1]>>, %r: tensor<?x?xf32, #frit.dims<[p0, p2]>>)
    -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>, #frit.symbol<"p2", min = 0, max = 4096>]} {
  %cb = frit.reindex %c <(d0, d1, d2) -> (d1)> : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %rb = frit.reindex %r <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %0 = arith.mulf %x, %cb : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %1 = arith.subf %0, %rb : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  frit.yield %1 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
}

// Transposed and strided operands.
frit.kernel @strides(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>> {frit.layout = #frit.layout<[1, p0]>},
                     %s: tensor<?x?xf32, #frit.dims<[p0, p1]>> {frit.layout = #frit.layout<[3 * p1, 3]>})
    -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.subf %x, %s : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Flip, pad, slice and concatenation; neighbours at odd offsets.
frit.kernel @moves(%a: tensor<?xf32, #frit.dims<[p0]>>, %b: tensor<?xf32, #frit.dims<[p1]>>) -> tensor<?xf32, #frit.dims<[p0 + p1 + 3]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %flip = frit.reindex %a <(d0) -> (p0 - d0 - 1)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %pad = frit.reindex %b <(d0) -> (d0 - 2) where [0 <= d0 - 2 < p1]> fill 5.0 : f32
    : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?xf32, #frit.dims<[p1 + 3]>>
  %0 = frit.concat %flip, %pad dim 0 : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p1 + 3]>>
    -> tensor<?xf32, #frit.dims<[p0 + p1 + 3]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0 + p1 + 3]>>
}
frit.kernel @difference(%x: tensor<?xf32, #frit.dims<[p0 + 1]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 100000>]} {
  %hi = frit.reindex %x <(d0) -> (d0 + 1)> : tensor<?xf32, #frit.dims<[p0 + 1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %lo = frit.reindex %x <(d0) -> (d0)> : tensor<?xf32, #frit.dims<[p0 + 1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %0 = arith.subf %hi, %lo : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// Several results of several types; comparison, select, integers, booleans, a host scalar.
frit.kernel @mixed(%x: tensor<?xf32, #frit.dims<[p0]>>, %i: tensor<?xi64, #frit.dims<[p0]>>, %m: tensor<?xi1, #frit.dims<[p0]>>, %s: f64, %n: i64)
    -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 100000>]} {
  %st = tensor.from_elements %s : tensor<f64>
  %sf = arith.truncf %st : tensor<f64> to tensor<f32>
  %sb = frit.reindex %sf <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %nt = tensor.from_elements %n : tensor<i64>
  %nb = frit.reindex %nt <(d0) -> ()> : tensor<i64> -> tensor<?xi64, #frit.dims<[p0]>>
  %it = frit.iota <2 * d0 + 1> : tensor<?xi64, #frit.dims<[p0]>>
  %0 = arith.mulf %x, %sb : tensor<?xf32, #frit.dims<[p0]>>
  %1 = arith.select %m, %0, %x : tensor<?xi1, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>
  %2 = arith.cmpf ogt, %1, %sb : tensor<?xf32, #frit.dims<[p0]>>
  %3 = arith.addi %i, %it : tensor<?xi64, #frit.dims<[p0]>>
  %4 = arith.muli %3, %nb : tensor<?xi64, #frit.dims<[p0]>>
  frit.yield %1, %2, %4 : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>
}

// Every function of math, one after the other on moderate values.
frit.kernel @functions(%x: tensor<?xf32, #frit.dims<[p0]>>) -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 100000>]} {
  %0 = math.exp %x fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %1 = math.log1p %0 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %2 = math.sqrt %1 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %3 = math.rsqrt %0 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %4 = math.sin %x fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %5 = math.erf %x fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %6 = math.powf %0, %5 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %7 = math.atan2 %4, %2 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %8 = arith.divf %6, %3 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %9 = math.roundeven %7 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %10 = math.absf %9 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %11 = arith.maximumf %10, %4 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %12 = arith.addf %11, %7 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %8, %12 : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>
}

// An index read from memory, with eager's check.
frit.kernel @embedding(%table: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %i: tensor<?xi64, #frit.dims<[p2]>>) -> tensor<?x?xf32, #frit.dims<[p2, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 1, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>, #frit.symbol<"p2", min = 0, max = 4096>]} {
  %ii = frit.reindex %i <(d0, d1) -> (d0)> : tensor<?xi64, #frit.dims<[p2]>> -> tensor<?x?xi64, #frit.dims<[p2, p1]>>
  %0 = frit.gather %table[%ii] <(d0, d1)[v0] -> (v0, d1)> check <wrap>
    : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?x?xi64, #frit.dims<[p2, p1]>> -> tensor<?x?xf32, #frit.dims<[p2, p1]>>
  frit.yield %0 : tensor<?x?xf32, #frit.dims<[p2, p1]>>
}

// Rank 0.
frit.kernel @scalar(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> attributes {symbols = []} {
  %0 = arith.mulf %x, %y : tensor<f32>
  frit.yield %0 : tensor<f32>
}

// Softmax over rows of unknown length, and of lengths that stay in the registers of a warp and of a block.
frit.kernel @softmax(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.subf %x, %mm fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %r : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}
frit.kernel @softmax_warp(%x: tensor<?x100xf32, #frit.dims<[p0, 100]>>) -> tensor<?x100xf32, #frit.dims<[p0, 100]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x100xf32, #frit.dims<[p0, 100]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %0 = arith.subf %x, %mm fastmath<contract> : tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x100xf32, #frit.dims<[p0, 100]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x100xf32, #frit.dims<[p0, 100]>>
  frit.yield %r : tensor<?x100xf32, #frit.dims<[p0, 100]>>
}

// A row that no vector divides: single elements, and still read once.
frit.kernel @softmax_odd(%x: tensor<?x1023xf32, #frit.dims<[p0, 1023]>>) -> tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x1023xf32, #frit.dims<[p0, 1023]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
  %0 = arith.subf %x, %mm fastmath<contract> : tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x1023xf32, #frit.dims<[p0, 1023]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
  frit.yield %r : tensor<?x1023xf32, #frit.dims<[p0, 1023]>>
}

// LayerNorm with residual, affine, saved mean and rstd; bf16 in and out, a row in the registers of a block.
frit.kernel @layer_norm(%x: tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, %r: tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, %w: tensor<4096xbf16>, %b: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %n = arith.constant dense<2.44140625e-4> : tensor<f32>
  %eps = arith.constant dense<1.0e-5> : tensor<f32>
  %n1 = frit.reindex %n <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %eps1 = frit.reindex %eps <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %xf = arith.extf %x : tensor<?x4096xbf16, #frit.dims<[p0, 4096]>> to tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %rf = arith.extf %r : tensor<?x4096xbf16, #frit.dims<[p0, 4096]>> to tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %h = arith.addf %xf, %rf fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %s = frit.reduce <sum> %h dims [1] : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mean = arith.mulf %s, %n1 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %mean <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %d = arith.subf %h, %mm fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %dd = arith.mulf %d, %d fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %v = frit.reduce <sum> %dd dims [1] : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %var = arith.mulf %v, %n1 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %ve = arith.addf %var, %eps1 fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %rstd = math.rsqrt %ve fastmath<contract> : tensor<?xf32, #frit.dims<[p0]>>
  %rr = frit.reindex %rstd <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %wf = arith.extf %w : tensor<4096xbf16> to tensor<4096xf32>
  %bf = arith.extf %b : tensor<4096xbf16> to tensor<4096xf32>
  %ww = frit.reindex %wf <(d0, d1) -> (d1)> : tensor<4096xf32> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %bb = frit.reindex %bf <(d0, d1) -> (d1)> : tensor<4096xf32> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %0 = arith.mulf %d, %rr fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %1 = arith.mulf %0, %ww fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %2 = arith.addf %1, %bb fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %o = arith.truncf %2 : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> to tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>
  frit.yield %o, %mean, %rstd : tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>
}

// Siblings over short rows: sum, maximum with position, any.
frit.kernel @siblings(%x: tensor<?x24xf32, #frit.dims<[p0, 24]>>)
    -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %zero = arith.constant dense<2.5> : tensor<f32>
  %z = frit.reindex %zero <(d0, d1) -> ()> : tensor<f32> -> tensor<?x24xf32, #frit.dims<[p0, 24]>>
  %c = arith.cmpf ogt, %x, %z : tensor<?x24xf32, #frit.dims<[p0, 24]>>
  %s = frit.reduce <sum> %x dims [1] : tensor<?x24xf32, #frit.dims<[p0, 24]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %a = frit.reduce <argmax> %x dims [1] : tensor<?x24xf32, #frit.dims<[p0, 24]>> -> tensor<?xi64, #frit.dims<[p0]>>
  %m = frit.reduce <min> %x dims [1] : tensor<?x24xf32, #frit.dims<[p0, 24]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %y = frit.reduce <any> %c dims [1] : tensor<?x24xi1, #frit.dims<[p0, 24]>> -> tensor<?xi1, #frit.dims<[p0]>>
  frit.yield %s, %a, %m, %y : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>
}

// Two reduced dims around a kept one.
frit.kernel @around(%x: tensor<?x3x?xf32, #frit.dims<[p0, 3, p1]>>) -> tensor<3xf32>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>]} {
  %s = frit.reduce <sum> %x dims [0, 2] : tensor<?x3x?xf32, #frit.dims<[p0, 3, p1]>> -> tensor<3xf32>
  frit.yield %s : tensor<3xf32>
}

// Over dim 0: a sum with mean; a maximum whose difference goes back to the full domain; integers.
frit.kernel @column_sum(%x: tensor<?x?xbf16, #frit.dims<[p0, p1]>>) -> tensor<?xf32, #frit.dims<[p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.extf %x : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %s : tensor<?xf32, #frit.dims<[p1]>>
}
frit.kernel @column_max(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> (tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xi64, #frit.dims<[p1]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %i = frit.reduce <argmin> %x dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xi64, #frit.dims<[p1]>>
  %mm = frit.reindex %m <(d0, d1) -> (d1)> : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.subf %x, %mm : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %0, %i : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xi64, #frit.dims<[p1]>>
}

// A 3-D intermediate that never exists: the dim in the middle is reduced.
frit.kernel @similarity(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %y: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xi64, #frit.dims<[p1, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 256>, #frit.symbol<"p1", min = 0, max = 2000>]} {
  %one = arith.constant dense<1.0> : tensor<f32>
  %o = frit.reindex %one <(d0, d1, d2) -> ()> : tensor<f32> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %b = frit.reindex %y <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %0 = arith.subf %a, %b : tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %1 = math.absf %0 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %2 = arith.cmpf olt, %1, %o : tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %3 = arith.extui %2 : tensor<?x?x?xi1, #frit.dims<[p0, p1, p1]>> to tensor<?x?x?xi64, #frit.dims<[p0, p1, p1]>>
  %4 = frit.reduce <sum> %3 dims [0] : tensor<?x?x?xi64, #frit.dims<[p0, p1, p1]>> -> tensor<?x?xi64, #frit.dims<[p1, p1]>>
  frit.yield %4 : tensor<?x?xi64, #frit.dims<[p1, p1]>>
}

// Everything: two launches; a mean that the second phase and the full result need; a small one in a single block.
frit.kernel @full_sum(%x: tensor<?xf32, #frit.dims<[p0]>>) -> (tensor<f32>, tensor<f32>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %s = frit.reduce <sum> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  %m = frit.reduce <max> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  frit.yield %s, %m : tensor<f32>, tensor<f32>
}
frit.kernel @full_center(%x: tensor<?xf32, #frit.dims<[p0]>>) -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<f32>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %m = frit.reduce <max> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  %mm = frit.reindex %m <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %0 = arith.subf %x, %mm : tensor<?xf32, #frit.dims<[p0]>>
  %1 = math.exp %0 : tensor<?xf32, #frit.dims<[p0]>>
  %s = frit.reduce <sum> %1 dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  %ss = frit.reindex %s <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
  %2 = arith.divf %1, %ss : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %2, %s : tensor<?xf32, #frit.dims<[p0]>>, tensor<f32>
}
frit.kernel @full_small(%x: tensor<12x20xf32>) -> tensor<i64> attributes {symbols = []} {
  %s = frit.reduce <argmax> %x dims [0, 1] : tensor<12x20xf32> -> tensor<i64>
  frit.yield %s : tensor<i64>
}

// A reduction of one point: no dim is left of the domain.
frit.kernel @one_point(%x: tensor<1x1xf32>) -> (tensor<1xf32>, tensor<1xi64>) {
  %0 = frit.reduce <sum> %x dims [1] : tensor<1x1xf32> -> tensor<1xf32>
  %1 = frit.reduce <argmax> %x dims [1] : tensor<1x1xf32> -> tensor<1xi64>
  frit.yield %0, %1 : tensor<1xf32>, tensor<1xi64>
}

// Few long rows, several blocks a row: one result a row, positions, and a softmax over three kinds of launches.
frit.kernel @split_rows(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %r: tensor<?xf32, #frit.dims<[p0]>>)
    -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, p1]>, reduced 1, <unroll = 2, split = 4>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %b = frit.reindex %r <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.mulf %x, %b : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %0 dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %a = frit.reduce <argmax> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xi64, #frit.dims<[p0]>>
  %1 = arith.addf %s, %r : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %1, %a : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>
}
frit.kernel @split_softmax(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {schedule = #frit.schedule<row_reduction, <[p0, p1]>, reduced 1, <unroll = 4, split = 4>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.subf %x, %mm fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %r : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Everything, by as many blocks as the schedule says, several chunks a thread at a time.
frit.kernel @shared_full(%x: tensor<?xf32, #frit.dims<[p0]>>) -> (tensor<f32>, tensor<i64>)
    attributes {schedule = #frit.schedule<full_reduction, <[p0]>, reduced 1, <unroll = 4, split = 3>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %s = frit.reduce <sum> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  %a = frit.reduce <argmax> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<i64>
  frit.yield %s, %a : tensor<f32>, tensor<i64>
}

// Few columns and many rows, several blocks a column.
frit.kernel @split_columns(%x: tensor<?x?xbf16, #frit.dims<[p0, p1]>>, %b: tensor<?xf32, #frit.dims<[p1]>>)
    -> (tensor<?xf32, #frit.dims<[p1]>>, tensor<?xi64, #frit.dims<[p1]>>)
    attributes {schedule = #frit.schedule<column_reduction, <[p1, p0]>, reduced 1, <split = 8>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.extf %x : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %a = frit.reduce <argmin> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xi64, #frit.dims<[p1]>>
  %1 = arith.mulf %s, %b : tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %1, %a : tensor<?xf32, #frit.dims<[p1]>>, tensor<?xi64, #frit.dims<[p1]>>
}
frit.kernel @split_sum(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?xf32, #frit.dims<[p1]>>
    attributes {schedule = #frit.schedule<column_reduction, <[p1, p0]>, reduced 1, <split = 8>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %s = frit.reduce <sum> %x dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %s : tensor<?xf32, #frit.dims<[p1]>>
}

// Fewer threads side by side than a warp has, several rows a thread at a time: shared by several blocks, and beside what is written on the
// way by one.
frit.kernel @narrow_columns(%x: tensor<?x?xbf16, #frit.dims<[p0, p1]>>)
    -> (tensor<?xf32, #frit.dims<[p1]>>, tensor<?xi64, #frit.dims<[p1]>>)
    attributes {schedule = #frit.schedule<column_reduction, <[p1, p0]>, reduced 1, <vector = 4, unroll = 4, threadsX = 8, split = 4, rowsOfPart = 128>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.extf %x : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %a = frit.reduce <argmin> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xi64, #frit.dims<[p1]>>
  frit.yield %s, %a : tensor<?xf32, #frit.dims<[p1]>>, tensor<?xi64, #frit.dims<[p1]>>
}
frit.kernel @unrolled_columns(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %y: tensor<?x?xf32, #frit.dims<[p0, p1]>>)
    -> (tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p1]>>)
    attributes {schedule = #frit.schedule<column_reduction, <[p1, p0]>, reduced 1, <vector = 2, unroll = 2, threadsX = 16, split = 1>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.mulf %x, %y : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %0, %s : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p1]>>
}

// Read along one dim, written along both: tiles in shared memory on the way in and on the way out, between them three types.
frit.kernel @both_ways(%x: tensor<3x?x?xbf16, #frit.dims<[3, p0, p1]>>, %m: tensor<3x?x?xi1, #frit.dims<[3, p0, p1]>> {frit.layout = #frit.layout<[p0 * p1, 1, p0]>})
    -> (tensor<3x?x?xbf16, #frit.dims<[3, p0, p1]>>, tensor<3x?x?xf32, #frit.dims<[3, p0, p1]>> {frit.layout = #frit.layout<[p0 * p1, 1, p0]>})
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.extf %x : tensor<3x?x?xbf16, #frit.dims<[3, p0, p1]>> to tensor<3x?x?xf32, #frit.dims<[3, p0, p1]>>
  %n = arith.negf %0 : tensor<3x?x?xf32, #frit.dims<[3, p0, p1]>>
  %1 = arith.select %m, %0, %n : tensor<3x?x?xi1, #frit.dims<[3, p0, p1]>>, tensor<3x?x?xf32, #frit.dims<[3, p0, p1]>>
  %2 = arith.truncf %1 : tensor<3x?x?xf32, #frit.dims<[3, p0, p1]>> to tensor<3x?x?xbf16, #frit.dims<[3, p0, p1]>>
  frit.yield %2, %1 : tensor<3x?x?xbf16, #frit.dims<[3, p0, p1]>>, tensor<3x?x?xf32, #frit.dims<[3, p0, p1]>>
}

// Rows that were flattened, and are one dim with what else has no rows: a number for each is looked for once a vector.
frit.kernel @flat(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %b: tensor<?xf32, #frit.dims<[p0]>>, %w: tensor<?xf32, #frit.dims<[p0 * p1]>>)
    -> tensor<?xf32, #frit.dims<[p0 * p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %bb = frit.reindex %b <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.mulf %x, %bb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = frit.reshape %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0 * p1]>>
  %2 = arith.subf %1, %w : tensor<?xf32, #frit.dims<[p0 * p1]>>
  frit.yield %2 : tensor<?xf32, #frit.dims<[p0 * p1]>>
}

// All sums of two rows, flattened: the dim of all pairs is parted.
frit.kernel @pairs(%x: tensor<?x?xf32, #frit.dims<[p0, p2]>>, %y: tensor<?x?xf32, #frit.dims<[p1, p2]>>, %z: tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>)
    -> tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>, #frit.symbol<"p2", min = 0, max = 1000>]} {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %b = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<?x?xf32, #frit.dims<[p1, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %0 = arith.addf %a, %b : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %1 = frit.reshape %0 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>
  %2 = arith.mulf %1, %z : tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>
  frit.yield %2 : tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>
}

// A row several times over, and a transposed tensor as one row: with the dim parted both are read as they lie.
frit.kernel @repeated(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>, #frit.symbol<"p2", min = 0, max = 1000>]} {
  %0 = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p2, p1]>>
  %1 = frit.reshape %0 : tensor<?x?x?xf32, #frit.dims<[p0, p2, p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
  %2 = arith.negf %1 : tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
  frit.yield %2 : tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
}
frit.kernel @flat_transpose(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %y: tensor<?xf32, #frit.dims<[p0 * p1]>>) -> tensor<?xf32, #frit.dims<[p0 * p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?xf32, #frit.dims<[p1, p0]>>
  %0 = frit.reshape %t : tensor<?x?xf32, #frit.dims<[p1, p0]>> -> tensor<?xf32, #frit.dims<[p0 * p1]>>
  %1 = arith.addf %0, %y : tensor<?xf32, #frit.dims<[p0 * p1]>>
  frit.yield %1 : tensor<?xf32, #frit.dims<[p0 * p1]>>
}

// Divided by what divides nothing, twice over, in rows that end anywhere between.
frit.kernel @enlarged(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %r: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>, #frit.symbol<"p2", min = 1, max = 64>, #frit.symbol<"p3", min = 1, max = 64>]} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, floordiv(d1, p2))> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = frit.reindex %x <(d0, d1) -> (d0, floordiv(floordiv(d1, p2) + p3, p3 + 1))> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %2 = frit.reindex %r <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %3 = arith.mulf %0, %2 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %4 = arith.subf %3, %1 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %4 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Reductions whose place is one of several dims: of everything, of rows on both sides of what is kept, down columns, along flattened rows.
frit.kernel @channels_full(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, %b: tensor<?xf32, #frit.dims<[p1]>>) -> (tensor<f32>, tensor<i64>)
    attributes {schedule = #frit.schedule<full_reduction, <[p0, p1, p2]>, reduced 3, <unroll = 4, split = 3>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>, #frit.symbol<"p2", min = 0, max = 1000>]} {
  %bb = frit.reindex %b <(d0, d1, d2) -> (d1)> : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %0 = arith.mulf %x, %bb : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %s = frit.reduce <sum> %0 dims [0, 1, 2] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<f32>
  %a = frit.reduce <argmax> %0 dims [0, 1, 2] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<i64>
  frit.yield %s, %a : tensor<f32>, tensor<i64>
}
frit.kernel @channels_one(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %b: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<f32>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>]} {
  %bb = frit.reindex %b <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.mulf %x, %bb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %s = frit.reduce <sum> %0 dims [0, 1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<f32>
  frit.yield %s : tensor<f32>
}
frit.kernel @channels_kept(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>) -> (tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, tensor<?xi64, #frit.dims<[p1]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>, #frit.symbol<"p2", min = 0, max = 1000>]} {
  %s = frit.reduce <sum> %x dims [0, 2] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %a = frit.reduce <argmin> %x dims [0, 2] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?xi64, #frit.dims<[p1]>>
  %ss = frit.reindex %s <(d0, d1, d2) -> (d1)> : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %0 = arith.subf %x, %ss : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  frit.yield %0, %a : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, tensor<?xi64, #frit.dims<[p1]>>
}
frit.kernel @channels_columns(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, %b: tensor<?x?xf32, #frit.dims<[p0, p2]>>) -> (tensor<?xf32, #frit.dims<[p2]>>, tensor<?xi64, #frit.dims<[p2]>>)
    attributes {schedule = #frit.schedule<column_reduction, <[p2, p0, p1]>, reduced 2, <vector = 4, unroll = 4, threadsX = 8, split = 4, rowsOfPart = 128>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>, #frit.symbol<"p2", min = 0, max = 1000>]} {
  %bb = frit.reindex %b <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %0 = arith.mulf %x, %bb : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %s = frit.reduce <sum> %0 dims [0, 1] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?xf32, #frit.dims<[p2]>>
  %a = frit.reduce <argmax> %0 dims [0, 1] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?xi64, #frit.dims<[p2]>>
  frit.yield %s, %a : tensor<?xf32, #frit.dims<[p2]>>, tensor<?xi64, #frit.dims<[p2]>>
}
frit.kernel @channels_flat(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, %b: tensor<?xf32, #frit.dims<[p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 1000>, #frit.symbol<"p1", min = 0, max = 1000>, #frit.symbol<"p2", min = 0, max = 1000>]} {
  %bb = frit.reindex %b <(d0, d1, d2) -> (d1)> : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %0 = arith.mulf %x, %bb : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %1 = frit.reshape %0 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
  %m = frit.reduce <max> %1 dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
  %2 = arith.subf %1, %mm : tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
  frit.yield %2 : tensor<?x?xf32, #frit.dims<[p0, p1 * p2]>>
}

// Running sums of rows of unknown length, of what is computed on the way in, and with work on the way out.
frit.kernel @scan_rows(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %y: tensor<?x?xbf16, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 4, threads = 64, block = 64, unroll = 2>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %0 = arith.extf %y : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = arith.mulf %x, %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %2 = frit.scan <sum> %1 dim 1 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %3 = arith.subf %2, %x : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %3 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Several rows a block, integers of 64 bits.
frit.kernel @scan_short_rows(%x: tensor<?x?xi32, #frit.dims<[p0, p1]>>) -> tensor<?x?xi64, #frit.dims<[p0, p1]>>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 4, threads = 8, block = 32, unroll = 1>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.extsi %x : tensor<?x?xi32, #frit.dims<[p0, p1]>> to tensor<?x?xi64, #frit.dims<[p0, p1]>>
  %1 = frit.scan <sum> %0 dim 1 : tensor<?x?xi64, #frit.dims<[p0, p1]>>
  frit.yield %1 : tensor<?x?xi64, #frit.dims<[p0, p1]>>
}

// Whole tiles, of 16 warps, in doubles.
frit.kernel @scan_whole(%x: tensor<?x4096xf64, #frit.dims<[p0, 4096]>>) -> tensor<?x4096xf64, #frit.dims<[p0, 4096]>>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 2, threads = 512, block = 512, unroll = 2>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = frit.scan <sum> %x dim 1 : tensor<?x4096xf64, #frit.dims<[p0, 4096]>>
  frit.yield %0 : tensor<?x4096xf64, #frit.dims<[p0, 4096]>>
}

// A thread a column.
frit.kernel @scan_columns(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>) -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 1, threads = 1, block = 32, unroll = 4>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>, #frit.symbol<"p2", min = 0, max = 4096>]} {
  %0 = arith.negf %x : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %1 = frit.scan <sum> %0 dim 1 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %2 = math.absf %1 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  frit.yield %2 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
}

// Columns that a group of threads takes element by element.
frit.kernel @scan_long_columns(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {gpu_schedule = #frit.gpu_scan<lane = 1, width = 1, threads = 64, block = 64, unroll = 4>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = frit.scan <prod> %x dim 0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Segments of rows in reverse order, some of them empty, with work on what is read and on the sums.
frit.kernel @segments(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %y: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 1, width = 4, threads = 256, loadsFirst = true>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %order = frit.iota <p0 - d0 - 1> : tensor<?xi64, #frit.dims<[p0]>>
  %begin = frit.iota <min(3 * d0, p0)> : tensor<?x?xi64, #frit.dims<[p0, p1]>>
  %end = frit.iota <min(3 * d0 + mod(d0, 23), p0)> : tensor<?x?xi64, #frit.dims<[p0, p1]>>
  %0 = arith.mulf %x, %x : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = frit.segment_sum %0 order %order from %begin to %end : tensor<?x?xf32, #frit.dims<[p0, p1]>> [tensor<?xi64, #frit.dims<[p0]>>], tensor<?x?xi64, #frit.dims<[p0, p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %2 = arith.addf %1, %y : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %2 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// Each lane has a segment of its own.
frit.kernel @segments_across(%x: tensor<?x64xi64, #frit.dims<[p0, 64]>>) -> (tensor<64x64xi64> {frit.layout = #frit.layout<[1, 64]>})
    attributes {gpu_schedule = #frit.gpu_pointwise<lane = 0, width = 2, threads = 256>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %begin = frit.iota <min(d0, p0)> : tensor<64x64xi64>
  %end = frit.iota <min(2 * d0, p0)> : tensor<64x64xi64>
  %0 = frit.segment_sum %x from %begin to %end : tensor<?x64xi64, #frit.dims<[p0, 64]>>, tensor<64x64xi64> -> tensor<64x64xi64>
  frit.yield %0 : tensor<64x64xi64>
}
