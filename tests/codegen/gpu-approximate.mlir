// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx

// Exponentials of a kernel that writes half types are approximate, erf and tanh too, and quotients by what elements share and by 1 + e^x: their
// error disappears in the last rounding. A quotient by a number is left to LLVM, which multiplies where that is exact, and one by a tensor is as IEEE says.
// CHECK-LABEL: gpu.func @half(
// CHECK: math.exp {{.*}} fastmath<afn>
// CHECK: arith.divf {{.*}} fastmath<afn>
// CHECK: arith.divf %{{[^:]*}} : vector
// CHECK-NOT: fastmath
// CHECK: arith.divf %{{[^:]*}} : vector
// PTX-LABEL: .entry half(
// PTX: ex2.approx.ftz.f32
// PTX: rcp.approx.ftz.f32
// PTX: div.rn.f32
// PTX: .entry half_u(
frit.kernel @half(%x: tensor<8x1024xbf16>, %y: tensor<1024xbf16>) -> tensor<8x1024xbf16> {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %b = arith.extf %y : tensor<1024xbf16> to tensor<1024xf32>
  %shared = frit.reindex %b <(d0, d1) -> (d1)> : tensor<1024xf32> -> tensor<8x1024xf32>
  %number = arith.constant dense<4.0> : tensor<8x1024xf32>
  %e = math.exp %a : tensor<8x1024xf32>
  %q = arith.divf %e, %shared : tensor<8x1024xf32>
  %f = arith.divf %q, %number : tensor<8x1024xf32>
  %g = arith.divf %f, %a : tensor<8x1024xf32>
  %r = arith.truncf %g : tensor<8x1024xf32> to tensor<8x1024xbf16>
  frit.yield %r : tensor<8x1024xbf16>
}

// CHECK-LABEL: gpu.func @short_forms(
// CHECK-NOT: math.erf
// CHECK-NOT: math.tanh
// CHECK-COUNT-2: math.exp2 {{.*}} fastmath<afn>
// CHECK: arith.divf {{.*}} fastmath<arcp,afn>
// CHECK: math.exp {{.*}} fastmath<afn>
// CHECK: arith.divf {{.*}} fastmath<arcp,afn>
// PTX-LABEL: .entry short_forms(
// PTX-NOT: div.
// PTX: ret
frit.kernel @short_forms(%x: tensor<1024xbf16>) -> tensor<1024xbf16> {
  %a = arith.extf %x : tensor<1024xbf16> to tensor<1024xf32>
  %erf = math.erf %a : tensor<1024xf32>
  %tanh = math.tanh %erf : tensor<1024xf32>
  %exp = math.exp %tanh : tensor<1024xf32>
  %one = arith.constant dense<1.0> : tensor<1024xf32>
  %sum = arith.addf %exp, %one : tensor<1024xf32>
  %q = arith.divf %tanh, %sum : tensor<1024xf32>
  %r = arith.truncf %q : tensor<1024xf32> to tensor<1024xbf16>
  frit.yield %r : tensor<1024xbf16>
}

// Not where a result is wider.
// CHECK-LABEL: gpu.func @wide(
// CHECK-NOT: afn
// PTX-LABEL: .entry wide(
// PTX: div.rn.f32
frit.kernel @wide(%x: tensor<8x1024xbf16>, %y: tensor<1024xbf16>) -> (tensor<8x1024xbf16>, tensor<8x1024xf32>) {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %b = arith.extf %y : tensor<1024xbf16> to tensor<1024xf32>
  %shared = frit.reindex %b <(d0, d1) -> (d1)> : tensor<1024xf32> -> tensor<8x1024xf32>
  %e = math.exp %a : tensor<8x1024xf32>
  %q = arith.divf %e, %shared : tensor<8x1024xf32>
  %r = arith.truncf %q : tensor<8x1024xf32> to tensor<8x1024xbf16>
  frit.yield %r, %q : tensor<8x1024xbf16>, tensor<8x1024xf32>
}

// Nor where a step makes much of a little: 6 / 3 may be a little less than 2, whose floor is 1.
// CHECK-LABEL: gpu.func @stepped(
// CHECK-NOT: afn
// PTX-LABEL: .entry stepped(
// PTX: div.rn.f32
frit.kernel @stepped(%x: tensor<8x1024xbf16>, %y: tensor<1024xbf16>) -> tensor<8x1024xbf16> {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %b = arith.extf %y : tensor<1024xbf16> to tensor<1024xf32>
  %shared = frit.reindex %b <(d0, d1) -> (d1)> : tensor<1024xf32> -> tensor<8x1024xf32>
  %q = arith.divf %a, %shared : tensor<8x1024xf32>
  %f = math.floor %q : tensor<8x1024xf32>
  %r = arith.truncf %f : tensor<8x1024xf32> to tensor<8x1024xbf16>
  frit.yield %r : tensor<8x1024xbf16>
}

