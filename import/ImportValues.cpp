// Named values of a graph being imported: types from descriptions, uses by name, symbols and where
// they are bound.
#include "import/GraphImporter.h"

#include "ir/DerivedSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

std::optional<DType> exported::dtypeFromExport(int64_t code) {
  switch (code) {
  case 1:
    return DType::U8;
  case 2:
    return DType::I8;
  case 3:
    return DType::I16;
  case 4:
    return DType::I32;
  case 5:
    return DType::I64;
  case 6:
    return DType::F16;
  case 7:
    return DType::F32;
  case 8:
    return DType::F64;
  case 9:
    return DType::C32;
  case 10:
    return DType::C64;
  case 11:
    return DType::C128;
  case 12:
    return DType::Bool;
  case 13:
    return DType::BF16;
  case 28:
    return DType::U16;
  case 29:
    return DType::F8E4M3FN;
  case 30:
    return DType::F8E5M2;
  case 31:
    return DType::F8E4M3FNUZ;
  case 32:
    return DType::F8E5M2FNUZ;
  case 34:
    return DType::U32;
  case 35:
    return DType::U64;
  default:
    return std::nullopt;
  }
}

Type exported::elementType(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::U8:
  case DType::I8:
    return b.getI8Type();
  case DType::I16:
  case DType::U16:
    return b.getI16Type();
  case DType::I32:
  case DType::U32:
    return b.getI32Type();
  case DType::I64:
  case DType::U64:
    return b.getI64Type();
  case DType::Bool:
    return b.getI1Type();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::C32:
    return ComplexType::get(b.getF16Type());
  case DType::C64:
    return ComplexType::get(b.getF32Type());
  case DType::C128:
    return ComplexType::get(b.getF64Type());
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case DType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case DType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case DType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  }
  return {};
}

Attribute exported::memoryFormat(MLIRContext *context, int64_t code) {
  // export: contiguous, channels_last, channels_last_3d, preserve = 1..4; c10: 0, 2, 3, 1
  static constexpr std::pair<int64_t, const char *> formats[] = {{0, "contiguous_format"},
                                                                 {2, "channels_last"},
                                                                 {3, "channels_last_3d"},
                                                                 {1, "preserve_format"}};
  if (code < 1 || code > 4) {
    return {};
  }
  return TorchEnumAttr::get(context, "memory_format", formats[code - 1].first,
                            formats[code - 1].second);
}

