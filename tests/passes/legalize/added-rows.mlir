// RUN: frit-opt %s --frit-legalize-aten=gpu=true --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: frit-opt %s --frit-legalize-aten --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: frit-opt %s --frit-legalize-aten="gpu=true deterministic=true" --split-input-file | FileCheck %s --check-prefixes=CHECK,SAME

// Rows added at positions of data are sorted on GPUs, and summed up by segments, where they are many.

// CHECK-LABEL: frit.graph @many
// GPU:         %[[POSITIONS:.*]] = frit.gather {{.*}}check <non_negative> {{.*}}raises = #frit.index_error<gather>
// GPU:         %[[NARROW:.*]] = arith.trunci %[[POSITIONS]] : tensor<262144xi64> to tensor<262144xi16>
// GPU:         %[[SORTED:.*]]:2 = frit.aten "aten.sort.stable"(%[[NARROW]]) [#frit.operand<0>, true, -1, false]
// GPU:         frit.aten "aten.searchsorted.Tensor"(%[[SORTED]]#0, {{.*}}) {{.*}} -> tensor<1001xi64>
// GPU:         %[[CHUNKS:.*]] = frit.segment_sum %arg2 order %[[SORTED]]#1 {{.*}} -> tensor<512x256xf32>
// GPU:         %[[HEAD:.*]] = frit.segment_sum %arg2 order %[[SORTED]]#1 {{.*}} -> tensor<1000x256xf32>
// GPU:         %[[MIDDLE:.*]] = frit.segment_sum %[[CHUNKS]] from
// GPU:         arith.addf %[[HEAD]], %[[MIDDLE]]
// GPU:         frit.segment_sum %arg2 order %[[SORTED]]#1
// GPU:         arith.addf %arg0
// CPU-NOT:     segment_sum
// CPU:         frit.aten "aten.index_add_.default"{{.*}}a write at positions that data decide
frit.graph @many(%x: tensor<1000x256xf32>, %i: tensor<262144xi64>, %y: tensor<262144x256xf32>) -> tensor<1000x256xf32> {
  %0 = frit.aten "aten.index_add.default"(%x, %i, %y) [#frit.operand<0>, 0, #frit.operand<1>, #frit.operand<2>, 1] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1000x256xf32>, tensor<262144xi64>, tensor<262144x256xf32>) -> tensor<1000x256xf32>
  frit.return %0 : tensor<1000x256xf32>
}

// -----

// Few of them are added by torch, unless every call must give the same bits. There is no chunk to sum up before.
// CHECK-LABEL: frit.graph @few
// GPU-NOT:     segment_sum
// GPU:         frit.aten "aten.index_put_.default"
// SAME:        frit.gather {{.*}}check <wrap>
// SAME:        frit.aten "aten.sort.stable"
// SAME-COUNT-1: frit.segment_sum
// SAME-NOT:    frit.segment_sum
frit.graph @few(%x: tensor<1000x64xf32>, %i: tensor<100xi64>, %y: tensor<100x64xf32>) -> tensor<1000x64xf32> {
  %0 = frit.aten "aten.index_put.default"(%x, %i, %y) [#frit.operand<0>, [#frit.operand<1>], #frit.operand<2>, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<1000x64xf32>, tensor<100xi64>, tensor<100x64xf32>) -> tensor<1000x64xf32>
  frit.return %0 : tensor<1000x64xf32>
}

// -----

// Halves are summed up in f32; the rows of the padding index lie behind the last row.
// CHECK-LABEL: frit.graph @embedding
// GPU-NOT:     segment_sum
// SAME:        arith.select
// SAME:        arith.extf
// SAME:        frit.segment_sum {{.*}} -> tensor<50x64xf32>
// SAME:        arith.truncf {{.*}} : tensor<50x64xf32> to tensor<50x64xbf16>
frit.graph @embedding(%g: tensor<8x16x64xbf16>, %i: tensor<8x16xi64>) -> tensor<50x64xbf16> {
  %0 = frit.aten "aten.embedding_dense_backward.default"(%g, %i) [#frit.operand<0>, #frit.operand<1>, 50, 3, false] {operand_dtypes = [#frit.dtype<bf16>, #frit.dtype<i64>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<8x16x64xbf16>, tensor<8x16xi64>) -> tensor<50x64xbf16>
  frit.return %0 : tensor<50x64xbf16>
}

// -----

// An assignment is no sum, and two indices name no row.
// CHECK-LABEL: frit.graph @others
// CHECK-NOT:   segment_sum
// CHECK:       frit.return
frit.graph @others(%x: tensor<50x64xf32>, %i: tensor<10xi64>, %y: tensor<10x64xf32>, %z: tensor<10xf32>) -> (tensor<50x64xf32>, tensor<50x64xf32>) {
  %0 = frit.aten "aten.index_put.default"(%x, %i, %y) [#frit.operand<0>, [#frit.operand<1>], #frit.operand<2>, false] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<50x64xf32>, tensor<10xi64>, tensor<10x64xf32>) -> tensor<50x64xf32>
  %1 = frit.aten "aten.index_put.default"(%x, %i, %z) [#frit.operand<0>, [#frit.operand<1>, #frit.operand<1>], #frit.operand<2>, true] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<50x64xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<50x64xf32>
  frit.return %0, %1 : tensor<50x64xf32>, tensor<50x64xf32>
}
