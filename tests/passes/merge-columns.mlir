// Column regions become part of row regions that sweep the same rows.
// RUN: frit-opt --split-input-file --frit-choose-schedules=target=gpu --frit-merge-columns %s | FileCheck %s
// RUN: frit-opt --split-input-file --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu arch=90},frit-merge-columns{arch=90}))' %s | FileCheck %s --check-prefix=NEW
// RUN: frit-opt --split-input-file --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu choices=0=1},frit-merge-columns))' %s | FileCheck %s --check-prefix=ASKED --implicit-check-not={across} --implicit-check-not=pinned
// RUN: not frit-opt --split-input-file --pass-pipeline='builtin.module(frit.graph(frit-choose-schedules{target=gpu},frit-merge-columns{arch=70}))' %s 2>&1 | FileCheck %s --check-prefix=ARCH
// ASKED: frit.graph @both
// ARCH: error: unknown architecture 70: expected 80, 90 or 100

// Two rows of blocks for each of 108 processors; the operands once.
// CHECK-LABEL: frit.graph @both
// CHECK: %[[R:.*]]:2 = frit.region(%{{.*}}, %{{.*}}) {{.*}}#frit.schedule<row_reduction, <[32768, 4096]>, reduced 1, <threads = 256, rows = 1, vector = 8, unroll = 2, resident = 2, parts = 216>>
// CHECK: frit.reduce <sum> %{{.*}} dims [1] :
// CHECK: frit.reduce <sum> %{{.*}} dims [0] {across} :
// CHECK-NOT: frit.region
// CHECK: frit.return %[[R]]#0, %[[R]]#1
// NEW-LABEL: frit.graph @both
// NEW: <threads = 256, rows = 1, vector = 8, unroll = 2, resident = 2, parts = 264>
frit.graph @both (%g: tensor<32768x4096xbf16>, %x: tensor<32768x4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<4096xf32>) {
  %dx = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<32768x4096xbf16> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<32768x4096xf32> -> tensor<32768xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<32768xf32> -> tensor<32768x4096xf32>
    %d = arith.subf %af, %sb : tensor<32768x4096xf32>
    %r = arith.truncf %d : tensor<32768x4096xf32> to tensor<32768x4096xbf16>
    frit.yield %r : tensor<32768x4096xbf16>
  }
  %dw = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [0] : tensor<32768x4096xf32> -> tensor<4096xf32>
    frit.yield %s : tensor<4096xf32>
  }
  frit.return %dx, %dw : tensor<32768x4096xbf16>, tensor<4096xf32>
}

// -----

// What the rows have made is at hand.
// CHECK-LABEL: frit.graph @of_the_result
// CHECK: frit.region(%{{.*}}, %{{.*}}) {
// CHECK: %[[DX:.*]] = arith.truncf
// CHECK: arith.extf %[[DX]]
// CHECK: {across}
// CHECK-NOT: frit.region
frit.graph @of_the_result (%g: tensor<32768x4096xbf16>, %x: tensor<32768x4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<4096xf32>) {
  %dx = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<32768x4096xbf16> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<32768x4096xf32> -> tensor<32768xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<32768xf32> -> tensor<32768x4096xf32>
    %d = arith.subf %af, %sb : tensor<32768x4096xf32>
    %r = arith.truncf %d : tensor<32768x4096xf32> to tensor<32768x4096xbf16>
    frit.yield %r : tensor<32768x4096xbf16>
  }
  %dw = frit.region(%dx, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [0] : tensor<32768x4096xf32> -> tensor<4096xf32>
    frit.yield %s : tensor<4096xf32>
  }
  frit.return %dx, %dw : tensor<32768x4096xbf16>, tensor<4096xf32>
}

// -----

