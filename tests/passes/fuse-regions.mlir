// RUN: frit-opt --split-input-file --frit-fuse-regions %s | FileCheck %s

// A softmax is one region: the row values are read at their own row.
// CHECK-LABEL: @softmax
// CHECK: frit.region(%{{.*}})
// CHECK-COUNT-2: frit.reduce
// CHECK: frit.yield
// CHECK-NOT: frit.region
!t = tensor<?x1024xf32, #frit.dims<[s0, 1024]>>
!r = tensor<?xf32, #frit.dims<[s0]>>
frit.graph @softmax(%x: !t) -> !t attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 64>]} {
  %m = frit.reduce <max> %x dims [1] : !t -> !r
  %mb = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !t
  %c = arith.subf %x, %mb : !t
  %e = math.exp %c : !t
  %s = frit.reduce <sum> %e dims [1] : !t -> !r
  %sb = frit.reindex %s <(d0, d1) -> (d0)> : !r -> !t
  %y = arith.divf %e, %sb : !t
  frit.return %y : !t
}

// -----

// Five products: one region, one operand.
// CHECK-LABEL: @five_products
// CHECK: frit.region(%arg0) :
// CHECK-COUNT-5: arith.mulf
// CHECK-NOT: frit.region
!t = tensor<2048x2048xf32>
frit.graph @five_products(%x: !t) -> !t {
  %1 = arith.mulf %x, %x : !t
  %2 = arith.mulf %1, %x : !t
  %3 = arith.mulf %2, %x : !t
  %4 = arith.mulf %3, %x : !t
  %5 = arith.mulf %4, %x : !t
  frit.return %5 : !t
}

// -----

// The intermediate of a broadcast that is reduced never exists.
// CHECK-LABEL: @similarity
// CHECK: frit.region(%arg0, %arg1) : (tensor<256x2000xf32>, tensor<256x2000xf32>) -> tensor<2000x2000xi64>
// CHECK-NOT: frit.region
frit.graph @similarity(%x: tensor<256x2000xf32>, %y: tensor<256x2000xf32>) -> tensor<2000x2000xi64> {
  %a = frit.reindex %x <(d0, d1, d2) -> (d0, d1)> : tensor<256x2000xf32> -> tensor<256x2000x2000xf32>
  %b = frit.reindex %y <(d0, d1, d2) -> (d0, d2)> : tensor<256x2000xf32> -> tensor<256x2000x2000xf32>
  %d = arith.subf %a, %b : tensor<256x2000x2000xf32>
  %e = math.absf %d : tensor<256x2000x2000xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %o = frit.reindex %one <(d0, d1, d2) -> ()> : tensor<f32> -> tensor<256x2000x2000xf32>
  %l = arith.cmpf olt, %e, %o : tensor<256x2000x2000xf32>
  %i = arith.extui %l : tensor<256x2000x2000xi1> to tensor<256x2000x2000xi64>
  %s = frit.reduce <sum> %i dims [0] : tensor<256x2000x2000xi64> -> tensor<2000x2000xi64>
  frit.return %s : tensor<2000x2000xi64>
}

// -----

