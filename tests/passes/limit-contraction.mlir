// RUN: frit-opt --split-input-file --frit-limit-contraction %s | FileCheck %s

// Two operations read the product, one of them through a view: both are to see one number.
// CHECK-LABEL: @read_twice
// CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract>
!f = tensor<4xf32>
frit.graph @read_twice(%a: !f, %b: !f) -> !f {
  %x = arith.mulf %a, %b fastmath<contract> : !f
  %v = frit.reindex %x <(d0) -> (3 - d0)> : !f -> !f
  %e = math.exp %v : !f
  %y = arith.addf %x, %e fastmath<contract> : !f
  frit.return %y : !f
}

// -----

// A result of the graph is a reader, and so is what widens a rounding that may go.
// CHECK-LABEL: @read_by_the_caller
// CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<4xf32>
!h = tensor<4xf16>
!f = tensor<4xf32>
frit.graph @read_by_the_caller(%a: !f, %b: !f) -> (!h, !f) {
  %x = arith.mulf %a, %b fastmath<contract> : !f
  %r = arith.truncf %x {frit.implicit} : !f to !h
  %w = arith.extf %r : !h to !f
  %y = arith.addf %w, %b fastmath<contract> : !f
  frit.return %r, %y : !h, !f
}

// -----

// Only one of the two products would keep its rounding; so it is where the other is negated, or rounded to halves and widened.
// CHECK-LABEL: @sum_of_products
// CHECK-COUNT-2: arith.mulf %{{.*}}, %{{.*}} fastmath<contract>
// CHECK: arith.subf %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<4xf32>
!h = tensor<4xf16>
!f = tensor<4xf32>
frit.graph @sum_of_products(%a: !f, %b: !f) -> (!f, !f) {
  %x = arith.mulf %a, %b fastmath<contract> : !f
  %y = arith.mulf %b, %a fastmath<contract> : !f
  %r = arith.truncf %y {frit.implicit} : !f to !h
  %w = arith.extf %r : !h to !f
  %d = arith.subf %x, %w fastmath<contract> : !f
  %p = arith.mulf %a, %a fastmath<contract> : !f
  %n = arith.negf %p : !f
  %q = arith.mulf %b, %b fastmath<contract> : !f
  %s = arith.addf %n, %q fastmath<contract> : !f
  frit.return %d, %s : !f, !f
}

// -----

// One reader: fused. A cast that the program wrote rounds, so that its readers see no product.
// CHECK-LABEL: @stays
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract>
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract>
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract>
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract>
!h = tensor<4xf16>
!f = tensor<4xf32>
frit.graph @stays(%a: !f, %b: !f) -> (!f, !f) {
  %x = arith.mulf %a, %b fastmath<contract> : !f
  %y = arith.addf %x, %b fastmath<contract> : !f
  %p = arith.mulf %a, %a fastmath<contract> : !f
  %r = arith.truncf %p : !f to !h
  %w = arith.extf %r : !h to !f
  %s = arith.addf %w, %w fastmath<contract> : !f
  frit.return %y, %s : !f, !f
}

// -----

// Other flags stay; a product without the flag is left alone.
// CHECK-LABEL: @other_flags
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<afn> : tensor<4xf32>
// CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<4xf32>
!f = tensor<4xf32>
frit.graph @other_flags(%a: !f) -> (!f, !f, !f) {
  %x = arith.mulf %a, %a fastmath<contract,afn> : !f
  %e = arith.addf %x, %x : !f
  %y = arith.mulf %e, %a : !f
  frit.return %x, %e, %y : !f, !f, !f
}