// Nor under `numerics="eager"`, which is written on each of them.
// CHECK-LABEL: gpu.func @eager(
// CHECK-NOT: afn
// PTX-LABEL: .entry eager(
// PTX-NOT: ex2.approx.f32
frit.kernel @eager(%x: tensor<1024xbf16>) -> tensor<1024xbf16> {
  %a = arith.extf %x : tensor<1024xbf16> to tensor<1024xf32>
  %e = math.exp %a {frit.ieee} : tensor<1024xf32>
  %r = arith.truncf %e : tensor<1024xf32> to tensor<1024xbf16>
  frit.yield %r : tensor<1024xbf16>
}

// Only sums of a thousand exponentials of halves less their maximum, of which nothing else is used, are approximate where results are f32.
// CHECK-LABEL: gpu.func @long_sum(
// CHECK: math.exp {{.*}} fastmath<afn>
// CHECK-LABEL: gpu.func @short_sum(
// CHECK-NOT: afn
// CHECK-LABEL: gpu.func @wide_sum(
// CHECK-NOT: afn
// CHECK-LABEL: gpu.func @plain_sum(
// CHECK-NOT: afn
// CHECK-LABEL: gpu.func @stored(
// CHECK-NOT: afn
// CHECK-LABEL: gpu.func @counted(
// CHECK-NOT: afn
// CHECK-LABEL: gpu.func @eager_sum(
// CHECK-NOT: afn
frit.kernel @long_sum(%x: tensor<8x1024xbf16>) -> (tensor<8xf32>) {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %m = frit.reduce <max> %a dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %each = frit.reindex %m <(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x1024xf32>
  %d = arith.subf %a, %each : tensor<8x1024xf32>
  %e = math.exp %d : tensor<8x1024xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  frit.yield %s : tensor<8xf32>
}
frit.kernel @short_sum(%x: tensor<8x512xbf16>) -> (tensor<8xf32>) {
  %a = arith.extf %x : tensor<8x512xbf16> to tensor<8x512xf32>
  %m = frit.reduce <max> %a dims [1] : tensor<8x512xf32> -> tensor<8xf32>
  %each = frit.reindex %m <(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x512xf32>
  %d = arith.subf %a, %each : tensor<8x512xf32>
  %e = math.exp %d : tensor<8x512xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x512xf32> -> tensor<8xf32>
  frit.yield %s : tensor<8xf32>
}
frit.kernel @wide_sum(%x: tensor<8x1024xf32>) -> (tensor<8xf32>) {
  %m = frit.reduce <max> %x dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %each = frit.reindex %m <(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x1024xf32>
  %d = arith.subf %x, %each : tensor<8x1024xf32>
  %e = math.exp %d : tensor<8x1024xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  frit.yield %s : tensor<8xf32>
}
frit.kernel @plain_sum(%x: tensor<8x1024xbf16>) -> (tensor<8xf32>) {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %e = math.exp %a : tensor<8x1024xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  frit.yield %s : tensor<8xf32>
}
frit.kernel @stored(%x: tensor<8x1024xbf16>) -> (tensor<8x1024xf32>, tensor<8xf32>) {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %m = frit.reduce <max> %a dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %each = frit.reindex %m <(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x1024xf32>
  %d = arith.subf %a, %each : tensor<8x1024xf32>
  %e = math.exp %d : tensor<8x1024xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  frit.yield %e, %s : tensor<8x1024xf32>, tensor<8xf32>
}
frit.kernel @counted(%x: tensor<8x1024xbf16>) -> (tensor<8xf32>) {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %m = frit.reduce <max> %a dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %each = frit.reindex %m <(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x1024xf32>
  %d = arith.subf %a, %each : tensor<8x1024xf32>
  %e = math.exp %d : tensor<8x1024xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %f = math.floor %s : tensor<8xf32>
  frit.yield %f : tensor<8xf32>
}
frit.kernel @eager_sum(%x: tensor<8x1024xbf16>) -> (tensor<8xf32>) {
  %a = arith.extf %x : tensor<8x1024xbf16> to tensor<8x1024xf32>
  %m = frit.reduce <max> %a dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %each = frit.reindex %m <(d0, d1) -> (d0)> : tensor<8xf32> -> tensor<8x1024xf32>
  %d = arith.subf %a, %each : tensor<8x1024xf32>
  %e = math.exp %d {frit.ieee} : tensor<8x1024xf32>
  %s = frit.reduce <sum> %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  frit.yield %s : tensor<8xf32>
}