// Residual, layer norm, affine, and both statistics as results: one region,
// though the graph works on [8, 16, 64] and the statistics on [8, 16, 1].
// CHECK-LABEL: @layer_norm
// CHECK: frit.region
// CHECK: frit.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NOT: frit.region
!t = tensor<8x16x4096xf32>
!r = tensor<8x16xf32>
!k = tensor<8x16x1xf32>
frit.graph @layer_norm(%x: !t, %h: !t, %w: tensor<4096xf32>, %b: tensor<4096xf32>) -> (!t, !t, !k, !k) {
  %n = arith.constant dense<4096.0> : tensor<f32>
  %eps = arith.constant dense<1.0e-05> : tensor<f32>
  %nr = frit.reindex %n <(d0, d1) -> ()> : tensor<f32> -> !r
  %er = frit.reindex %eps <(d0, d1) -> ()> : tensor<f32> -> !r
  %s = arith.addf %x, %h : !t
  %sum = frit.reduce <sum> %s dims [2] : !t -> !r
  %mean = arith.divf %sum, %nr : !r
  %mb = frit.reindex %mean <(d0, d1, d2) -> (d0, d1)> : !r -> !t
  %c = arith.subf %s, %mb : !t
  %c2 = arith.mulf %c, %c : !t
  %ss = frit.reduce <sum> %c2 dims [2] : !t -> !r
  %var = arith.divf %ss, %nr : !r
  %ve = arith.addf %var, %er : !r
  %rstd = math.rsqrt %ve : !r
  %rb = frit.reindex %rstd <(d0, d1, d2) -> (d0, d1)> : !r -> !t
  %xn = arith.mulf %c, %rb : !t
  %wb = frit.reindex %w <(d0, d1, d2) -> (d2)> : tensor<4096xf32> -> !t
  %bb = frit.reindex %b <(d0, d1, d2) -> (d2)> : tensor<4096xf32> -> !t
  %xw = arith.mulf %xn, %wb : !t
  %y = arith.addf %xw, %bb : !t
  %mk = frit.reshape %mean : !r -> !k
  %rk = frit.reshape %rstd : !r -> !k
  frit.return %y, %s, %mk, %rk : !t, !t, !k, !k
}

// -----

// Three heads out of one product: siblings with one domain.
// CHECK-LABEL: @split_heads
// CHECK: frit.region(%arg0)
// CHECK-NOT: frit.region
!h = tensor<8x12x64x64xf32>
frit.graph @split_heads(%x: tensor<512x2304xf32>) -> (!h, !h, !h) {
  %v = frit.reshape %x : tensor<512x2304xf32> -> tensor<8x64x2304xf32>
  %q0 = frit.reindex %v <(d0, d1, d2) -> (d0, d1, d2)> : tensor<8x64x2304xf32> -> tensor<8x64x768xf32>
  %k0 = frit.reindex %v <(d0, d1, d2) -> (d0, d1, d2 + 768)> : tensor<8x64x2304xf32> -> tensor<8x64x768xf32>
  %v0 = frit.reindex %v <(d0, d1, d2) -> (d0, d1, d2 + 1536)> : tensor<8x64x2304xf32> -> tensor<8x64x768xf32>
  %q1 = frit.reshape %q0 : tensor<8x64x768xf32> -> tensor<8x64x12x64xf32>
  %k1 = frit.reshape %k0 : tensor<8x64x768xf32> -> tensor<8x64x12x64xf32>
  %v1 = frit.reshape %v0 : tensor<8x64x768xf32> -> tensor<8x64x12x64xf32>
  %q2 = frit.reindex %q1 <(d0, d1, d2, d3) -> (d0, d2, d1, d3)> : tensor<8x64x12x64xf32> -> !h
  %k2 = frit.reindex %k1 <(d0, d1, d2, d3) -> (d0, d2, d1, d3)> : tensor<8x64x12x64xf32> -> !h
  %v2 = frit.reindex %v1 <(d0, d1, d2, d3) -> (d0, d2, d1, d3)> : tensor<8x64x12x64xf32> -> !h
  frit.return %q2, %k2, %v2 : !h, !h, !h
}

// -----

// A reduction over rows and one over columns of the same values are two.
// CHECK-LABEL: @no_fuse_other_dims
// CHECK-COUNT-2: frit.region
// CHECK-NOT: frit.region
!t = tensor<512x2048xf32>
frit.graph @no_fuse_other_dims(%x: !t) -> (tensor<512xf32>, tensor<2048xf32>) {
  %a = frit.reduce <sum> %x dims [1] : !t -> tensor<512xf32>
  %b = frit.reduce <sum> %x dims [0] : !t -> tensor<2048xf32>
  frit.return %a, %b : tensor<512xf32>, tensor<2048xf32>
}

// -----

