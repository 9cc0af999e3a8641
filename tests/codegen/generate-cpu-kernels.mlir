// What the CPU's schedules emit: wide loads where memory is contiguous, masks only where a rest is, no gather
// but for what lies scattered.
// RUN: frit-opt %s --frit-schedule-cpu-kernels --frit-generate-cpu-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,V4
// RUN: frit-opt %s --frit-schedule-cpu-kernels=level=x86-64-v3 --frit-generate-cpu-kernels=level=x86-64-v3 --split-input-file | FileCheck %s --check-prefixes=CHECK,V3
// RUN: not frit-opt %s --frit-generate-cpu-kernels=level=pentium --split-input-file 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: level 'pentium' is neither x86-64-v3 nor x86-64-v4

// A dynamic length: full vectors, stored past the cache where the kernel is large, then masked ones.
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: gather
// V4: llvm.load {{.*}} -> vector<16xf32>
// V3: llvm.load {{.*}} -> vector<8xf32>
// CHECK: scf.if
// CHECK: llvm.store {{.*}}nontemporal
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK: llvm.x86.sse.sfence
// CHECK: return
frit.kernel @dynamic(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.mulf %x, %x : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// -----

// A list: what counts is what its launches move, at least, not one of its tensors alone.
// CHECK-LABEL: func.func @list
// CHECK: arith.constant 33554432 : i64
// CHECK: llvm.store {{.*}}nontemporal
frit.kernel @list(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {list = 64 : i64, sweeps = 4 : i64, symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.mulf %x, %x : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// -----

// A length of whole vectors: no mask, no second loop.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: frit.units = #frit.size<1>
// CHECK-NOT: gather
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}}nontemporal
// CHECK-NOT: masked
// CHECK: return
frit.kernel @whole(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = []} {
  %0 = arith.mulf %x, %x : tensor<4x64xf32>
  frit.yield %0 : tensor<4x64xf32>
}

// -----

// Boxes: one wide load and shuffles for the four coordinates.
// CHECK-LABEL: func.func @boxes
// CHECK-NOT: gather
// V4: llvm.load {{.*}} -> vector<64xf32>
// V3: llvm.load {{.*}} -> vector<32xf32>
// CHECK: llvm.shufflevector
// CHECK: llvm.shufflevector
// CHECK-NOT: gather
// CHECK: return
frit.kernel @boxes(%x: tensor<64x4xf32>) -> tensor<64xf32> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0) -> (d0, 2)> : tensor<64x4xf32> -> tensor<64xf32>
  %1 = frit.reindex %x <(d0) -> (d0, 0)> : tensor<64x4xf32> -> tensor<64xf32>
  %2 = arith.subf %0, %1 : tensor<64xf32>
  frit.yield %2 : tensor<64xf32>
}

// -----

// The same dimension as a result: computed once a member, written by one wide store.
// CHECK-LABEL: func.func @members
// CHECK-NOT: scatter
// CHECK-NOT: masked
// V4: llvm.store {{.*}} vector<64xf32>
// V3: llvm.store {{.*}} vector<32xf32>
// CHECK: return
frit.kernel @members(%x: tensor<64x4xf32>, %y: tensor<4xf32>) -> tensor<64x4xf32> attributes {symbols = []} {
  %0 = frit.reindex %y <(d0, d1) -> (d1)> : tensor<4xf32> -> tensor<64x4xf32>
  %1 = arith.addf %x, %0 : tensor<64x4xf32>
  frit.yield %1 : tensor<64x4xf32>
}

// -----

// Long bodies are emitted once, in a loop that runs over the whole vectors, then over the rest: the mask is made before it.
// CHECK-LABEL: func.func @long
// CHECK: scf.for
// CHECK: %[[TWICE:.*]] = arith.constant 2
// CHECK: scf.for {{.*}} to %[[TWICE]]
// CHECK: arith.cmpi slt{{.*}}vector
// CHECK: scf.for
// CHECK-NOT: arith.cmpi slt
// CHECK-NOT: scf.for
// CHECK: llvm.intr.masked.load
// CHECK-NOT: scf.for
// CHECK: return
frit.kernel @long(%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = math.tanh %x : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %0 : tensor<?xf32, #frit.dims<[p0]>>
}

// -----

