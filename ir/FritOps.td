// The operations of the dialect: the whole vocabulary of a graph.
#ifndef FRIT_OPS_TD
#define FRIT_OPS_TD

include "ir/ScheduleAttrs.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Frit_Op<string mnemonic, list<Trait> traits = []>
    : Op<Frit_Dialect, mnemonic, traits>;

def Frit_HostScalar : AnyTypeOf<[I64, F64, I1], "host scalar (i64, f64 or i1)">;
def Frit_Value : AnyTypeOf<[AnyRankedTensor, Frit_HostScalar, NoneType],
                           "tensor, host scalar or none">;

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

def Frit_GraphOp : Frit_Op<"graph", [
    IsolatedFromAbove, FunctionOpInterface, Symbol,
    SingleBlockImplicitTerminator<"::mlir::frit::ReturnOp">]> {
  let summary = "one compiled graph";
  let description = [{
    Arguments are tensors (parameters and buffers included), host scalars
    (SymInt i64, SymFloat f64, SymBool i1) or none. `ir/FritAttributes.def` lists the attributes of
    arguments and results. `symbols` is the symbol table, `device` where its kernels run. `buffers`
    are the storages, by number, that the launches write; `plan-buffers` adds them.

    ```mlir
    frit.graph @main(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
        attributes {symbols = [#frit.symbol<"s0", min = 2>]} { ... frit.return %x : ... }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       ArrayAttr:$symbols,
                       OptionalAttr<StrAttr>:$device,
                       OptionalAttr<Frit_BufferArrayAttr>:$buffers,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::FunctionType":$type,
                                 "::llvm::ArrayRef<::mlir::Attribute>":$symbols)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
    /// Facts about the graph's symbols, for simplification.
    SizeFacts getSizeFacts();
  }];
}

def Frit_ReturnOp : Frit_Op<"return", [
    Pure, Terminator, ReturnLike, ParentOneOf<["GraphOp"]>]> {
  let summary = "ends a graph";
  let arguments = (ins Variadic<Frit_Value>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Frit_CallOp : Frit_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls another graph (an `invoke_subgraph`)";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Frit_Value>:$operands);
  let results = (outs Variadic<Frit_Value>:$results);
  let assemblyFormat =
      "$callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
}

def Frit_NoneOp : Frit_Op<"none", [Pure]> {
  let summary = "the absent value";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Frit_SizeOp : Frit_Op<"size", [Pure]> {
  let summary = "the run-time value of a size expression";
  let description = [{
    ```mlir
    %n = frit.size <s0 * 2>
    ```
  }];
  let arguments = (ins Frit_SizeAttr:$size);
  let results = (outs I64:$result);
  let assemblyFormat = "$size attr-dict";
  let hasFolder = 1;
}

def Frit_BindOp : Frit_Op<"bind"> {
  let summary = "defines unbacked symbols from a value";
  let description = [{
    With a tensor operand and `dim`, the symbol is the tensor's size along that
    dimension; with an i64 operand, it is the value. The operation is directly after the
    operator that computes the value, and every use of the symbol comes later. Such a
    tensor comes from a call, which determines the size itself; an operation of the
    vocabulary would need the symbol for its own result type.
  }];
  let arguments = (ins StrAttr:$symbol, AnyTypeOf<[AnyRankedTensor, I64]>:$source,
                       OptionalAttr<I64Attr>:$dim);
  let assemblyFormat = "$symbol `=` $source (`dim` $dim^)? attr-dict `:` type($source)";
  let hasVerifier = 1;
}

//===--- Calls of ATen operators ---===//

def Frit_AtenOp : Frit_Op<"aten", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a call of any operator of torch's dispatcher";
  let description = [{
    `arguments` lists every argument of the operator in schema order, defaults filled in:
    `#frit.operand<i>` stands for operand i, a nested array for a list, `unit` for None,
    `#frit.dtype`, `#frit.torch` and plain integer, float, bool and string attributes for literals
    (a symbolic integer is an operand). Operators that the schema table does not know list
    `argument_names` beside them, in the order given. `result_layouts` are the traced layouts. Memory effects come from the schema table. A result that is None has the type `none`; if
    results are lists, `result_lists` has the length of each of the operator's returns, -1 for a
    single value. `devices` has the devices of the results, if one is not on the graph's device.
    `placed`: the offset of this `as_strided` or `as_strided_scatter` counts from the start of its
    first operand's storage. That belonged to the graph when it was traced, so the operand does not
    lie in an argument's storage and begins at the traced offset. `padded`: operands and result are
    padded to buckets.

    Control flow (`higher_order.cond`, `while_loop`, `scan`) has `graphs`: symbols of the module or,
    once these are modules of their own, digests of their texts (compiler/Subgraphs.h).

    An operator that writes to arguments in a functional graph names them in `mutated_operands`:
    the last results, one each, are these operands after the call. As values, the operands are
    unchanged, so the caller passes a copy unless nothing reads the operand afterwards.

    ```mlir
    %y = frit.aten "aten.add.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1 : i64]
         {...} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$op_name, Variadic<Frit_Value>:$operands,
                       ArrayAttr:$arguments,
                       OptionalAttr<StrArrayAttr>:$argument_names,
                       Frit_DTypeArrayAttr:$operand_dtypes,
                       Frit_DTypeArrayAttr:$result_dtypes,
                       OptionalAttr<ArrayAttr>:$operand_layouts,
                       OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<ArrayAttr>:$result_storage,
                       OptionalAttr<StrAttr>:$reason,
                       OptionalAttr<DenseI64ArrayAttr>:$mutated_operands,
                       OptionalAttr<DenseI64ArrayAttr>:$result_lists,
                       OptionalAttr<TypedArrayAttrBase<AnyAttrOf<[StrAttr, UnitAttr]>, "devices">>:$devices,
                       OptionalAttr<TypedArrayAttrBase<AnyAttrOf<[FlatSymbolRefAttr, StrAttr]>, "graphs">>:$graphs,
                       UnitAttr:$placed, UnitAttr:$padded);
  let results = (outs Variadic<Frit_Value>:$results);
  let assemblyFormat = [{
    $op_name `(` $operands `)` $arguments attr-dict `:` functional-type($operands, $results)
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::StringAttr":$opName,
      "::mlir::ValueRange":$operands, "::mlir::ArrayAttr":$arguments, "::mlir::ArrayAttr":$argumentNames,
      "::mlir::ArrayAttr":$operandDtypes, "::mlir::ArrayAttr":$resultDtypes,
      "::mlir::ArrayAttr":$operandLayouts, "::mlir::ArrayAttr":$resultLayouts,
      "::mlir::ArrayAttr":$resultStorage, "::mlir::StringAttr":$reason), [{
    build($_builder, $_state, results, opName, operands, arguments, argumentNames, operandDtypes,
          resultDtypes, operandLayouts, resultLayouts, resultStorage, reason, /*mutated_operands=*/{},
          /*result_lists=*/{}, /*devices=*/{}, /*graphs=*/{});
  }]>];
  let hasVerifier = 1;
}

def Frit_StoreOp : Frit_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a value back to the storage of a graph argument";
  let description = [{
    The write-back of an input or buffer that the program mutated; only the
    logical elements of `target` are written. `in_place`: a kernel or a call has written the value
    into the target already. The store then does nothing, but it says what the argument holds
    from there on.
  }];
  let arguments = (ins AnyRankedTensor:$value, AnyRankedTensor:$target, UnitAttr:$in_place);
  let assemblyFormat = "$value `into` $target attr-dict `:` type($value) `,` type($target)";
}

def Frit_RequireOp : Frit_Op<"require", [MemoryEffects<[MemWrite]>]> {
  let summary = "a value that is computed even if nothing else reads it";
  let description = [{
    The error of an element that no result needs is still an error of the program.
    `frit-require-errors` makes it; it has no step in a plan.

    ```mlir
    %m = frit.reduce <max> %quotient dims [0] : tensor<4xi64> -> tensor<i64>
    frit.require %m : tensor<i64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Frit_GuardOp : Frit_Op<"guard", [HasParent<"::mlir::frit::GraphOp">]> {
  let summary = "an assumption of the whole graph";
  let description = [{
    If the assumption does not hold, the call is refused with an error that names input,
    dimension, value, requirement and origin. Assumptions that only some variants of a
    region need are in its `variants` instead.

    ```mlir
    frit.guard <equal, sizes [s0, s1], origin "aten.add.Tensor (model.py:7)">
    ```
  }];
  let arguments = (ins Frit_AssumptionAttr:$assumption);
  let assemblyFormat = "$assumption attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views and moves
//===----------------------------------------------------------------------===//

def Frit_ReindexOp : Frit_Op<"reindex", [Pure, ViewLikeOpInterface,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, ["getElementRead", "movesElements"]>]> {
  let summary = "result[d] = operand[map(d)] where the bounds hold, else the fill";
  let description = [{
    Broadcast, permute, slice, flip, expand and constant padding. `fill` is
    required exactly when the map has bounds; its type is the element type.

    ```mlir
    %y = frit.reindex %b <(d0, d1) -> (d1)>
         : tensor<8xf32> -> tensor<?x8xf32, #frit.dims<[s0, 8]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand, Frit_MapAttr:$map,
                       OptionalAttr<TypedAttrInterface>:$fill);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$operand $map (`fill` $fill^)? attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = [{ Value getViewSource() { return getOperand(); } }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Frit_PadOp : Frit_Op<"pad", [Pure]> {
  let summary = "the operand in the low corner of a larger tensor";
  let description = [{
    Every size of the result is at least the operand's. Elements outside of the operand
    are `fill`; without one no result may depend on them. `materialize-padding` inserts
    pads in front of library calls.

    ```mlir
    %y = frit.pad %x fill 0.0 : f32 : tensor<?x8xf32, #frit.dims<[s0, 8]>>
                           -> tensor<?x8xf32, #frit.dims<[b0, 8]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand, OptionalAttr<TypedAttrInterface>:$fill);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$operand (`fill` $fill^)? attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Frit_UnpadOp : Frit_Op<"unpad", [Pure]> {
  let summary = "the low corner of a padded tensor: a view";
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Frit_ReshapeOp : Frit_Op<"reshape", [Pure, ViewLikeOpInterface,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, ["getElementRead", "movesElements"]>]> {
  let summary = "same elements in row-major order under other sizes";
  let description = [{
    The number of elements of both types is provably equal. It is one operation on
    whole types, so that inverse pairs cancel.

    ```mlir
    %y = frit.reshape %x : tensor<?x4x8xf32, #frit.dims<[s0, 4, 8]>>
                        -> tensor<?x8xf32, #frit.dims<[4 * s0, 8]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = [{ Value getViewSource() { return getOperand(); } }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Frit_AliasOp : Frit_Op<"alias", [Pure]> {
  let summary = "a view of a value's memory with other sizes, strides and offset";
  let description = [{
    `base` has the layout `base_layout` in memory; the result shares that memory. `layout` counts
    in elements of the result's `dtype`, and its offset is from the first element of `base`. Unlike
    a reindex, an alias determines where the result is in memory, and nothing folds it away.
    `frit-resolve-aliases` makes it where a program can observe that two tensors share a storage,
    or where it reads memory that is not part of any value.

    ```mlir
    %r = frit.alias %v <[8, 1]> seen <[8, 1], offset 8> <f32> : tensor<4x8xf32> -> tensor<3x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$base, Frit_LayoutAttr:$base_layout, Frit_LayoutAttr:$layout, Frit_DTypeAttr:$dtype);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$base $base_layout `seen` $layout $dtype attr-dict `:` type($base) `->` type($result)";
  let hasVerifier = 1;
}

def Frit_ConcatOp : Frit_Op<"concat", [Pure,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, [
        "getLoopSizes", "getElementRead", "getElementWeight", "movesElements"]>]> {
  let summary = "the concatenation of tensors along one dimension";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$operands `dim` $dim attr-dict `:` type($operands) `->` type($result)";
  let extraClassDeclaration = [{
    /// Whether all pieces have the same type. As a loop nest it then runs over one piece and writes
    /// all of them at every point (x1, y1, x2, y2 of a box), so that nothing is computed only to be
    /// selected away.
    bool isStacked();
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Frit_IotaOp : Frit_Op<"iota", [Pure, Frit_ElementOpInterface]> {
  let summary = "result[d] = value of a size expression of the indices d";
  let description = [{
    `expr` is over d0.. and symbols: the index itself, or any affine function of it.

    ```mlir
    %i = frit.iota <d0> : tensor<?xi64, #frit.dims<[s0]>>
    ```
  }];
  let arguments = (ins Frit_SizeAttr:$expr);
  let results = (outs TensorOf<[I64]>:$result);
  let assemblyFormat = "$expr attr-dict `:` type($result)";
}

def Frit_RandomOp : Frit_Op<"random", [Pure,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, ["getElementRead", "getElementWeight"]>]> {
  let summary = "random bits: Philox4x32-10 of each element's index";
  let description = [{
    The key is the seed. The counter is (i / n, stream, 0), where i is the linear index of the
    element over the result's sizes, and a block has n = 4 elements of 32 bits or n = 2 of 64.
    Element i is word i mod 4 of its block, or words 2 (i mod 2) and 2 (i mod 2) + 1, the lower one
    first. So the bits depend only on the seed, the stream and the index: layout, padding, schedule
    and target do not change them, and as the operation is pure, any reader may recompute it. The
    seed is drawn from torch's generator, once per graph (passes/ReplaceRandom.cpp); the stream
    distinguishes the draws of a graph. It is an operand, so that equal formulas share a kernel
    whatever their streams.

    ```mlir
    %bits = frit.random %seed, %stream : tensor<i64> -> tensor<?x128xi32, #frit.dims<[s0, 128]>>
    ```
  }];
  let arguments = (ins TensorOf<[I64]>:$seed, I64:$stream);
  let results = (outs TensorOf<[I32, I64]>:$result);
  let assemblyFormat = "$seed `,` $stream attr-dict `:` type($seed) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and data-dependent reads
//===----------------------------------------------------------------------===//

def Frit_ReduceKind : I32EnumAttr<"ReduceKind", "how a reduction combines", [
      I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
      I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
      I32EnumAttrCase<"Any", 4, "any">, I32EnumAttrCase<"All", 5, "all">,
      I32EnumAttrCase<"ArgMax", 6, "argmax">, I32EnumAttrCase<"ArgMin", 7, "argmin">,
      I32EnumAttrCase<"Deviations", 8, "deviations">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}
def Frit_ReduceKindAttr : EnumAttr<Frit_Dialect, Frit_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Frit_ReduceOp : Frit_Op<"reduce", [Pure,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, ["getLoopSizes"]>]> {
  let summary = "reduces whole dimensions";
  let description = [{
    The result's dims are the operand's without `dims` (sorted, distinct).
    sum and prod combine in the element type of the operand (legalisation has
    widened it: half types to f32, integers to i64); max and min propagate NaN;
    any and all take i1; argmax and argmin return i64 positions in the row-major
    order of the reduced dims: the first extremum, or the first NaN if there is one.
    deviations is the sum of the squared deviations of floats from their mean, computed
    in one sweep; `frit-single-pass-variance` makes it, for GPUs.
    Unsigned integers are compared unsigned if `is_unsigned` is present. Over an
    empty extent the result is the identity of the combination.

    `across`: the reduction runs over the parallel dims of its region, and its result belongs to
    the reduced ones. The gradient of a norm's input needs two sums along each row, the gradients
    of its weight and bias need sums over all rows, and all of them read the same two tensors.
    `merge-columns` makes one region of both where the target can reduce both ways in one sweep.
    Only views and elementwise operations on the reduced dims read what was reduced across.

    ```mlir
    %m = frit.reduce <max> %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Frit_ReduceKindAttr:$kind, AnyRankedTensor:$operand,
                       DenseI64ArrayAttr:$dims, UnitAttr:$is_unsigned, UnitAttr:$across);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $operand `dims` $dims (`unsigned` $is_unsigned^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Frit_ScanOp : Frit_Op<"scan", [
    Pure, AllTypesMatch<["operand", "result"]>, Frit_ElementOpInterface]> {
  let summary = "combines each element with all before it along one dimension";
  let description = [{Running sums or products; the type is widened as by `frit.reduce`.}];
  let arguments = (ins Frit_ReduceKindAttr:$kind, AnyRankedTensor:$operand, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand `dim` $dim attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Frit_IndexCheck : I32EnumAttr<"IndexCheck", "what an index out of range does", [
      I32EnumAttrCase<"Wrap", 0, "wrap">,
      I32EnumAttrCase<"NonNegative", 1, "non_negative">,
      I32EnumAttrCase<"Unchecked", 2, "unchecked">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}
def Frit_IndexCheckAttr : EnumAttr<Frit_Dialect, Frit_IndexCheck, "index_check"> {
  let assemblyFormat = "`<` $value `>`";
}

def Frit_IndexError : I32EnumAttr<"IndexError", "whose error an index out of range raises", [
      I32EnumAttrCase<"Embedding", 0, "embedding">,
      I32EnumAttrCase<"Gather", 1, "gather">,
      I32EnumAttrCase<"Target", 2, "target">,
      I32EnumAttrCase<"IndexSelect", 3, "index_select">]> {
  let cppNamespace = "::mlir::frit";
  let genSpecializedAttr = 0;
}
def Frit_IndexErrorAttr : EnumAttr<Frit_Dialect, Frit_IndexError, "index_error"> {
  let assemblyFormat = "`<` $value `>`";
}

def Frit_GatherOp : Frit_Op<"gather", [Pure,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, [
        "getElementRead", "getElementWeight", "movesElements"]>]> {
  let summary = "result[d] = source[map(d, v)], v being index tensors read at d";
  let description = [{
    Every index tensor is i64 and has the result's sizes (a reindex broadcasts it if
    necessary). `map` gives the source position from d0.. and v0..; each v is, alone, exactly
    one map result. `check` is eager's rule: `wrap` adds the size to negative values and then
    raises if out of range (index.Tensor), `non_negative` raises on negative values too (gather,
    embedding, index_select), `unchecked` is for indices that are proven to be in range. The
    error names the index, the dimension and its size. `raises` is the operator whose error it is,
    indexing by tensors without it; `dimension` is the dimension that the error names, if it is
    not the one that is read.

    ```mlir
    %e = frit.gather %table[%i] <(d0, d1)[v0] -> (v0, d1)> check <non_negative>
         : tensor<100x64xf32>, tensor<8x64xi64> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Variadic<TensorOf<[I64]>>:$indices,
                       Frit_MapAttr:$map, Frit_IndexCheckAttr:$check,
                       OptionalAttr<Frit_IndexErrorAttr>:$raises, OptionalAttr<I64Attr>:$dimension);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` $map `check` $check attr-dict
    `:` type($source) `,` type($indices) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source,
      "::mlir::ValueRange":$indices, "::mlir::frit::MapAttr":$map,
      "::mlir::frit::IndexCheck":$check), [{
    build($_builder, $_state, result, source, indices, map, check, /*raises=*/{}, /*dimension=*/{});
  }]>];
  let hasVerifier = 1;
}

def Frit_SegmentSumOp : Frit_Op<"segment_sum", [Pure, AllTypesMatch<["begin", "end"]>,
    DeclareOpInterfaceMethods<Frit_ElementOpInterface, ["getElementRead", "getElementWeight"]>]> {
  let summary = "result[d, ..] = the sum of source[order[k], ..] for begin[d, ..] <= k < end[d, ..]";
  let description = [{
    Sums of rows that data choose: what a sorted index makes of `index_add`. `begin` and `end` have
    the result's sizes (a reindex broadcasts them if necessary) and lie between 0 and the number of
    entries of `order`, whose values are rows of the source. Without `order` the rows are taken as
    they lie. A sum is computed in the order of k, and starts with the number that changes nothing
    (-0.0 for floats). Half types are widened before it.

    ```mlir
    %s = frit.segment_sum %rows order %order from %begin to %end
         : tensor<8x64xf32> [tensor<8xi64>], tensor<100x64xi64> -> tensor<100x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<TensorOf<[I64]>>:$order,
                       TensorOf<[I64]>:$begin, TensorOf<[I64]>:$end);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`order` $order^)? `from` $begin `to` $end attr-dict
    `:` type($source) (`[` type($order)^ `]`)? `,` type($begin) `->` type($result)
  }];
  let hasVerifier = 1;
}

include "ir/FunctionOps.td"
include "ir/KernelOps.td"

#endif
