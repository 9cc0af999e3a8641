// Kernels with results of rows and of columns in one pass (codegen/gpu/kernels/RowsAndColumns.cpp). Assembled by gpu-rows-and-columns-assemble.mlir,
// run under emulation against an interpreter by tests/unit/codegen/simt.

// Two chunks a thread, a row a block; the block comes back for its next row.
frit.kernel @norm_block(%g: tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, %x: tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, %mean: tensor<?xf32, #frit.dims<[p0]>>, %rstd: tensor<?xf32, #frit.dims<[p0]>>, %w: tensor<4096xbf16>)
    -> (tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, tensor<4096xbf16>, tensor<4096xbf16>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 4096]>, reduced 1, <threads = 256, rows = 1, vector = 8, parts = 3>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %gf = arith.extf %g : tensor<?x4096xbf16, #frit.dims<[p0, 4096]>> to tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %xf = arith.extf %x : tensor<?x4096xbf16, #frit.dims<[p0, 4096]>> to tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %wf = arith.extf %w : tensor<4096xbf16> to tensor<4096xf32>
  %m = frit.reindex %mean <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %r = frit.reindex %rstd <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %wb = frit.reindex %wf <(d0, d1) -> (d1)> : tensor<4096xf32> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %c = arith.subf %xf, %m fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %h = arith.mulf %c, %r fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %gw = arith.mulf %gf, %wb fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %gh = arith.mulf %gw, %h fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %a = frit.reduce <sum> %gw dims [1] : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %b = frit.reduce <sum> %gh dims [1] : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %count = arith.constant dense<0.000244140625> : tensor<f32>
  %scale = frit.reindex %count <(d0, d1) -> ()> : tensor<f32> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %ab = frit.reindex %a <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %bb = frit.reindex %b <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %as = arith.mulf %ab, %scale fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %bs = arith.mulf %bb, %scale fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %0 = arith.subf %gw, %as fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %1 = arith.mulf %h, %bs fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %2 = arith.subf %0, %1 fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %dx = arith.mulf %2, %r fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %gx = arith.mulf %gf, %h fastmath<contract> : tensor<?x4096xf32, #frit.dims<[p0, 4096]>>
  %dw = frit.reduce <sum> %gx dims [0] {across} : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> -> tensor<4096xf32>
  %db = frit.reduce <sum> %gf dims [0] {across} : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> -> tensor<4096xf32>
  %dxh = arith.truncf %dx : tensor<?x4096xf32, #frit.dims<[p0, 4096]>> to tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>
  %dwh = arith.truncf %dw : tensor<4096xf32> to tensor<4096xbf16>
  %dbh = arith.truncf %db : tensor<4096xf32> to tensor<4096xbf16>
  frit.yield %dxh, %dwh, %dbh : tensor<?x4096xbf16, #frit.dims<[p0, 4096]>>, tensor<4096xbf16>, tensor<4096xbf16>
}

