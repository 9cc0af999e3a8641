// RUN: frit-opt --split-input-file --frit-separate-dtypes %s | FileCheck %s

// The caller takes what is stored into bytes for signed ones.
// CHECK-LABEL: @stored
// CHECK: %[[A:.*]] = frit.region()
// CHECK: %[[B:.*]] = frit.region(%[[A]])
// CHECK: frit.store %[[B]] into %arg0
// CHECK: frit.return %[[A]]
!t = tensor<3xi8>
frit.graph @stored(%a: !t {frit.dtype = #frit.dtype<u8>}) -> (!t {frit.dtype = #frit.dtype<i8>}) {
  %v = frit.region() : () -> !t {
    %c = arith.constant dense<2> : !t
    frit.yield %c : !t
  }
  frit.store %v into %a : !t, !t
  frit.return %v : !t
}

// -----

// A conversion from an argument to an operator; the view of it that others read is copied as a view.
// CHECK-LABEL: @sorted
// CHECK: %[[B:.*]] = frit.region(%arg0)
// CHECK: %[[V:.*]] = frit.reshape %arg0
// CHECK: %[[W:.*]] = frit.region(%[[V]])
// CHECK: "aten.msort.default"(%[[B]])
// CHECK: frit.return %{{.*}}, %[[V]], %[[W]]
!t = tensor<4xi8>
!v = tensor<2x2xi8>
frit.graph @sorted(%a: !t {frit.dtype = #frit.dtype<i8>})
    -> (!t {frit.dtype = #frit.dtype<u8>}, !v {frit.dtype = #frit.dtype<i8>}, !v {frit.dtype = #frit.dtype<u8>}) {
  %v = frit.reshape %a : !t -> !v
  %s = frit.aten "aten.msort.default"(%a) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<u8>], operand_layouts = [#frit.layout<[1]>], result_dtypes = [#frit.dtype<u8>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 0>]} : (!t) -> !t
  frit.return %s, %v, %v : !t, !v, !v
}

// -----

// Two who agree need no copy, nor do kernels, nor types that are one dtype's.
// CHECK-LABEL: @agreed
// CHECK-COUNT-2: frit.region(%
// CHECK-NOT: frit.region(%
// CHECK: frit.return
!t = tensor<3xi16>
!b = tensor<3xi1>
frit.graph @agreed(%a: !t {frit.dtype = #frit.dtype<u16>}) -> (!t {frit.dtype = #frit.dtype<u16>}, !b {frit.dtype = #frit.dtype<bool>}) {
  %v = frit.region(%a) : (!t) -> !t {
  ^bb0(%x: !t):
    %y = arith.addi %x, %x : !t
    frit.yield %y : !t
  }
  %w = frit.region(%v) : (!t) -> !b {
  ^bb0(%x: !t):
    %y = arith.cmpi slt, %x, %x : !t
    frit.yield %y : !b
  }
  frit.store %v into %a : !t, !t
  frit.return %v, %w : !t, !b
}
