// RUN: frit-opt %s --frit-host-scalars-by-value | FileCheck %s
// RUN: frit-opt %s --frit-host-scalars-by-value | frit-opt | FileCheck %s

// A float of a CPU tensor becomes an f64 of the host, is wrapped, and gets its own rounding back.
// CHECK-LABEL: frit.graph @by_value
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>{{.*}}%[[S:[a-z0-9]+]]: tensor<f32>
// CHECK: %[[E:.*]] = tensor.extract %[[S]][] : tensor<f32>
// CHECK: %[[W:.*]] = arith.extf %[[E]] : f32 to f64
// CHECK: %[[T:.*]] = tensor.from_elements %[[W]] : tensor<f64>
// CHECK: %[[N:.*]] = arith.truncf %[[T]] : tensor<f64> to tensor<f32>
// CHECK: frit.reindex %[[N]]
frit.graph @by_value(%x: tensor<4xf32> {frit.device = "cuda:0"}, %s: tensor<f32> {frit.device = "cpu"}) -> tensor<4xf32>
    attributes {device = "cuda:0"} {
  %b = frit.reindex %s <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
  %y = arith.mulf %x, %b : tensor<4xf32>
  frit.return %y : tensor<4xf32>
}

// Half types pass through f32, integers through i64, booleans are what they are.
// CHECK-LABEL: frit.graph @types
// CHECK-DAG: arith.truncf {{.*}} : tensor<f64> to tensor<f32>
// CHECK-DAG: arith.truncf {{.*}} : tensor<f32> to tensor<bf16>
// CHECK-DAG: arith.extsi {{.*}} : i16 to i64
// CHECK-DAG: arith.trunci {{.*}} : tensor<i64> to tensor<i16>
// CHECK-DAG: %[[B:.*]] = tensor.extract {{.*}} : tensor<i1>
// CHECK-DAG: tensor.from_elements %[[B]] : tensor<i1>
frit.graph @types(%x: tensor<4xf32> {frit.device = "cuda:0"}, %h: tensor<bf16> {frit.device = "cpu"},
                  %i: tensor<i16> {frit.device = "cpu"}, %c: tensor<i1> {frit.device = "cpu"})
    -> (tensor<4xbf16>, tensor<4xi16>, tensor<4xi1>) attributes {device = "cuda:0"} {
  %0 = frit.reindex %h <(d0) -> ()> : tensor<bf16> -> tensor<4xbf16>
  %1 = frit.reindex %i <(d0) -> ()> : tensor<i16> -> tensor<4xi16>
  %2 = frit.reindex %c <(d0) -> ()> : tensor<i1> -> tensor<4xi1>
  frit.return %0, %1, %2 : tensor<4xbf16>, tensor<4xi16>, tensor<4xi1>
}

// Tensors of rank 0 on the GPU, graphs on the CPU, and results stay.
// CHECK-LABEL: frit.graph @on_the_gpu
// CHECK-NOT: tensor.extract
frit.graph @on_the_gpu(%x: tensor<4xf32> {frit.device = "cuda:0"}, %s: tensor<f32> {frit.device = "cuda:0"},
                       %r: tensor<f32> {frit.device = "cpu"}) -> (tensor<4xf32>, tensor<f32>)
    attributes {device = "cuda:0"} {
  %b = frit.reindex %s <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
  frit.return %b, %r : tensor<4xf32>, tensor<f32>
}
// CHECK-LABEL: frit.graph @on_the_cpu
// CHECK-NOT: tensor.extract
frit.graph @on_the_cpu(%x: tensor<4xf32> {frit.device = "cpu"}, %s: tensor<f32> {frit.device = "cpu"}) -> tensor<4xf32>
    attributes {device = "cpu"} {
  %b = frit.reindex %s <(d0) -> ()> : tensor<f32> -> tensor<4xf32>
  frit.return %b : tensor<4xf32>
}
