// The squares around a mean in one sweep: down columns that several blocks share, along rows of any length, of rows that one block keeps and
// of a whole tensor; masked lanes, rows behind the last whole tile, and parts without a row among them.

frit.kernel @variance_columns(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> (tensor<?xf32, #frit.dims<[p1]>>, tensor<?xf32, #frit.dims<[p1]>>)
    attributes {schedule = #frit.schedule<column_reduction, <[p1, p0]>, reduced 1, <vector = 4, unroll = 4, threadsX = 8, split = 4, rowsOfPart = 128>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %s = frit.reduce <sum> %x dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %v = frit.reduce <deviations> %x dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %s, %v : tensor<?xf32, #frit.dims<[p1]>>, tensor<?xf32, #frit.dims<[p1]>>
}

// Beside a sum of something else, and positions; what is written on the way is written by the first sweep.
frit.kernel @variance_among_others(%x: tensor<?x?xbf16, #frit.dims<[p0, p1]>>, %y: tensor<?x?xbf16, #frit.dims<[p0, p1]>>)
    -> (tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p1]>>, tensor<?xf32, #frit.dims<[p1]>>, tensor<?xf32, #frit.dims<[p1]>>, tensor<?xi64, #frit.dims<[p1]>>)
    attributes {schedule = #frit.schedule<column_reduction, <[p1, p0]>, reduced 1, <vector = 8, unroll = 2, threadsX = 32, split = 1>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %0 = arith.extf %x : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = arith.extf %y : tensor<?x?xbf16, #frit.dims<[p0, p1]>> to tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %2 = arith.addf %0, %1 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %a = frit.reduce <argmin> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xi64, #frit.dims<[p1]>>
  %s = frit.reduce <sum> %1 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %v = frit.reduce <deviations> %0 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  %w = frit.reduce <deviations> %2 dims [0] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
  frit.yield %2, %s, %v, %w, %a : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p1]>>, tensor<?xf32, #frit.dims<[p1]>>, tensor<?xf32, #frit.dims<[p1]>>, tensor<?xi64, #frit.dims<[p1]>>
}

// Doubles, and no schedule.
frit.kernel @variance_of_doubles(%x: tensor<?x?xf64, #frit.dims<[p0, p1]>>) -> tensor<?xf64, #frit.dims<[p1]>> attributes {symbols = [#frit.symbol<"p0", min = 0, max = 100000>, #frit.symbol<"p1", min = 0, max = 4096>]} {
  %v = frit.reduce <deviations> %x dims [0] : tensor<?x?xf64, #frit.dims<[p0, p1]>> -> tensor<?xf64, #frit.dims<[p1]>>
  frit.yield %v : tensor<?xf64, #frit.dims<[p1]>>
}

// Rows that are swept, kept, and shared by blocks.
frit.kernel @variance_rows(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> (tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %s = frit.reduce <sum> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %v = frit.reduce <deviations> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %vb = frit.reindex %v <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.mulf %x, %vb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = arith.subf %0, %sb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %1, %v : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p0]>>
}

frit.kernel @variance_kept(%x: tensor<?x1100xf32, #frit.dims<[p0, 1100]>>) -> (tensor<?x1100xf32, #frit.dims<[p0, 1100]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {symbols = [#frit.symbol<"p0", min = 0, max = 4096>]} {
  %s = frit.reduce <sum> %x dims [1] : tensor<?x1100xf32, #frit.dims<[p0, 1100]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %v = frit.reduce <deviations> %x dims [1] : tensor<?x1100xf32, #frit.dims<[p0, 1100]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1100xf32, #frit.dims<[p0, 1100]>>
  %vb = frit.reindex %v <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1100xf32, #frit.dims<[p0, 1100]>>
  %0 = arith.mulf %x, %vb : tensor<?x1100xf32, #frit.dims<[p0, 1100]>>
  %1 = arith.subf %0, %sb : tensor<?x1100xf32, #frit.dims<[p0, 1100]>>
  frit.yield %1, %v : tensor<?x1100xf32, #frit.dims<[p0, 1100]>>, tensor<?xf32, #frit.dims<[p0]>>
}

frit.kernel @variance_split_rows(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> (tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p0]>>)
    attributes {schedule = #frit.schedule<row_reduction, <[p0, p1]>, reduced 1, <unroll = 2, split = 4>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 4096>, #frit.symbol<"p1", min = 0, max = 100000>]} {
  %s = frit.reduce <sum> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %v = frit.reduce <deviations> %x dims [1] : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p0]>>
  %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %vb = frit.reindex %v <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %0 = arith.mulf %x, %vb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  %1 = arith.subf %0, %sb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %1, %v : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?xf32, #frit.dims<[p0]>>
}

frit.kernel @variance_of_all(%x: tensor<?xf32, #frit.dims<[p0]>>) -> (tensor<f32>, tensor<f32>)
    attributes {schedule = #frit.schedule<full_reduction, <[p0]>, reduced 1, <unroll = 4, split = 3>>,
                symbols = [#frit.symbol<"p0", min = 0, max = 1000000>]} {
  %v = frit.reduce <deviations> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  %s = frit.reduce <sum> %x dims [0] : tensor<?xf32, #frit.dims<[p0]>> -> tensor<f32>
  frit.yield %s, %v : tensor<f32>, tensor<f32>
}