// A row value read through a transpose is not there yet.
// CHECK-LABEL: @no_fuse_reads_elsewhere
// CHECK-COUNT-2: frit.region
// CHECK-NOT: frit.region
!t = tensor<512x512xf32>
frit.graph @no_fuse_reads_elsewhere(%x: !t) -> !t {
  %a = frit.reduce <sum> %x dims [1] : !t -> tensor<512xf32>
  %b = frit.reindex %a <(d0, d1) -> (d1)> : tensor<512xf32> -> !t
  %y = arith.mulf %x, %b : !t
  frit.return %y : !t
}

// -----

// Joining the add to the first exp would run the region both before and after
// the product.
// CHECK-LABEL: @no_fuse_cycle
// CHECK: frit.region
// CHECK: frit.aten "aten.mm.default"
// CHECK: frit.region
// CHECK-NOT: frit.region
!t = tensor<512x512xf32>
frit.graph @no_fuse_cycle(%x: !t, %w: !t) -> !t {
  %e = math.exp %x : !t
  %m = frit.aten "aten.mm.default"(%e, %w) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!t, !t) -> !t
  %y = arith.addf %e, %m : !t
  frit.return %y : !t
}

// -----

// What is multiplied has a size that the host reads from the largest index: the symbol is needed as
// an operand is.
// CHECK-LABEL: @no_fuse_cycle_by_symbol
// CHECK: frit.region
// CHECK: frit.aten "aten._local_scalar_dense.default"
// CHECK: frit.bind "u0"
// CHECK: frit.region
// CHECK-NOT: frit.region
frit.graph @no_fuse_cycle_by_symbol(%x: tensor<8xf32>) -> (tensor<i64>, tensor<?xf32, #frit.dims<[u0]>>)
    attributes {symbols = [#frit.symbol<"u0", min = 0, max = 8, unbacked>]} {
  %i = frit.reduce <argmax> %x dims [0] : tensor<8xf32> -> tensor<i64>
  %n = frit.aten "aten._local_scalar_dense.default"(%i) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]} : (tensor<i64>) -> i64
  frit.bind "u0" = %n : i64
  %c = frit.reindex %x <(d0) -> (d0)> : tensor<8xf32> -> tensor<?xf32, #frit.dims<[u0]>>
  %y = arith.mulf %c, %c : tensor<?xf32, #frit.dims<[u0]>>
  frit.return %i, %y : tensor<i64>, tensor<?xf32, #frit.dims<[u0]>>
}

// -----

// A transpose that only a matrix product reads stays strides.
// CHECK-LABEL: @view_for_product
// CHECK-NOT: frit.region
// CHECK: frit.reindex
// CHECK: frit.aten
!t = tensor<64x32xf32>
frit.graph @view_for_product(%x: !t, %w: !t) -> tensor<64x64xf32> {
  %wt = frit.reindex %w <(d0, d1) -> (d1, d0)> : !t -> tensor<32x64xf32>
  %m = frit.aten "aten.mm.default"(%x, %wt) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!t, tensor<32x64xf32>) -> tensor<64x64xf32>
  frit.return %m : tensor<64x64xf32>
}

// -----

// A transcendental behind a large broadcast is computed once, not a thousand times.
// CHECK-LABEL: @no_repeat_expensive
// CHECK-COUNT-2: frit.region
// CHECK-NOT: frit.region
frit.graph @no_repeat_expensive(%x: tensor<4096x4096xf32>, %w: tensor<4096xf32>) -> tensor<4096x4096xf32> {
  %e = math.exp %w : tensor<4096xf32>
  %b = frit.reindex %e <(d0, d1) -> (d1)> : tensor<4096xf32> -> tensor<4096x4096xf32>
  %y = arith.mulf %x, %b : tensor<4096x4096xf32>
  frit.return %y : tensor<4096x4096xf32>
}

// -----

// Nothing to fuse: nothing changes.
// CHECK-LABEL: @nothing
// CHECK-NEXT: frit.return %arg0
frit.graph @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  frit.return %x : tensor<4xf32>
}

// -----

