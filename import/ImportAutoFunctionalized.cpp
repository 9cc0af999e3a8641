// auto_functionalized: an operator that torch has made functional by passing copies of what it
// mutates. It becomes a call of the operator whose extra results are the mutated operands. Where
// such an operand is a view of a larger tensor (the base), the call reads the view and its result
// is written back into the base.
#include "import/GraphImporter.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

/// Imports one such node. The two forms differ in how they name the mutated tensors: the first
/// passes the tensors themselves, the second lists bases and describes the views of them.
class GraphImporter::AutoFunctionalized {
public:
  AutoFunctionalized(GraphImporter &importer, const Node &node, bool views)
      : importer(importer), builder(importer.builder), node(node), views(views) {}

  LogicalResult run() {
    if (failed(readOperator()) || failed(views ? readBases() : success()) || failed(readInputs()) ||
        failed(views ? success() : readMutatedTensors()) ||
        failed(schema ? passBySchema() : passByName())) {
      return failure();
    }
    if (node.outputs.size() < bases.size()) {
      return fail(ErrorKind::Semantic, "the node has fewer results than mutated tensors");
    }
    SmallVector<CallResult> results;
    FailureOr<AtenOp> op = emit(results);
    if (failed(op) || failed(writeBack(*op, results))) {
      return failure();
    }
    return defineBases();
  }

private:
  /// How a mutated argument is a view of its base (torch's ViewInfo).
  struct View {
    enum class Kind { Absent, Whole, Slice, Strided } kind = Kind::Absent;
    size_t base = 0;
    int64_t dim = 0;
    /// Slice: start and end; strided: sizes, strides and the offset.
    SmallVector<SizeExpr> sizes, strides;
    SizeExpr start, end;
  };

  LogicalResult fail(ErrorKind kind, const Twine &message) { return importer.fail(kind, message); }

  LogicalResult readOperator();
  LogicalResult readBases();
  LogicalResult readInputs();
  LogicalResult readMutatedTensors();
  LogicalResult readView(StringRef prefix, View &view);
  FailureOr<SmallVector<SizeExpr>> readSizes(const Argument *argument);

  LogicalResult passBySchema();
  LogicalResult passByName();
  Attribute passMutated(StringRef name);
  Attribute passView(const View &view);
  static bool isElementOf(StringRef element, StringRef list);

  FailureOr<AtenOp> emit(SmallVectorImpl<CallResult> &results);
  bool isApart(const View &one, const View &other) const;
  LogicalResult writeBack(AtenOp op, ArrayRef<CallResult> results);
  LogicalResult defineBases();

  ImportedValue emitView(const View &view, const ImportedValue &base);
  ImportedValue emitScatter(const View &view, const ImportedValue &base,
                            const ImportedValue &source);
  Attribute sizeArgument(SizeExpr size, CallArguments &arguments);
  Attribute sizeArguments(ArrayRef<SizeExpr> sizes, CallArguments &arguments);
  void addRange(const View &view, CallArguments &arguments);
  ImportedValue emitCall(StringRef name, CallArguments &arguments, const CallResult &result);

  GraphImporter &importer;
  OpBuilder &builder;
  const Node &node;
  bool views;

  StringRef opName;
  const AtenSchema *schema = nullptr;
  llvm::StringMap<const Argument *> fields;
  SmallVector<ImportedValue> bases;
  /// The arguments by name: mutated ones, of which the elements of a list are named x_0, x_1; the
  /// lengths of such lists; all others.
  SmallVector<std::pair<StringRef, View>> mutated;
  SmallVector<std::pair<StringRef, int64_t>> lists;
  SmallVector<std::pair<StringRef, const Argument *>> given;

  CallArguments call;
  /// The value that the call reads for each mutated argument, in the order of its operands.
  SmallVector<std::pair<View, ImportedValue>> passed;
  SmallVector<int64_t> mutatedOperands;
};

LogicalResult GraphImporter::importAutoFunctionalized(const Node &node, bool views) {
  return AutoFunctionalized(*this, node, views).run();
}

