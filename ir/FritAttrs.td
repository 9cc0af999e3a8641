// Attributes of the dialect: size expressions, shapes, maps, layouts, dtypes.
#ifndef FRIT_ATTRS_TD
#define FRIT_ATTRS_TD

include "ir/FritDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Frit_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Frit_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

def Frit_SizeFunction : I32EnumAttr<"SizeFunction",
    "the functions that stay opaque inside a size polynomial", [
      I32EnumAttrCase<"FloorDiv", 0, "floordiv">,
      I32EnumAttrCase<"Max", 1, "max">,
      I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_SizeSymbolKind : I32EnumAttr<"SizeSymbolKind", "what a name in a size stands for", [
      I32EnumAttrCase<"Graph", 0, "graph">,
      I32EnumAttrCase<"Dim", 1, "dim">,
      I32EnumAttrCase<"Parameter", 2, "parameter">,
      I32EnumAttrCase<"Value", 3, "value">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_SizeSymbolAttr : Frit_Attr<"SizeSymbol", "size_symbol"> {
  let summary = "a name in a size, an atom of its polynomial";
  let description = [{
    `d0`, `d1` ... are dims of an indexing map or of a kernel's domain, `v0` ... index values that
    were loaded, `p0` ... parameters of a kernel. All other names are symbols of a graph.
  }];
  let parameters = (ins "::mlir::frit::SizeSymbolKind":$kind, "unsigned":$position,
                        StringRefParameter<"name">:$name);
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name)>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static SizeSymbolAttr dim(MLIRContext *context, unsigned position);
    static SizeSymbolAttr parameter(MLIRContext *context, unsigned position);
    static SizeSymbolAttr value(MLIRContext *context, unsigned position);
    bool isDim() const { return getKind() == SizeSymbolKind::Dim; }
    bool isDim(unsigned position) const { return isDim() && getPosition() == position; }
    bool isParameter() const { return getKind() == SizeSymbolKind::Parameter; }
    bool isValue() const { return getKind() == SizeSymbolKind::Value; }
    /// Whether it is one number in a whole kernel or graph.
    bool isUniform() const { return !isDim() && !isValue(); }
    /*implicit*/ operator ::llvm::StringRef() const { return getName(); }
  }];
}

