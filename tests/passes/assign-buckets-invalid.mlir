// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]=' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]=16,8' 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]=-4,8' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]=8.5' 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not frit-opt %s --frit-assign-buckets='buckets=z[0]=8' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not frit-opt %s --frit-assign-buckets='buckets=s0=8' 2>&1 | FileCheck %s --check-prefix=SYMBOL
// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]=8;y[0]=16' 2>&1 | FileCheck %s --check-prefix=AGREE
// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]=8;x[0]=8' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not frit-opt %s --frit-assign-buckets='buckets=x[0]' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not frit-opt %s --frit-assign-buckets='policy=always' 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: frit-opt %s --frit-assign-buckets='buckets=x[0]=8,16;y[0]=8,16' | FileCheck %s --check-prefix=SAME

// EMPTY: error: buckets of 'x[0]' are empty; give sizes in ascending order, or 'ramp'
// ORDER: error: buckets of 'x[0]' must ascend, found 8 after 16
// NEGATIVE: error: buckets of 'x[0]' must be positive sizes, found -4
// INTEGER: error: buckets of 'x[0]' must be integers, found '8.5'
// KEY: error: no size 'z[0]' for buckets; known: x[0], y[0], x[1]
// SYMBOL: error: no size 's0' for buckets: torch's names of sizes change with the program; known: x[0], y[0], x[1]
// AGREE: error: buckets of 'x[0]' and 'y[0]' differ, but both are one size (s0); give them the same
// TWICE: error: buckets of 'x[0]' are given twice
// FORM: error: buckets are written KEY=8,16,32 or KEY=ramp, found 'x[0]'
// POLICY: error: bucket policy 'always' is none of auto, ramp, specialize, off
// SAME: buckets = [8, 16]
frit.graph @main(%x: tensor<?x?xf32, #frit.dims<[s0, s1]>> {frit.name = "x"}, %y: tensor<?xf32, #frit.dims<[s0]>> {frit.name = "y"})
    -> tensor<?xf32, #frit.dims<[s0]>> attributes {symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2>]} {
  frit.return %y : tensor<?xf32, #frit.dims<[s0]>>
}