//===----------------------------------------------------------------------===//
// What the node says
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::AutoFunctionalized::readOperator() {
  if (node.inputs.empty() || node.inputs[0].value.kind != Argument::Kind::Operator) {
    return fail(ErrorKind::Semantic, "the first input must be the operator");
  }
  opName = node.inputs[0].value.text;
  if (!opName.consume_front("torch.ops.")) {
    return fail(ErrorKind::Semantic, "'" + opName + "' is not an operator of torch.ops");
  }
  schema = importer.program.schema(opName);
  for (const NamedArgument &input : ArrayRef(node.inputs).drop_front()) {
    fields[input.name] = &input.value;
  }
  return success();
}

LogicalResult GraphImporter::AutoFunctionalized::readBases() {
  const Argument *all = fields.lookup("_all_bases");
  for (const Argument &item : all ? ArrayRef(all->items) : ArrayRef<Argument>()) {
    auto base = importer.lookup(item);
    if (failed(base)) {
      return failure();
    }
    if (!(*base)->isTensor()) {
      return fail(ErrorKind::Semantic, "an entry of '_all_bases' is not a tensor");
    }
    bases.push_back(**base);
  }
  return success();
}

LogicalResult GraphImporter::AutoFunctionalized::readInputs() {
  for (const NamedArgument &input : ArrayRef(node.inputs).drop_front()) {
    StringRef name = input.name;
    bool special = views && name.starts_with("_");
    if (special && name.consume_back("_base_index")) {
      View view;
      if (failed(readView(name, view))) {
        return failure();
      }
      mutated.emplace_back(name.drop_front(), view);
    } else if (special && name.consume_back("_length")) {
      lists.emplace_back(name.drop_front(),
                         input.value.kind == Argument::Kind::Int ? input.value.integer : -1);
    } else if (!special) {
      given.emplace_back(name, &input.value);
    }
  }
  return success();
}

/// Finds the mutated tensors of the first form, which only the schema identifies.
LogicalResult GraphImporter::AutoFunctionalized::readMutatedTensors() {
  if (!schema) {
    return fail(ErrorKind::Unsupported,
                "operator '" + opName + "' is not known, so neither is what it mutates");
  }
  for (const AtenArgument &argument : schema->arguments) {
    const Argument *value = fields.lookup(argument.name);
    if (!argument.isWrite || !value || value->kind != Argument::Kind::Tensor) {
      continue;
    }
    auto base = importer.lookup(*value);
    if (failed(base)) {
      return failure();
    }
    View view;
    view.kind = View::Kind::Whole;
    view.base = bases.size();
    bases.push_back(**base);
    mutated.emplace_back(argument.name, view);
    llvm::erase_if(given, [&](auto &entry) { return entry.first == argument.name; });
  }
  return success();
}

FailureOr<SmallVector<SizeExpr>>
GraphImporter::AutoFunctionalized::readSizes(const Argument *argument) {
  SmallVector<SizeExpr> result;
  auto add = [&](const Argument &item) -> LogicalResult {
    if (item.kind == Argument::Kind::Int) {
      result.push_back(SizeExpr::constant(importer.context, item.integer));
      return success();
    }
    if (item.kind == Argument::Kind::SymInt) {
      auto value = importer.lookup(item);
      if (succeeded(value) && (*value)->size) {
        result.push_back((*value)->size);
        return success();
      }
    }
    return fail(
        ErrorKind::Unsupported,
        "the view of a mutated argument has a size that is not known; pass a tensor instead of a "
        "view");
  };
  if (!argument) {
    return fail(ErrorKind::Semantic, "the view of a mutated argument is incomplete");
  }
  if (argument->kind != Argument::Kind::List) {
    if (failed(add(*argument))) {
      return failure();
    }
    return result;
  }
  for (const Argument &item : argument->items) {
    if (failed(add(item))) {
      return failure();
    }
  }
  return result;
}