// Two reductions of one domain and a quotient that reads both: the second
// kernel takes in the first, whose value it reads at its own row.
// CHECK-LABEL: @quotient_of_sums
// CHECK: frit.region
// CHECK-COUNT-2: frit.reduce
// CHECK-NOT: frit.region
!t = tensor<513x331xf32>
frit.graph @quotient_of_sums(%x: !t, %m: tensor<513x331xi1>) -> tensor<513xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %z = frit.reindex %zero <(d0, d1) -> ()> : tensor<f32> -> !t
  %s = arith.select %m, %x, %z : tensor<513x331xi1>, !t
  %a = frit.reduce <sum> %s dims [1] : !t -> tensor<513xf32>
  %i = arith.extui %m : tensor<513x331xi1> to tensor<513x331xi64>
  %b = frit.reduce <sum> %i dims [1] : tensor<513x331xi64> -> tensor<513xi64>
  %f = arith.sitofp %b : tensor<513xi64> to tensor<513xf32>
  %q = arith.divf %a, %f : tensor<513xf32>
  frit.return %q : tensor<513xf32>
}

// -----

// Where the operations of a region stood in the graph does not show in its
// body: views and constants come with their first reader.
// CHECK-LABEL: @body_order
// CHECK: ^bb0
// CHECK-NEXT: arith.constant
// CHECK-NEXT: frit.reindex
// CHECK-NEXT: arith.addf
// CHECK-NEXT: frit.yield
!t = tensor<512x64xf32>
frit.graph @body_order(%x: !t) -> !t {
  %c = arith.constant dense<1.0> : tensor<f32>
  %b = frit.reindex %c <(d0, d1) -> ()> : tensor<f32> -> !t
  %y = arith.addf %b, %x : !t
  frit.return %y : !t
}

// -----

// A result that is a view of an operator's fresh storage is returned as it is.
// CHECK-LABEL: @no_copy_of_fresh_view
// CHECK-NOT: frit.region
!t = tensor<12x16xf32>
frit.graph @no_copy_of_fresh_view(%x: !t, %w: tensor<16x16xf32>) -> (tensor<3x4x16xf32> {frit.storage = #frit.storage<fresh, 0>}) {
  %m = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!t, tensor<16x16xf32>) -> !t
  %v = frit.reshape %m : !t -> tensor<3x4x16xf32>
  frit.return %v : tensor<3x4x16xf32>
}

// -----

// Equal pieces of a concatenation are computed once and written side by side:
// what they share is no result of another kernel.
// CHECK-LABEL: @stacked_pieces
// CHECK: frit.region(%arg0, %arg1) : (tensor<64x4xf32>, tensor<64xf32>) -> tensor<64x2xf32>
// CHECK-COUNT-1: math.exp
// CHECK: frit.concat
// CHECK-NOT: frit.region
!v = tensor<64xf32>
!k = tensor<64x1xf32>
frit.graph @stacked_pieces(%x: tensor<64x4xf32>, %y: !v) -> tensor<64x2xf32> {
  %c = frit.reindex %x <(d0) -> (d0, 3)> : tensor<64x4xf32> -> !v
  %e = math.exp %c : !v
  %a = arith.mulf %e, %y : !v
  %b = arith.addf %e, %y : !v
  %ak = frit.reindex %a <(d0, d1) -> (d0)> : !v -> !k
  %bk = frit.reindex %b <(d0, d1) -> (d0)> : !v -> !k
  %s = frit.concat %ak, %bk dim 1 : !k, !k -> tensor<64x2xf32>
  frit.return %s : tensor<64x2xf32>
}

// -----

// Pieces of different sizes are chosen element by element, over the whole.
// CHECK-LABEL: @no_stack_of_unequal_pieces
// CHECK-COUNT-2: frit.region
// CHECK-NOT: frit.region
frit.graph @no_stack_of_unequal_pieces(%x: tensor<512x512xf32>, %y: tensor<512x8xf32>) -> tensor<512x520xf32> {
  %e = math.exp %x : tensor<512x512xf32>
  %m = frit.reduce <sum> %e dims [1] : tensor<512x512xf32> -> tensor<512xf32>
  %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<512xf32> -> tensor<512x8xf32>
  %z = arith.mulf %y, %b : tensor<512x8xf32>
  %s = frit.concat %e, %z dim 1 : tensor<512x512xf32>, tensor<512x8xf32> -> tensor<512x520xf32>
  frit.return %s : tensor<512x520xf32>
}