// An embedding: rows by index, each row contiguous.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: gather
// CHECK: llvm.load {{.*}} -> i64
// V4: llvm.load {{.*}} -> vector<16xf32>
// V3: llvm.load {{.*}} -> vector<8xf32>
// CHECK-NOT: gather
// CHECK: return
frit.kernel @rows(%t: tensor<50x64xf32>, %i: tensor<8xi64>) -> tensor<8x64xf32> attributes {symbols = []} {
  %b = frit.reindex %i <(d0, d1) -> (d0)> : tensor<8xi64> -> tensor<8x64xi64>
  %e = frit.gather %t[%b] <(d0, d1)[v0] -> (v0, d1)> check <unchecked> : tensor<50x64xf32>, tensor<8x64xi64> -> tensor<8x64xf32>
  frit.yield %e : tensor<8x64xf32>
}

// -----

// A sum of everything: parts to the workspace, combined by a second launch in f64.
// CHECK-LABEL: func.func @sum_parts
// CHECK-SAME: frit.units = #frit.size<16>
// CHECK: arith.extf {{.*}} to vector<{{8|16}}xf64>
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: frit.units = #frit.size<1>
// CHECK: arith.truncf {{.*}} : f64 to f32
frit.kernel @sum(%x: tensor<262144xf32>) -> tensor<f32> attributes {symbols = []} {
  %0 = frit.reduce <sum> %x dims [0] : tensor<262144xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
}

// -----

// Distances of all pairs of unknown numbers of points of unknown length: what lies across the lanes is loaded as it lies and turned.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: gather
// CHECK-COUNT-4: llvm.intr.masked.load
// CHECK-COUNT-8: llvm.shufflevector
// V4-COUNT-16: llvm.store {{.*}} vector<4xi32>
// V3-COUNT-8: llvm.store {{.*}} vector<4xi32>
// CHECK-NOT: gather
// Where the four rows of a tile begin is found before the loop along them.
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: arith.muli
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: arith.muli
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NOT: gather
// CHECK: return
frit.kernel @pairs(%a: tensor<?x?xf32, #frit.dims<[p0, p2]>>, %b: tensor<?x?xf32, #frit.dims<[p1, p2]>>)
    -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>, #frit.symbol<"p2", min = 0>]} {
  %0 = frit.reindex %a <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %1 = frit.reindex %b <(d0, d1, d2) -> (d1, d2)> : tensor<?x?xf32, #frit.dims<[p1, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %2 = arith.subf %0, %1 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
  %3 = frit.reduce <sum> %2 dims [2] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
  frit.yield %3 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
}

// -----

// A row of a batch by index, sizes unknown: the first row of a call is divided for, the next ones are counted to.
// CHECK-LABEL: func.func @places
// CHECK-NOT: scf.for
// CHECK: arith.divui
// CHECK: scf.for
// CHECK-NOT: arith.divui
// CHECK: return
frit.kernel @places(%t: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, %i: tensor<?x?xi64, #frit.dims<[p0, p3]>>)
    -> tensor<?x?x?xf32, #frit.dims<[p0, p3, p2]>>
    attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>, #frit.symbol<"p2", min = 0>, #frit.symbol<"p3", min = 0>]} {
  %b = frit.reindex %i <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xi64, #frit.dims<[p0, p3]>> -> tensor<?x?x?xi64, #frit.dims<[p0, p3, p2]>>
  %e = frit.gather %t[%b] <(d0, d1, d2)[v0] -> (d0, v0, d2)> check <unchecked> : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, tensor<?x?x?xi64, #frit.dims<[p0, p3, p2]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p3, p2]>>
  frit.yield %e : tensor<?x?x?xf32, #frit.dims<[p0, p3, p2]>>
}

// -----

