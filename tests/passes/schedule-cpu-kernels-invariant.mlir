// RUN: frit-opt %s --frit-schedule-cpu-kernels | FileCheck %s

// Where bits must not depend on the number of rows, a row that is alone is not divided among threads.
// CHECK: frit.kernel @row
// CHECK-NOT: splitElements = 16384
// CHECK: frit.kernel @divided
// CHECK-SAME: splitElements = 16384
frit.kernel @row(%x: tensor<100000xf32>) -> tensor<f32> attributes {frit.batch_invariant, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<100000xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}
frit.kernel @divided(%x: tensor<100000xf32>) -> tensor<f32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<100000xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// Pairs of rows are not tiled: whether they are depends on how many there are.
// CHECK: frit.kernel @pairs
// CHECK-SAME: #frit.cpu_rows<
// CHECK: frit.kernel @tiled
// CHECK-SAME: #frit.cpu_columns<
frit.kernel @pairs(%x: tensor<64x128xf32>, %y: tensor<1000x128xf32>) -> tensor<64x1000xf32> attributes {frit.batch_invariant, symbols = []} {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<64x128xf32> -> tensor<64x1000x128xf32>
  %b = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<1000x128xf32> -> tensor<64x1000x128xf32>
  %m = arith.mulf %a, %b : tensor<64x1000x128xf32>
  %0 = frit.reduce <sum> %m dims [2] : tensor<64x1000x128xf32> -> tensor<64x1000xf32>
  frit.yield %0 : tensor<64x1000xf32>
}
frit.kernel @tiled(%x: tensor<64x128xf32>, %y: tensor<1000x128xf32>) -> tensor<64x1000xf32> attributes {symbols = []} {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d2)> : tensor<64x128xf32> -> tensor<64x1000x128xf32>
  %b = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<1000x128xf32> -> tensor<64x1000x128xf32>
  %m = arith.mulf %a, %b : tensor<64x1000x128xf32>
  %0 = frit.reduce <sum> %m dims [2] : tensor<64x1000x128xf32> -> tensor<64x1000xf32>
  frit.yield %0 : tensor<64x1000xf32>
}

// The lanes follow from the shape that is reduced, not from which operand has more bytes.
// CHECK: frit.kernel @few_rows
// CHECK-SAME: #frit.cpu_columns<
// CHECK: frit.kernel @many_rows
// CHECK-SAME: #frit.cpu_columns<
// CHECK: frit.kernel @many_rows_by_bytes
// CHECK-SAME: #frit.cpu_rows<
frit.kernel @few_rows(%x: tensor<2x100xf64>, %y: tensor<100x8xf64>) -> tensor<2x8xf64> attributes {frit.batch_invariant, symbols = []} {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<2x100xf64> -> tensor<2x100x8xf64>
  %b = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<100x8xf64> -> tensor<2x100x8xf64>
  %m = arith.mulf %a, %b : tensor<2x100x8xf64>
  %0 = frit.reduce <sum> %m dims [1] : tensor<2x100x8xf64> -> tensor<2x8xf64>
  frit.yield %0 : tensor<2x8xf64>
}
frit.kernel @many_rows(%x: tensor<64x100xf64>, %y: tensor<100x8xf64>) -> tensor<64x8xf64> attributes {frit.batch_invariant, symbols = []} {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<64x100xf64> -> tensor<64x100x8xf64>
  %b = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<100x8xf64> -> tensor<64x100x8xf64>
  %m = arith.mulf %a, %b : tensor<64x100x8xf64>
  %0 = frit.reduce <sum> %m dims [1] : tensor<64x100x8xf64> -> tensor<64x8xf64>
  frit.yield %0 : tensor<64x8xf64>
}
frit.kernel @many_rows_by_bytes(%x: tensor<64x100xf64>, %y: tensor<100x8xf64>) -> tensor<64x8xf64> attributes {symbols = []} {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<64x100xf64> -> tensor<64x100x8xf64>
  %b = frit.reindex %y <(d0, d1, d2) -> (d1, d2)> : tensor<100x8xf64> -> tensor<64x100x8xf64>
  %m = arith.mulf %a, %b : tensor<64x100x8xf64>
  %0 = frit.reduce <sum> %m dims [1] : tensor<64x100x8xf64> -> tensor<64x8xf64>
  frit.yield %0 : tensor<64x8xf64>
}

// Nor does what else the kernel computes change the number of accumulators.
// CHECK: frit.kernel @beside_others
// CHECK-SAME: #frit.cpu_rows<{{.*}}unroll = [4]
// CHECK: frit.kernel @several
// CHECK-SAME: #frit.cpu_rows<{{.*}}unroll = [2]
frit.kernel @beside_others(%x: tensor<64x1000xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {frit.batch_invariant, symbols = []} {
  %s = arith.mulf %x, %x : tensor<64x1000xf32>
  %0 = frit.reduce <sum> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %1 = frit.reduce <sum> %s dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %2 = frit.reduce <max> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  frit.yield %0, %1, %2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
frit.kernel @several(%x: tensor<64x1000xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {symbols = []} {
  %s = arith.mulf %x, %x : tensor<64x1000xf32>
  %0 = frit.reduce <sum> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %1 = frit.reduce <sum> %s dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  %2 = frit.reduce <max> %x dims [1] : tensor<64x1000xf32> -> tensor<64xf32>
  frit.yield %0, %1, %2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Dims that are reduced are not one, even if they are together in memory: rows may lie between them.
// CHECK: frit.kernel @one_between
// CHECK-SAME: lane = 1
// CHECK: frit.kernel @several_between
// CHECK-SAME: lane = 2
// CHECK: frit.kernel @together
// CHECK-SAME: lane = 0
frit.kernel @one_between(%x: tensor<40x1x7xf32>) -> tensor<1xf32> attributes {frit.batch_invariant, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0, 2] : tensor<40x1x7xf32> -> tensor<1xf32>
  frit.yield %0 : tensor<1xf32>
}
frit.kernel @several_between(%x: tensor<40x5x7xf32>) -> tensor<5xf32> attributes {frit.batch_invariant, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0, 2] : tensor<40x5x7xf32> -> tensor<5xf32>
  frit.yield %0 : tensor<5xf32>
}
frit.kernel @together(%x: tensor<40x1x7xf32>) -> tensor<1xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0, 2] : tensor<40x1x7xf32> -> tensor<1xf32>
  frit.yield %0 : tensor<1xf32>
}
