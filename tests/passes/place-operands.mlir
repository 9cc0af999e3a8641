// RUN: frit-opt %s --frit-place-operands --split-input-file | FileCheck %s
// RUN: frit-opt %s --frit-place-operands --frit-fuse-regions --frit-assign-layouts --split-input-file | FileCheck %s --check-prefix=PLACED

// A mask whose rows are padded to 8 and that repeats for each head: one kernel writes the padded rows of one head.
// CHECK-LABEL: frit.graph @mask
// CHECK:         %[[M:.*]] = arith.negf %arg0
// CHECK-NEXT:    %[[L:.*]] = frit.reindex %[[M]] <(d0, d1) -> (0, d0, d1) where [d1 in 0 to 5]> fill 0.000000e+00 : f32 : tensor<4x5x5xf32> -> tensor<5x8xf32>
// CHECK-NEXT:    %[[V:.*]] = frit.reindex %[[L]] <(d0, d1, d2) -> (d1, d2)> : tensor<5x8xf32> -> tensor<4x5x5xf32>
// CHECK-NEXT:    frit.aten "aten.attend.default"(%[[V]])
// CHECK-NEXT:    frit.aten "aten.attend.default"(%[[V]])
// PLACED-LABEL: frit.graph @mask
// PLACED:         frit.yield %{{.*}} : tensor<5x8xf32>
// PLACED:         frit.aten "aten.attend.default"(%{{.*}}) [#frit.operand<0>] {{.*}}operand_layouts = [#frit.layout<[0, 8, 1]>]
// PLACED-NOT:     frit.region
// PLACED:         frit.return
frit.graph @mask(%x: tensor<4x5x5xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {symbols = []} {
  %0 = arith.negf %x : tensor<4x5x5xf32>
  %1 = frit.aten "aten.attend.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[0, 8, 1]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<4x5x5xf32>) -> tensor<4xf32>
  %2 = frit.aten "aten.attend.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[0, 8, 1]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<4x5x5xf32>) -> tensor<4xf32>
  frit.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Sizes that vary, and dims in another order than that of their strides.
// CHECK-LABEL: frit.graph @varying
// CHECK:         frit.reindex %{{.*}} <(d0, d1) -> (d1, d0) where [d1 in 0 to s0]> fill 0 : i32 : {{.*}} -> tensor<6x?xi32, #frit.dims<[6, 8 * floordiv(s0 + 7, 8)]>>
// CHECK-NEXT:    frit.reindex %{{.*}} <(d0, d1) -> (d1, d0)>
frit.graph @varying(%x: tensor<?x6xi32, #frit.dims<[s0, 6]>>) -> tensor<4xf32> attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = arith.addi %x, %x : tensor<?x6xi32, #frit.dims<[s0, 6]>>
  %1 = frit.aten "aten.attend.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[1, 8 * floordiv(s0 + 7, 8)]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<?x6xi32, #frit.dims<[s0, 6]>>) -> tensor<4xf32>
  frit.return %1 : tensor<4xf32>
}

// -----

// The rows of a mask for one query: only strides of dims of one element differ, and kernels check these as well.
// CHECK-LABEL: frit.graph @one_query
// CHECK:         frit.reindex %{{.*}} <(d0, d1) -> (d0, d1) where [d1 in 0 to 5]> fill 0.000000e+00 : f32 : tensor<1x5xf32> -> tensor<1x8xf32>
// CHECK-NEXT:    frit.reindex %{{.*}} <(d0, d1) -> (d0, d1)> : tensor<1x8xf32> -> tensor<1x5xf32>
frit.graph @one_query(%x: tensor<1x5xf32>) -> tensor<4xf32> attributes {symbols = []} {
  %0 = arith.negf %x : tensor<1x5xf32>
  %1 = frit.aten "aten.attend.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[8, 1]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<1x5xf32>) -> tensor<4xf32>
  frit.return %1 : tensor<4xf32>
}

// -----

// What lies so already, what has neither gaps nor repetitions, a slice of something large, rows that overlap, and what is written without gaps stay.
// CHECK-LABEL: frit.graph @others
// CHECK-NOT:     fill
frit.graph @others(%x: tensor<5x8xf32>, %y: tensor<5x5xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5x5xf32>) attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, d1)> : tensor<5x8xf32> -> tensor<5x5xf32>
  %1 = frit.aten "aten.attend.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[8, 1]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<5x5xf32>) -> tensor<4xf32>
  %2 = arith.negf %y : tensor<5x5xf32>
  %3 = frit.aten "aten.attend.default"(%2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[1, 5]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<5x5xf32>) -> tensor<4xf32>
  %4 = frit.aten "aten.attend.default"(%2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[1000, 1]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<5x5xf32>) -> tensor<4xf32>
  %5 = frit.aten "aten.attend.default"(%2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
       operand_layouts = [#frit.layout<[2, 1]>], result_layouts = [#frit.layout<[1]>], reason = "attention"} : (tensor<5x5xf32>) -> tensor<4xf32>
  %6 = frit.aten "aten.attend_.default"(%2) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], mutated_operands = array<i64: 0>,
       operand_layouts = [#frit.layout<[1, 5]>], result_layouts = [#frit.layout<[5, 1]>], reason = "attention"} : (tensor<5x5xf32>) -> tensor<5x5xf32>
  frit.return %1, %3, %4, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5x5xf32>
}

// -----

// What is written has a tensor of its own, even if it has the right gaps already.
// CHECK-LABEL: frit.graph @written
// CHECK-NEXT:    %[[P:.*]] = frit.reindex %arg0
// CHECK-NEXT:    %[[L:.*]] = frit.reindex %[[P]] <(d0, d1) -> (d0, d1) where [d1 in 0 to 5]> fill 0.000000e+00 : f32 : tensor<5x5xf32> -> tensor<5x8xf32>
// CHECK-NEXT:    %[[V:.*]] = frit.reindex %[[L]] <(d0, d1) -> (d0, d1)> : tensor<5x8xf32> -> tensor<5x5xf32>
// CHECK-NEXT:    frit.aten "aten.attend_.default"(%[[V]])
frit.graph @written(%x: tensor<5x8xf32>) -> tensor<5x5xf32> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1) -> (d0, d1)> : tensor<5x8xf32> -> tensor<5x5xf32>
  %1 = frit.aten "aten.attend_.default"(%0) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>], mutated_operands = array<i64: 0>,
       operand_layouts = [#frit.layout<[8, 1]>], result_layouts = [#frit.layout<[5, 1]>], reason = "attention"} : (tensor<5x5xf32>) -> tensor<5x5xf32>
  frit.return %1 : tensor<5x5xf32>
}