// Four rows a block in 64 threads each, the last chunk of a row in some of them only.
frit.kernel @norm_groups(%g: tensor<?x768xf32, #frit.dims<[p0, 768]>>, %x: tensor<?x768xf32, #frit.dims<[p0, 768]>>, %mean: tensor<?xf32, #frit.dims<[p0]>>, %rstd: tensor<?xf32, #frit.dims<[p0]>>, %w: tensor<768xf32>)
    -> (tensor<?x768xf32, #frit.dims<[p0, 768]>>, tensor<768xf32>, tensor<768xf32>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 768]>, reduced 1, <threads = 64, rows = 4, vector = 4, parts = 2>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reindex %mean <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %r = frit.reindex %rstd <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %wb = frit.reindex %w <(d0, d1) -> (d1)> : tensor<768xf32> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %c = arith.subf %x, %m fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %h = arith.mulf %c, %r fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %gw = arith.mulf %g, %wb fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %gh = arith.mulf %gw, %h fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %a = frit.reduce <sum> %gw dims [1] : tensor<?x768xf32, #frit.dims<[p0, 768]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %b = frit.reduce <sum> %gh dims [1] : tensor<?x768xf32, #frit.dims<[p0, 768]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %count = arith.constant dense<0.0013020833333333333> : tensor<f32>
  %scale = frit.reindex %count <(d0, d1) -> ()> : tensor<f32> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %ab = frit.reindex %a <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %bb = frit.reindex %b <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %as = arith.mulf %ab, %scale fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %bs = arith.mulf %bb, %scale fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %0 = arith.subf %gw, %as fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %1 = arith.mulf %h, %bs fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %2 = arith.subf %0, %1 fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %dx = arith.mulf %2, %r fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %gx = arith.mulf %g, %h fastmath<contract> : tensor<?x768xf32, #frit.dims<[p0, 768]>>
  %dw = frit.reduce <sum> %gx dims [0] {across} : tensor<?x768xf32, #frit.dims<[p0, 768]>> -> tensor<768xf32>
  %db = frit.reduce <sum> %g dims [0] {across} : tensor<?x768xf32, #frit.dims<[p0, 768]>> -> tensor<768xf32>
  frit.yield %dx, %dw, %db : tensor<?x768xf32, #frit.dims<[p0, 768]>>, tensor<768xf32>, tensor<768xf32>
}

// Rows of a few lanes of a warp, over two dims; no bias.
frit.kernel @norm_warps(%g: tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>>, %x: tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>>, %mean: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %rstd: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %w: tensor<40xbf16>)
    -> (tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>>, tensor<40xbf16>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, p1, 40]>, reduced 1, <threads = 8, rows = 4, vector = 8, parts = 2>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %gf = arith.extf %g : tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>> to tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %xf = arith.extf %x : tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>> to tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %wf = arith.extf %w : tensor<40xbf16> to tensor<40xf32>
  %m = frit.reindex %mean <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %r = frit.reindex %rstd <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %wb = frit.reindex %wf <(d0, d1, d2) -> (d2)> : tensor<40xf32> -> tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %c = arith.subf %xf, %m fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %h = arith.mulf %c, %r fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %gw = arith.mulf %gf, %wb fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %gh = arith.mulf %gw, %h fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %a = frit.reduce <sum> %gw dims [2] : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %b = frit.reduce <sum> %gh dims [2] : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %count = arith.constant dense<0.025> : tensor<f32>
  %scale = frit.reindex %count <(d0, d1, d2) -> ()> : tensor<f32> -> tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %ab = frit.reindex %a <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %bb = frit.reindex %b <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %as = arith.mulf %ab, %scale fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %bs = arith.mulf %bb, %scale fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %0 = arith.subf %gw, %as fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %1 = arith.mulf %h, %bs fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %2 = arith.subf %0, %1 fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %dx = arith.mulf %2, %r fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %gx = arith.mulf %gf, %h fastmath<contract> : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>>
  %dw = frit.reduce <sum> %gx dims [0, 1] {across} : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>> -> tensor<40xf32>
  %dxh = arith.truncf %dx : tensor<?x?x40xf32, #frit.dims<[p0, p1, 40]>> to tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>>
  %dwh = arith.truncf %dw : tensor<40xf32> to tensor<40xbf16>
  frit.yield %dxh, %dwh : tensor<?x?x40xbf16, #frit.dims<[p0, p1, 40]>>, tensor<40xbf16>
}