// -----

// The sum replaces the gradient as soon as it is there; the copy that only grows
// memory waits for its reader.
// CHECK-LABEL: @order_by_memory
// CHECK: %[[G:.*]] = frit.aten "aten.mm.default"(%arg0, %arg1)
// CHECK: frit.region(%[[G]]) : (tensor<64x64xf32>) -> tensor<64xf32>
// CHECK: %[[H:.*]] = frit.aten "aten.mm.default"(%arg1, %arg0)
// CHECK: frit.region(%{{.*}}) : {{.*}} -> tensor<8x64x64xf32>
!m = tensor<64x64xf32>
frit.graph @order_by_memory(%x: !m, %w: !m) -> (tensor<64xf32>, tensor<8x64x64xf32>, !m) {
  %wide = frit.reindex %x <(d0, d1, d2) -> (d1, d2)> : !m -> tensor<8x64x64xf32>
  %many = math.exp %wide : tensor<8x64x64xf32>
  %g = frit.aten "aten.mm.default"(%x, %w) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!m, !m) -> !m
  %s = frit.reduce <sum> %g dims [0] : !m -> tensor<64xf32>
  %h = frit.aten "aten.mm.default"(%w, %x) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!m, !m) -> !m
  frit.return %s, %many, %h : tensor<64xf32>, tensor<8x64x64xf32>, !m
}

// -----

// Keys are copied in the order of the queries; their transpose is a view, and the
// three copies are one region.
// CHECK-LABEL: @attention_heads
// CHECK: %[[R:.*]]:3 = frit.region(%arg0)
// CHECK-SAME: -> (tensor<24x16x8xf32>, tensor<24x16x8xf32>, tensor<24x16x8xf32>)
// CHECK-NOT: frit.region
// CHECK: %[[T:.*]] = frit.reindex %[[R]]#1 <(d0, d1, d2) -> (d0, d2, d1)> : tensor<24x16x8xf32> -> tensor<24x8x16xf32>
// CHECK: frit.aten "aten.bmm.default"(%[[R]]#0, %[[T]])
!h = tensor<24x16x8xf32>
!p = tensor<2x12x16x8xf32>
frit.graph @attention_heads(%x: tensor<2x16x288xf32>) -> tensor<24x16x8xf32> {
  %q0 = frit.reindex %x <(d0, d1, d2) -> (d0, d1, d2)> : tensor<2x16x288xf32> -> tensor<2x16x96xf32>
  %k0 = frit.reindex %x <(d0, d1, d2) -> (d0, d1, d2 + 96)> : tensor<2x16x288xf32> -> tensor<2x16x96xf32>
  %v0 = frit.reindex %x <(d0, d1, d2) -> (d0, d1, d2 + 192)> : tensor<2x16x288xf32> -> tensor<2x16x96xf32>
  %q1 = frit.reshape %q0 : tensor<2x16x96xf32> -> tensor<2x16x12x8xf32>
  %k1 = frit.reshape %k0 : tensor<2x16x96xf32> -> tensor<2x16x12x8xf32>
  %v1 = frit.reshape %v0 : tensor<2x16x96xf32> -> tensor<2x16x12x8xf32>
  %q2 = frit.reindex %q1 <(d0, d1, d2, d3) -> (d0, d2, d1, d3)> : tensor<2x16x12x8xf32> -> !p
  %k2 = frit.reindex %k1 <(d0, d1, d2, d3) -> (d0, d3, d1, d2)> : tensor<2x16x12x8xf32> -> tensor<2x12x8x16xf32>
  %v2 = frit.reindex %v1 <(d0, d1, d2, d3) -> (d0, d2, d1, d3)> : tensor<2x16x12x8xf32> -> !p
  %q = frit.reshape %q2 : !p -> !h
  %k = frit.reshape %k2 : tensor<2x12x8x16xf32> -> tensor<24x8x16xf32>
  %v = frit.reshape %v2 : !p -> !h
  %s = frit.aten "aten.bmm.default"(%q, %k) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!h, tensor<24x8x16xf32>) -> tensor<24x16x16xf32>
  %y = frit.aten "aten.bmm.default"(%s, %v) [#frit.operand<0>, #frit.operand<1>] {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (tensor<24x16x16xf32>, !h) -> !h
  frit.return %y : !h
}

