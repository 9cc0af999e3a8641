// What a thread has of a column is gone over twice, and read once; parts become one by the distance of their means.
// RUN: frit-opt %S/Inputs/variance-kernels.mlir --frit-schedule-gpu-kernels --frit-generate-gpu-kernels -o %t.mlir && FileCheck %s < %t.mlir
// RUN: frit-opt %t.mlir --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX %no_local < %t.ptx
// RUN: not frit-opt %S/Inputs/variance-kernels.mlir --frit-schedule-cpu-kernels --frit-generate-cpu-kernels 2>&1 | FileCheck %s --check-prefix=CPU

// Four rows, each less the first; their mean, then squares around it. A count for all lanes.
// CHECK-LABEL: gpu.func @variance_columns_0
// CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, f32, vector<4xf32>, vector<4xf32>)
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK: arith.cmpf oeq, {{.*}} : f32
// CHECK-COUNT-4: arith.subf {{.*}} : vector<4xf32>
// CHECK: arith.constant 2.500000e-01
// CHECK-COUNT-4: arith.subf {{.*}} : vector<4xf32>
// CHECK: arith.divf {{.*}} : f32
// CHECK: scf.yield {{.*}} : vector<4xf32>, vector<4xf32>, f32, vector<4xf32>, vector<4xf32>
// PTX-LABEL: .entry variance_columns_0(
// PTX-COUNT-4: ld.global.nc.v4.b32
// PTX: fma.rn.f32
// PTX: st.shared

// Lanes behind the end of a row: each has its own count.
// CHECK-LABEL: gpu.func @variance_rows
// CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, f32, vector<4xf32>, vector<4xf32>)
// CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)

// CPU: error: kernel 'variance_columns' uses a single-pass variance, which only the GPU supports