// It is not, where the columns are read across: square tensors are no better.
// CHECK-LABEL: frit.graph @turned
// CHECK: frit.region
// CHECK-NOT: {across}
// CHECK: frit.region
frit.graph @turned(%g: tensor<4096x4096xf32>, %x: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096xf32>) {
  %dx = frit.region(%g, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  ^bb0(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>):
    %p = arith.mulf %a, %b : tensor<4096x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<4096x4096xf32> -> tensor<4096xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<4096xf32> -> tensor<4096x4096xf32>
    %d = arith.subf %a, %sb : tensor<4096x4096xf32>
    frit.yield %d : tensor<4096x4096xf32>
  }
  %dw = frit.region(%dx, %g, %x) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>, %c: tensor<4096x4096xf32>):
    %t = frit.reindex %a <(d0, d1) -> (d1, d0)> : tensor<4096x4096xf32> -> tensor<4096x4096xf32>
    %p = arith.mulf %b, %c : tensor<4096x4096xf32>
    %q = arith.mulf %p, %t : tensor<4096x4096xf32>
    %s = frit.reduce <sum> %q dims [0] : tensor<4096x4096xf32> -> tensor<4096xf32>
    frit.yield %s : tensor<4096xf32>
  }
  frit.return %dx, %dw : tensor<4096x4096xf32>, tensor<4096xf32>
}

// -----

// The order in the graph does not matter.
// CHECK-LABEL: frit.graph @columns_first
// CHECK: frit.reduce <sum> %{{.*}} dims [1] :
// CHECK: frit.reduce <sum> %{{.*}} dims [0] {across} :
// CHECK-NOT: frit.region
frit.graph @columns_first (%g: tensor<32768x4096xbf16>, %x: tensor<32768x4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<4096xf32>) {
  %dw = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [0] : tensor<32768x4096xf32> -> tensor<4096xf32>
    frit.yield %s : tensor<4096xf32>
  }
  %dx = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<32768x4096xbf16> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<32768x4096xf32> -> tensor<32768xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<32768xf32> -> tensor<32768x4096xf32>
    %d = arith.subf %af, %sb : tensor<32768x4096xf32>
    %r = arith.truncf %d : tensor<32768x4096xf32> to tensor<32768x4096xbf16>
    frit.yield %r : tensor<32768x4096xbf16>
  }
  frit.return %dx, %dw : tensor<32768x4096xbf16>, tensor<4096xf32>
}

// -----

