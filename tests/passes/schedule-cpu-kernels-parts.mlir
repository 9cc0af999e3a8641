// RUN: frit-opt %s --frit-schedule-cpu-kernels | FileCheck %s

// Sums of many rows, or of an unknown number, are shared out; maxima are not.
// CHECK: frit.kernel @many_rows
// CHECK-SAME: vectors = 4, unitRows = 1, packs = false, once = false, grain = {{[0-9]+}}, tiles = 8, partSteps = 128, mostParts = 64>
frit.kernel @many_rows(%x: tensor<1000x1024xf32>) -> tensor<1024xf32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1000x1024xf32> -> tensor<1024xf32>
  frit.yield %0 : tensor<1024xf32>
}

// CHECK: frit.kernel @any_rows
// CHECK-SAME: vectors = 4, unitRows = 1, packs = false, once = false, grain = {{[0-9]+}}, partSteps = 128, mostParts = 64>
frit.kernel @any_rows(%x: tensor<?x32xf32, #frit.dims<[p0, 32]>>) -> tensor<32xf32> attributes {symbols = [#frit.symbol<"p0">]} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<?x32xf32, #frit.dims<[p0, 32]>> -> tensor<32xf32>
  frit.yield %0 : tensor<32xf32>
}

// CHECK: frit.kernel @maxima
// CHECK-NOT: partSteps
// CHECK: frit.reduce
frit.kernel @maxima(%x: tensor<1000x1024xf32>) -> tensor<1024xf32> attributes {symbols = []} {
  %0 = frit.reduce <max> %x dims [0] : tensor<1000x1024xf32> -> tensor<1024xf32>
  frit.yield %0 : tensor<1024xf32>
}