// -----

// A gather by counted indices is a view; one that may leave the source is not.
// CHECK-LABEL: @counted_gather
// CHECK: frit.region(%arg0)
// CHECK: frit.reindex %{{.*}} <(d0) -> (2 * d0 + 1)> : tensor<16xf32> -> tensor<8xf32>
// CHECK: frit.gather
frit.graph @counted_gather(%x: tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %i = frit.iota <2 * d0 + 1> : tensor<8xi64>
  %j = frit.iota <2 * d0 + 2> : tensor<8xi64>
  %a = frit.gather %x[%i] <(d0)[v0] -> (v0)> check <wrap> : tensor<16xf32>, tensor<8xi64> -> tensor<8xf32>
  %b = frit.gather %x[%j] <(d0)[v0] -> (v0)> check <wrap> : tensor<16xf32>, tensor<8xi64> -> tensor<8xf32>
  %y = math.exp %a : tensor<8xf32>
  %z = math.exp %b : tensor<8xf32>
  frit.return %y, %z : tensor<8xf32>, tensor<8xf32>
}

// -----

// A cast is made where it is read, however small the tensor: the f32 copy never goes through memory.
// CHECK-LABEL: @small_loss
// CHECK: frit.region(%arg0, %arg1) : (tensor<8x2000xbf16>, tensor<8xi64>) -> tensor<8xf32>
// CHECK-NOT: frit.region
!h = tensor<8x2000xbf16>
!t = tensor<8x2000xf32>
!r = tensor<8xf32>
frit.graph @small_loss(%x: !h, %i: tensor<8xi64>) -> !r {
  %f = arith.extf %x : !h to !t
  %m = frit.reduce <max> %f dims [1] : !t -> !r
  %mb = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !t
  %c = arith.subf %f, %mb : !t
  %e = math.exp %c : !t
  %s = frit.reduce <sum> %e dims [1] : !t -> !r
  %g = frit.gather %f[%i] <(d0)[v0] -> (d0, v0)> check <wrap> : !t, tensor<8xi64> -> !r
  %y = arith.subf %g, %s : !r
  frit.return %y : !r
}

// -----

// All of each row in one kernel and one number of it in another are computed in both: the difference is never written.
// CHECK-LABEL: @one_number_of_each_row
// CHECK-NOT: frit.region{{.*}} -> {{.*}}tensor<8192x2000xf32>
// CHECK: frit.return
!t = tensor<8192x2000xf32>
!r = tensor<8192xf32>
frit.graph @one_number_of_each_row(%x: !t, %i: tensor<8192xi64>) -> !r {
  %m = frit.reduce <max> %x dims [1] : !t -> !r
  %mb = frit.reindex %m <(d0, d1) -> (d0)> : !r -> !t
  %c = arith.subf %x, %mb : !t
  %e = math.exp %c : !t
  %s = frit.reduce <sum> %e dims [1] : !t -> !r
  %g = frit.gather %c[%i] <(d0)[v0] -> (d0, v0)> check <wrap> : !t, tensor<8192xi64> -> !r
  %l = math.log %s : !r
  %y = arith.subf %g, %l : !r
  frit.return %y : !r
}

// -----

