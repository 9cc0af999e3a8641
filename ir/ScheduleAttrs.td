// Attributes that say how kernels run: the schedule of a region, and one family each of kernels.
#ifndef FRIT_SCHEDULE_ATTRS_TD
#define FRIT_SCHEDULE_ATTRS_TD

include "ir/FritAttrs.td"
include "ir/FritInterfaces.td"

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def Frit_ScheduleKind : I32EnumAttr<"ScheduleKind", "family of kernels", [
      I32EnumAttrCase<"Pointwise", 0, "pointwise">,
      I32EnumAttrCase<"RowReduction", 1, "row_reduction">,
      I32EnumAttrCase<"ColumnReduction", 2, "column_reduction">,
      I32EnumAttrCase<"FullReduction", 3, "full_reduction">,
      I32EnumAttrCase<"Scan", 4, "scan">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}

def Frit_GpuNumbersAttr : Frit_Attr<"GpuNumbers", "gpu_numbers"> {
  let summary = "the numbers of a region's schedule on a GPU";
  let description = [{
    Chosen from estimates of sizes before regions become kernels; `schedule-gpu-kernels` completes
    them by the kernel's addresses. 0 (not printed): no number. `threads` of a block; `rows` of a
    block; `vector`: elements of an access; `unroll`: vectors that a thread loads before it uses the
    first, of a kernel that reduces both ways rows; `rowThreads`: threads that share a row of any
    known length; `threadsX`: threads of a block along the columns; `cluster`: blocks of a cluster
    that shares a row; `split`: the most blocks that share a row or a column; `rowsOfPart`: the
    least rows of each of them; `resident`: blocks on a multiprocessor that registers must allow
    for; `parts`: blocks of the grid of a kernel that reduces both ways.

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
    `domain` is the region's iteration domain (kernel/LoopDomain.h), outermost first: the parallel
    sizes, then `reducedRank` reduced ones, at least one if the region reduces or scans. On a GPU
    `numbers` are those of the candidate that was chosen.

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
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The two parts of the domain.
    ::llvm::ArrayRef<SizeAttr> getParallelSizes() const {
      return getDomain().getSizes().drop_back(getReducedRank());
    }
    ::llvm::ArrayRef<SizeAttr> getReducedSizes() const {
      return getDomain().getSizes().take_back(getReducedRank());
    }
  }];
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
    masks. Up to `keep` values that cost more to compute than to load (exp, division) are stored in
    scratch memory for later sweeps of the row. `writeOnce` and `recomputeOnce` are `once` for the
    last sweep, which writes results of the whole domain from stored values, or recomputes these if
    the row was too long to store. `splitElements` > 0: the kernel is one row, divided among at
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
    once a unit. `once`: tiles are one vector, emitted once under masks. With several `tiles` a unit
    has so many tiles of lanes, and walks the reduced dim in blocks for all of them: rows of memory
    are read in longer pieces, and the sums of a tile lie in memory from block to block. With
    `partSteps` the reduced dim is shared out as well, in parts of at least so many steps and no more
    than `mostParts`, whose sums a second launch adds up.

    ```mlir
    #frit.cpu_columns<unrollMembers = false, lane = 1, rowDim = 0, rows = 4, vectors = 2,
                      unitRows = 32, packs = false, once = false, grain = 1>
    ```
  }];
  let parameters = (ins "bool":$unrollMembers, "unsigned":$lane,
                        OptionalParameter<"std::optional<unsigned>">:$rowDim,
                        "int64_t":$rows, "int64_t":$vectors, "int64_t":$unitRows, "bool":$packs,
                        "bool":$once, "int64_t":$grain, DefaultValuedParameter<"int64_t", "1">:$tiles,
                        DefaultValuedParameter<"int64_t", "0">:$partSteps,
                        DefaultValuedParameter<"int64_t", "0">:$mostParts);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

