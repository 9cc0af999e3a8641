// A long row that is read again: a cluster of blocks where every architecture that is compiled for has them.
// RUN: frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu arch=90}))' %s | FileCheck %s
// RUN: frit-opt --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu}))' %s | FileCheck %s --check-prefix=OLD
// CHECK: #frit.schedule<row_reduction, <[4096, 131072]>, reduced 1, <threads = 256, vector = 8, cluster = 8>>
// OLD: #frit.schedule<row_reduction
// OLD-NOT: cluster
frit.graph @centred(%x: tensor<4096x131072xbf16>) -> tensor<4096x131072xbf16> {
  %r = frit.region(%x) : (tensor<4096x131072xbf16>) -> tensor<4096x131072xbf16> {
  ^bb0(%u: tensor<4096x131072xbf16>):
    %m = frit.reduce <max> %u dims [1] : tensor<4096x131072xbf16> -> tensor<4096xbf16>
    %mm = frit.reindex %m <(d0, d1) -> (d0)> : tensor<4096xbf16> -> tensor<4096x131072xbf16>
    %s = arith.subf %u, %mm : tensor<4096x131072xbf16>
    frit.yield %s : tensor<4096x131072xbf16>
  }
  frit.return %r : tensor<4096x131072xbf16>
}
