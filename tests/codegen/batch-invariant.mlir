// A row that is alone is added as it is among others: in f32, and not in f64 as a whole sum is.
// RUN: frit-opt %s --frit-schedule-cpu-kernels --frit-generate-cpu-kernels | FileCheck %s

// CHECK-LABEL: @alone
// CHECK-NOT: f64
// CHECK-LABEL: @whole
// CHECK: arith.extf {{.*}} to vector<{{[0-9]+}}xf64>
frit.kernel @alone(%x: tensor<256xf32>) -> tensor<f32> attributes {frit.batch_invariant, symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<256xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}
frit.kernel @whole(%x: tensor<256xf32>) -> tensor<f32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<256xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}
