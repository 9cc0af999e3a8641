// Every operation and attribute, printed and read back.
// RUN: frit-opt %s | frit-opt | FileCheck %s
// RUN: frit-opt %s --mlir-print-op-generic | frit-opt | FileCheck %s

// CHECK-LABEL: frit.graph @attributes
// CHECK-SAME: attributes {symbols = [#frit.symbol<"s0", min = 2, max = 64, hint = 17, divisor = 2>, #frit.symbol<"u0", min = 0, unbacked>]}
// CHECK: buffers = [#frit.buffer<temporary, <4 * s0>>, #frit.buffer<argument 1, <128>>]
// CHECK-SAME: dtypes = [#frit.dtype<u8>, #frit.dtype<bf16>, #frit.dtype<f8e4m3fn>, #frit.dtype<bool>]
// CHECK-SAME: errors = [#frit.index_error<embedding>, #frit.index_error<index_select>]
// CHECK-SAME: layouts = [#frit.layout<[s0, 1]>, #frit.layout<[4, 1], offset s0 * s0 + 3>]
// CHECK-SAME: literals = [#frit.torch<"device", 0, "cuda:0">, #frit.torch<"memory_format", 2, "channels_last">]
// CHECK-SAME: maps = [#frit.map<(d0, d1) -> (d1, d0)>, #frit.map<(d0) -> (d0 - 2) where [d0 - 2 in 0 to s0]>, #frit.map<(d0, d1)[v0] -> (v0, d1)>, #frit.map<() -> ()>]
// CHECK-SAME: schedule = #frit.schedule<row_reduction, <[s0, 1024]>, reduced 1, <threads = 128>>
// CHECK-SAME: sizes = [#frit.size<0>, #frit.size<-1>, #frit.size<2 * s0 * u0 - 7>, #frit.size<8 * floordiv(s0 + 7, 8)>, #frit.size<s0 - 4 * floordiv(s0, 4)>, #frit.size<max(s0, u0) + min(s0, u0)>]
// CHECK-SAME: storage = [#frit.storage<fresh, 3>, #frit.storage<argument, 0>, #frit.storage<view_of_argument, 1>]
// CHECK-SAME: symbols = [#frit.size_symbol<d0>, #frit.size_symbol<s0>]
frit.graph @attributes() attributes {symbols = [
    #frit.symbol<"s0", min = 2, max = 64, hint = 17, divisor = 2>, #frit.symbol<"u0", min = 0, unbacked>]} {
  "frit.return"() {
    buffers = [#frit.buffer<temporary, <s0 * 4>>, #frit.buffer<argument 1, <128>>],
    errors = [#frit.index_error<embedding>, #frit.index_error<index_select>],
    symbols = [#frit.size_symbol<d0>, #frit.size_symbol<s0>],
    sizes = [#frit.size<0>, #frit.size<-1>, #frit.size<u0 * 2 * s0 - 7>, #frit.size<floordiv(s0 + 7, 8) * 8>,
             #frit.size<mod(s0, 4)>, #frit.size<min(u0, s0) + max(u0, s0)>],
    dtypes = [#frit.dtype<u8>, #frit.dtype<bf16>, #frit.dtype<f8e4m3fn>, #frit.dtype<bool>],
    layouts = [#frit.layout<[s0, 1]>, #frit.layout<[4, 1], offset s0 * s0 + 3>],
    literals = [#frit.torch<"device", 0, "cuda:0">, #frit.torch<"memory_format", 2, "channels_last">],
    maps = [#frit.map<(d0, d1) -> (d1, d0)>, #frit.map<(d0) -> (d0 - 2) where [d0 - 2 in 0 to s0]>,
            #frit.map<(d0, d1)[v0] -> (v0, d1)>, #frit.map<() -> ()>],
    storage = [#frit.storage<fresh, 3>, #frit.storage<argument, 0>, #frit.storage<view_of_argument, 1>],
    schedule = #frit.schedule<row_reduction, <[s0, 1024]>, reduced 1, <threads = 128>>} : () -> ()
}

// CHECK-LABEL: frit.graph @calls(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32, #frit.dims<[s0, 4]>> {frit.name = "x"}, %{{.*}}: i64 {frit.size = #frit.size<s0>}, %[[NONE:.*]]: none)
// CHECK-SAME: -> (tensor<?x4xf32, #frit.dims<[s0, 4]>> {frit.storage = #frit.storage<fresh, 0>}, i64)
frit.graph @calls(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>> {frit.name = "x"}, %n: i64 {frit.size = #frit.size<s0>},
                  %none: none)
    -> (tensor<?x4xf32, #frit.dims<[s0, 4]>> {frit.storage = #frit.storage<fresh, 0>}, i64)
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  // CHECK: %[[SIZE:.*]] = frit.size <2 * s0>
  %size = frit.size <s0 * 2>
  // CHECK: frit.none : none
  %absent = frit.none : none
  // CHECK: frit.aten "aten.add.Tensor"(%[[X]], %[[X]]) [#frit.operand<0>, #frit.operand<1>, 1, [unit, #frit.operand<1>]]
  // CHECK-SAME: mutated_operands = array<i64: 1>
  %y = frit.aten "aten.add.Tensor"(%x, %x) [#frit.operand<0>, #frit.operand<1>, 1, [unit, #frit.operand<1>]]
       {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>],
        mutated_operands = array<i64: 1>}
       : (tensor<?x4xf32, #frit.dims<[s0, 4]>>, tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
  // CHECK: %[[FOUND:.*]] = frit.aten "aten.nonzero.default"
  %found = frit.aten "aten.nonzero.default"(%x) [#frit.operand<0>]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<i64>]}
       : (tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x2xi64, #frit.dims<[u0, 2]>>
  // CHECK: frit.bind "u0" = %[[FOUND]] dim 0 : tensor<?x2xi64, #frit.dims<[u0, 2]>>
  frit.bind "u0" = %found dim 0 : tensor<?x2xi64, #frit.dims<[u0, 2]>>
  // CHECK: frit.bind "u1" = %[[SIZE]] : i64
  frit.bind "u1" = %size : i64
  // CHECK: frit.store %{{.*}} into %[[X]] : tensor<?x4xf32, #frit.dims<[s0, 4]>>, tensor<?x4xf32, #frit.dims<[s0, 4]>>
  frit.store %y into %x : tensor<?x4xf32, #frit.dims<[s0, 4]>>, tensor<?x4xf32, #frit.dims<[s0, 4]>>
  // CHECK: frit.call @callee(%{{.*}}) : (tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
  %z = frit.call @callee(%y) : (tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
  frit.return %z, %size : tensor<?x4xf32, #frit.dims<[s0, 4]>>, i64
}

frit.graph @callee(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x4xf32, #frit.dims<[s0, 4]>> {
  frit.return %x : tensor<?x4xf32, #frit.dims<[s0, 4]>>
}

// CHECK-LABEL: frit.graph @moves
frit.graph @moves(%x: tensor<8x?xf32, #frit.dims<[8, s0]>>, %i: tensor<8x3xi64>, %t: tensor<100x3xf32>, %seed: tensor<i64>, %stream: i64) {
  // CHECK: frit.reindex %{{.*}} <(d0, d1) -> (d1, d0)> : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
  %t0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
  // CHECK: frit.reindex %{{.*}} <(d0, d1) -> (d0 - 1, d1) where [d0 - 1 in 0 to 8]> fill 0.000000e+00 : f32
  %pad = frit.reindex %x <(d0, d1) -> (d0 - 1, d1) where [0 <= d0 - 1 < 8]> fill 0.0 : f32
         : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<10x?xf32, #frit.dims<[10, s0]>>
  // CHECK: frit.reshape %{{.*}} : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<?xf32, #frit.dims<[8 * s0]>>
  %flat = frit.reshape %x : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<?xf32, #frit.dims<[8 * s0]>>
  // CHECK: frit.concat %{{.*}}, %{{.*}} dim 0 : tensor<8x3xi64>, tensor<8x3xi64> -> tensor<16x3xi64>
  %cat = frit.concat %i, %i dim 0 : tensor<8x3xi64>, tensor<8x3xi64> -> tensor<16x3xi64>
  // CHECK: frit.iota <2 * d0 + 1> : tensor<?xi64, #frit.dims<[s0]>>
  %iota = frit.iota <2 * d0 + 1> : tensor<?xi64, #frit.dims<[s0]>>
  // CHECK: frit.random %{{.*}}, %{{.*}} : tensor<i64> -> tensor<?x8xi32, #frit.dims<[s0, 8]>>
  %random = frit.random %seed, %stream : tensor<i64> -> tensor<?x8xi32, #frit.dims<[s0, 8]>>
  // CHECK: frit.reduce <sum> %{{.*}} dims [1] : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<8xf32>
  %sum = frit.reduce <sum> %x dims [1] : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<8xf32>
  // CHECK: frit.scan <sum> %{{.*}} dim 1 : tensor<8x?xf32, #frit.dims<[8, s0]>>
  %running = frit.scan <sum> %x dim 1 : tensor<8x?xf32, #frit.dims<[8, s0]>>
  // CHECK: frit.segment_sum %{{.*}} order %{{.*}} from %{{.*}} to %{{.*}} : tensor<8x?xf32, #frit.dims<[8, s0]>>{{ ?}}[tensor<8xi64>], tensor<16x?xi64, #frit.dims<[16, s0]>> -> tensor<16x?xf32, #frit.dims<[16, s0]>>
  %order = frit.iota <7 - d0> : tensor<8xi64>
  %bound = frit.iota <floordiv(d0, 2)> : tensor<16x?xi64, #frit.dims<[16, s0]>>
  %segments = frit.segment_sum %x order %order from %bound to %bound : tensor<8x?xf32, #frit.dims<[8, s0]>> [tensor<8xi64>], tensor<16x?xi64, #frit.dims<[16, s0]>> -> tensor<16x?xf32, #frit.dims<[16, s0]>>
  // CHECK: frit.segment_sum %{{.*}} from %{{.*}} to %{{.*}} : tensor<8x?xf32
  %lying = frit.segment_sum %x from %bound to %bound : tensor<8x?xf32, #frit.dims<[8, s0]>>, tensor<16x?xi64, #frit.dims<[16, s0]>> -> tensor<16x?xf32, #frit.dims<[16, s0]>>
  // CHECK: frit.reduce <max> %{{.*}} dims [0, 1] unsigned : tensor<8x3xi64> -> tensor<i64>
  %max = frit.reduce <max> %i dims [0, 1] unsigned : tensor<8x3xi64> -> tensor<i64>
  // CHECK: frit.reduce <argmin> %{{.*}} dims [0]
  %argmin = frit.reduce <argmin> %x dims [0] : tensor<8x?xf32, #frit.dims<[8, s0]>> -> tensor<?xi64, #frit.dims<[s0]>>
  // CHECK: frit.gather %{{.*}}[%{{.*}}] <(d0, d1)[v0] -> (v0, d1)> check <non_negative> : tensor<100x3xf32>, tensor<8x3xi64> -> tensor<8x3xf32>
  %g = frit.gather %t[%i] <(d0, d1)[v0] -> (v0, d1)> check <non_negative>
       : tensor<100x3xf32>, tensor<8x3xi64> -> tensor<8x3xf32>
  frit.return
}

// CHECK-LABEL: frit.graph @regions
frit.graph @regions(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: frit.region(%{{.*}}) {result_layouts = [#frit.layout<[1]>], schedule = #frit.schedule<pointwise, <[4]>, reduced 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: frit.yield %{{.*}} : tensor<4xf32>
  %r = frit.region(%a) {result_layouts = [#frit.layout<[1]>], schedule = #frit.schedule<pointwise, <[4]>, reduced 0>}
       : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    %s = arith.addf %x, %x : tensor<4xf32>
    frit.yield %s : tensor<4xf32>
  }
  // CHECK: frit.launch @kernel [#frit.size<4>](%{{.*}}) {result_layouts = [#frit.layout<[1]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %l = frit.launch @kernel [#frit.size<4>] (%a) {result_layouts = [#frit.layout<[1]>]} : (tensor<4xf32>) -> tensor<4xf32>
  frit.return %r, %l : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: frit.kernel @kernel(%{{.*}}: tensor<?xf32, #frit.dims<[p0]>> {frit.layout = #frit.layout<[1]>})
// CHECK-SAME: symbols = [#frit.symbol<"p0", min = 2>]
frit.kernel @kernel(%a: tensor<?xf32, #frit.dims<[p0]>> {frit.layout = #frit.layout<[1]>}) -> tensor<?xf32, #frit.dims<[p0]>>
    attributes {symbols = [#frit.symbol<"p0", min = 2>]} {
  %s = arith.addf %a, %a : tensor<?xf32, #frit.dims<[p0]>>
  frit.yield %s : tensor<?xf32, #frit.dims<[p0]>>
}

// CHECK-LABEL: frit.graph @padded
// CHECK-SAME: symbols = [#frit.symbol<"s0", min = 2, max = 60, buckets = [8, 16, 60]>, #frit.symbol<"b0", min = 2, bucket_of = "s0">
// CHECK-SAME: variants = [#frit.variant<[<divisor, sizes [s0, 4], origin "rows">, <disjoint, operands [0, 1], origin "aten.add_.Tensor">]>]
frit.graph @padded(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>>, %y: tensor<?x4xf32, #frit.dims<[s1, 4]>>)
    -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2, max = 60, buckets = [8, 16, 60]>,
                           #frit.symbol<"b0", min = 2, bucket_of = "s0">, #frit.symbol<"s1", min = 2>],
      variants = [#frit.variant<[<divisor, sizes [s0, 4], origin "rows">, <disjoint, operands [0, 1], origin "aten.add_.Tensor">]>]} {
  // CHECK: frit.guard <equal, sizes [s0, s1], origin "aten.add.Tensor (model.py:7)">
  frit.guard <equal, sizes [s0, s1], origin "aten.add.Tensor (model.py:7)">
  // CHECK: frit.guard <range, sizes [s0, 2, 60], origin "mark_dynamic">
  frit.guard <range, sizes [s0, 2, 60], origin "mark_dynamic">
  // CHECK: frit.guard <strides, operands [1], sizes [4, 1], origin "call">
  frit.guard <strides, operands [1], sizes [4, 1], origin "call">
  // CHECK: frit.guard <aligned, operands [0], sizes [16], origin "call">
  frit.guard <aligned, operands [0], sizes [16], origin "call">
  // CHECK: frit.guard <index32, sizes [4 * s0], origin "call">
  frit.guard <index32, sizes [4 * s0], origin "call">
  // CHECK: frit.pad %{{.*}} fill 0.000000e+00 : f32 : tensor<?x4xf32, #frit.dims<[s0, 4]>> -> tensor<?x4xf32, #frit.dims<[b0, 4]>>
  %p = frit.pad %x fill 0.0 : f32 : tensor<?x4xf32, #frit.dims<[s0, 4]>> -> tensor<?x4xf32, #frit.dims<[b0, 4]>>
  // CHECK: frit.pad %{{.*}} : tensor<?x4xf32, #frit.dims<[b0, 4]>> -> tensor<?x8xf32, #frit.dims<[b0, 8]>>
  %q = frit.pad %p : tensor<?x4xf32, #frit.dims<[b0, 4]>> -> tensor<?x8xf32, #frit.dims<[b0, 8]>>
  // CHECK: frit.unpad %{{.*}} : tensor<?x8xf32, #frit.dims<[b0, 8]>> -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
  %r = frit.unpad %q : tensor<?x8xf32, #frit.dims<[b0, 8]>> -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
  frit.return %r : tensor<?x4xf32, #frit.dims<[s0, 4]>>
}

// CHECK-LABEL: frit.graph @alias
frit.graph @alias(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<4x?xi32, #frit.dims<[4, s0]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  // CHECK: frit.alias %{{.*}} <[4, 1], offset s0> seen <[1, 4], offset 2> <i32> : tensor<?x4xf32, #frit.dims<[s0, 4]>> -> tensor<4x?xi32, #frit.dims<[4, s0]>>
  %r = frit.alias %x <[4, 1], offset s0> seen <[1, 4], offset 2> <i32> : tensor<?x4xf32, #frit.dims<[s0, 4]>> -> tensor<4x?xi32, #frit.dims<[4, s0]>>
  frit.return %r : tensor<4x?xi32, #frit.dims<[4, s0]>>
}

// CHECK-LABEL: frit.graph @functions
frit.graph @functions(%x: tensor<?x4xf32, #frit.dims<[s0, 4]>>) -> tensor<?x4xf32, #frit.dims<[s0, 4]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  // CHECK: frit.lgamma %{{.*}} : tensor<?x4xf32, #frit.dims<[s0, 4]>>
  %r = frit.lgamma %x : tensor<?x4xf32, #frit.dims<[s0, 4]>>
  frit.return %r : tensor<?x4xf32, #frit.dims<[s0, 4]>>
}
