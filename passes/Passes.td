// Every pass of the room: graph in, graph out. In pipeline order.
#ifndef FRIT_PASSES_TD
#define FRIT_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Stage contracts
//===----------------------------------------------------------------------===//

def VerifyImportedFormPass : Pass<"frit-verify-imported-form", "::mlir::ModuleOp"> {
  let summary = "check that a module is what the importer promises";
  let description = [{
    A module holds `frit.graph`s only, and a graph only operator calls
    (`frit.aten`), calls of graphs, size and scalar arithmetic, `frit.bind`,
    `frit.store`, `frit.none` and `frit.return`. No region, kernel or legalised
    tensor operation exists yet: if one does, the importer made it.

    ```mlir
    frit.graph @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = frit.aten "aten.relu.default"(%a) [#frit.operand<0>]
           {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]}
           : (tensor<4xf32>) -> tensor<4xf32>
      frit.return %0 : tensor<4xf32>
    }
    ```
  }];
}

include "passes/AtenPasses.td"

//===----------------------------------------------------------------------===//
// Sizes that vary
//===----------------------------------------------------------------------===//

def AssignBucketsPass : Pass<"frit-assign-buckets", "::mlir::frit::GraphOp"> {
  let summary = "give sizes that vary a few sizes to round up to";
  let description = [{
    Every size keeps its logical value; a symbol that an argument binds also gets a
    bucket, the smallest entry of a list that holds it. The list is the user's
    (`buckets`, by argument and dimension), or the ramp: powers of two to 64, then eight
    steps an octave, clipped to the declared maximum. All lists of a graph have at
    most 64 entries; ramps share what the users' lists leave, about the sizes seen. With the policy `auto`
    every symbol gets a ramp and later stages use it where that gains time; `ramp`
    uses it everywhere (and `specialize`, which is the caller's), `off` nowhere. Two keys that are one symbol must agree.

    The bucket is a symbol of its own. Nothing reads it yet: buffers and
    `materialize-padding` do. `frit.bucketed` says who asked for what.

    ```mlir
    symbols = [#frit.symbol<"s0", min = 2, max = 60, hint = 17>]
    // becomes, with buckets="x[0]=8,32,64"
    symbols = [#frit.symbol<"s0", min = 2, max = 60, hint = 17, buckets = [8, 32, 60]>,
               #frit.symbol<"b0", min = 2, max = 60, hint = 32, bucket_of = "s0">]
    frit.bucketed = [ {asked = true, bucket = "b0", names = ["x[0]"], policy = "list", symbol = "s0"} ]
    ```
  }];
  let options = [
    Option<"buckets", "buckets", "std::string", "\"\"",
           "what is asked for: x[0]=8,16,32;n=ramp;%s77=off">,
    Option<"policy", "policy", "std::string", "\"auto\"",
           "what sizes without a request get: auto, ramp, specialize or off">];
  let statistics = [
    Statistic<"numSymbols", "symbols", "sizes that got buckets">,
    Statistic<"numBuckets", "buckets", "entries of their lists">];
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

def MaterializePaddingPass : Pass<"frit-materialize-padding", "::mlir::frit::GraphOp"> {
  let summary = "pad the operands of library calls that gain from it";
  let description = [{
    Kernels of our own run on the logical sizes; only a library call is given larger
    operands: sizes that are multiples of `multiple` for half types on a GPU, buckets
    where sizes must be fixed, and both wherever a rule allows it under `mode=force`.
    What the call demands of the lanes beyond the logical sizes (zeros where it sums,
    anything elsewhere) is filled unless the operand's own lanes hold it. The result is
    cut back by a view; what else is elementwise between two padded calls runs on the
    padded sizes. Calls without a rule (passes/PaddingRules) keep their sizes and are
    listed in `frit.padding_refused`, the others in `frit.padding`.

    ```mlir
    %y = frit.aten "aten.mm.default"(%a, %b) : (tensor<5x6xf16>, tensor<6x8xf16>) -> tensor<5x8xf16>
    // becomes
    %p = frit.pad %a fill 0.0 : f16 : tensor<5x6xf16> -> tensor<8x8xf16>
    %q = frit.pad %b fill 0.0 : f16 : tensor<6x8xf16> -> tensor<8x8xf16>
    %r = frit.aten "aten.mm.default"(%p, %q) {frit.padded} : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
    %y = frit.unpad %r : tensor<8x8xf16> -> tensor<5x8xf16>
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"", "off, auto or force">,
    Option<"gpu", "gpu", "bool", "false", "the calls run on a GPU">,
    Option<"fixedSizes", "fixed-sizes", "bool", "false", "calls have the sizes of buckets">,
    Option<"multiple", "multiple", "int64_t", "8", "what sizes become multiples of">];
  let statistics = [
    Statistic<"numPadded", "padded", "calls given padded operands">,
    Statistic<"numPads", "pads", "operands filled">,
    Statistic<"numReused", "reused", "operands that were padded already">,
    Statistic<"numRefused", "refused", "calls that keep their sizes">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerPaddingPass : Pass<"frit-lower-padding", "::mlir::frit::GraphOp"> {
  let summary = "write pads as indexing maps";
  let description = [{
    A pad reads its operand inside of the logical sizes and gives the fill elsewhere,
    by a select in the kernel that makes the value; an unpad is a view. Lanes without
    a fill hold zeros, or with `poison` a NaN, +-1e30 or the least integer in turn.
    `frit.padded_elements` keeps, for each pad, how many elements it writes and how many
    of them are logical: the executor counts them.

    ```mlir
    %p = frit.pad %a fill 0.0 : f16 : tensor<5x8xf16> -> tensor<8x8xf16>
    // becomes
    %p = frit.reindex %a <(d0, d1) -> (d0, d1) where [d0 in 0 to 5]> fill 0.0 : f16
         : tensor<5x8xf16> -> tensor<8x8xf16>
    ```
  }];
  let options = [
    Option<"poison", "poison", "bool", "false", "fill the lanes that nobody may depend on with what would show">];
  let statistics = [
    Statistic<"numPads", "pads", "pads written as maps">,
    Statistic<"numUnpads", "unpads", "unpads written as views">];
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

def InlineCallsPass : Pass<"frit-inline-calls", "::mlir::ModuleOp"> {
  let summary = "make called graphs part of their callers";
  let description = [{
    A `frit.call` becomes the body of the graph it calls; sizes of the callee
    are rewritten in terms of the caller's. Graphs that were called disappear.

    ```mlir
    %0 = frit.call @block(%a) : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %0 = arith.addf %a, %a : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"inlined", "calls-inlined", "calls replaced by bodies">];
}

def SinglePassVariancePass : Pass<"frit-single-pass-variance", "::mlir::frit::GraphOp"> {
  let summary = "let a GPU read what it takes the variance of once";
  let description = [{
    The sum of the squares around a mean over the same dims becomes a reduction
    of its own kind, which needs no mean: two passes over what a thread has in
    registers, parts combined by Chan's formula. Only where memory would be read
    twice: over columns, of whole tensors and few long rows, and of rows that no
    block or cluster keeps (`keepsRows`).

    ```mlir
    %s = frit.reduce <sum> %x dims [0]
    %m = arith.divf %s, %count
    %b = frit.reindex %m <(d0, d1) -> (d1)>
    %c = arith.subf %x, %b
    %q = arith.mulf %c, %c
    %v = frit.reduce <sum> %q dims [0]
    // becomes
    %s = frit.reduce <sum> %x dims [0]
    %v = frit.reduce <deviations> %x dims [0]
    ```
  }];
  let options = [
    Option<"arch", "arch", "unsigned", "80", "the oldest GPU architecture that is compiled for: 80, 90 or 100">
  ];
  let statistics = [
    Statistic<"single", "single", "variances that are found in one sweep">,
    Statistic<"kept", "kept", "variances of rows that a kernel keeps">
  ];
}

def FuseRegionsPass : Pass<"frit-fuse-regions", "::mlir::frit::GraphOp"> {
  let summary = "group tensor operations into regions, one kernel each";
  let description = [{
    Every legalised tensor operation ends up in a `frit.region`; outside stay
    operator calls, host scalars, stores and views that are only strides. What
    is computed where is decided by `LoopNests`, what runs together by
    `FusionRules` and `FusionClusters`.

    ```mlir
    %m = frit.reduce <max> %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<4xf32> -> tensor<4x8xf32>
    %y = arith.subf %x, %b : tensor<4x8xf32>
    // becomes
    %y = frit.region(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%a: tensor<4x8xf32>):
      %m = frit.reduce <max> %a dims [1] : tensor<4x8xf32> -> tensor<4xf32>
      %b = frit.reindex %m <(d0, d1) -> (d0)> : tensor<4xf32> -> tensor<4x8xf32>
      %y = arith.subf %a, %b : tensor<4x8xf32>
      frit.yield %y : tensor<4x8xf32>
    }
    ```

    Without `merge` only operations of one operator (equal `frit.operator`, as
    `frit-legalize-aten{mark-operators}` writes it) share a region.
  }];
  let options = [
    Option<"merge", "merge", "bool", "true", "let operators share regions">];
  let statistics = [
    Statistic<"regions", "regions", "regions made">,
    Statistic<"operations", "operations", "operations in regions">,
    Statistic<"repeated", "repeated", "values computed in more than one region">,
    Statistic<"countedGathers", "counted-gathers", "gathers by counted indices read as views">,
    Statistic<"movedPermutations", "moved-permutations", "permutations moved behind the reshape that copies them">,
    Statistic<"domainsDiffer", "no-domains-differ", "refused: domains differ">,
    Statistic<"reducesOtherDims", "no-reduces-other-dims", "refused: reduces other dims">,
    Statistic<"readsElsewhere", "no-reads-elsewhere", "refused: reads a value at another place than it is computed">,
    Statistic<"needsWholeReduction", "no-needs-whole-reduction", "refused: needs a reduction that is split over threads">,
    Statistic<"columnEpilogue", "no-column-epilogue", "refused: needs a column reduction at every row">,
    Statistic<"tooManyOperations", "no-too-many-operations", "refused: too many operations">,
    Statistic<"tooManyPointers", "no-too-many-pointers", "refused: too many operands and results">,
    Statistic<"wouldMakeCycle", "no-would-make-cycle", "refused: would make a cycle">,
    Statistic<"otherOperator", "no-other-operator", "refused: another operator, and fusion is off">
  ];
}

def LimitContractionPass : Pass<"frit-limit-contraction", "::mlir::frit::GraphOp"> {
  let summary = "round products whose rounded value can be told from the exact one";
  let description = [{
    `fastmath<contract>` on a product and on the sum that reads it lets code generators fuse the two, with one rounding. Kernels compute a product
    anew where they need it, and each may fuse it or not: a product that more than one operation reads loses the flag, so that `x - x` and
    `x - mean(x)` of one element are 0. A sum of two products loses it too: only one of them would keep its rounding, and `a * b - b * a`
    would not be 0. Views, changes of sign and implicit roundings are looked through.

    ```mlir
    %x = arith.mulf %a, %b fastmath<contract> : tensor<4x1xf32>
    %s = frit.reduce %x ... : tensor<4x1xf32> -> tensor<4xf32>
    %m = frit.reindex %s ...
    %y = arith.subf %x, %m fastmath<contract> : tensor<4x1xf32>
    // becomes
    %x = arith.mulf %a, %b : tensor<4x1xf32>
    ```
  }];
  let statistics = [
    Statistic<"products", "products", "products that several operations read">,
    Statistic<"sums", "sums", "sums of two products">
  ];
}

def ElideHalfRoundingPass : Pass<"frit-elide-half-rounding", "::mlir::frit::GraphOp"> {
  let summary = "compute half types in f32 between the operations of a region";
  let description = [{
    An `arith.extf` of an `arith.truncf {frit.implicit}` whose value does not
    leave the region reads the unrounded value. Casts that the program wrote
    (no attribute) and values that escape are rounded as they say.
  }];
  let statistics = [Statistic<"elided", "roundings-elided", "pairs of truncf and extf removed">];
}

def SeparateDtypesPass : Pass<"frit-separate-dtypes", "::mlir::frit::GraphOp"> {
  let summary = "give each torch dtype of a tensor a value of its own";
  let description = [{
    Signed and unsigned integers of one width have one element type, so that a conversion between them is no operation. A tensor that an
    operator, a store or the caller takes for another dtype than it has, or than others take it for, is copied for them.

    ```mlir
    frit.graph @sorted(%a: tensor<4xi8> {frit.dtype = #frit.dtype<i8>}) {
      %s = frit.aten "aten.msort.default"(%a) ... {operand_dtypes = [#frit.dtype<u8>]}
    // becomes
      %c = frit.region(%a)
      %s = frit.aten "aten.msort.default"(%c) ... {operand_dtypes = [#frit.dtype<u8>]}
    ```
  }];
  let statistics = [Statistic<"numCopies", "copies", "tensors copied for another dtype">];
}

def PreferChannelsLastPass : Pass<"frit-prefer-channels-last", "::mlir::frit::GraphOp"> {
  let summary = "let convolutions and pooling of a CPU read and write channels-last";
  let description = [{
    Rewrites what `operand_layouts` and `result_layouts` say of convolutions (2-d, f32
    and half types, not transposed; sizes may be symbolic) and, in a graph that has one, of pooling;
    `frit-assign-layouts` then makes regions write that order. Results from `first-kept`
    on are what a forward graph keeps for its backward: nobody else sees their strides, so
    they are marked `frit.kept` and lie as they come. `inputs` are the arguments of
    a backward graph that have come channels-last that way. With `weights`, filters that have
    bytes of their own in the file (`frit.own_bytes`) and that only convolutions read get
    a channels-last `frit.layout`: they are laid out once, not at each call.

    ```mlir
    frit.aten "aten.convolution.default"(%x, ...) {operand_layouts = [#frit.layout<[192, 64, 8, 1]>, ...]}
    // becomes
    frit.aten "aten.convolution.default"(%x, ...) {operand_layouts = [#frit.layout<[192, 1, 24, 3]>, ...]}
    ```
  }];
  let options = [Option<"relay", "relay", "bool", "true", "change the order that calls work in">,
                 Option<"weights", "weights", "bool", "false", "change the order of filters in the file">,
                 Option<"firstKept", "first-kept", "int64_t", "-1", "the first result that only the backward sees">,
                 ListOption<"inputs", "inputs", "int64_t", "arguments that are channels-last">];
  let statistics = [Statistic<"relaidCalls", "relaid-calls", "calls that work channels-last">,
                    Statistic<"relaidWeights", "relaid-weights", "filters that lie channels-last in the file">];
}

def AssignLayoutsPass : Pass<"frit-assign-layouts", "::mlir::frit::GraphOp"> {
  let summary = "give every tensor outside of regions strides and an offset";
  let description = [{
    Writes `frit.layouts` on every operation that makes tensors. Views become
    strides over their operand; a view that strides cannot express, an operand
    that does not lie as its operator wants it and a result whose storage class
    forbids sharing become regions that copy.

    ```mlir
    %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<4x8xf32> -> tensor<8x4xf32>
    // becomes
    %t = frit.reindex %x <(d0, d1) -> (d1, d0)>
         {frit.layouts = [#frit.layout<[1, 8]>]} : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let options = [Option<"inPlace", "in-place", "bool", "true", "let calls write to what ends there or is overwritten anyway">];
  let statistics = [Statistic<"copies", "copies", "regions inserted that only copy">];
}

def OrderStoresPass : Pass<"frit-order-stores", "::mlir::frit::GraphOp"> {
  let summary = "let every reader of an argument come before its store";
  let description = [{
    A value read from an argument is what the argument held when the graph began. Where a store stands before a reader of what it
    overwrites (copies that folded away leave `a` and `b` stored into each other), all stores go to the end of the graph in an order
    that keeps to this; a ring of stores has none, so that one of their values is copied first.

    ```mlir
    frit.store %b into %a
    frit.store %a into %b
    // becomes
    %c = frit.region(%b)
    frit.store %a into %b
    frit.store %c into %a
    ```
  }];
  let statistics = [
    Statistic<"numMoved", "moved", "stores put in order">,
    Statistic<"numCopies", "copies", "values copied before they are overwritten">];
}

def ChooseSchedulesPass : Pass<"frit-choose-schedules", "::mlir::frit::GraphOp"> {
  let summary = "give every region its family of kernels and their numbers";
  let description = [{
    Measures a region (rows, columns, where its reads are contiguous). For a CPU
    it gets its family alone: `schedule-cpu-kernels` chooses the rest when it is a
    kernel. For a GPU it takes the first candidate of `listSchedules`, or the one
    that `choices` names: `2=1;5=1` is candidate 1 for regions 2 and 5, in the
    order of the graph. With choices, or where they are `list`, the graph says in
    `frit.schedule_candidates` how many each region has.

    ```mlir
    frit.region(%x) {schedule = #frit.schedule<row_reduction, <[4, 8]>, reduced 1, {threads = 32 : i64}>}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu or gpu">,
    Option<"arch", "arch", "unsigned", "80", "the oldest GPU architecture that is compiled for: 80, 90 or 100">,
    Option<"choices", "choices", "std::string", "", "candidates of single regions, or list">
  ];
  let statistics = [
    Statistic<"pointwise", "pointwise", "pointwise regions">,
    Statistic<"rowReductions", "row-reductions", "row reductions">,
    Statistic<"columnReductions", "column-reductions", "column reductions">,
    Statistic<"fullReductions", "full-reductions", "full reductions">
  ];
}

def ScheduleCpuKernelsPass : Pass<"frit-schedule-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "give every kernel its schedule on a CPU";
  let description = [{
    Measures the flat program of each kernel (kernel/KernelProgram.h) and takes the
    first candidate of `listCpuSchedules`, or the one that `choices` names:
    `2=1;5=1` is candidate 1 for kernels 2 and 5, in the order of the module. With
    choices, or where they are `list`, each graph says in
    `frit.schedule_candidates` how many each kernel of the module has. A kernel
    that has a schedule keeps it.

    ```mlir
    frit.kernel @add(%a: tensor<64xf32>) -> tensor<64xf32> attributes {symbols = []} {...}
    ```

    becomes

    ```mlir
    frit.kernel @add(%a: tensor<64xf32>) -> tensor<64xf32>
        attributes {cpu_schedule = #frit.cpu_pointwise<...>, symbols = []} {...}
    ```
  }];
  let options = [
    Option<"level", "level", "std::string", "\"x86-64-v4\"",
           "the lowest level that is compiled for: x86-64-v3 (AVX2) or x86-64-v4 (AVX-512)">,
    Option<"choices", "choices", "std::string", "", "candidates of single kernels, or list">
  ];
  let statistics = [
    Statistic<"pointwise", "pointwise", "pointwise kernels">,
    Statistic<"rows", "rows", "kernels that reduce along their vectors">,
    Statistic<"columns", "columns", "kernels that reduce across their vectors">
  ];
}

def MergeColumnsPass : Pass<"frit-merge-columns", "::mlir::frit::GraphOp"> {
  let summary = "let row regions of a GPU do column reductions of what they read";
  let description = [{
    A column region whose domain is that of a row region, and which reads an
    operand of it, becomes part of it: its reductions go `frit.across` the rows,
    into partial results of a fixed number of blocks (`parts`) that a second
    launch of the kernel folds. Only where a row of known length fits into
    registers beside the columns, and there are enough rows for the partial
    results to cost little (`scheduleBothWays`).

    ```mlir
    %dx = frit.region(%g, %x) {schedule = #frit.schedule<row_reduction, ...>}
    %dw = frit.region(%g, %x) {schedule = #frit.schedule<column_reduction, ...>}
    // becomes
    %dx, %dw = frit.region(%g, %x) {schedule = #frit.schedule<row_reduction, ..., {parts = 216 : i64, ...}>} {
      ...
      %w = frit.reduce <sum> %gx dims [0] {frit.across}
    ```
  }];
  let options = [
    Option<"arch", "arch", "unsigned", "80", "the oldest GPU architecture that is compiled for: 80, 90 or 100">
  ];
  let statistics = [
    Statistic<"merged", "merged", "column regions that became part of a row region">,
    Statistic<"unknownLength", "unknown-length", "refused: the length of a row is not known">,
    Statistic<"tooManyRegisters", "too-many-registers", "refused: a row does not fit into registers beside its columns">,
    Statistic<"tooFewRows", "too-few-rows", "refused: too few rows to pay for the partial results">,
    Statistic<"elsewhere", "elsewhere", "refused: needed in between, or read at another place">
  ];
}

def NarrowSizesPass : Pass<"frit-narrow-sizes", "::mlir::frit::GraphOp"> {
  let summary = "let what comes after the schedules know that sizes stay within a bucket";
  let description = [{
    For kernels that serve one bucket only: a symbol's range becomes the part of it that is asked for.
    It runs when fusion, padding, layouts and schedules are decided, so that a graph for a bucket and the
    graph for all sizes differ in what follows from ranges alone: guards, which variants run, how far an
    index reaches, what fits into scratch. The symbols as they were stay in `frit.wider_symbols`: what decides
    about the order of additions reads those, so results are the same bits.

    ```mlir
    symbols = [#frit.symbol<"s0", min = 2, hint = 17>]
    // becomes, with ranges="s0=9:16"
    symbols = [#frit.symbol<"s0", min = 9, max = 16, hint = 17>]
    frit.wider_symbols = [#frit.symbol<"s0", min = 2, hint = 17>]
    ```
  }];
  let options = [
    Option<"ranges", "ranges", "std::string", "\"\"", "s0=9:16;s1=1:8">];
  let statistics = [
    Statistic<"numNarrowed", "sizes", "sizes with a narrower range">];
}

def InsertShapeGuardsPass : Pass<"frit-insert-shape-guards", "::mlir::frit::GraphOp"> {
  let summary = "write down what a graph and its kernels assume about sizes and memory";
  let description = [{
    What must hold for the graph to run at all becomes a `frit.guard`: sizes that
    torch proved equal and the size algebra does not (reshapes, concatenations),
    the last index of a slice where ranges leave it open, the strides of
    arguments that kernels read, and that arguments written in place lie apart
    from all others. Arguments get `frit.origin`, their first reader.

    What only a faster kernel needs becomes a variant of its region, best first:
    on a GPU 32-bit indices where sizes are not bounded.

    ```mlir
    %y = frit.reshape %x : tensor<?xf32, #frit.dims<[s0]>>
                        -> tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>>
    %z = frit.region(%y) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0, {threads = 256 : i64}>} : ...
    // becomes
    frit.guard <equal, sizes [s0, 2 * floordiv(s0, 2)], origin "frit.reshape (model.py:3)">
    %y = frit.reshape %x : ...
    %z = frit.region(%y) {frit.variants = [
           #frit.variant<<pointwise, <[s0]>, reduced 0, {index = 32 : i64, threads = 256 : i64}>,
                         [<index32, sizes [2 * s0], origin "math.exp (model.py:4)">]>], schedule = ...} : ...
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "cpu or gpu">];
  let statistics = [
    Statistic<"guards", "guards", "guards of graphs">,
    Statistic<"variants", "variants", "variants of regions">
  ];
}

def SimplifyShapeGuardsPass : Pass<"frit-simplify-shape-guards", "::mlir::frit::GraphOp"> {
  let summary = "remove guards that the symbol table or another guard implies";
  let description = [{
    Ranges and divisors of symbols decide guards before any call; a guard that
    can never hold is an error. What another guard implies goes, equalities
    found so far taken into account. An equality of a size with a multiple of its
    quotient becomes the divisibility it is.

    ```mlir
    frit.guard <equal, sizes [s0, 2 * floordiv(s0, 2)], origin "a">
    frit.guard <divisor, sizes [s0, 4], origin "b">
    frit.guard <range, sizes [s0, 0, s0 + 1], origin "c">
    // becomes
    frit.guard <divisor, sizes [s0, 4], origin "b">
    ```

    Variants lose the assumptions that hold anyway; one without any left becomes
    the schedule of its region, one that cannot be reached goes.
  }];
  let statistics = [
    Statistic<"impliedByFacts", "implied-by-facts", "assumptions that the symbol table decides">,
    Statistic<"impliedByGuards", "implied-by-guards", "assumptions that another one implies">,
    Statistic<"rewritten", "rewritten", "equalities that are divisibilities">,
    Statistic<"variantsDropped", "variants-dropped", "variants that never run">,
    Statistic<"variantsDecided", "variants-decided", "variants that always run">
  ];
}

def GatherRegionsPass : Pass<"frit-gather-regions", "::mlir::frit::GraphOp"> {
  let summary = "bring regions together that share a launch";
  let description = [{
    Regions of one formula (equal operations over tensors in order, whatever their
    shapes) that need nothing of each other get a common `frit.group` and stand
    side by side; outlining makes one launch of them. Regions move only past others,
    views and arithmetic of scalars, and only those whose operands and results are
    arguments, results or small: what moves keeps no memory.

    ```mlir
    %0 = frit.region(%a) ... : tensor<4x5xf32> -> tensor<4x5xf32>
    %1 = frit.region(%x) ... another formula
    %2 = frit.region(%b) ... : tensor<7xf32> -> tensor<7xf32>
    // becomes
    %1 = frit.region(%x) ...
    %0 = frit.region(%a) {frit.group = 0} ...
    %2 = frit.region(%b) {frit.group = 0} ...
    ```
  }];
  let statistics = [
    Statistic<"groups", "groups", "groups made">,
    Statistic<"gathered", "regions-gathered", "regions in groups">
  ];
}

def PlanBuffersPass : Pass<"frit-plan-buffers", "::mlir::frit::GraphOp"> {
  let summary = "decide which storage every region writes";
  let description = [{
    Writes `frit.buffers` on regions and on the graph. A buffer is an output
    (storage of its own), a temporary (reused after its last reader) or a
    mutated argument's storage; the `frit.store` into the latter is marked
    `in_place` and the region names it in `frit.writes`. Without `reuse` every
    result has storage of its own.
  }];
  let options = [Option<"reuse", "reuse", "bool", "true", "use memory again and write in place">];
  let statistics = [
    Statistic<"reused", "reused", "results that took over a dead temporary">,
    Statistic<"inPlace", "in-place", "results written over their operand">,
    Statistic<"storesInPlace", "stores-in-place", "stores that became results in the argument">
  ];
}

def OutlineRegionsPass : Pass<"frit-outline-regions", "::mlir::ModuleOp"> {
  let summary = "turn regions into kernels and launches";
  let description = [{
    A kernel is written in terms of its own parameters p0.., numbered by first
    occurrence, and named by its operations and a hash of its text: equal
    regions are one kernel. Regions over tensors in order whose formulas are equal
    and whose shapes are not run over their number of elements, a parameter. Those
    of one `frit.group` become one launch, of a kernel over lists.

    ```mlir
    frit.launch @frit_add_1a2b3c4d [#frit.size<s0>] (%a, %b) : ...
    ```
  }];
  let statistics = [
    Statistic<"outlined", "kernels", "kernels made">,
    Statistic<"shared", "launches-sharing", "regions that were a kernel already">,
    Statistic<"joinedLists", "launches-of-lists", "launches for several regions">,
    Statistic<"flattened", "regions-flattened", "regions run over a number of elements because others differ in shape alone">
  ];
}

def VerifyOutlinedFormPass : Pass<"frit-verify-outlined-form", "::mlir::ModuleOp"> {
  let summary = "check that a module is what the artifact writer expects";
  let description = [{
    Kernels and graphs only; a graph holds launches, operator calls, views,
    stores, binds, sizes and host scalars; every tensor has a layout, every
    result of a launch a buffer.
  }];
}

#endif