Attribute exported::layoutLiteral(MLIRContext *context, int64_t code) {
  static constexpr std::pair<int64_t, const char *> layouts[] = {
      {1, "sparse_coo"}, {2, "sparse_csr"}, {4, "sparse_csc"}, {5, "sparse_bsr"},
      {6, "sparse_bsc"}, {3, "mkldnn"},     {0, "strided"}};
  if (code < 1 || code > 7) {
    return {};
  }
  return TorchEnumAttr::get(context, "layout", layouts[code - 1].first, layouts[code - 1].second);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

FailureOr<TensorInfo> GraphImporter::tensor(StringRef name) {
  auto it = tensors.find(name);
  if (it == tensors.end()) {
    return fail(ErrorKind::Semantic, "tensor '" + name + "' is not described in tensor_values");
  }
  return tensor(name, *it->second);
}

FailureOr<TensorInfo> GraphImporter::tensor(StringRef name, const TensorMeta &meta) {
  auto dtype = dtypeFromExport(meta.dtype);
  if (!dtype) {
    return fail(ErrorKind::Unsupported, "tensor '" + name + "' has dtype code " +
                                            Twine(meta.dtype) +
                                            ", which frit does not compile: cast it before");
  }
  if (meta.layout != 7) {
    return fail(ErrorKind::Unsupported, "tensor '" + name + "' has layout code " +
                                            Twine(meta.layout) +
                                            "; only strided tensors can be compiled");
  }
  if (meta.sizes.size() != meta.strides.size()) {
    return fail(ErrorKind::Semantic, "tensor '" + name + "' has " + Twine(meta.sizes.size()) +
                                         " sizes and " + Twine(meta.strides.size()) + " strides");
  }
  SmallVector<SizeExpr> sizes;
  SmallVector<SizeAttr> strides;
  Type element = elementType(context, *dtype);
  int64_t bytes = 16; // the widest element
  Location location = here();
  auto read = [&](const SymValue &value, StringRef what) -> FailureOr<SizeExpr> {
    auto size = program.size(value, ("a " + what + " of tensor '" + name + "'").str(), location);
    if (failed(size)) {
      return failure();
    }
    auto constant = size->getConstant();
    if (constant && *constant < 0) {
      return fail(ErrorKind::Semantic,
                  "tensor '" + name + "' has the negative " + what + " " + Twine(*constant));
    }
    noteSymbols(*size);
    return size;
  };
  for (const SymValue &value : meta.sizes) {
    auto size = read(value, "size");
    if (failed(size)) {
      return failure();
    }
    auto constant = size->getConstant();
    if (constant && *constant > 0 && llvm::MulOverflow(bytes, *constant, bytes)) {
      return fail(ErrorKind::Limit, "tensor '" + name + "' has more bytes than 64 bits can count");
    }
    sizes.push_back(*size);
  }
  for (const SymValue &value : meta.strides) {
    auto stride = read(value, "stride");
    if (failed(stride)) {
      return failure();
    }
    strides.push_back(*stride);
  }
  auto offset = read(meta.offset, "storage offset");
  if (failed(offset)) {
    return failure();
  }
  // From the first byte of the storage to the end of the last element.
  auto count = [](SizeExpr size) { return size.getConstant().value_or(1); };
  int64_t reach = 1, step;
  bool isEmpty = false,
       overflows = llvm::AddOverflow(reach, offset->getConstant().value_or(0), reach);
  for (auto [size, stride] : llvm::zip(sizes, strides)) {
    isEmpty |= count(size) == 0;
    overflows |=
        llvm::MulOverflow(count(size) - 1, SizeExpr(stride).getConstant().value_or(0), step) ||
        llvm::AddOverflow(reach, step, reach);
  }
  if (!isEmpty && (overflows || llvm::MulOverflow(reach, int64_t(16), reach))) {
    return fail(ErrorKind::Limit, "tensor '" + name + "' reaches further than 64 bits can count");
  }
  StringRef device = meta.device.type;
  if (device != "cpu" && device != "cuda" && device != "meta") {
    return fail(ErrorKind::Unsupported, "tensor '" + name + "' lies on the device '" +
                                            device.take_front(60) +
                                            "'; frit compiles for cpu and cuda");
  }
  return TensorInfo{getTensorType(sizes, element), DTypeAttr::get(context, *dtype),
                    LayoutAttr::get(context, strides, *offset),
                    builder.getStringAttr(meta.device.str())};
}

LogicalResult GraphImporter::indexValues() {
  for (auto &[name, meta] : graph.tensors) {
    tensors.try_emplace(name, &meta);
  }
  for (auto &[name, value] : graph.ints) {
    ints.try_emplace(name, &value);
  }
  for (auto &[name, value] : graph.floats) {
    auto expression = value.isExpr ? parseHostExpression(value.expr) : std::nullopt;
    if (expression && expression->kind == HostExpression::Kind::Symbol) {
      floatNames[name] = expression->name;
    }
  }
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    for (const NamedArgument &input : node.inputs) {
      SmallVector<const Argument *> pending{&input.value};
      while (!pending.empty()) {
        const Argument *argument = pending.pop_back_val();
        if (argument->isName()) {
          lastUse[argument->text] = i;
        }
        for (const Argument &item : argument->items) {
          pending.push_back(&item);
        }
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::define(StringRef name, ImportedValue value) {
  if (!values.try_emplace(name, value).second) {
    return fail(ErrorKind::Semantic, "the name '" + name + "' is defined twice");
  }
  if (value.storage && value.storage.getKind() != StorageKind::Fresh) {
    namesOfArgument[value.storage.getIndex()].push_back(name);
  }
  if (value.value && value.storage) {
    storageOf.try_emplace(value.value, value.storage);
    baseOf.try_emplace(value.value, value.base);
  }
  if (auto symbol = floatNames.find(name); value.value && symbol != floatNames.end()) {
    floatSymbols.try_emplace(symbol->second, value.value);
  }
  return success();
}

FailureOr<ImportedValue *> GraphImporter::lookup(const Argument &argument) {
  auto it = values.find(argument.text);
  if (it == values.end()) {
    return fail(ErrorKind::Semantic, "'" + argument.text + "' is used before anything defines it");
  }
  ImportedValue &value = it->second;
  Type type = value.value ? value.value.getType() : builder.getI64Type();
  bool fits = argument.kind == Argument::Kind::Tensor     ? isa<RankedTensorType>(type)
              : argument.kind == Argument::Kind::SymInt   ? type.isInteger(64)
              : argument.kind == Argument::Kind::SymFloat ? type.isF64()
                                                          : type.isInteger(1);
  if (!fits) {
    std::string shown;
    llvm::raw_string_ostream(shown) << type;
    return fail(ErrorKind::Semantic, "'" + argument.text +
                                         "' is used as another kind of value than it is (" + shown +
                                         ")");
  }
  return &value;
}

Value GraphImporter::constant(TypedAttr value) {
  return arith::ConstantOp::create(builder, here(), value);
}

Value GraphImporter::sizeValue(SizeExpr size) {
  if (auto known = size.getConstant()) {
    return constant(builder.getI64IntegerAttr(*known));
  }
  Value &value = sizeValues[size.getAttr()];
  if (!value) {
    value = SizeOp::create(builder, here(), builder.getI64Type(), size.getAttr());
  }
  return value;
}

FailureOr<Value> GraphImporter::scalar(const Argument &argument) {
  switch (argument.kind) {
  case Argument::Kind::Int:
    return constant(builder.getI64IntegerAttr(argument.integer));
  case Argument::Kind::Float:
    return constant(builder.getF64FloatAttr(argument.real));
  case Argument::Kind::Bool:
    return constant(builder.getBoolAttr(argument.integer != 0));
  case Argument::Kind::SymInt:
  case Argument::Kind::SymFloat:
  case Argument::Kind::SymBool: {
    auto value = lookup(argument);
    if (failed(value)) {
      return failure();
    }
    return (*value)->size ? sizeValue((*value)->size) : (*value)->value;
  }
  default:
    return fail(ErrorKind::Semantic,
                "an operand of scalar arithmetic must be an integer, a float or a boolean");
  }
}

//===----------------------------------------------------------------------===//
// Symbols and storage
//===----------------------------------------------------------------------===//

void GraphImporter::noteSymbols(SizeExpr size) {
  Location location = here();
  size.forEachSymbol([&](StringRef name) {
    symbols.insert({builder.getStringAttr(name), location});
    if (block) {
      computeSymbol(name);
    }
  });
}

bool GraphImporter::isBound(SizeExpr size) {
  bool all = true;
  size.forEachSymbol([&](StringRef name) { all &= bound.contains(builder.getStringAttr(name)); });
  return all;
}

LogicalResult GraphImporter::bindSymbols(ArrayRef<CallResult> results, ValueRange resultValues) {
  Location location = here();
  auto bind = [&](SizeExpr size, Value source, std::optional<int64_t> dim) {
    auto symbol = size.getSymbol();
    if (!symbol) {
      return;
    }
    StringAttr name = builder.getStringAttr(*symbol);
    if (bound.insert(name).second) {
      BindOp::create(builder, location, name, source,
                     dim ? builder.getI64IntegerAttr(*dim) : IntegerAttr());
    }
  };
  for (auto [result, value] : llvm::zip(results, resultValues)) {
    if (result.size) {
      bind(result.size, value, std::nullopt);
    } else if (auto type = dyn_cast<RankedTensorType>(result.type)) {
      for (auto [dim, size] : llvm::enumerate(getSizes(type))) {
        bind(size, value, dim);
      }
      if (failed(bindOffset(result.layout, result.dtype, value))) {
        return failure();
      }
    }
  }
  return success();
}

/// Binds the symbol of a storage offset that nothing else binds: the offset of a view that was
/// taken at the value of another tensor. It can be read only from the view itself.
LogicalResult GraphImporter::bindOffset(LayoutAttr layout, DTypeAttr dtype, Value value) {
  SizeExpr offset = layout ? SizeExpr(layout.getOffset()) : SizeExpr::constant(context, 0);
  llvm::SmallSetVector<SizeSymbolAttr, 2> unknown;
  offset.forEachSymbol([&](SizeSymbolAttr symbol) {
    if (!bound.contains(builder.getStringAttr(symbol.getName()))) {
      unknown.insert(symbol);
    }
  });
  auto split = unknown.size() == 1 ? offset.splitLinear(unknown.front()) : std::nullopt;
  auto scale = split ? split->first.getConstant() : std::nullopt;
  if (!scale || *scale < 1) {
    return success();
  }
  CallArguments call;
  call.operands.push_back(value);
  call.names.push_back(builder.getStringAttr("self"));
  call.arguments.push_back(OperandAttr::get(context, 0));
  call.dtypes.push_back(dtype);
  call.layouts.push_back(layout);
  CallResult read;
  read.type = builder.getI64Type();
  read.dtype = DTypeAttr::get(context, DType::I64);
  Value number = emitCall("aten.sym_storage_offset.default", call, read).getResult(0);
  auto apply = [&](StringRef function, Value other) -> LogicalResult {
    SmallVector<Value> operands{number, other};
    auto result = emitScalar(function, operands);
    number = succeeded(result) ? *result : number;
    return result;
  };
  if (!split->second.isConstant(0) && failed(apply("sub", sizeValue(split->second)))) {
    return failure();
  }
  if (*scale != 1 && failed(apply("floordiv", constant(builder.getI64IntegerAttr(*scale))))) {
    return failure();
  }
  StringAttr name = builder.getStringAttr(unknown.front().getName());
  bound.insert(name);
  BindOp::create(builder, here(), name, number, IntegerAttr());
  return success();
}

LogicalResult GraphImporter::bindOffsetsOfArguments() {
  for (const Argument &input : graph.inputs) {
    auto found = input.isName() ? values.find(input.text) : values.end();
    if (found != values.end() && found->second.isTensor() &&
        failed(bindOffset(found->second.layout, found->second.dtype, found->second.value))) {
      return failure();
    }
  }
  return success();
}

void GraphImporter::bindDerivedSymbols() {
  auto bindFrom = [&](SizeExpr size) {
    size.forEachSymbol([&](StringRef name) {
      if (splitDerived(size, name)) {
        bound.insert(builder.getStringAttr(name));
      }
    });
  };
  for (const Argument &input : graph.inputs) {
    auto value = input.isName() ? values.find(input.text) : values.end();
    if (value == values.end()) {
      continue;
    }
    if (value->second.size) {
      bindFrom(value->second.size);
    } else if (value->second.isTensor()) {
      llvm::for_each(getSizes(cast<RankedTensorType>(value->second.value.getType())), bindFrom);
      llvm::for_each(value->second.layout.getStrides(), bindFrom);
    }
  }
}

StorageAttr GraphImporter::freshStorage() {
  return StorageAttr::get(context, StorageKind::Fresh, freshCount++);
}

/// The value that `to.copy_(from)` writes: torch drops the casts and the expansions of a copy_
/// whose result is what the program leaves in an input.
FailureOr<ImportedValue> GraphImporter::copyTo(const ImportedValue &to, const ImportedValue &from) {
  if (from.value.getType() == to.value.getType() && from.dtype == to.dtype &&
      from.device == to.device) {
    return from;
  }
  SmallVector<SizeExpr> wide = getSizes(cast<RankedTensorType>(to.value.getType())),
                        narrow = getSizes(cast<RankedTensorType>(from.value.getType()));
  if (narrow.size() > wide.size() ||
      !llvm::all_of(llvm::zip(llvm::reverse(narrow), llvm::reverse(wide)), [](auto pair) {
        return std::get<0>(pair) == std::get<1>(pair) || std::get<0>(pair).isConstant(1);
      })) {
    return failure();
  }
  CallArguments call;
  for (const ImportedValue *operand : {&to, &from}) {
    call.arguments.push_back(addOperand(*operand, call));
  }
  call.arguments.push_back(builder.getBoolAttr(false));
  CallResult result;
  result.type = to.value.getType();
  result.dtype = to.dtype;
  result.layout = to.layout;
  result.device = to.device;
  result.storage = freshStorage();
  Value copy = emitCall("aten.copy.default", call, result).getResult(0);
  return ImportedValue{copy, result.dtype, result.layout, result.storage, result.device, {}};
}
