// Which candidate of which region, by number.
// RUN: frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu choices=list}))' %s | FileCheck %s --check-prefix=LIST
// RUN: frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu choices=1=1}))' %s | FileCheck %s --check-prefix=SECOND
// RUN: not frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu choices=0=9}))' %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu choices=7=1}))' %s 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu choices=one}))' %s 2>&1 | FileCheck %s --check-prefix=TEXT

// LIST: frit.schedule_candidates = array<i64: 2, 2>
// LIST: #frit.schedule<pointwise
// LIST: #frit.schedule<column_reduction
// SECOND: #frit.schedule<pointwise
// SECOND: #frit.schedule<row_reduction
// NONE: error: schedule 9 was chosen for region 0, which has 2
// FAR: error: a schedule was chosen for region 7, there are 2
// TEXT: error: schedule choice 'one': expected number=candidate
frit.graph @columns(%x: tensor<256x2000xf32>) -> (tensor<256x2000xf32>, tensor<2000xf32>) {
  %p = frit.region(%x) : (tensor<256x2000xf32>) -> tensor<256x2000xf32> {
  ^bb0(%u: tensor<256x2000xf32>):
    %a = arith.addf %u, %u : tensor<256x2000xf32>
    frit.yield %a : tensor<256x2000xf32>
  }
  %r = frit.region(%x) : (tensor<256x2000xf32>) -> tensor<2000xf32> {
  ^bb0(%u: tensor<256x2000xf32>):
    %s = frit.reduce <sum> %u dims [0] : tensor<256x2000xf32> -> tensor<2000xf32>
    frit.yield %s : tensor<2000xf32>
  }
  frit.return %p, %r : tensor<256x2000xf32>, tensor<2000xf32>
}