def Frit_SizeAttr : Frit_Attr<"Size", "size"> {
  let summary = "a size expression in canonical form";
  let description = [{
    An expanded polynomial with sorted monomials. `monomials[i]` is the sorted
    list of atoms (with repetition for powers) that `coefficients[i]`
    multiplies; the constant term is the empty monomial. Atoms are symbols
    (`#frit.size_symbol`) or calls of `floordiv`, `max`, `min` (`#frit.size_call`);
    `mod(a, b)` may be written and is stored as `a - b * floordiv(a, b)`. Because the form is
    canonical, pointer equality is equality as polynomials. Build and combine sizes through
    `ir/SizeExpr.h` only.

    ```mlir
    #frit.size<s0 * s1 + 3 * s0 - 1>
    #frit.size<floordiv(s0 + 7, 8)>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$coefficients,
                        ArrayRefParameter<"::mlir::ArrayAttr">:$monomials);
  let hasCustomAssemblyFormat = 1;
}

def Frit_SizeCallAttr : Frit_Attr<"SizeCall", "size_call"> {
  let summary = "an opaque function of two sizes, an atom of a size polynomial";
  let parameters = (ins "::mlir::frit::SizeFunction":$function,
                        "::mlir::frit::SizeAttr":$lhs,
                        "::mlir::frit::SizeAttr":$rhs);
  let hasCustomAssemblyFormat = 1;
}

def Frit_DimsAttr : Frit_Attr<"Dims", "dims"> {
  let summary = "the symbolic shape of a tensor type";
  let description = [{
    One size per dimension. Constant sizes repeat those of the type; dynamic
    ones are expressions. Only types with a dynamic dimension have this attribute.

    ```mlir
    tensor<?x128xf32, #frit.dims<[s0, 128]>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::frit::SizeAttr">:$sizes);
  let hasCustomAssemblyFormat = 1;
}

def Frit_SymbolAttr : Frit_Attr<"Symbol", "symbol"> {
  let summary = "facts about one size symbol of a graph";
  let description = [{
    `min`, `max` bound the symbol (an absent `max` means no bound), `divisor`
    divides it, `hint` is the size seen while tracing (only schedules may read
    it, by its power of two), `unbacked` marks a size known only after a
    data-dependent operator ran. `buckets`, ascending, are the sizes to which the
    symbol may be padded. A symbol with `bucket_of` is not bound from any input:
    it is the smallest bucket of the named symbol that is not below its value, or that
    value itself if all buckets are below it.

    ```mlir
    symbols = [#frit.symbol<"s0", min = 2, max = 60, buckets = [8, 16, 32, 60]>,
               #frit.symbol<"b0", min = 2, bucket_of = "s0">]
    ```
  }];
  let parameters = (ins StringRefParameter<"name">:$name,
                        "int64_t":$min,
                        "std::optional<int64_t>":$max,
                        "std::optional<int64_t>":$hint,
                        "int64_t":$divisor,
                        "bool":$unbacked,
                        ArrayRefParameter<"int64_t">:$buckets,
                        StringRefParameter<"bucket_of">:$bucketOf);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$min,
                                   "std::optional<int64_t>":$max,
                                   "std::optional<int64_t>":$hint,
                                   "int64_t":$divisor, "bool":$unbacked), [{
    return $_get($_ctxt, name, min, max, hint, divisor, unbacked,
                 ::llvm::ArrayRef<int64_t>(), ::llvm::StringRef());
  }]>];
  let hasCustomAssemblyFormat = 1;
}

def Frit_LayoutAttr : Frit_Attr<"Layout", "layout"> {
  let summary = "strides and storage offset of a tensor in memory, in elements";
  let parameters = (ins ArrayRefParameter<"::mlir::frit::SizeAttr">:$strides,
                        "::mlir::frit::SizeAttr":$offset);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Indexing maps
//===----------------------------------------------------------------------===//

def Frit_MapAttr : Frit_Attr<"Map", "map"> {
  let summary = "an indexing map with bounds";
  let description = [{
    Maps result indices `d0..` (and, for gathers, loaded index values `v0..`)
    to operand indices. Every `where` clause `expr in lo to hi` (lo <= expr < hi)
    must hold for the operand to be read; elsewhere the result is the fill of the operation.

    ```mlir
    #frit.map<(d0, d1) -> (d1, d0)>
    #frit.map<(d0) -> (d0 - 2) where [d0 - 2 in 0 to s0]>
    #frit.map<(d0, d1)[v0] -> (v0, d1)>
    ```
  }];
  let parameters = (ins "unsigned":$numDims, "unsigned":$numValues,
                        ArrayRefParameter<"::mlir::frit::SizeAttr">:$results,
                        ArrayRefParameter<"::mlir::frit::SizeAttr">:$boundExprs,
                        ArrayRefParameter<"::mlir::frit::SizeAttr">:$boundLows,
                        ArrayRefParameter<"::mlir::frit::SizeAttr">:$boundHighs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The map (d0, .., dn-1) -> (d0, .., dn-1).
    static MapAttr getIdentity(MLIRContext *context, unsigned rank);
    /// The map with the given results and no bounds.
    static MapAttr get(MLIRContext *context, unsigned numDims,
                       ArrayRef<SizeAttr> results);
    bool isIdentity() const;
    bool hasBounds() const { return !getBoundExprs().empty(); }
    /// If the results are distinct dims covering all of them, the permutation
    /// p with results[i] == d(p[i]).
    std::optional<SmallVector<unsigned>> getPermutation() const;
  }];
}