// A length that nothing divides: element by element.
frit.kernel @norm_odd(%g: tensor<?x65xf32, #frit.dims<[p0, 65]>>, %x: tensor<?x65xf32, #frit.dims<[p0, 65]>>, %mean: tensor<?xf32, #frit.dims<[p0]>>, %rstd: tensor<?xf32, #frit.dims<[p0]>>, %w: tensor<65xf32>)
    -> (tensor<?x65xf32, #frit.dims<[p0, 65]>>, tensor<65xf32>, tensor<65xf32>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 65]>, reduced 1, <threads = 32, rows = 2, vector = 1, parts = 5>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reindex %mean <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %r = frit.reindex %rstd <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %wb = frit.reindex %w <(d0, d1) -> (d1)> : tensor<65xf32> -> tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %c = arith.subf %x, %m fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %h = arith.mulf %c, %r fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %gw = arith.mulf %g, %wb fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %gh = arith.mulf %gw, %h fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %a = frit.reduce <sum> %gw dims [1] : tensor<?x65xf32, #frit.dims<[p0, 65]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %b = frit.reduce <sum> %gh dims [1] : tensor<?x65xf32, #frit.dims<[p0, 65]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %count = arith.constant dense<0.015384615384615385> : tensor<f32>
  %scale = frit.reindex %count <(d0, d1) -> ()> : tensor<f32> -> tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %ab = frit.reindex %a <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %bb = frit.reindex %b <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %as = arith.mulf %ab, %scale fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %bs = arith.mulf %bb, %scale fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %0 = arith.subf %gw, %as fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %1 = arith.mulf %h, %bs fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %2 = arith.subf %0, %1 fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %dx = arith.mulf %2, %r fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %gx = arith.mulf %g, %h fastmath<contract> : tensor<?x65xf32, #frit.dims<[p0, 65]>>
  %dw = frit.reduce <sum> %gx dims [0] {across} : tensor<?x65xf32, #frit.dims<[p0, 65]>> -> tensor<65xf32>
  %db = frit.reduce <sum> %g dims [0] {across} : tensor<?x65xf32, #frit.dims<[p0, 65]>> -> tensor<65xf32>
  frit.yield %dx, %dw, %db : tensor<?x65xf32, #frit.dims<[p0, 65]>>, tensor<65xf32>, tensor<65xf32>
}

// Sums, the greatest and a count; what is summed over the rows follows from two rounds of reductions along them. A result a row.
frit.kernel @softmax_columns(%x: tensor<?x96xf32, #frit.dims<[p0, 96]>>) -> (tensor<?x96xf32, #frit.dims<[p0, 96]>>, tensor<96xf32>, tensor<96xf32>, tensor<?xf32, #frit.dims<[p0]>>, tensor<96xi64>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, 96]>, reduced 1, <threads = 8, rows = 8, vector = 4, parts = 4>>, symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %m = frit.reduce <max> %x dims [1] : tensor<?x96xf32, #frit.dims<[p0, 96]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %0 = arith.subf %x, %mm : tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %e = math.exp %0 : tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %s = frit.reduce <sum> %e dims [1] : tensor<?x96xf32, #frit.dims<[p0, 96]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %ss = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %y = arith.divf %e, %ss : tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %sum = frit.reduce <sum> %y dims [0] {across} : tensor<?x96xf32, #frit.dims<[p0, 96]>> -> tensor<96xf32>
  %most = frit.reduce <max> %y dims [0] {across} : tensor<?x96xf32, #frit.dims<[p0, 96]>> -> tensor<96xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %z = frit.reindex %zero <(d0, d1) -> ()> : tensor<f32> -> tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %is = arith.cmpf ogt, %x, %z : tensor<?x96xf32, #frit.dims<[p0, 96]>>
  %one = arith.extui %is : tensor<?x96xi1, #frit.dims<[p0, 96]>> to tensor<?x96xi64, #frit.dims<[p0, 96]>>
  %count = frit.reduce <sum> %one dims [0] {across} : tensor<?x96xi64, #frit.dims<[p0, 96]>> -> tensor<96xi64>
  frit.yield %y, %sum, %most, %s, %count : tensor<?x96xf32, #frit.dims<[p0, 96]>>, tensor<96xf32>, tensor<96xf32>, tensor<?xf32, #frit.dims<[p0]>>, tensor<96xi64>
}
