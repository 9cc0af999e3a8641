// RUN: not frit-opt %s --frit-narrow-sizes='ranges=s0' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not frit-opt %s --frit-narrow-sizes='ranges=s0=9:8' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not frit-opt %s --frit-narrow-sizes='ranges=s1=1:8' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not frit-opt %s --frit-narrow-sizes='ranges=s0=1:8' 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// FORM: range 's0' is not of the form s0=9:16
// EMPTY: range 's0=9:8' is not of the form s0=9:16
// UNKNOWN: range of 's1', which is no size of the graph
// OUTSIDE: range 's0=1:8' holds no size that 's0' may have
frit.graph @sizes(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>> attributes {symbols = [#frit.symbol<"s0", min = 10>]} {
  frit.return %x : tensor<?xf32, #frit.dims<[s0]>>
}