// Pairs of rows that count what they share: whether the sizes are known or not, a step of a whole tile, four rows by two vectors,
// is six loads and eight differences, and no mask.
// CHECK-LABEL: func.func @similarity_unknown
// CHECK-NOT: masked
// CHECK-COUNT-4: llvm.load {{.*}} -> f32
// V4-COUNT-2: llvm.load {{.*}} -> vector<16xf32>
// V3-COUNT-2: llvm.load {{.*}} -> vector<8xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-8: arith.subf
// CHECK-NOT: arith.subf
// CHECK: llvm.intr.masked.load
// CHECK: return
frit.kernel @similarity_unknown(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %y: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xi64, #frit.dims<[p1, p1]>> attributes {symbols = [#frit.symbol<"p0", min = 2>, #frit.symbol<"p1", min = 2>]} {
  %0 = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %1 = frit.reindex %y <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %2 = arith.subf %0, %1 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %3 = math.absf %2 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %c = arith.constant dense<1.0> : tensor<f32>
  %4 = frit.reindex %c <(d0, d1, d2) -> ()> : tensor<f32> -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %5 = arith.cmpf olt, %3, %4 : tensor<?x?x?xf32, #frit.dims<[p0, p1, p1]>>
  %6 = arith.extui %5 : tensor<?x?x?xi1, #frit.dims<[p0, p1, p1]>> to tensor<?x?x?xi64, #frit.dims<[p0, p1, p1]>>
  %7 = frit.reduce <sum> %6 dims [0] : tensor<?x?x?xi64, #frit.dims<[p0, p1, p1]>> -> tensor<?x?xi64, #frit.dims<[p1, p1]>>
  frit.yield %7 : tensor<?x?xi64, #frit.dims<[p1, p1]>>
}

// -----

// CHECK-LABEL: func.func @similarity_known
// CHECK-NOT: masked
// CHECK-COUNT-4: llvm.load {{.*}} -> f32
// V4-COUNT-2: llvm.load {{.*}} -> vector<16xf32>
// V3-COUNT-2: llvm.load {{.*}} -> vector<8xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-8: arith.subf
// CHECK-NOT: arith.subf
// CHECK: llvm.intr.masked.load
// CHECK: return
frit.kernel @similarity_known(%x: tensor<64x1000xf32>, %y: tensor<64x1000xf32>) -> tensor<1000x1000xi64> attributes {symbols = []} {
  %0 = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<64x1000xf32> -> tensor<64x1000x1000xf32>
  %1 = frit.reindex %y <(d0, d1, d2) -> (d0, d2)> : tensor<64x1000xf32> -> tensor<64x1000x1000xf32>
  %2 = arith.subf %0, %1 : tensor<64x1000x1000xf32>
  %3 = math.absf %2 : tensor<64x1000x1000xf32>
  %c = arith.constant dense<1.0> : tensor<f32>
  %4 = frit.reindex %c <(d0, d1, d2) -> ()> : tensor<f32> -> tensor<64x1000x1000xf32>
  %5 = arith.cmpf olt, %3, %4 : tensor<64x1000x1000xf32>
  %6 = arith.extui %5 : tensor<64x1000x1000xi1> to tensor<64x1000x1000xi64>
  %7 = frit.reduce <sum> %6 dims [0] : tensor<64x1000x1000xi64> -> tensor<1000x1000xi64>
  frit.yield %7 : tensor<1000x1000xi64>
}

// -----

// A sum of products that may be contracted: one rounding for each term, in whole vectors and in masked ones, so that bits
// do not depend on where a term lies.
// CHECK-LABEL: func.func @products
// CHECK-NOT: arith.mulf
// CHECK: math.fma
// CHECK: math.fma
// CHECK: arith.select
// CHECK-NOT: arith.mulf
// CHECK: return
frit.kernel @products(%x: tensor<8x?xf32, #frit.dims<[8, p0]>>, %y: tensor<8x?xf32, #frit.dims<[8, p0]>>) -> tensor<8xf32>
    attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
  %0 = arith.mulf %x, %y fastmath<contract> : tensor<8x?xf32, #frit.dims<[8, p0]>>
  %1 = frit.reduce <sum> %0 dims [1] : tensor<8x?xf32, #frit.dims<[8, p0]>> -> tensor<8xf32>
  frit.yield %1 : tensor<8xf32>
}

// -----

// Every rounding is kept where the product may not be contracted.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: math.fma
// CHECK: arith.mulf
// CHECK: return
frit.kernel @rounded(%x: tensor<64x8xf32>, %y: tensor<64x8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = arith.mulf %x, %y : tensor<64x8xf32>
  %1 = frit.reduce <sum> %0 dims [0] : tensor<64x8xf32> -> tensor<8xf32>
  frit.yield %1 : tensor<8xf32>
}
