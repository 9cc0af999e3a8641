// RUN: frit-opt --split-input-file --frit-elide-half-rounding %s | FileCheck %s

// The rounding between two operations goes, the last one stays.
// CHECK-LABEL: @inner
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[SUM]]
// CHECK-NEXT: arith.truncf %[[EXP]]
!h = tensor<8xbf16>
!f = tensor<8xf32>
frit.graph @inner(%x: !h) -> !h {
  %y = frit.region(%x) : (!h) -> !h {
  ^bb0(%a: !h):
    %0 = arith.extf %a : !h to !f
    %1 = arith.addf %0, %0 : !f
    %2 = arith.truncf %1 {frit.implicit} : !f to !h
    %3 = arith.extf %2 : !h to !f
    %4 = math.exp %3 : !f
    %5 = arith.truncf %4 {frit.implicit} : !f to !h
    frit.yield %5 : !h
  }
  frit.return %y : !h
}

// -----

// The same through a view.
// CHECK-LABEL: @through_view
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: %[[VIEW:.*]] = frit.reindex %[[SUM]] {{.*}} : tensor<8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: math.exp %[[VIEW]]
!h = tensor<8xbf16>
!f = tensor<8xf32>
frit.graph @through_view(%x: !h) -> tensor<4x8xf32> {
  %y = frit.region(%x) : (!h) -> tensor<4x8xf32> {
  ^bb0(%a: !h):
    %0 = arith.extf %a : !h to !f
    %1 = arith.addf %0, %0 : !f
    %2 = arith.truncf %1 {frit.implicit} : !f to !h
    %v = frit.reindex %2 <(d0, d1) -> (d1)> : !h -> tensor<4x8xbf16>
    %3 = arith.extf %v : tensor<4x8xbf16> to tensor<4x8xf32>
    %4 = math.exp %3 : tensor<4x8xf32>
    frit.yield %4 : tensor<4x8xf32>
  }
  frit.return %y : tensor<4x8xf32>
}

// -----

// A cast that the program wrote rounds, and so does a value that leaves.
// CHECK-LABEL: @stays
// CHECK: arith.truncf
// CHECK: arith.extf
// CHECK: arith.truncf
// CHECK: arith.extf
!h = tensor<8xbf16>
!f = tensor<8xf32>
frit.graph @stays(%x: !f) -> (!h, !f, !f) {
  %y:3 = frit.region(%x) : (!f) -> (!h, !f, !f) {
  ^bb0(%a: !f):
    %0 = arith.truncf %a : !f to !h
    %1 = arith.extf %0 : !h to !f
    %2 = math.exp %1 : !f
    %3 = arith.truncf %2 {frit.implicit} : !f to !h
    %4 = arith.extf %3 : !h to !f
    %5 = math.sin %4 : !f
    frit.yield %3, %5, %2 : !h, !f, !f
  }
  frit.return %y#0, %y#1, %y#2 : !h, !f, !f
}

// -----

// A comparison of two values sees both rounded, also through a view; one with a constant does not.
// CHECK-LABEL: @compared
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[HALF:.*]] = arith.truncf %[[SUM]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[HALF]]
// CHECK: %[[VIEW:.*]] = frit.reindex %[[WIDE]]
// CHECK: arith.cmpf oeq, %[[VIEW]], %{{.*}} : tensor<4x8xf32>
// CHECK: arith.cmpf ogt, %[[SUM]], %{{.*}} : tensor<8xf32>
// CHECK: math.exp %[[SUM]]
!h = tensor<8xbf16>
!f = tensor<8xf32>
frit.graph @compared(%x: !h, %m: tensor<4x8xf32>) -> (tensor<4x8xi1>, tensor<8xi1>, !f) {
  %y:3 = frit.region(%x, %m) : (!h, tensor<4x8xf32>) -> (tensor<4x8xi1>, tensor<8xi1>, !f) {
  ^bb0(%a: !h, %b: tensor<4x8xf32>):
    %zero = arith.constant dense<0.0> : !f
    %0 = arith.extf %a : !h to !f
    %1 = arith.addf %0, %0 : !f
    %2 = arith.truncf %1 {frit.implicit} : !f to !h
    %3 = arith.extf %2 : !h to !f
    %v = frit.reindex %3 <(d0, d1) -> (d1)> : !f -> tensor<4x8xf32>
    %4 = arith.cmpf oeq, %v, %b : tensor<4x8xf32>
    %5 = arith.cmpf ogt, %3, %zero : !f
    %6 = math.exp %3 : !f
    frit.yield %4, %5, %6 : tensor<4x8xi1>, tensor<8xi1>, !f
  }
  frit.return %y#0, %y#1, %y#2 : tensor<4x8xi1>, tensor<8xi1>, !f
}

// -----

// A value is itself, rounded or not. Infinity is what large numbers are rounded to, and equality with a constant is one number.
// CHECK-LABEL: @jumps
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[HALF:.*]] = arith.truncf %[[SUM]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[HALF]]
// CHECK: arith.cmpf uno, %[[SUM]], %[[SUM]]
// CHECK: arith.cmpf olt, %[[WIDE]], %{{.*}}
// CHECK: arith.cmpf oeq, %[[WIDE]], %{{.*}}
// CHECK: math.floor %[[WIDE]]
// CHECK: arith.fptosi %[[WIDE]]
!h = tensor<8xbf16>
!f = tensor<8xf32>
!b = tensor<8xi1>
!i = tensor<8xi32>
frit.graph @jumps(%x: !h) -> (!b, !b, !b, !f, !i) {
  %y:5 = frit.region(%x) : (!h) -> (!b, !b, !b, !f, !i) {
  ^bb0(%a: !h):
    %inf = arith.constant dense<0x7F800000> : !f
    %one = arith.constant dense<1.0> : !f
    %0 = arith.extf %a : !h to !f
    %1 = arith.addf %0, %0 : !f
    %2 = arith.truncf %1 {frit.implicit} : !f to !h
    %3 = arith.extf %2 : !h to !f
    %4 = arith.cmpf uno, %3, %3 : !f
    %5 = arith.cmpf olt, %3, %inf : !f
    %6 = arith.cmpf oeq, %3, %one : !f
    %7 = math.floor %3 : !f
    %8 = arith.fptosi %3 : !f to !i
    frit.yield %4, %5, %6, %7, %8 : !b, !b, !b, !f, !i
  }
  frit.return %y#0, %y#1, %y#2, %y#3, %y#4 : !b, !b, !b, !f, !i
}
