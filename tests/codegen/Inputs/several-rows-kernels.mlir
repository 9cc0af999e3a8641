// Short rows of which a group of threads takes several, and transposes by squares of elements: schedules that kernels of a device's sizes get.
// Run under emulation against an interpreter by tests/unit/codegen/simt.

// A result of the whole row and one of a number a row.
frit.kernel @rows_at_once(%x: tensor<?x128xbf16, #frit.dims<[p0, 128]>>) -> (tensor<?x128xf32, #frit.dims<[p0, 128]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 8, threads = 16, block = 128, kept = 1, rows = 4>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %a = arith.extf %x : tensor<?x128xbf16, #frit.dims<[p0, 128]>> to tensor<?x128xf32, #frit.dims<[p0, 128]>>
  %m = frit.reduce <max> %a dims [1] : tensor<?x128xf32, #frit.dims<[p0, 128]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x128xf32, #frit.dims<[p0, 128]>>
  %0 = arith.subf %a, %mm fastmath<contract> : tensor<?x128xf32, #frit.dims<[p0, 128]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x128xf32, #frit.dims<[p0, 128]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x128xf32, #frit.dims<[p0, 128]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x128xf32, #frit.dims<[p0, 128]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x128xf32, #frit.dims<[p0, 128]>>
  frit.yield %r, %s : tensor<?x128xf32, #frit.dims<[p0, 128]>>, tensor<?xf32, #frit.dims<[p0]>>
}

// The last chunk of some threads lies beyond the end of the row.
frit.kernel @partial_rows_at_once(%x: tensor<?x100xf32, #frit.dims<[p0, 100]>>) -> (tensor<?x100xf32, #frit.dims<[p0, 100]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {gpu_schedule = #frit.gpu_rows<lane = 1, width = 4, threads = 16, block = 32, kept = 2, rows = 2>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x100xf32, #frit.dims<[p0, 100]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %0 = arith.subf %x, %mm fastmath<contract> : tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %e = math.exp %0 fastmath<contract> : tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x100xf32, #frit.dims<[p0, 100]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x100xf32, #frit.dims<[p0, 100]>>
  %r = arith.divf %e, %ss fastmath<contract> : tensor<?x100xf32, #frit.dims<[p0, 100]>>
  frit.yield %r, %s : tensor<?x100xf32, #frit.dims<[p0, 100]>>, tensor<?xf32, #frit.dims<[p0]>>
}

// Vectors of eight halves along both dims; the last tiles are partial, in whole squares. Another operand lies as the result does.
frit.kernel @square_halves(%x: tensor<?x136x264xbf16, #frit.dims<[p0, 136, 264]>>, %y: tensor<?x264x136xbf16, #frit.dims<[p0, 264, 136]>>) -> tensor<?x264x136xbf16, #frit.dims<[p0, 264, 136]>>
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 2, across = 1, neighbours = 8>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %t = frit.reindex %x <(d0, d1, d2) -> (d0, d2, d1)> : tensor<?x136x264xbf16, #frit.dims<[p0, 136, 264]>> -> tensor<?x264x136xbf16, #frit.dims<[p0, 264, 136]>>
  %0 = arith.addf %t, %y : tensor<?x264x136xbf16, #frit.dims<[p0, 264, 136]>>
  frit.yield %0 : tensor<?x264x136xbf16, #frit.dims<[p0, 264, 136]>>
}

// A result as the operand lies, and one across it; the tiles are whole.
frit.kernel @square_results(%x: tensor<?x128x256xf16, #frit.dims<[p0, 128, 256]>>) -> (tensor<?x128x256xf16, #frit.dims<[p0, 128, 256]>>, tensor<?x256x128xf16, #frit.dims<[p0, 256, 128]>>)
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 2, across = 1, neighbours = 8>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %0 = arith.negf %x : tensor<?x128x256xf16, #frit.dims<[p0, 128, 256]>>
  %t = frit.reindex %0 <(d0, d1, d2) -> (d0, d2, d1)> : tensor<?x128x256xf16, #frit.dims<[p0, 128, 256]>> -> tensor<?x256x128xf16, #frit.dims<[p0, 256, 128]>>
  frit.yield %0, %t : tensor<?x128x256xf16, #frit.dims<[p0, 128, 256]>>, tensor<?x256x128xf16, #frit.dims<[p0, 256, 128]>>
}

// Floats and halves side by side: four of each, and a number a column; an operand and a result go through tiles.
frit.kernel @square_floats(%x: tensor<?x68x132xf32, #frit.dims<[p0, 68, 132]>>, %y: tensor<?x132x68xbf16, #frit.dims<[p0, 132, 68]>>, %b: tensor<68xf32>) -> (tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>, tensor<?x68x132xf32, #frit.dims<[p0, 68, 132]>>)
    attributes {gpu_schedule = #frit.gpu_transpose<lane = 2, across = 1, neighbours = 4>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %t = frit.reindex %x <(d0, d1, d2) -> (d0, d2, d1)> : tensor<?x68x132xf32, #frit.dims<[p0, 68, 132]>> -> tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>
  %w = arith.extf %y : tensor<?x132x68xbf16, #frit.dims<[p0, 132, 68]>> to tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>
  %0 = arith.addf %t, %w : tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>
  %bb = frit.reindex %b <(d0, d1, d2) -> (d2)> : tensor<68xf32> -> tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>
  %1 = arith.mulf %0, %bb : tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>
  %u = frit.reindex %1 <(d0, d1, d2) -> (d0, d2, d1)> : tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>> -> tensor<?x68x132xf32, #frit.dims<[p0, 68, 132]>>
  frit.yield %1, %u : tensor<?x132x68xf32, #frit.dims<[p0, 132, 68]>>, tensor<?x68x132xf32, #frit.dims<[p0, 68, 132]>>
}