// How many rows there are need not be known.
// CHECK-LABEL: frit.graph @dynamic
// CHECK: #frit.schedule<row_reduction, <[s0, 768]>, reduced 1, <threads = 32, rows = 8, vector = 8, resident = 2, parts = 216>>
// CHECK: frit.reduce <sum> %{{.*}} dims [1] :
// CHECK: frit.reduce <sum> %{{.*}} dims [0] {across} :
// CHECK-NOT: frit.region
frit.graph @dynamic(%g: tensor<?x768xbf16, #frit.dims<[s0, 768]>>, %x: tensor<?x768xbf16, #frit.dims<[s0, 768]>>) -> (tensor<?x768xbf16, #frit.dims<[s0, 768]>>, tensor<768xf32>) attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 32768>]} {
  %dx = frit.region(%g, %x) : (tensor<?x768xbf16, #frit.dims<[s0, 768]>>, tensor<?x768xbf16, #frit.dims<[s0, 768]>>) -> tensor<?x768xbf16, #frit.dims<[s0, 768]>> {
  ^bb0(%a: tensor<?x768xbf16, #frit.dims<[s0, 768]>>, %b: tensor<?x768xbf16, #frit.dims<[s0, 768]>>):
    %af = arith.extf %a : tensor<?x768xbf16, #frit.dims<[s0, 768]>> to tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %bf = arith.extf %b : tensor<?x768xbf16, #frit.dims<[s0, 768]>> to tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %p = arith.mulf %af, %bf : tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %s = frit.reduce <sum> %p dims [1] : tensor<?x768xf32, #frit.dims<[s0, 768]>> -> tensor<?xf32, #frit.dims<[s0]>>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<?xf32, #frit.dims<[s0]>> -> tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %d = arith.subf %af, %sb : tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %r = arith.truncf %d : tensor<?x768xf32, #frit.dims<[s0, 768]>> to tensor<?x768xbf16, #frit.dims<[s0, 768]>>
    frit.yield %r : tensor<?x768xbf16, #frit.dims<[s0, 768]>>
  }
  %dw = frit.region(%g, %x) : (tensor<?x768xbf16, #frit.dims<[s0, 768]>>, tensor<?x768xbf16, #frit.dims<[s0, 768]>>) -> tensor<768xf32> {
  ^bb0(%a: tensor<?x768xbf16, #frit.dims<[s0, 768]>>, %b: tensor<?x768xbf16, #frit.dims<[s0, 768]>>):
    %af = arith.extf %a : tensor<?x768xbf16, #frit.dims<[s0, 768]>> to tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %bf = arith.extf %b : tensor<?x768xbf16, #frit.dims<[s0, 768]>> to tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %p = arith.mulf %af, %bf : tensor<?x768xf32, #frit.dims<[s0, 768]>>
    %s = frit.reduce <sum> %p dims [0] : tensor<?x768xf32, #frit.dims<[s0, 768]>> -> tensor<768xf32>
    frit.yield %s : tensor<768xf32>
  }
  frit.return %dx, %dw : tensor<?x768xbf16, #frit.dims<[s0, 768]>>, tensor<768xf32>
}

// -----

// Too few rows: what the blocks leave would be a good part of it.
// CHECK-LABEL: frit.graph @few
// CHECK: frit.region
// CHECK-NOT: {across}
// CHECK: frit.region
frit.graph @few (%g: tensor<256x4096xbf16>, %x: tensor<256x4096xbf16>) -> (tensor<256x4096xbf16>, tensor<4096xf32>) {
  %dx = frit.region(%g, %x) : (tensor<256x4096xbf16>, tensor<256x4096xbf16>) -> tensor<256x4096xbf16> {
  ^bb0(%a: tensor<256x4096xbf16>, %b: tensor<256x4096xbf16>):
    %af = arith.extf %a : tensor<256x4096xbf16> to tensor<256x4096xf32>
    %bf = arith.extf %b : tensor<256x4096xbf16> to tensor<256x4096xf32>
    %p = arith.mulf %af, %bf : tensor<256x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<256x4096xf32> -> tensor<256xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<256xf32> -> tensor<256x4096xf32>
    %d = arith.subf %af, %sb : tensor<256x4096xf32>
    %r = arith.truncf %d : tensor<256x4096xf32> to tensor<256x4096xbf16>
    frit.yield %r : tensor<256x4096xbf16>
  }
  %dw = frit.region(%g, %x) : (tensor<256x4096xbf16>, tensor<256x4096xbf16>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<256x4096xbf16>, %b: tensor<256x4096xbf16>):
    %af = arith.extf %a : tensor<256x4096xbf16> to tensor<256x4096xf32>
    %bf = arith.extf %b : tensor<256x4096xbf16> to tensor<256x4096xf32>
    %p = arith.mulf %af, %bf : tensor<256x4096xf32>
    %s = frit.reduce <sum> %p dims [0] : tensor<256x4096xf32> -> tensor<4096xf32>
    frit.yield %s : tensor<4096xf32>
  }
  frit.return %dx, %dw : tensor<256x4096xbf16>, tensor<4096xf32>
}

// -----

// Rows too long for registers.
// CHECK-LABEL: frit.graph @long
// CHECK: frit.region
// CHECK-NOT: {across}
// CHECK: frit.region
frit.graph @long (%g: tensor<32768x32768xbf16>, %x: tensor<32768x32768xbf16>) -> (tensor<32768x32768xbf16>, tensor<32768xf32>) {
  %dx = frit.region(%g, %x) : (tensor<32768x32768xbf16>, tensor<32768x32768xbf16>) -> tensor<32768x32768xbf16> {
  ^bb0(%a: tensor<32768x32768xbf16>, %b: tensor<32768x32768xbf16>):
    %af = arith.extf %a : tensor<32768x32768xbf16> to tensor<32768x32768xf32>
    %bf = arith.extf %b : tensor<32768x32768xbf16> to tensor<32768x32768xf32>
    %p = arith.mulf %af, %bf : tensor<32768x32768xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<32768x32768xf32> -> tensor<32768xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<32768xf32> -> tensor<32768x32768xf32>
    %d = arith.subf %af, %sb : tensor<32768x32768xf32>
    %r = arith.truncf %d : tensor<32768x32768xf32> to tensor<32768x32768xbf16>
    frit.yield %r : tensor<32768x32768xbf16>
  }
  %dw = frit.region(%g, %x) : (tensor<32768x32768xbf16>, tensor<32768x32768xbf16>) -> tensor<32768xf32> {
  ^bb0(%a: tensor<32768x32768xbf16>, %b: tensor<32768x32768xbf16>):
    %af = arith.extf %a : tensor<32768x32768xbf16> to tensor<32768x32768xf32>
    %bf = arith.extf %b : tensor<32768x32768xbf16> to tensor<32768x32768xf32>
    %p = arith.mulf %af, %bf : tensor<32768x32768xf32>
    %s = frit.reduce <sum> %p dims [0] : tensor<32768x32768xf32> -> tensor<32768xf32>
    frit.yield %s : tensor<32768xf32>
  }
  frit.return %dx, %dw : tensor<32768x32768xbf16>, tensor<32768xf32>
}

// -----

// Positions are not summed up by parts.
// CHECK-LABEL: frit.graph @positions
// CHECK: frit.region
// CHECK-NOT: {across}
// CHECK: frit.region
frit.graph @positions (%g: tensor<32768x4096xbf16>, %x: tensor<32768x4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<4096xi64>) {
  %dx = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<32768x4096xbf16> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<32768x4096xf32> -> tensor<32768xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<32768xf32> -> tensor<32768x4096xf32>
    %d = arith.subf %af, %sb : tensor<32768x4096xf32>
    %r = arith.truncf %d : tensor<32768x4096xf32> to tensor<32768x4096xbf16>
    frit.yield %r : tensor<32768x4096xbf16>
  }
  %dw = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<4096xi64> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <argmax> %p dims [0] : tensor<32768x4096xf32> -> tensor<4096xi64>
    frit.yield %s : tensor<4096xi64>
  }
  frit.return %dx, %dw : tensor<32768x4096xbf16>, tensor<4096xi64>
}

