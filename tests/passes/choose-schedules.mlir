// RUN: frit-opt --frit-choose-schedules --split-input-file %s | FileCheck %s
// RUN: frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu}))' --split-input-file %s | FileCheck %s --check-prefix=GPU

// Dim 0 is reduced and the inner one is contiguous: columns.
// CHECK-LABEL: @columns
// CHECK: schedule = #frit.schedule<column_reduction, <[2000, 2000, 256]>, reduced 1
// GPU-LABEL: @columns
// GPU: schedule = #frit.schedule<column_reduction, <[2000, 2000, 256]>, reduced 1, <{{.*}}threadsX = 32
frit.graph @columns(%x: tensor<256x2000xf32>, %y: tensor<256x2000xf32>) -> tensor<2000x2000xf32> {
  %r = frit.region(%x, %y) : (tensor<256x2000xf32>, tensor<256x2000xf32>) -> tensor<2000x2000xf32> {
  ^bb0(%u: tensor<256x2000xf32>, %v: tensor<256x2000xf32>):
    %a = frit.reindex %u <(d0, d1, d2) -> (d0, d1)> : tensor<256x2000xf32> -> tensor<256x2000x2000xf32>
    %b = frit.reindex %v <(d0, d1, d2) -> (d0, d2)> : tensor<256x2000xf32> -> tensor<256x2000x2000xf32>
    %d = arith.subf %a, %b : tensor<256x2000x2000xf32>
    %s = frit.reduce <sum> %d dims [0] : tensor<256x2000x2000xf32> -> tensor<2000x2000xf32>
    frit.yield %s : tensor<2000x2000xf32>
  }
  frit.return %r : tensor<2000x2000xf32>
}

// -----

// The innermost dim is reduced: rows, also where the parallel part is a product.
// CHECK-LABEL: @rows
// CHECK: schedule = #frit.schedule<row_reduction, <[600, 600, 64]>, reduced 1
// GPU-LABEL: @rows
// GPU: row_reduction
frit.graph @rows(%x: tensor<600x64xf32>, %y: tensor<600x64xf32>) -> tensor<600x600xf32> {
  %r = frit.region(%x, %y) : (tensor<600x64xf32>, tensor<600x64xf32>) -> tensor<600x600xf32> {
  ^bb0(%u: tensor<600x64xf32>, %v: tensor<600x64xf32>):
    %a = frit.reindex %u <(d0, d1, d2) -> (d0, d2)> : tensor<600x64xf32> -> tensor<600x600x64xf32>
    %b = frit.reindex %v <(d0, d1, d2) -> (d1, d2)> : tensor<600x64xf32> -> tensor<600x600x64xf32>
    %d = arith.subf %a, %b : tensor<600x600x64xf32>
    %s = frit.reduce <sum> %d dims [2] : tensor<600x600x64xf32> -> tensor<600x600xf32>
    frit.yield %s : tensor<600x600xf32>
  }
  frit.return %r : tensor<600x600xf32>
}

// -----

// Everything is reduced to one number.
// CHECK-LABEL: @full
// CHECK: schedule = #frit.schedule<full_reduction, <[s0, 8]>, reduced 2
// GPU-LABEL: @full
!t = tensor<?x8xf32, #frit.dims<[s0, 8]>>
frit.graph @full(%x: !t) -> tensor<f32> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %r = frit.region(%x) : (!t) -> tensor<f32> {
  ^bb0(%a: !t):
    %s = frit.reduce <sum> %a dims [0, 1] : !t -> tensor<f32>
    frit.yield %s : tensor<f32>
  }
  frit.return %r : tensor<f32>
}

// -----

// A pointwise region over the refinement of its results' shapes.
// CHECK-LABEL: @pointwise
// CHECK: schedule = #frit.schedule<pointwise, <[4, 6, 8]>, reduced 0
// GPU-LABEL: @pointwise
frit.graph @pointwise(%x: tensor<24x8xf32>) -> (tensor<24x8xf32>, tensor<4x48xf32>) {
  %r:2 = frit.region(%x) : (tensor<24x8xf32>) -> (tensor<24x8xf32>, tensor<4x48xf32>) {
  ^bb0(%a: tensor<24x8xf32>):
    %e = math.exp %a : tensor<24x8xf32>
    %v = frit.reshape %e : tensor<24x8xf32> -> tensor<4x48xf32>
    frit.yield %e, %v : tensor<24x8xf32>, tensor<4x48xf32>
  }
  frit.return %r#0, %r#1 : tensor<24x8xf32>, tensor<4x48xf32>
}

// -----

// A region of stacked pieces runs over one piece.
// CHECK-LABEL: @stacked
// CHECK: schedule = #frit.schedule<pointwise, <[64]>, reduced 0
// GPU-LABEL: @stacked
frit.graph @stacked(%x: tensor<64xf32>) -> tensor<64x2xf32> {
  %r = frit.region(%x) : (tensor<64xf32>) -> tensor<64x2xf32> {
  ^bb0(%a: tensor<64xf32>):
    %e = math.exp %a : tensor<64xf32>
    %b = frit.reindex %a <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1xf32>
    %c = frit.reindex %e <(d0, d1) -> (d0)> : tensor<64xf32> -> tensor<64x1xf32>
    %s = frit.concat %b, %c dim 1 : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x2xf32>
    frit.yield %s : tensor<64x2xf32>
  }
  frit.return %r : tensor<64x2xf32>
}

// -----

// The dim of a scan is the reduced one.
// CHECK-LABEL: @scan
// CHECK: schedule = #frit.schedule<scan, <[4, 64, 8]>, reduced 1
// GPU-LABEL: @scan
// GPU: schedule = #frit.schedule<scan, <[4, 64, 8]>, reduced 1
frit.graph @scan(%x: tensor<4x8x64xf32>) -> tensor<4x8x64xf32> {
  %r = frit.region(%x) : (tensor<4x8x64xf32>) -> tensor<4x8x64xf32> {
  ^bb0(%a: tensor<4x8x64xf32>):
    %s = frit.scan <sum> %a dim 1 : tensor<4x8x64xf32>
    frit.yield %s : tensor<4x8x64xf32>
  }
  frit.return %r : tensor<4x8x64xf32>
}