/// A family of GPU kernels: `describe` and `verify` are in ScheduleAttrs.cpp, the code generator in
/// codegen/gpu/kernels/.
class Frit_GpuSchedule<string name, string attrMnemonic>
    : Frit_Attr<name, attrMnemonic, [DeclareAttrInterfaceMethods<Frit_GpuScheduleInterface>]> {
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Frit_GpuPointwiseAttr : Frit_GpuSchedule<"GpuPointwise", "gpu_pointwise"> {
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
}

def Frit_GpuTransposeAttr : Frit_GpuSchedule<"GpuTranspose", "gpu_transpose"> {
  let summary = "how a GPU runs a kernel whose accesses are contiguous along two dims";
  let description = [{
    A block takes tiles of `lane` by `across`. Accesses that are contiguous along `across` go
    through shared memory. A thread takes `neighbours` elements along an edge at once. One or two: a
    tile has 32 * `neighbours` elements along each edge. Four or eight: all accesses are vectors, a
    thread turns a square of elements in its registers, and a tile has 16 * `neighbours` elements
    along each edge.

    ```mlir
    #frit.gpu_transpose<lane = 1, across = 0, neighbours = 2>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "unsigned":$across, "int64_t":$neighbours);
}

def Frit_GpuRowsAttr : Frit_GpuSchedule<"GpuRows", "gpu_rows"> {
  let summary = "how a GPU runs a reduction along its vectors, a row to a group of threads";
  let description = [{
    `threads` of the `block` threads of a block share a row, of which each takes every `threads`-th
    chunk of `width` elements along `lane`. With a `cluster` of several blocks these share a row.
    `kept` > 0: rows of at most so many chunks a thread stay in registers through all rounds of
    reductions; longer ones, whose length is known at run time only, are read again. Rows of unknown
    length that are not a whole number of chunks stay in registers if a thread has at most
    `keptElements` elements. Of `usual` chunks a thread, which are those of the first call, all but
    the last are taken without masks. `keepsMisaligned`: rows of unknown length stay in registers
    also if accesses cannot be vectors. A group of threads takes `rows` rows and loads all of them
    before it uses the first. Registers leave room for `resident` blocks on a multiprocessor.

    ```mlir
    #frit.gpu_rows<lane = 1, width = 8, threads = 128, block = 128, kept = 4>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$threads, "int64_t":$block,
                        DefaultValuedParameter<"int64_t", "0">:$kept,
                        DefaultValuedParameter<"int64_t", "0">:$keptElements,
                        DefaultValuedParameter<"int64_t", "0">:$usual,
                        DefaultValuedParameter<"bool", "false">:$keepsMisaligned,
                        DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"int64_t", "1">:$rows,
                        DefaultValuedParameter<"int64_t", "1">:$resident);
}

def Frit_GpuSplitRowsAttr : Frit_GpuSchedule<"GpuSplitRows", "gpu_split_rows"> {
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
}

def Frit_GpuColumnsAttr : Frit_GpuSchedule<"GpuColumns", "gpu_columns"> {
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
}

def Frit_GpuRowsAndColumnsAttr : Frit_GpuSchedule<"GpuRowsAndColumns", "gpu_rows_and_columns"> {
  let summary = "how a GPU runs a kernel that reduces along its rows and over them";
  let description = [{
    `threads` of the `block` threads of a block share a row, which stays in registers as chunks of
    `width` elements along `lane`. At most `parts` blocks loop over the rows; each leaves a partial
    result for every column, and a second launch combines them in order. `loadsAhead`: the next two
    rows of a block are loaded while one is computed. Registers leave room for `resident` blocks on
    a multiprocessor.

    ```mlir
    #frit.gpu_rows_and_columns<lane = 1, width = 4, threads = 128, block = 256, parts = 264>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$threads, "int64_t":$block,
                        "int64_t":$parts, DefaultValuedParameter<"bool", "false">:$loadsAhead,
                        DefaultValuedParameter<"int64_t", "1">:$resident);
}

def Frit_GpuScanAttr : Frit_GpuSchedule<"GpuScan", "gpu_scan"> {
  let summary = "how a GPU runs a scan";
  let description = [{
    `threads` of the `block` threads of a block share a row, a tile at a time: each takes `unroll`
    chunks of `width` elements along `lane`, the innermost dim of the scan. With one thread the lane
    dim is parallel: a thread takes a column, and loads `unroll` of its rows before it uses the
    first.

    ```mlir
    #frit.gpu_scan<lane = 1, width = 4, threads = 256, block = 256, unroll = 4>
    ```
  }];
  let parameters = (ins "unsigned":$lane, "int64_t":$width, "int64_t":$threads, "int64_t":$block,
                        "int64_t":$unroll);
}

def Frit_GpuScheduleAttr : Attr<CPred<"::llvm::isa<::mlir::frit::GpuScheduleInterface>($_self)">,
                                "schedule of a GPU kernel"> {
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

#endif