//===----------------------------------------------------------------------===//
// torch's own enumerations
//===----------------------------------------------------------------------===//

def Frit_DType : I32EnumAttr<"DType", "torch dtype", [
      I32EnumAttrCase<"U8", 0, "u8">, I32EnumAttrCase<"I8", 1, "i8">,
      I32EnumAttrCase<"I16", 2, "i16">, I32EnumAttrCase<"I32", 3, "i32">,
      I32EnumAttrCase<"I64", 4, "i64">, I32EnumAttrCase<"F16", 5, "f16">,
      I32EnumAttrCase<"F32", 6, "f32">, I32EnumAttrCase<"F64", 7, "f64">,
      I32EnumAttrCase<"C32", 8, "c32">, I32EnumAttrCase<"C64", 9, "c64">,
      I32EnumAttrCase<"C128", 10, "c128">, I32EnumAttrCase<"Bool", 11, "bool">,
      I32EnumAttrCase<"BF16", 15, "bf16">,
      I32EnumAttrCase<"F8E5M2", 23, "f8e5m2">,
      I32EnumAttrCase<"F8E4M3FN", 24, "f8e4m3fn">,
      I32EnumAttrCase<"F8E5M2FNUZ", 25, "f8e5m2fnuz">,
      I32EnumAttrCase<"F8E4M3FNUZ", 26, "f8e4m3fnuz">,
      I32EnumAttrCase<"U16", 27, "u16">, I32EnumAttrCase<"U32", 28, "u32">,
      I32EnumAttrCase<"U64", 29, "u64">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
  let description = [{The numbers are those of c10::ScalarType.}];
}

def Frit_DTypeAttr : EnumAttr<Frit_Dialect, Frit_DType, "dtype"> {
  let assemblyFormat = "`<` $value `>`";
}

def Frit_DTypeArrayAttr : TypedArrayAttrBase<Frit_DTypeAttr, "torch dtypes">;

def Frit_TorchEnumAttr : Frit_Attr<"TorchEnum", "torch"> {
  let summary = "a literal of one of torch's enumerations or a device";
  let description = [{
    `kind` is `layout`, `memory_format` (value: the number in torch) or
    `device` (text: `cpu`, `cuda:0`).
  }];
  let parameters = (ins StringRefParameter<"kind">:$kind, "int64_t":$value,
                        StringRefParameter<"text">:$text);
  let assemblyFormat = "`<` $kind `,` $value `,` $text `>`";
  let genVerifyDecl = 1;
}

def Frit_ComplexAttr : Frit_Attr<"Complex", "complex"> {
  let summary = "a complex literal; both parts are f64, as in Python";
  let parameters = (ins "::mlir::FloatAttr":$real, "::mlir::FloatAttr":$imag);
  let assemblyFormat = "`<` $real `,` $imag `>`";
  let genVerifyDecl = 1;
}