// Sums of one kernel read it once, however many they are.
// CHECK-LABEL: @two_sums_and_one_number
// CHECK-NOT: frit.region{{.*}} -> {{.*}}tensor<8192x2000xf32>
// CHECK: frit.return
!t = tensor<8192x2000xf32>
!r = tensor<8192xf32>
frit.graph @two_sums_and_one_number(%x: !t, %i: tensor<8192xi64>) -> (!r, !r) {
  %c = math.tanh %x : !t
  %e = math.exp %c : !t
  %s = frit.reduce <sum> %e dims [1] : !t -> !r
  %m = frit.reduce <max> %c dims [1] : !t -> !r
  %g = frit.gather %c[%i] <(d0)[v0] -> (d0, v0)> check <wrap> : !t, tensor<8192xi64> -> !r
  %l = math.log %s : !r
  %y = arith.subf %g, %l : !r
  frit.return %y, %m : !r, !r
}

// -----

// Parts that no two readers share: each kernel computes its own.
// CHECK-LABEL: @parts_apart
// CHECK-COUNT-2: frit.region(%arg0) : (tensor<512x2048xf32>) -> tensor<{{[0-9]+}}xf32>
// CHECK-NOT: frit.region
!t = tensor<512x2048xf32>
!h = tensor<512x1024xf32>
frit.graph @parts_apart(%x: !t) -> (tensor<512xf32>, tensor<1024xf32>) {
  %e = math.exp %x : !t
  %l = frit.reindex %e <(d0, d1) -> (d0, d1)> : !t -> !h
  %r = frit.reindex %e <(d0, d1) -> (d0, d1 + 1024)> : !t -> !h
  %a = frit.reduce <sum> %l dims [1] : !h -> tensor<512xf32>
  %b = frit.reduce <sum> %r dims [0] : !h -> tensor<1024xf32>
  frit.return %a, %b : tensor<512xf32>, tensor<1024xf32>
}

// -----

// Two kernels that read everything would compute everything twice.
// CHECK-LABEL: @no_repeat_in_two_kernels
// CHECK: frit.region(%arg0){{.*}} -> {{.*}}tensor<512x2048xf32>
// CHECK: frit.region
// CHECK-NOT: math.exp
!t = tensor<512x2048xf32>
frit.graph @no_repeat_in_two_kernels(%x: !t) -> (tensor<512xf32>, tensor<2048xf32>) {
  %e = math.exp %x : !t
  %a = frit.reduce <sum> %e dims [1] : !t -> tensor<512xf32>
  %b = frit.reduce <sum> %e dims [0] : !t -> tensor<2048xf32>
  frit.return %a, %b : tensor<512xf32>, tensor<2048xf32>
}

// -----

// More readers than are counted: what they ask for together is not known.
// CHECK-LABEL: @no_repeat_for_uncounted_readers
// CHECK: frit.region(%arg0){{.*}} -> {{.*}}tensor<512x896xf32>
// CHECK: frit.region
// CHECK-NOT: math.exp
!t = tensor<512x896xf32>
!p = tensor<512x128xf32>
!s = tensor<512xf32>
!c = tensor<128xf32>
frit.graph @no_repeat_for_uncounted_readers(%x: !t) -> (!s, !c, !s, !c, !s, !c, !s) {
  %e = math.exp %x : !t
  %p0 = frit.reindex %e <(d0, d1) -> (d0, d1)> : !t -> !p
  %p1 = frit.reindex %e <(d0, d1) -> (d0, d1 + 128)> : !t -> !p
  %p2 = frit.reindex %e <(d0, d1) -> (d0, d1 + 256)> : !t -> !p
  %p3 = frit.reindex %e <(d0, d1) -> (d0, d1 + 384)> : !t -> !p
  %p4 = frit.reindex %e <(d0, d1) -> (d0, d1 + 512)> : !t -> !p
  %p5 = frit.reindex %e <(d0, d1) -> (d0, d1 + 640)> : !t -> !p
  %p6 = frit.reindex %e <(d0, d1) -> (d0, d1 + 768)> : !t -> !p
  %a = frit.reduce <sum> %p0 dims [1] : !p -> !s
  %b = frit.reduce <sum> %p1 dims [0] : !p -> !c
  %c = frit.reduce <sum> %p2 dims [1] : !p -> !s
  %d = frit.reduce <sum> %p3 dims [0] : !p -> !c
  %f = frit.reduce <sum> %p4 dims [1] : !p -> !s
  %g = frit.reduce <sum> %p5 dims [0] : !p -> !c
  %h = frit.reduce <sum> %p6 dims [1] : !p -> !s
  frit.return %a, %b, %c, %d, %f, %g, %h : !s, !c, !s, !c, !s, !c, !s
}

