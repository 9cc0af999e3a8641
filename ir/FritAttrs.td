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
  let summary = "a reference to an operand in the argument list of an ATen call";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Frit_StorageKind : I32EnumAttr<"StorageKind", "the kind of a value's storage", [
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
  let summary = "one assumption, and what needs it";
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
