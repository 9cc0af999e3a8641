// REQUIRES: asserts
// RUN: frit-opt %s --frit-assign-buckets --frit-fuse-regions --debug-only=frit-fuse-regions,frit-assign-buckets -o /dev/null 2>&1 | FileCheck %s
// RUN: frit-opt %s --frit-assign-buckets --frit-fuse-regions --debug-only=frit-assign-buckets -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: frit-opt %s --frit-assign-buckets --frit-fuse-regions -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty

// A pass says each decision and why, with the place in its source; only those that are named do.
// CHECK: [frit-assign-buckets AssignBuckets.cpp:{{[0-9]+}} 1] s0 (x[0]) has {{[0-9]+}} buckets: policy ramp
// CHECK: [frit-fuse-regions LoopNests.cpp:{{[0-9]+}} 1] {{.*}}math.exp{{.*}} has a loop of its own for 2 readers
// CHECK: [frit-fuse-regions FusionClusters.cpp:{{[0-9]+}} 1] kernel {{[0-9]+}} ({{.*}}frit.reduce{{.*}}) takes {{[0-9]+}} ({{.*}}math.exp
// CHECK: [frit-fuse-regions FusionClusters.cpp:{{[0-9]+}} 1] kernel {{.*}} without {{.*}}: {{.*}}
// ONE: s0 (x[0]) has
// ONE-NOT: frit-fuse-regions
// NONE-NOT: {{.}}
!t = tensor<?x1024xf32, #frit.dims<[s0, 1024]>>
!r = tensor<?xf32, #frit.dims<[s0]>>
frit.graph @softmax(%x: !t {frit.name = "x"}) -> (!t, tensor<1024xf32>) attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 64>]} {
  %m = frit.reduce <max> %x dims [1] : !t -> !r
  %mb = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !t
  %c = arith.subf %x, %mb : !t
  %e = math.exp %c : !t
  %s = frit.reduce <sum> %e dims [1] : !t -> !r
  %sb = frit.reindex %s <(d0, d1) -> (d0)> : !r -> !t
  %y = arith.divf %e, %sb : !t
  %columns = frit.reduce <sum> %x dims [0] : !t -> tensor<1024xf32>
  frit.return %y, %columns : !t, tensor<1024xf32>
}