// -----

// The product is computed with its factors' sums. Were it computed where it is read, two factors would be written for it.
// CHECK-LABEL: @no_two_written_for_one
// CHECK: frit.region(%arg0, %arg1){{.*}} -> {{.*}}tensor<64x128x256xf32>
// CHECK-COUNT-2: math.exp
// CHECK-NOT: math.exp
// CHECK-NOT: frit.region{{.*}} -> {{.*}}tensor<64x128x256xf32>
// CHECK: frit.return
!t = tensor<64x128x256xf32>
!s = tensor<64x128xf32>
!c = tensor<64x256xf32>
frit.graph @no_two_written_for_one(%x: !t, %z: !t) -> (!s, !s, !c, !c) {
  %a = math.exp %x : !t
  %b = math.exp %z : !t
  %s = frit.reduce <sum> %a dims [2] : !t -> !s
  %u = frit.reduce <sum> %b dims [2] : !t -> !s
  %p = arith.mulf %a, %b : !t
  %m = frit.reduce <max> %p dims [1] : !t -> !c
  %l = frit.reindex %p <(d0, d1) -> (d0, 0, d1)> : !t -> !c
  %t = math.tanh %l : !c
  frit.return %s, %u, %m, %t : !s, !s, !c, !c
}

// -----

// A permutation of more than four dims in front of a reshape that its strides express.
// CHECK-LABEL: @many_dims
// CHECK: frit.region
// CHECK: frit.return
frit.graph @many_dims(%x: tensor<1x2x10x10xf32>) -> tensor<2x5x5xf32> {
  %0 = frit.reshape %x : tensor<1x2x10x10xf32> -> tensor<1x2x5x2x5x2xf32>
  %1 = frit.reindex %0 <(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d2, d5, d3)> : tensor<1x2x5x2x5x2xf32> -> tensor<1x2x2x2x5x5xf32>
  %2 = frit.reshape %1 : tensor<1x2x2x2x5x5xf32> -> tensor<1x4x2x5x5xf32>
  %3 = frit.reduce <sum> %2 dims [0, 1] : tensor<1x4x2x5x5xf32> -> tensor<2x5x5xf32>
  frit.return %3 : tensor<2x5x5xf32>
}

// -----

// A scan takes its producers, and what reads its result where it is computed.
// CHECK-LABEL: @scan
// CHECK: frit.region(%{{.*}})
// CHECK: math.exp
// CHECK: frit.scan <sum>
// CHECK: arith.mulf
// CHECK: frit.yield
// CHECK-NOT: frit.region
frit.graph @scan(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %e = math.exp %x : tensor<8x64xf32>
  %s = frit.scan <sum> %e dim 1 : tensor<8x64xf32>
  %m = arith.mulf %s, %x : tensor<8x64xf32>
  frit.return %m : tensor<8x64xf32>
}

// -----

// A reduction, another scan and a reader at other places are kernels of their own.
// CHECK-LABEL: @beside_scan
// CHECK: frit.region
// CHECK: frit.scan <sum>
// CHECK-NOT: frit.reduce
// CHECK: frit.region
// CHECK-NOT: frit.scan
// CHECK: frit.yield
// CHECK: frit.region
// CHECK: frit.scan <prod>
frit.graph @beside_scan(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %s = frit.scan <sum> %x dim 1 : tensor<8x64xf32>
  %r = frit.reduce <sum> %s dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p = frit.scan <prod> %s dim 0 : tensor<8x64xf32>
  %f = frit.reindex %s <(d0, d1) -> (d0, 63 - d1)> : tensor<8x64xf32> -> tensor<8x64xf32>
  %d = arith.subf %s, %f : tensor<8x64xf32>
  frit.return %r, %p, %d : tensor<8xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}
