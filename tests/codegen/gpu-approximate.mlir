// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels | FileCheck %s
// RUN: frit-opt %s --frit-schedule-gpu-kernels --frit-generate-gpu-kernels --frit-emit-ptx="arch=90 output=%t.ptx" -o /dev/null && FileCheck %s --check-prefix=PTX < %t.ptx

// Exponentials of a kernel that writes half types are approximate, and quotients by what elements share: their error disappears in the last
// rounding. A quotient by a number is left to LLVM, which multiplies where that is exact, and one by a tensor is as IEEE says.
// CHECK-LABEL: gpu.func @half(
// CHECK: math.exp {{.*}} fastmath<afn>
// CHECK: arith.divf {{.*}} fastmath<afn>
// CHECK: arith.divf %{{[^:]*}} : vector
// CHECK-NOT: fastmath
// CHECK: arith.divf %{{[^:]*}} : vector
// PTX-LABEL: .entry half(
// PTX: ex2.approx.f32
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