// -----

// The columns wait for a call that reads the rows' result, so neither can move.
// CHECK-LABEL: frit.graph @needed_between
// CHECK: frit.region
// CHECK-NOT: {across}
// CHECK: frit.region
frit.graph @needed_between (%g: tensor<32768x4096xbf16>, %x: tensor<32768x4096xbf16>) -> (tensor<32768x4096xbf16>, tensor<4096xf32>) {
  %dx = frit.region(%g, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<32768x4096xbf16> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [1] : tensor<32768x4096xf32> -> tensor<32768xf32>
    %sb = frit.reindex %s <(d0, d1) -> (d0)> : tensor<32768xf32> -> tensor<32768x4096xf32>
    %d = arith.subf %af, %sb : tensor<32768x4096xf32>
    %r = arith.truncf %d : tensor<32768x4096xf32> to tensor<32768x4096xbf16>
    frit.yield %r : tensor<32768x4096xbf16>
  }
  %c = frit.aten "aten.relu.default"(%dx) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<bf16>], result_dtypes = [#frit.dtype<bf16>]} : (tensor<32768x4096xbf16>) -> tensor<32768x4096xbf16>
  %dw = frit.region(%c, %x) : (tensor<32768x4096xbf16>, tensor<32768x4096xbf16>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<32768x4096xbf16>, %b: tensor<32768x4096xbf16>):
    %af = arith.extf %a : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %bf = arith.extf %b : tensor<32768x4096xbf16> to tensor<32768x4096xf32>
    %p = arith.mulf %af, %bf : tensor<32768x4096xf32>
    %s = frit.reduce <sum> %p dims [0] : tensor<32768x4096xf32> -> tensor<4096xf32>
    frit.yield %s : tensor<4096xf32>
  }
  frit.return %dx, %dw : tensor<32768x4096xbf16>, tensor<4096xf32>
}
