// Kernels that run in clusters of blocks, which sm_90 is the first to have. Assembled by gpu-clusters.mlir, run under emulation
// against an interpreter by tests/unit/codegen/simt.

// A row in the registers of two blocks.
frit.kernel @cluster_softmax(%x: tensor<?x16384xf32, #frit.dims<[p0, 16384]>>) -> tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 16384]>, reduced 1, <cluster = 2>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x16384xf32, #frit.dims<[p0, 16384]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
  %0 = arith.subf %x, %mm fastmath<contract> : tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x16384xf32, #frit.dims<[p0, 16384]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
  frit.yield %r : tensor<?x16384xf32, #frit.dims<[p0, 16384]>>
}

// An odd length, a position, a result a row beside one of the full domain; the last block has less to do.
frit.kernel @cluster_odd(%x: tensor<?x5001xbf16, #frit.dims<[p0, 5001]>>)
    -> (tensor<?x5001xf32, #frit.dims<[p0, 5001]>>, tensor<?xi64, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 5001]>, reduced 1, <cluster = 4>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %f = arith.extf %x : tensor<?x5001xbf16, #frit.dims<[p0, 5001]>> to tensor<?x5001xf32, #frit.dims<[p0, 5001]>>
  %m = frit.reduce <max> %f dims [1] : tensor<?x5001xf32, #frit.dims<[p0, 5001]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %a = frit.reduce <argmax> %f dims [1] : tensor<?x5001xf32, #frit.dims<[p0, 5001]>> -> tensor<?xi64, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x5001xf32, #frit.dims<[p0, 5001]>>
  %0 = arith.subf %f, %mm : tensor<?x5001xf32, #frit.dims<[p0, 5001]>>
  %s = frit.reduce <sum> %0 dims [1] : tensor<?x5001xf32, #frit.dims<[p0, 5001]>> -> tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0, %a, %s : tensor<?x5001xf32, #frit.dims<[p0, 5001]>>, tensor<?xi64, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>
}

// Two operands of a length that eight blocks keep.
frit.kernel @cluster_norm(%x: tensor<?x65536xf32, #frit.dims<[p0, 65536]>>, %w: tensor<65536xf32>) -> tensor<?x65536xf32, #frit.dims<[p0, 65536]>>
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 65536]>, reduced 1, <cluster = 8>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %ww = frit.reindex %w <(d0, d1) -> (d1)> : tensor<65536xf32> -> tensor<?x65536xf32, #frit.dims<[p0, 65536]>>
  %h = arith.mulf %x, %ww : tensor<?x65536xf32, #frit.dims<[p0, 65536]>>
  %m = frit.reduce <max> %h dims [1] : tensor<?x65536xf32, #frit.dims<[p0, 65536]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x65536xf32, #frit.dims<[p0, 65536]>>
  %r = arith.subf %h, %mm : tensor<?x65536xf32, #frit.dims<[p0, 65536]>>
  frit.yield %r : tensor<?x65536xf32, #frit.dims<[p0, 65536]>>
}

// Too long for any cluster: one block sweeps it again.
frit.kernel @cluster_none(%x: tensor<?x270000xf32, #frit.dims<[p0, 270000]>>) -> tensor<?x270000xf32, #frit.dims<[p0, 270000]>>
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 270000]>, reduced 1, <cluster = 8>>, symbols = [#frit.symbol<"p0", min = 0, max = 512>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x270000xf32, #frit.dims<[p0, 270000]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x270000xf32, #frit.dims<[p0, 270000]>>
  %0 = arith.subf %x, %mm : tensor<?x270000xf32, #frit.dims<[p0, 270000]>>
  frit.yield %0 : tensor<?x270000xf32, #frit.dims<[p0, 270000]>>
}

// Pointwise with several chunks a thread, and with blocks of another size.
frit.kernel @unrolled(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {schedule = #frit.schedule<pointwise, <[p0]>, reduced 0, <threads = 256, unroll = 2>>, symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %0 = arith.mulf %x, %x : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}
frit.kernel @unrolled_rows(%x: tensor<?x?xbf16, #frit.dims<[p0, p1]>>, %b: tensor<?xbf16, #frit.dims<[p1]>>) -> tensor<?x?xbf16, #frit.dims<[p0, p1]>>
    attributes {schedule = #frit.schedule<pointwise, <[p0, p1]>, reduced 0, <threads = 128, unroll = 4>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %bb = frit.reindex %b <(d0, d1) -> (d1)> : tensor<?xbf16, #frit.dims<[p1]>> -> tensor<?x?xbf16, #frit.dims<[p0, p1]>>
  %0 = arith.maximumf %x, %bb : tensor<?x?xbf16, #frit.dims<[p0, p1]>>
  frit.yield %0 : tensor<?x?xbf16, #frit.dims<[p0, p1]>>
}

// A row to as many threads as the schedule says.
frit.kernel @lanes(%x: tensor<?x256xf32, #frit.dims<[p0, 256]>>) -> tensor<?x256xf32, #frit.dims<[p0, 256]>>
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 256]>, reduced 1, <rowThreads = 8>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x256xf32, #frit.dims<[p0, 256]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x256xf32, #frit.dims<[p0, 256]>>
  %0 = arith.subf %x, %mm : tensor<?x256xf32, #frit.dims<[p0, 256]>>
  frit.yield %0 : tensor<?x256xf32, #frit.dims<[p0, 256]>>
}