def Frit_OperandAttr : Frit_Attr<"Operand", "operand"> {
  let summary = "the place of an operand in an argument list of an ATen call";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Frit_StorageKind : I32EnumAttr<"StorageKind", "what storage a value lives in", [
      I32EnumAttrCase<"Fresh", 0, "fresh">,
      I32EnumAttrCase<"Argument", 1, "argument">,
      I32EnumAttrCase<"ViewOfArgument", 2, "view_of_argument">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_StorageAttr : Frit_Attr<"Storage", "storage"> {
  let summary = "storage class of a value: distinct classes never share memory";
  let parameters = (ins "::mlir::frit::StorageKind":$kind, "int64_t":$index);
  let assemblyFormat = "`<` $kind `,` $index `>`";
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def Frit_ScheduleKind : I32EnumAttr<"ScheduleKind", "family of kernels", [
      I32EnumAttrCase<"Pointwise", 0, "pointwise">,
      I32EnumAttrCase<"RowReduction", 1, "row_reduction">,
      I32EnumAttrCase<"ColumnReduction", 2, "column_reduction">,
      I32EnumAttrCase<"FullReduction", 3, "full_reduction">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_GpuNumbersAttr : Frit_Attr<"GpuNumbers", "gpu_numbers"> {
  let summary = "the numbers of a region's schedule on a GPU";
  let description = [{
    Chosen from estimates of sizes before regions become kernels; `schedule-gpu-kernels` completes
    them by the kernel's addresses. 0 (not printed): no number. `threads` of a block; `rows` of a
    block; `vector`: elements of an access; `unroll`: vectors that a thread loads before it uses the
    first; `rowThreads`: threads that share a row of any known length; `threadsX`: threads of a block
    along the columns; `cluster`: blocks of a cluster that shares a row; `split`: the most blocks
    that share a row or a column; `rowsOfPart`: the least rows of each of them; `resident`: blocks
    on a multiprocessor that registers must allow for; `parts`: blocks of the grid of a kernel that
    reduces both ways.

    ```mlir
    #frit.gpu_numbers<threads = 128, vector = 4>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$threads,
                        DefaultValuedParameter<"int64_t", "0">:$rows,
                        DefaultValuedParameter<"int64_t", "0">:$vector,
                        DefaultValuedParameter<"int64_t", "0">:$unroll,
                        DefaultValuedParameter<"int64_t", "0">:$rowThreads,
                        DefaultValuedParameter<"int64_t", "0">:$threadsX,
                        DefaultValuedParameter<"int64_t", "0">:$cluster,
                        DefaultValuedParameter<"int64_t", "0">:$split,
                        DefaultValuedParameter<"int64_t", "0">:$rowsOfPart,
                        DefaultValuedParameter<"int64_t", "0">:$resident,
                        DefaultValuedParameter<"int64_t", "0">:$parts);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_ScheduleAttr : Frit_Attr<"Schedule", "schedule"> {
  let summary = "the schedule of a region";
  let description = [{
    `domain` is the region's iteration domain, outermost first: the parallel
    sizes, then `reducedRank` reduced ones. On a GPU `numbers` are those of the
    candidate that was chosen.

    ```mlir
    #frit.schedule<row_reduction, [s0, 1024], reduced 1, <threads = 128>>
    ```
  }];
  let parameters = (ins "::mlir::frit::ScheduleKind":$kind,
                        "::mlir::frit::DimsAttr":$domain,
                        "unsigned":$reducedRank,
                        OptionalParameter<"::mlir::frit::GpuNumbersAttr">:$numbers);
  let assemblyFormat =
      "`<` $kind `,` $domain `,` `reduced` $reducedRank (`,` $numbers^)? `>`";
}

def Frit_CpuPointwiseAttr : Frit_Attr<"CpuPointwise", "cpu_pointwise"> {
  let summary = "how a CPU runs a kernel without reductions";
  let description = [{
    Dims are those of the kernel's flat program (kernel/KernelProgram.h), after the innermost one was
    unrolled where `unrollMembers` is set. Vectors run along `lane`; without it the domain is one
    point. A unit of work is `stretch` elements along the lane dim, times `tileRows` elements of
    `tileDim` where an operand is contiguous along that one (a transpose). A step takes `unroll`
    vectors. `once`: the body is emitted once, every access under a mask; otherwise whole vectors
    have a loop of their own. `streams`: stores bypass the cache if the tensors exceed it. `grain`:
    units that are worth a thread.

    ```mlir
    #frit.cpu_pointwise<unrollMembers = false, lane = 1, stretch = 4096, unroll = 1, once = false,
                        streams = true, grain = 24>
    ```
  }];
  let parameters = (ins "bool":$unrollMembers,
                        OptionalParameter<"std::optional<unsigned>">:$lane,
                        OptionalParameter<"std::optional<unsigned>">:$tileDim,
                        DefaultValuedParameter<"int64_t", "1">:$tileRows,
                        "int64_t":$stretch, "int64_t":$unroll, "bool":$once, "bool":$streams,
                        "int64_t":$grain);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_CpuRowsAttr : Frit_Attr<"CpuRows", "cpu_rows"> {
  let summary = "how a CPU runs a reduction along its vectors";
  let description = [{
    The lane dim is reduced: a unit of work is a row. `unroll` and `once` have one entry for each
    round of reductions: vector accumulators side by side, and whether the body is emitted once under
    masks. Up to `keep` values that cost more to compute than to load (exp, division) wait in scratch
    memory for later sweeps of the row. `writeOnce` and `recomputeOnce` are `once` for the last
    sweep, which writes results of the whole domain from kept values, or computes them again where
    the row was too long to keep. `splitElements` > 0: the kernel is one row, shared out among at
    most `mostParts` units of at least so many elements; a second launch combines them in order.

    ```mlir
    #frit.cpu_rows<unrollMembers = false, lane = 1, unroll = array<i64: 4>,
                   once = array<i1: false>, keep = 4, writeOnce = false, recomputeOnce = false,
                   streams = true, grain = 3>
    ```
  }];
  let parameters = (ins "bool":$unrollMembers, "unsigned":$lane, "::mlir::DenseI64ArrayAttr":$unroll,
                        "::mlir::DenseBoolArrayAttr":$once, "int64_t":$keep, "bool":$writeOnce,
                        "bool":$recomputeOnce, "bool":$streams,
                        DefaultValuedParameter<"int64_t", "0">:$splitElements,
                        DefaultValuedParameter<"int64_t", "0">:$mostParts, "int64_t":$grain);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_CpuColumnsAttr : Frit_Attr<"CpuColumns", "cpu_columns"> {
  let summary = "how a CPU runs a reduction across its vectors";
  let description = [{
    The lane dim is parallel: each lane has accumulators of its own, and the reduced dims are walked
    in order. A tile is `vectors` vectors by `rows` values of `rowDim`, another parallel dim; what is
    broadcast along either is loaded once a tile. A unit of work is `unitRows` values of the row dim
    by the tile's lanes. `packs`: operands with a stride along the lanes are copied into lane order
    once a unit. `once`: tiles are one vector, emitted once under masks.

    ```mlir
    #frit.cpu_columns<unrollMembers = false, lane = 1, rowDim = 0, rows = 4, vectors = 2,
                      unitRows = 32, packs = false, once = false, grain = 1>
    ```
  }];
  let parameters = (ins "bool":$unrollMembers, "unsigned":$lane,
                        OptionalParameter<"std::optional<unsigned>">:$rowDim,
                        "int64_t":$rows, "int64_t":$vectors, "int64_t":$unitRows, "bool":$packs,
                        "bool":$once, "int64_t":$grain);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuPointwiseAttr : Frit_Attr<"GpuPointwise", "gpu_pointwise"> {
  let summary = "how a GPU runs a kernel without reductions";
  let description = [{
    A thread takes `unroll` chunks of `width` elements along `lane`, and a block of `threads` threads
    neighbouring chunks; without a lane dim the domain is one point. `loadsFirst`: all operands of a
    chunk are loaded before anything is computed. Where accesses cannot be vectors a thread takes the
    same number of elements, `together` of which it loads before it stores the first.

    ```mlir
    #frit.gpu_pointwise<lane = 1, width = 4, threads = 256, together = 4>
    ```
  }];
  let parameters = (ins OptionalParameter<"std::optional<unsigned>">:$lane, "int64_t":$width,
                        "int64_t":$threads, DefaultValuedParameter<"int64_t", "1">:$unroll,
                        DefaultValuedParameter<"int64_t", "1">:$together,
                        DefaultValuedParameter<"bool", "false">:$loadsFirst);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuTransposeAttr : Frit_Attr<"GpuTranspose", "gpu_transpose"> {
  let summary = "how a GPU runs a kernel whose accesses are contiguous along two dims";
  let description = [{
    A block takes tiles of `lane` by `across`. Accesses that are contiguous along `across` go
    through shared memory. A thread takes `neighbours` elements along an edge at once, so a tile has
    32 * `neighbours` of them along each.

    ```mlir
    #frit.gpu_transpose<lane = 1, across = 0, neighbours = 2>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "unsigned":$across, "int64_t":$neighbours);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuRowsAttr : Frit_Attr<"GpuRows", "gpu_rows"> {
  let summary = "how a GPU runs a reduction along its vectors, a row to a group of threads";
  let description = [{
    `threads` of the `block` threads of a block share a row, of which each takes every `threads`-th
    chunk of `width` elements along `lane`. With a `cluster` of several blocks these share a row.
    `kept` > 0: rows of at most so many chunks a thread stay in registers through all rounds of
    reductions; longer ones, whose length is known at run time only, are read again. Rows of unknown
    length that are no whole number of chunks are kept where a thread has at most `keptElements`
    elements. `keepsMisaligned`: rows of unknown length are kept, too, where accesses cannot be
    vectors.

    ```mlir
    #frit.gpu_rows<lane = 1, width = 8, threads = 128, block = 128, kept = 4>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$threads, "int64_t":$block,
                        DefaultValuedParameter<"int64_t", "0">:$kept,
                        DefaultValuedParameter<"int64_t", "0">:$keptElements,
                        DefaultValuedParameter<"bool", "false">:$keepsMisaligned,
                        DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuSplitRowsAttr : Frit_Attr<"GpuSplitRows", "gpu_split_rows"> {
  let summary = "how a GPU runs a reduction of few long rows, several blocks to a row";
  let description = [{
    At most `split` blocks share a row, each with at least `chunksOfPart` chunks of `width` elements
    along `lane`; further launches combine their results in order. A thread loads `unroll` chunks
    before it uses the first. Registers leave room for `resident` blocks on a multiprocessor.

    ```mlir
    #frit.gpu_split_rows<lane = 0, width = 4, unroll = 4, split = 528, chunksOfPart = 1024>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$unroll, "int64_t":$split,
                        "int64_t":$chunksOfPart, DefaultValuedParameter<"int64_t", "1">:$resident);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuColumnsAttr : Frit_Attr<"GpuColumns", "gpu_columns"> {
  let summary = "how a GPU runs a reduction across its vectors";
  let description = [{
    The lane dim is parallel. `threadsX` threads of a block lie along it with `width` elements each,
    the others along the reduced dims; a thread loads `unroll` of its rows before it uses the first.
    `split` > 1: at most so many blocks, of at least `rowsOfPart` rows each, share a column; a second
    launch combines their results in order. Registers leave room for `resident` blocks on a
    multiprocessor.

    ```mlir
    #frit.gpu_columns<lane = 0, width = 4, threadsX = 32, unroll = 4, split = 66, rowsOfPart = 128>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$threadsX, "int64_t":$unroll,
                        DefaultValuedParameter<"int64_t", "1">:$split,
                        DefaultValuedParameter<"int64_t", "0">:$rowsOfPart,
                        DefaultValuedParameter<"int64_t", "1">:$resident);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuRowsAndColumnsAttr : Frit_Attr<"GpuRowsAndColumns", "gpu_rows_and_columns"> {
  let summary = "how a GPU runs a kernel that reduces along its rows and over them";
  let description = [{
    `threads` of the `block` threads of a block share a row, which stays in registers as chunks of
    `width` elements along `lane`. At most `parts` blocks loop over the rows; each leaves a partial
    result for every column, and a second launch combines them in order. Registers leave room for
    `resident` blocks on a multiprocessor.

    ```mlir
    #frit.gpu_rows_and_columns<lane = 1, width = 4, threads = 128, block = 256, parts = 264>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$threads, "int64_t":$block,
                        "int64_t":$parts, DefaultValuedParameter<"int64_t", "1">:$resident);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Assumptions
//===----------------------------------------------------------------------===//

def Frit_GuardKind : I32EnumAttr<"GuardKind", "what an assumption says", [
      I32EnumAttrCase<"Equal", 0, "equal">,
      I32EnumAttrCase<"Range", 1, "range">,
      I32EnumAttrCase<"Divisor", 2, "divisor">,
      I32EnumAttrCase<"Strides", 3, "strides">,
      I32EnumAttrCase<"Aligned", 4, "aligned">,
      I32EnumAttrCase<"Index32", 5, "index32">,
      I32EnumAttrCase<"Disjoint", 6, "disjoint">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_AssumptionAttr : Frit_Attr<"Assumption", "assume"> {
  let summary = "one assumption, and who makes it";
  let description = [{
    `operands` are numbers of graph arguments (in `frit.guard`) or of a region's
    operands and then results (in a variant).

    | kind | operands | sizes | holds when |
    |---|---|---|---|
    | equal | | a, b | a == b |
    | range | | a, low, high | low <= a <= high |
    | divisor | | a, d | a is a multiple of d, d a positive constant |
    | strides | x | one per dimension | x has these strides wherever its size is not 1 |
    | aligned | x | n | the address of x's first element is a multiple of n bytes |
    | index32 | | a | 0 <= a < 2^31 |
    | disjoint | x, y | | x and y share no memory |

    `origin` names the operator that needs it and the user's source line.

    ```mlir
    #frit.assume<divisor, sizes [s0, 4], origin "16-byte rows of aten.add.Tensor">
    #frit.assume<aligned, operands [0], sizes [16], origin "aten.add.Tensor">
    ```
  }];
  let parameters = (ins "::mlir::frit::GuardKind":$kind,
                        ArrayRefParameter<"int64_t">:$operands,
                        ArrayRefParameter<"::mlir::frit::SizeAttr">:$sizes,
                        StringRefParameter<"origin">:$origin);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Frit_VariantAttr : Frit_Attr<"Variant", "variant"> {
  let summary = "code that may run where its assumptions hold";
  let description = [{
    A region or kernel lists its variants in `variants`, best first. They have the schedule of
    the generic code, which assumes nothing.

    ```mlir
    #frit.variant<[#frit.assume<index32, sizes [s0 * 2], origin "schedule">]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::frit::AssumptionAttr">:$assumptions);
  let assemblyFormat = "`<` `[` $assumptions `]` `>`";
}

def Frit_AssumptionArrayAttr : TypedArrayAttrBase<Frit_AssumptionAttr, "assumptions">;
def Frit_VariantArrayAttr : TypedArrayAttrBase<Frit_VariantAttr, "variants">;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Frit_BufferKind : I32EnumAttr<"BufferKind", "whose storage a buffer is", [
      I32EnumAttrCase<"Temporary", 0, "temporary">,
      I32EnumAttrCase<"Output", 1, "output">,
      I32EnumAttrCase<"Argument", 2, "argument">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_BufferAttr : Frit_Attr<"Buffer", "buffer"> {
  let summary = "a storage that launches of a graph write";
  let description = [{
    A buffer is a temporary, a new output, or the storage of the graph argument `argument`.

    ```mlir
    buffers = [#frit.buffer<temporary, <4 * s0>>, #frit.buffer<argument 1, <128>>]
    ```
  }];
  let parameters = (ins "::mlir::frit::BufferKind":$kind,
                        OptionalParameter<"std::optional<unsigned>">:$argument,
                        "::mlir::frit::SizeAttr":$bytes);
  let assemblyFormat = "`<` $kind ($argument^)? `,` $bytes `>`";
  let genVerifyDecl = 1;
}

def Frit_BufferArrayAttr : TypedArrayAttrBase<Frit_BufferAttr, "buffers">;

#endif