LogicalResult GraphImporter::AutoFunctionalized::readView(StringRef prefix, View &view) {
  auto field = [&](StringRef suffix) { return fields.lookup((prefix + suffix).str()); };
  const Argument *index = field("_base_index");
  if (!index || index->kind == Argument::Kind::None) {
    return success();
  }
  if (index->kind != Argument::Kind::Int || index->integer < 0 ||
      index->integer >= static_cast<int64_t>(bases.size())) {
    return fail(ErrorKind::Semantic, "'" + prefix + "_base_index' does not name one of the bases");
  }
  view.base = index->integer;
  view.kind = View::Kind::Whole;
  int64_t rank = cast<RankedTensorType>(bases[view.base].value.getType()).getRank();
  if (field("_storage_offset")) {
    view.kind = View::Kind::Strided;
    auto sizes = readSizes(field("_size")), strides = readSizes(field("_stride")),
         offset = readSizes(field("_storage_offset"));
    if (failed(sizes) || failed(strides) || failed(offset)) {
      return failure();
    }
    if (sizes->size() != strides->size() || offset->size() != 1) {
      return fail(ErrorKind::Semantic,
                  "'" + prefix + "' has as many strides as sizes and one offset");
    }
    view.sizes = *sizes;
    view.strides = *strides;
    view.start = offset->front();
  } else if (const Argument *dim = field("_slice_dim")) {
    view.kind = View::Kind::Slice;
    auto start = readSizes(field("_slice_start")), end = readSizes(field("_slice_end"));
    if (failed(start) || failed(end)) {
      return failure();
    }
    if (dim->kind != Argument::Kind::Int || dim->integer < 0 || dim->integer >= rank ||
        start->size() != 1 || end->size() != 1) {
      return fail(ErrorKind::Semantic,
                  "'" + prefix + "' slices a dimension that its base does not have");
    }
    view.dim = dim->integer;
    view.start = start->front();
    view.end = end->front();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The arguments of the call
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::AutoFunctionalized::passBySchema() {
  for (const AtenArgument &expected : schema->arguments) {
    FailureOr<Attribute> attr = passMutated(expected.name);
    if (!*attr) {
      const Argument *value = fields.lookup(expected.name);
      attr = value                   ? importer.argument(*value, &expected, call)
             : expected.defaultValue ? importer.defaultLiteral(expected)
                                     : FailureOr<Attribute>(builder.getUnitAttr());
    }
    if (failed(attr)) {
      return failure();
    }
    call.arguments.push_back(*attr);
  }
  return success();
}

LogicalResult GraphImporter::AutoFunctionalized::passByName() {
  auto pass = [&](StringRef name, Attribute attr) {
    call.arguments.push_back(attr);
    call.names.push_back(builder.getStringAttr(name));
  };
  for (auto &[name, value] : given) {
    auto attr = importer.argument(*value, nullptr, call);
    if (failed(attr)) {
      return failure();
    }
    pass(name, *attr);
  }
  for (auto &[name, view] : mutated) {
    if (llvm::none_of(lists,
                      [&, name = name](auto &list) { return isElementOf(name, list.first); })) {
      pass(name, passView(view));
    }
  }
  for (auto &[name, length] : lists) {
    pass(name, passMutated(name));
  }
  return success();
}

bool GraphImporter::AutoFunctionalized::isElementOf(StringRef element, StringRef list) {
  return element.consume_front(list) && element.consume_front("_");
}

/// A mutated argument by name: one tensor, or a list of them; null if it is neither.
Attribute GraphImporter::AutoFunctionalized::passMutated(StringRef name) {
  auto isNamed = [&](auto &entry) { return entry.first == name; };
  if (auto *one = llvm::find_if(mutated, isNamed); one != mutated.end()) {
    return passView(one->second);
  }
  auto *list = llvm::find_if(lists, isNamed);
  if (list == lists.end()) {
    return {};
  }
  SmallVector<Attribute> items;
  for (auto &[element, view] : mutated) {
    if (isElementOf(element, name)) {
      items.push_back(passView(view));
    }
  }
  return list->second < 0 ? Attribute(builder.getUnitAttr()) : builder.getArrayAttr(items);
}

Attribute GraphImporter::AutoFunctionalized::passView(const View &view) {
  if (view.kind == View::Kind::Absent) {
    return builder.getUnitAttr();
  }
  ImportedValue value = emitView(view, bases[view.base]);
  auto operand = cast<OperandAttr>(importer.addOperand(value, call));
  mutatedOperands.push_back(operand.getIndex());
  passed.emplace_back(view, value);
  return operand;
}

//===----------------------------------------------------------------------===//
// The call and its results
//===----------------------------------------------------------------------===//

/// The results are what the operator returns (one None if nothing), then the mutated operands. The
/// node's are what the operator returns, then every base after the call.
FailureOr<AtenOp> GraphImporter::AutoFunctionalized::emit(SmallVectorImpl<CallResult> &results) {
  ArrayRef<Argument> returned = ArrayRef(node.outputs).drop_back(bases.size());
  if (returned.size() == 1 && returned[0].kind == Argument::Kind::None) {
    returned = {};
  }
  SmallVector<int64_t> lengths;
  if (failed(importer.addResults(returned, results, lengths))) {
    return failure();
  }
  for (auto &[view, value] : passed) {
    CallResult result;
    result.type = value.value.getType();
    result.dtype = value.dtype;
    result.layout = value.layout;
    result.storage = importer.freshStorage();
    result.device = value.device;
    results.push_back(result);
    lengths.push_back(-1);
  }
  AtenOp op = importer.emitCall(opName, call, results);
  if (!mutatedOperands.empty()) {
    op.setMutatedOperands(mutatedOperands);
  }
  if (llvm::any_of(lengths, [](int64_t length) { return length >= 0; })) {
    op.setResultLists(lengths);
  }
  if (failed(importer.defineResults(results, op.getResults()))) {
    return failure();
  }
  return op;
}

/// Whether two views share no element, as far as is known.
bool GraphImporter::AutoFunctionalized::isApart(const View &one, const View &other) const {
  if (one.base != other.base) {
    return true;
  }
  auto endOf = [](const View &view) {
    if (view.kind == View::Kind::Slice) {
      return view.end;
    }
    SizeExpr end = view.start + 1;
    for (auto [size, stride] : llvm::zip_equal(view.sizes, view.strides)) {
      end = end + (size - 1) * stride;
    }
    return end;
  };
  const SizeFacts &facts = importer.program.facts;
  return one.kind == other.kind && one.kind != View::Kind::Whole && one.dim == other.dim &&
         (facts.provablyNonNegative(other.start - endOf(one)) ||
          facts.provablyNonNegative(one.start - endOf(other)));
}

/// Writes the mutated operands back into their bases.
LogicalResult GraphImporter::AutoFunctionalized::writeBack(AtenOp op,
                                                           ArrayRef<CallResult> results) {
  for (auto [number, entry] : llvm::enumerate(passed)) {
    for (auto &[other, value] : ArrayRef(passed).take_front(number)) {
      if (!isApart(entry.first, other)) {
        return fail(ErrorKind::Unsupported,
                    "two mutated arguments may share memory, which a plan cannot express; pass "
                    "tensors that lie apart");
      }
    }
  }
  size_t first = results.size() - passed.size();
  for (auto [i, entry] : llvm::enumerate(passed)) {
    auto &[view, value] = entry;
    const CallResult &result = results[first + i];
    ImportedValue after{op.getResult(first + i), result.dtype,  result.layout,
                        result.storage,          result.device, {}};
    bases[view.base] = emitScatter(view, bases[view.base], after);
  }
  return success();
}

/// Defines the node's last results: the bases after the call.
LogicalResult GraphImporter::AutoFunctionalized::defineBases() {
  for (auto [output, base] : llvm::zip(ArrayRef(node.outputs).take_back(bases.size()), bases)) {
    if (output.kind != Argument::Kind::Tensor) {
      continue;
    }
    auto info = importer.tensor(output.text);
    if (failed(info)) {
      return failure();
    }
    if (info->type != base.value.getType()) {
      return fail(ErrorKind::Semantic,
                  "'" + output.text + "' has another type than the tensor it is after the call");
    }
    if (failed(importer.define(output.text, base))) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Views of bases
//===----------------------------------------------------------------------===//

Attribute GraphImporter::AutoFunctionalized::sizeArgument(SizeExpr size, CallArguments &arguments) {
  ImportedValue value;
  value.dtype = DTypeAttr::get(importer.context, DType::I64);
  value.size = size;
  return importer.addOperand(value, arguments);
}

Attribute GraphImporter::AutoFunctionalized::sizeArguments(ArrayRef<SizeExpr> sizes,
                                                           CallArguments &arguments) {
  SmallVector<Attribute> attrs;
  for (SizeExpr size : sizes) {
    attrs.push_back(sizeArgument(size, arguments));
  }
  return builder.getArrayAttr(attrs);
}

/// Adds the arguments that define a view: those of aten.slice or aten.as_strided.
void GraphImporter::AutoFunctionalized::addRange(const View &view, CallArguments &arguments) {
  if (view.kind == View::Kind::Slice) {
    arguments.arguments.push_back(builder.getI64IntegerAttr(view.dim));
    arguments.arguments.push_back(sizeArgument(view.start, arguments));
    arguments.arguments.push_back(sizeArgument(view.end, arguments));
    arguments.arguments.push_back(builder.getI64IntegerAttr(1));
    return;
  }
  arguments.arguments.push_back(sizeArguments(view.sizes, arguments));
  arguments.arguments.push_back(sizeArguments(view.strides, arguments));
  arguments.arguments.push_back(sizeArgument(view.start, arguments));
}

ImportedValue GraphImporter::AutoFunctionalized::emitCall(StringRef name, CallArguments &arguments,
                                                          const CallResult &result) {
  AtenOp op = importer.emitCall(name, arguments, result);
  return {op.getResult(0), result.dtype, result.layout, result.storage, result.device, {}};
}

ImportedValue GraphImporter::AutoFunctionalized::emitView(const View &view,
                                                          const ImportedValue &base) {
  if (view.kind == View::Kind::Whole) {
    return base;
  }
  auto baseType = cast<RankedTensorType>(base.value.getType());
  bool isSlice = view.kind == View::Kind::Slice;
  SmallVector<SizeExpr> sizes = view.sizes;
  SmallVector<SizeAttr> strides(view.strides.begin(), view.strides.end());
  SizeExpr offset = view.start;
  if (isSlice) {
    sizes = getSizes(baseType);
    sizes[view.dim] = view.end - view.start;
    strides.assign(base.layout.getStrides().begin(), base.layout.getStrides().end());
    offset = SizeExpr(base.layout.getOffset()) + view.start * strides[view.dim];
  }
  CallArguments arguments;
  arguments.arguments.push_back(importer.addOperand(base, arguments));
  addRange(view, arguments);
  CallResult result;
  result.type = getTensorType(sizes, baseType.getElementType());
  result.dtype = base.dtype;
  result.layout = LayoutAttr::get(importer.context, strides, offset);
  result.storage =
      base.storage && base.storage.getKind() == StorageKind::Argument
          ? StorageAttr::get(importer.context, StorageKind::ViewOfArgument, base.storage.getIndex())
          : base.storage;
  result.device = base.device;
  return emitCall(isSlice ? "aten.slice.Tensor" : "aten.as_strided.default", arguments, result);
}

/// The base with the view replaced by `source`.
ImportedValue GraphImporter::AutoFunctionalized::emitScatter(const View &view,
                                                             const ImportedValue &base,
                                                             const ImportedValue &source) {
  if (view.kind == View::Kind::Whole) {
    return source;
  }
  CallArguments arguments;
  arguments.arguments.push_back(importer.addOperand(base, arguments));
  arguments.arguments.push_back(importer.addOperand(source, arguments));
  addRange(view, arguments);
  CallResult result;
  result.type = base.value.getType();
  result.dtype = base.dtype;
  result.layout = base.layout;
  result.storage = importer.freshStorage();
  result.device = base.device;
  return emitCall(view.kind == View::Kind::Slice ? "aten.slice_scatter.default"
                                                 : "aten.as_strided_scatter.default",
                  arguments, result);
}
