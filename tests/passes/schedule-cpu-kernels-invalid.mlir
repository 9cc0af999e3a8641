// RUN: not frit-opt %s --frit-schedule-cpu-kernels=level=pentium 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not frit-opt %s --frit-schedule-cpu-kernels=choices=0=5 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not frit-opt %s --frit-schedule-cpu-kernels=choices=4=1 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not frit-opt %s --frit-schedule-cpu-kernels=choices=one 2>&1 | FileCheck %s --check-prefix=TEXT
// LEVEL: level 'pentium' is neither x86-64-v3 nor x86-64-v4
// NONE: error: schedule 5 was chosen for kernel 'small', which has 1
// FAR: error: a schedule was chosen for kernel 4, there are 1
// TEXT: error: schedule choice 'one': expected number=candidate
frit.kernel @small(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = arith.mulf %x, %x : tensor<8xf32>
  frit.yield %0 : tensor<8xf32>
}
