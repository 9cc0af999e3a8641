// Every pass of this room, in pipeline order. Each turns a graph into a graph.
#ifndef FRIT_PASSES_TD
#define FRIT_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Stage contracts
//===----------------------------------------------------------------------===//

def VerifyImportedFormPass : Pass<"frit-verify-imported-form", "::mlir::ModuleOp"> {
  let summary = "check that a module is in the form that the importer produces";
  let description = [{
    A module contains only `frit.graph`s, and a graph only operator calls
    (`frit.aten`), calls of graphs, size and scalar arithmetic, `frit.bind`,
    `frit.store`, `frit.none` and `frit.return`. Regions, kernels and legalised
    tensor operations are errors, because only later passes may make them.

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
  let summary = "assign buckets to dynamic sizes";
  let description = [{
    Every size keeps its logical value. A symbol that an argument binds also gets a
    bucket, the smallest entry of a list that is not below it. The list is the user's
    (`buckets`, by argument and dimension), or the ramp: powers of two to 64, then eight
    steps an octave, clipped to the declared maximum. All lists of a graph together have at
    most 64 entries; ramps share what the users' lists leave, around the sizes seen. With the
    policy `auto` every symbol gets a ramp, and later passes use it where that gains time. `ramp`
    uses it everywhere, `off` nowhere; `specialize` is the same as `ramp` to the compiler. Two
    keys that name one symbol must have the same list.

    The bucket is a symbol of its own, which `materialize-padding` and the planning of buffers
    read later. `frit.bucketed` records the buckets and their origin.

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
           "the user's lists: x[0]=8,16,32;n=ramp;%s77=off">,
    Option<"policy", "policy", "std::string", "\"auto\"",
           "the buckets of all other sizes: auto, ramp, specialize or off">];
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
    Only library calls get larger operands; frit's own kernels run on the logical sizes. The
    padded sizes are multiples of `multiple` for half types on a GPU, buckets if sizes must be
    fixed, and both wherever a rule allows it under `mode=force`. A call demands zeros in the
    padded lanes of dims that it sums over, and accepts anything elsewhere; the lanes are filled
    unless the operand has such values there already. The result is a view of the logical sizes.
    Elementwise operations between two padded calls run on the padded sizes. Calls without a rule
    (passes/PaddingRules) keep their sizes and are listed in `frit.padding_refused`, the others
    in `frit.padding`.

    ```mlir
    %y = frit.aten "aten.mm.default"(%a, %b) : (tensor<5x6xf16>, tensor<6x8xf16>) -> tensor<5x8xf16>
    // becomes
    %p = frit.pad %a fill 0.0 : f16 : tensor<5x6xf16> -> tensor<8x8xf16>
    %q = frit.pad %b fill 0.0 : f16 : tensor<6x8xf16> -> tensor<8x8xf16>
    %r = frit.aten "aten.mm.default"(%p, %q) {padded} : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
    %y = frit.unpad %r : tensor<8x8xf16> -> tensor<5x8xf16>
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"", "off, auto or force">,
    Option<"gpu", "gpu", "bool", "false", "the calls run on a GPU">,
    Option<"fixedSizes", "fixed-sizes", "bool", "false", "calls have the sizes of buckets">,
    Option<"multiple", "multiple", "int64_t", "8", "padded sizes are multiples of this">];
  let statistics = [
    Statistic<"numPadded", "padded", "calls given padded operands">,
    Statistic<"numPads", "pads", "operands filled">,
    Statistic<"numReused", "reused", "operands that were padded already">,
    Statistic<"numRefused", "refused", "calls that keep their sizes">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerPaddingPass : Pass<"frit-lower-padding", "::mlir::frit::GraphOp"> {
  let summary = "lower pads to indexing maps";
  let description = [{
    A pad becomes an indexing map with bounds: the operand inside the logical sizes and the fill
    elsewhere, selected in the kernel that computes the value. An unpad becomes a view. Lanes
    without a fill get zeros, or with `poison` NaN, +-1e30 or the least integer in turn.
    `frit.padded_elements` has the number of elements that each pad writes and of those that
    are logical; the executor counts them.

    ```mlir
    %p = frit.pad %a fill 0.0 : f16 : tensor<5x8xf16> -> tensor<8x8xf16>
    // becomes
    %p = frit.reindex %a <(d0, d1) -> (d0, d1) where [d0 in 0 to 5]> fill 0.0 : f16
         : tensor<5x8xf16> -> tensor<8x8xf16>
    ```
  }];
  let options = [
    Option<"poison", "poison", "bool", "false",
           "fill lanes that no result may depend on with conspicuous values">];
  let statistics = [
    Statistic<"numPads", "pads", "pads written as maps">,
    Statistic<"numUnpads", "unpads", "unpads written as views">];
}

def PlaceOperandsPass : Pass<"frit-place-operands", "::mlir::frit::GraphOp"> {
  let summary = "give operands of operator calls the gaps and repetitions they were traced with";
  let description = [{
    Some kernels of libraries demand strides: attention on GPUs wants a mask whose rows begin at
    multiples of 16 bytes, so torch pads the mask and takes a slice of it. A slice of a pad is the
    value itself, so the strides would be lost. An operand that was traced with gaps or with
    repetitions, and does not lie so, becomes a view of a tensor that has the gaps as padding and
    each repetition once. A kernel writes that tensor. Gaps count before and in dims of one element
    too, as in a mask for one query. What a call writes to and was traced with gaps becomes such a
    view in any case. Operands with other strides, and slices of something over four times as large,
    are left to `frit-assign-layouts`.

    ```mlir
    frit.aten "attention"(%m) [#frit.operand<0>] {operand_layouts = [#frit.layout<[0, 8, 1]>]}
         : (tensor<4x5x5xf32>)
    // becomes
    %0 = frit.reindex %m <(d0, d1) -> (0, d0, d1) where [d1 in 0 to 5]> fill 0.0 : f32
         : tensor<4x5x5xf32> -> tensor<5x8xf32>
    %1 = frit.reindex %0 <(d0, d1, d2) -> (d1, d2)> : tensor<5x8xf32> -> tensor<4x5x5xf32>
    frit.aten "attention"(%1) ...
    ```
  }];
  let statistics = [Statistic<"numPlaced", "operands", "operands that became views">];
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

def InlineCallsPass : Pass<"frit-inline-calls", "::mlir::ModuleOp"> {
  let summary = "inline called graphs into their callers";
  let description = [{
    Each `frit.call` is replaced by the body of the called graph, with its sizes
    rewritten in terms of the caller's. Called graphs are removed.

    ```mlir
    %0 = frit.call @block(%a) : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %0 = arith.addf %a, %a : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"inlined", "calls-inlined", "calls replaced by bodies">];
}

def SinglePassVariancePass : Pass<"frit-single-pass-variance", "::mlir::frit::GraphOp"> {
  let summary = "compute variances on a GPU in a single pass";
  let description = [{
    The sum of squared deviations from a mean over the same dims becomes a reduction
    of its own kind, which needs no mean: a thread makes two passes over the values in
    its registers, and partial results are combined by Chan's formula. This is done only
    where memory would be read twice: for columns, whole tensors, few long rows, and rows
    that are not register-resident in a block or cluster (`keepsRows`).

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
    Statistic<"single", "single", "variances computed in one sweep">,
    Statistic<"kept", "kept", "variances of register-resident rows">
  ];
}

def FuseRegionsPass : Pass<"frit-fuse-regions", "::mlir::frit::GraphOp"> {
  let summary = "group tensor operations into regions, one kernel each";
  let description = [{
    Every legalised tensor operation ends up in a `frit.region`; operator calls, host
    scalars, stores and views that are only strides stay outside. `LoopNests` decides
    where each value is computed, `FusionRules` and `FusionClusters` which operations
    share a region.

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
    Statistic<"movedPermutations", "moved-permutations",
              "permutations moved behind the reshape that copies">,
    Statistic<"domainsDiffer", "no-domains-differ", "refused: domains differ">,
    Statistic<"reducesOtherDims", "no-reduces-other-dims", "refused: reduces other dims">,
    Statistic<"readsElsewhere", "no-reads-elsewhere", "refused: reads a value at another place than it is computed">,
    Statistic<"needsWholeReduction", "no-needs-whole-reduction",
              "refused: needs the result of a reduction that is split over threads">,
    Statistic<"besideScan", "no-beside-scan",
              "refused: only elementwise operations share a kernel with a scan">,
    Statistic<"columnEpilogue", "no-column-epilogue", "refused: needs a column reduction at every row">,
    Statistic<"tooManyOperations", "no-too-many-operations", "refused: too many operations">,
    Statistic<"tooManyPointers", "no-too-many-pointers", "refused: too many operands and results">,
    Statistic<"wouldMakeCycle", "no-would-make-cycle", "refused: would make a cycle">,
    Statistic<"otherOperator", "no-other-operator", "refused: another operator, and fusion is off">
  ];
}

def FuseConvolutionsPass : Pass<"frit-fuse-convolutions", "::mlir::frit::GraphOp"> {
  let summary = "fuse convolutions on a CPU with their epilogue";
  let description = [{
    Makes `frit.convolution` of each 2-d f32 convolution that the runtime's own kernel can
    compute: not transposed, with at least a vector of outputs in each group. If nothing else
    reads the sums, it includes their epilogue: factors and summands of channels (bias, batch norm
    by running statistics), then a summand of the result's shape (a residual), then limits (relu,
    clamp). Zeros around the image become padding. Its arguments are those of `aten.convolution`,
    then scale, shift, added, low, high, and the padding behind the image if it differs from
    that before it; the result is `limits((sum + bias) * scale + shift + added)`.

    ```mlir
    %y = frit.aten "aten.convolution.default"(%x, %w) [...]
    %f = frit.reindex %s <(d0, d1, d2, d3) -> (d1)>
    %z = arith.mulf %y, %f
    %r = arith.addf %z, %other
    // becomes
    %r = frit.aten "frit.convolution.default"(%x, %w, %s, %other) [..., #frit.operand<2>, unit, #frit.operand<3>, unit, unit, unit]
    ```
  }];
  let statistics = [
    Statistic<"convolutions", "convolutions", "convolutions in the runtime's kernel">,
    Statistic<"taken", "taken", "operations fused into convolutions">,
    Statistic<"padded", "padded", "images whose zeros became padding">,
    Statistic<"left", "left", "convolutions that stay ATen's">
  ];
}

def LimitContractionPass : Pass<"frit-limit-contraction", "::mlir::frit::GraphOp"> {
  let summary = "forbid contraction that a result could reveal";
  let description = [{
    `fastmath<contract>` on a product and on the sum that reads it lets code generators fuse the
    two, with one rounding. Each kernel that recomputes a product may fuse it or not. So a product
    that several operations read loses the flag, and `x - x` and `x - mean(x)` of one element are
    0. A sum of two products loses it too: only one of the two would be rounded, and
    `a * b - b * a` would not be 0. The pass looks through views, changes of sign and implicit
    roundings.

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
    (without the attribute) and values that leave the region are rounded.
  }];
  let statistics = [Statistic<"elided", "roundings-elided", "pairs of truncf and extf removed">];
}

def SeparateDtypesPass : Pass<"frit-separate-dtypes", "::mlir::frit::GraphOp"> {
  let summary = "give each torch dtype of a tensor a value of its own";
  let description = [{
    Signed and unsigned integers of one width have one element type, so a conversion between them
    is a no-op. If operators, stores or the caller read one tensor as different dtypes, or
    as another dtype than it has, it is copied for them.

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
  let summary = "run convolutions and pooling on a CPU channels-last";
  let description = [{
    Rewrites `operand_layouts` and `result_layouts` of convolutions (2-d, f32 and half types,
    not transposed; sizes may be symbolic) and, in a graph that has one, of pooling;
    `frit-assign-layouts` then makes regions write that order. Results from `first-kept` on are
    saved for the backward: nothing else sees their strides, so they are marked `frit.kept` and
    keep the order in which they were computed. `inputs` are the arguments of a backward graph
    that are channels-last for this reason. With `weights`, filters that have bytes of their own
    in the file (`frit.own_bytes`) and that only convolutions read get a channels-last
    `frit.layout`, so they are reordered once and not at each call.

    ```mlir
    frit.aten "aten.convolution.default"(%x, ...) {operand_layouts = [#frit.layout<[192, 64, 8, 1]>, ...]}
    // becomes
    frit.aten "aten.convolution.default"(%x, ...) {operand_layouts = [#frit.layout<[192, 1, 24, 3]>, ...]}
    ```
  }];
  let options = [Option<"relay", "relay", "bool", "true", "change the order of dims of calls">,
                 Option<"weights", "weights", "bool", "false", "change the order of filters in the file">,
                 Option<"firstKept", "first-kept", "int64_t", "-1", "the first result that only the backward sees">,
                 ListOption<"inputs", "inputs", "int64_t", "arguments that are channels-last">];
  let statistics = [Statistic<"relaidCalls", "relaid-calls", "calls that run channels-last">,
                    Statistic<"relaidWeights", "relaid-weights",
                              "filters stored channels-last in the file">];
}

def AssignLayoutsPass : Pass<"frit-assign-layouts", "::mlir::frit::GraphOp"> {
  let summary = "give every tensor outside of regions strides and an offset";
  let description = [{
    Writes `frit.layouts` on every operation that makes tensors. Views become strides over
    their operand. A region that copies is inserted for a view that strides cannot express,
    for an operand without the layout that its operator needs, and for a result whose
    storage class forbids sharing.

    ```mlir
    %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<4x8xf32> -> tensor<8x4xf32>
    // becomes
    %t = frit.reindex %x <(d0, d1) -> (d1, d0)>
         {frit.layouts = [#frit.layout<[1, 8]>]} : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let options = [Option<"inPlace", "in-place", "bool", "true",
                        "let calls overwrite operands that are dead or overwritten afterwards">];
  let statistics = [Statistic<"copies", "copies", "regions inserted that only copy">];
}

def OrderStoresPass : Pass<"frit-order-stores", "::mlir::frit::GraphOp"> {
  let summary = "place every store behind the readers of what it overwrites";
  let description = [{
    A value read from an argument is the argument's value at the beginning of the graph. If a
    store comes before a reader of what it overwrites (when copies are folded away, `a` and `b`
    may be stored into each other), all stores are moved to the end of the graph, in an order
    that preserves this. A cycle of stores has no such order, so one of their values is copied
    first.

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

include "passes/SchedulePasses.td"

def MergeColumnsPass : Pass<"frit-merge-columns", "::mlir::frit::GraphOp"> {
  let summary = "merge column reductions into row regions on a GPU";
  let description = [{
    A column region that has the domain of a row region and reads one of its operands is
    merged into it: its reductions run `across` the rows, into partial results of a
    fixed number of blocks (`parts`), which a second launch of the kernel combines. This
    is done only if a row of known length fits into registers beside the columns, and
    there are enough rows for the partial results to cost little (`scheduleBothWays`).

    ```mlir
    %dx = frit.region(%g, %x) {schedule = #frit.schedule<row_reduction, ...>}
    %dw = frit.region(%g, %x) {schedule = #frit.schedule<column_reduction, ...>}
    // becomes
    %dx, %dw = frit.region(%g, %x) {schedule = #frit.schedule<row_reduction, ..., <parts = 216, ...>>} {
      ...
      %w = frit.reduce <sum> %gx dims [0] {across}
    ```
  }];
  let options = [
    Option<"arch", "arch", "unsigned", "80", "the oldest GPU architecture that is compiled for: 80, 90 or 100">
  ];
  let statistics = [
    Statistic<"merged", "merged", "column regions merged into a row region">,
    Statistic<"unknownLength", "unknown-length", "refused: the length of a row is not known">,
    Statistic<"tooManyRegisters", "too-many-registers", "refused: a row does not fit into registers beside its columns">,
    Statistic<"tooFewRows", "too-few-rows", "refused: too few rows to pay for the partial results">,
    Statistic<"elsewhere", "elsewhere", "refused: needed in between, or read at another place">
  ];
}

def NarrowSizesPass : Pass<"frit-narrow-sizes", "::mlir::frit::GraphOp"> {
  let summary = "narrow sizes to the range of a bucket, after schedules are chosen";
  let description = [{
    For specialised kernels: restricts the range of a symbol to a bucket. The pass runs after
    fusion, padding, layouts and schedules are decided, so the graph for a bucket differs from
    the graph for all sizes only in what depends on ranges: guards, which variants run, the
    width of indices, what fits into scratch. `frit.wider_symbols` has the original symbols;
    decisions about the order of additions read those, so results have the same bits.

    ```mlir
    symbols = [#frit.symbol<"s0", min = 2, hint = 17>]
    // becomes, with ranges="s0=9:16"
    symbols = [#frit.symbol<"s0", min = 9, max = 16, hint = 17>]
    frit.wider_symbols = [#frit.symbol<"s0", min = 2, hint = 17>]
    ```
  }];
  let options = [
    Option<"ranges", "ranges", "std::string", "\"\"", "the ranges: s0=9:16;s1=1:8">];
  let statistics = [
    Statistic<"numNarrowed", "sizes", "sizes with a narrower range">];
}

def InsertShapeGuardsPass : Pass<"frit-insert-shape-guards", "::mlir::frit::GraphOp"> {
  let summary = "insert guards for the assumptions about sizes and memory";
  let description = [{
    An assumption of the whole graph becomes a `frit.guard`: sizes that torch proved
    equal and the size algebra does not (reshapes, concatenations), the last index of
    a slice if ranges do not determine it, the strides of arguments that kernels read,
    and that arguments written in place share no memory with others. Arguments get
    `frit.origin`, their first reader.

    An assumption that only a faster kernel needs becomes a variant of its region, best
    first: on a GPU 32-bit indices where sizes are not bounded.

    ```mlir
    %y = frit.reshape %x : tensor<?xf32, #frit.dims<[s0]>>
                        -> tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>>
    %z = frit.region(%y) {schedule = #frit.schedule<pointwise, <[s0]>, reduced 0, <threads = 256>>} : ...
    // becomes
    frit.guard <equal, sizes [s0, 2 * floordiv(s0, 2)], origin "frit.reshape (model.py:3)">
    %y = frit.reshape %x : ...
    %z = frit.region(%y) {variants = [
           #frit.variant<[<index32, sizes [2 * s0], origin "math.exp (model.py:4)">]>], schedule = ...} : ...
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
    Guards that follow from the ranges and divisors of symbols, or from another guard, are
    removed; equalities found so far are taken into account. A guard that can never hold is
    an error. An equality of a size with a multiple of its quotient becomes a divisibility.

    ```mlir
    frit.guard <equal, sizes [s0, 2 * floordiv(s0, 2)], origin "a">
    frit.guard <divisor, sizes [s0, 4], origin "b">
    frit.guard <range, sizes [s0, 0, s0 + 1], origin "c">
    // becomes
    frit.guard <divisor, sizes [s0, 4], origin "b">
    ```

    Variants lose the assumptions that always hold. A variant without assumptions becomes
    the schedule of its region, and a variant that can never run is removed.
  }];
  let statistics = [
    Statistic<"impliedByFacts", "implied-by-facts", "assumptions that the symbol table decides">,
    Statistic<"impliedByGuards", "implied-by-guards", "assumptions that another one implies">,
    Statistic<"rewritten", "rewritten", "equalities rewritten as divisibilities">,
    Statistic<"variantsDropped", "variants-dropped", "variants that never run">,
    Statistic<"variantsDecided", "variants-decided", "variants that always run">
  ];
}

def GatherRegionsPass : Pass<"frit-gather-regions", "::mlir::frit::GraphOp"> {
  let summary = "group regions of one formula for horizontal fusion";
  let description = [{
    Independent regions of one formula (equal operations over tensors in order, of any
    shapes) get a common `group` and are moved next to each other; outlining makes one
    launch of them. Regions move only past other regions, views and arithmetic of scalars,
    and only if their operands and results are arguments, results or small, so that no
    large memory lives longer.

    ```mlir
    %0 = frit.region(%a) ... : tensor<4x5xf32> -> tensor<4x5xf32>
    %1 = frit.region(%x) ... another formula
    %2 = frit.region(%b) ... : tensor<7xf32> -> tensor<7xf32>
    // becomes
    %1 = frit.region(%x) ...
    %0 = frit.region(%a) {group = 0} ...
    %2 = frit.region(%b) {group = 0} ...
    ```
  }];
  let statistics = [
    Statistic<"groups", "groups", "groups made">,
    Statistic<"gathered", "regions-gathered", "regions in groups">
  ];
}

def PlanBuffersPass : Pass<"frit-plan-buffers", "::mlir::frit::GraphOp"> {
  let summary = "decide to which storage every region writes";
  let description = [{
    Writes `buffers` on regions and on the graph. A buffer is an output
    (storage of its own), a temporary (reused after its last reader) or a
    mutated argument's storage; in the last case the `frit.store` is marked
    `in_place` and the region names the argument in `writes`. Without `reuse`
    every result has storage of its own. A region that runs before something that may raise an
    error (a `frit.require`, a call of ATen) does not write to an argument; its store copies.
  }];
  let options = [
    Option<"reuse", "reuse", "bool", "true", "reuse memory and write in place">,
    Option<"gpu", "gpu", "bool", "false", "the graph runs on GPUs, where errors have no order">
  ];
  let statistics = [
    Statistic<"reused", "reused", "results written to a dead temporary">,
    Statistic<"inPlace", "in-place", "results written over their operand">,
    Statistic<"storesInPlace", "stores-in-place", "stored results written directly to the argument">,
    Statistic<"storesAfterErrors", "stores-after-errors", "stored results copied to the argument after what may raise an error">
  ];
}

def OutlineRegionsPass : Pass<"frit-outline-regions", "::mlir::ModuleOp"> {
  let summary = "turn regions into kernels and launches";
  let description = [{
    A kernel is written in terms of its own parameters p0.., numbered by first
    occurrence, and named by its operations and a hash of its text, so equal
    regions share a kernel. With `batch-invariant`, kernels have `frit.batch_invariant`.
    Regions over tensors in order with equal formulas but different
    shapes share one too: it runs over the number of elements, a parameter. The regions
    of one `group` become one launch of a kernel over lists.

    ```mlir
    frit.launch @frit_add_1a2b3c4d [#frit.size<s0>] (%a, %b) : ...
    ```
  }];
  let options = [
    Option<"batchInvariant", "batch-invariant", "bool", "false",
           "the order of additions of a row must not depend on the number of rows">
  ];
  let statistics = [
    Statistic<"outlined", "kernels", "kernels made">,
    Statistic<"shared", "launches-sharing", "regions that share the kernel of another">,
    Statistic<"joinedLists", "launches-of-lists", "launches for several regions">,
    Statistic<"flattened", "regions-flattened",
              "regions flattened to share a kernel with other shapes">
  ];
}

def VerifyOutlinedFormPass : Pass<"frit-verify-outlined-form", "::mlir::ModuleOp"> {
  let summary = "check that a module is in the form that the artifact writer expects";
  let description = [{
    A module contains only kernels and graphs; a graph contains launches, operator calls,
    views, stores, binds, sizes and host scalars. Every tensor has a layout, and every
    result of a launch has a buffer.
  }];
}

#endif
