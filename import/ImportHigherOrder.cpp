// Operators that take graphs or operators. Calls of graphs become frit.call; functionalised
// mutation becomes a plain call whose extra results are the mutated operands; the rest cannot run
// without Python and is an error.
#include "import/GraphImporter.h"
#include "ir/FritAttributes.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

LogicalResult GraphImporter::importHigherOrder(const Node &node, StringRef name) {
  if (name == "invoke_subgraph" || name == "wrap_with_set_grad_enabled") {
    // (graph, identifier, operands...) and (enabled, graph, operands...)
    return name == "invoke_subgraph" ? importCall(node, 0, 2) : importCall(node, 1, 2);
  }
  if (name == "wrap_with_autocast") {
    // (device, dtype, enabled, cached, graph, operands...). One that is nested in another one never
    // gets here.
    if (node.inputs.size() > 2 && node.inputs[2].value.kind == Argument::Kind::Bool &&
        node.inputs[2].value.integer == 0) {
      return importCall(node, 4, 5);
    }
    return fail(ErrorKind::Unsupported,
                "the casts of 'wrap_with_autocast' are chosen in Python: export the program with "
                "run_decompositions(), which writes them out");
  }
  if (name == "auto_functionalized_v2" || name == "auto_functionalized") {
    return importAutoFunctionalized(node, name.ends_with("_v2"));
  }
  return fail(
      ErrorKind::Unsupported,
      "the higher-order operator '" + name +
          "' needs Python to run: compile the program with torch.compile, or export it without it");
}

LogicalResult GraphImporter::importCall(const Node &node, size_t graphAt, size_t firstOperand) {
  if (node.inputs.size() < firstOperand ||
      node.inputs[graphAt].value.kind != Argument::Kind::Graph) {
    return fail(ErrorKind::Semantic, "input " + Twine(graphAt) + " must be a graph");
  }
  auto graph = program.subgraph(node.inputs[graphAt].value, here());
  if (failed(graph)) {
    return failure();
  }
  CallArguments call;
  for (const NamedArgument &input : ArrayRef(node.inputs).drop_front(firstOperand)) {
    if (input.value.kind == Argument::Kind::None) {
      call.operands.push_back(NoneOp::create(builder, here(), builder.getNoneType()));
      continue;
    }
    if (input.value.kind == Argument::Kind::Tensor) {
      auto value = lookup(input.value);
      if (failed(value)) {
        return failure();
      }
      call.operands.push_back((*value)->value);
      continue;
    }
    auto value = scalar(input.value);
    if (failed(value)) {
      return failure();
    }
    call.operands.push_back(*value);
  }
  SmallVector<CallResult> results;
  SmallVector<int64_t> lists;
  if (failed(addResults(node.outputs, results, lists))) {
    return failure();
  }
  SmallVector<Type> types;
  for (const CallResult &result : results) {
    types.push_back(result.type);
  }
  if (ValueRange(call.operands).getTypes() != TypeRange(graph->getArgumentTypes()) ||
      TypeRange(types) != TypeRange(graph->getResultTypes())) {
    return fail(ErrorKind::Semantic,
                "operands and results do not have the types of the graph that is called");
  }
  auto op = CallOp::create(builder, here(), types, graph->getSymName(), call.operands);
  // A result in the storage of the callee's argument is in the storage of the caller's operand.
  for (auto [i, result] : llvm::enumerate(results)) {
    auto attrs = cast<DictionaryAttr>(graph->getResAttrsAttr()[i]);
    StorageAttr storage = kResultStorageAttr.in(attrs);
    if (!storage || storage.getKind() == StorageKind::Fresh) {
      continue;
    }
    if (StorageAttr known = storageOf.lookup(call.operands[storage.getIndex()])) {
      bool view = known.getKind() == StorageKind::Argument &&
                  storage.getKind() == StorageKind::ViewOfArgument;
      result.storage =
          view ? StorageAttr::get(context, StorageKind::ViewOfArgument, known.getIndex()) : known;
    }
  }
  return defineResults(results, op.getResults());
}

//===----------------------------------------------------------------------===//
// auto_functionalized
//===----------------------------------------------------------------------===//

/// How a mutated argument is a view of its base (torch's ViewInfo).
struct GraphImporter::View {
  enum class Kind { Absent, Whole, Slice, Strided } kind = Kind::Absent;
  size_t base = 0;
  int64_t dim = 0;
  /// Slice: start and end; strided: sizes, strides and the offset.
  SmallVector<SizeExpr> sizes, strides;
  SizeExpr start, end;
};

FailureOr<SmallVector<SizeExpr>> GraphImporter::sizeList(const Argument *argument) {
  SmallVector<SizeExpr> result;
  auto add = [&](const Argument &item) -> LogicalResult {
    if (item.kind == Argument::Kind::Int) {
      result.push_back(SizeExpr::constant(context, item.integer));
      return success();
    }
    if (item.kind == Argument::Kind::SymInt) {
      auto value = lookup(item);
      if (succeeded(value) && (*value)->size) {
        result.push_back((*value)->size);
        return success();
      }
    }
    return fail(ErrorKind::Unsupported,
                "the view of a mutated argument has a size that is not known");
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

LogicalResult GraphImporter::readView(StringRef prefix,
                                      const llvm::StringMap<const Argument *> &fields,
                                      ArrayRef<ImportedValue> bases, View &view) {
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
    auto sizes = sizeList(field("_size")), strides = sizeList(field("_stride")),
         offset = sizeList(field("_storage_offset"));
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
    auto start = sizeList(field("_slice_start")), end = sizeList(field("_slice_end"));
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

Attribute GraphImporter::sizeArgument(SizeExpr size, CallArguments &call) {
  ImportedValue value;
  value.dtype = DTypeAttr::get(context, DType::I64);
  value.size = size;
  return addOperand(value, call);
}

ImportedValue GraphImporter::emitView(const View &view, const ImportedValue &base) {
  if (view.kind == View::Kind::Whole) {
    return base;
  }
  auto baseType = cast<RankedTensorType>(base.value.getType());
  CallArguments call;
  call.arguments.push_back(addOperand(base, call));
  SmallVector<SizeExpr> sizes = view.sizes;
  SmallVector<SizeAttr> strides(view.strides.begin(), view.strides.end());
  SizeExpr offset = view.start;
  StringRef name = "aten.as_strided.default";
  auto list = [&](ArrayRef<SizeExpr> items) {
    SmallVector<Attribute> attrs;
    for (SizeExpr item : items) {
      attrs.push_back(sizeArgument(item, call));
    }
    return builder.getArrayAttr(attrs);
  };
  if (view.kind == View::Kind::Slice) {
    name = "aten.slice.Tensor";
    sizes = getSizes(baseType);
    sizes[view.dim] = view.end - view.start;
    strides.assign(base.layout.getStrides().begin(), base.layout.getStrides().end());
    offset = SizeExpr(base.layout.getOffset()) + view.start * strides[view.dim];
    call.arguments.push_back(builder.getI64IntegerAttr(view.dim));
    call.arguments.push_back(sizeArgument(view.start, call));
    call.arguments.push_back(sizeArgument(view.end, call));
    call.arguments.push_back(builder.getI64IntegerAttr(1));
  } else {
    call.arguments.push_back(list(view.sizes));
    call.arguments.push_back(list(view.strides));
    call.arguments.push_back(sizeArgument(view.start, call));
  }
  CallResult result;
  result.type = getTensorType(sizes, baseType.getElementType());
  result.dtype = base.dtype;
  result.layout = LayoutAttr::get(context, strides, offset);
  result.storage =
      base.storage.getKind() == StorageKind::Argument
          ? StorageAttr::get(context, StorageKind::ViewOfArgument, base.storage.getIndex())
          : base.storage;
  result.device = base.device;
  AtenOp op = emitCall(name, call, result);
  return {op.getResult(0), result.dtype, result.layout, result.storage, result.device, {}};
}

/// The base with the view replaced by `source`.
ImportedValue GraphImporter::emitScatter(const View &view, const ImportedValue &base,
                                         const ImportedValue &source) {
  if (view.kind == View::Kind::Whole) {
    return source;
  }
  CallArguments call;
  call.arguments.push_back(addOperand(base, call));
  call.arguments.push_back(addOperand(source, call));
  StringRef name = "aten.as_strided_scatter.default";
  if (view.kind == View::Kind::Slice) {
    name = "aten.slice_scatter.default";
    call.arguments.push_back(builder.getI64IntegerAttr(view.dim));
    call.arguments.push_back(sizeArgument(view.start, call));
    call.arguments.push_back(sizeArgument(view.end, call));
    call.arguments.push_back(builder.getI64IntegerAttr(1));
  } else {
    for (ArrayRef<SizeExpr> items : {ArrayRef(view.sizes), ArrayRef(view.strides)}) {
      SmallVector<Attribute> attrs;
      for (SizeExpr item : items) {
        attrs.push_back(sizeArgument(item, call));
      }
      call.arguments.push_back(builder.getArrayAttr(attrs));
    }
    call.arguments.push_back(sizeArgument(view.start, call));
  }
  CallResult result;
  result.type = base.value.getType();
  result.dtype = base.dtype;
  result.layout = base.layout;
  result.storage = freshStorage();
  result.device = base.device;
  AtenOp op = emitCall(name, call, result);
  return {op.getResult(0), result.dtype, result.layout, result.storage, result.device, {}};
}

LogicalResult GraphImporter::importAutoFunctionalized(const Node &node, bool views) {
  if (node.inputs.empty() || node.inputs[0].value.kind != Argument::Kind::Operator) {
    return fail(ErrorKind::Semantic, "the first input must be the operator");
  }
  StringRef opName = node.inputs[0].value.text;
  if (!opName.consume_front("torch.ops.")) {
    return fail(ErrorKind::Semantic, "'" + opName + "' is not an operator of torch.ops");
  }
  const AtenSchema *schema = program.schema(opName);
  llvm::StringMap<const Argument *> fields;
  for (const NamedArgument &input : ArrayRef(node.inputs).drop_front()) {
    fields[input.name] = &input.value;
  }
  // Arguments in order: those given, then (or where the schema says) the mutated ones, rebuilt from
  // their bases.
  SmallVector<ImportedValue> bases;
  SmallVector<std::pair<StringRef, View>> mutated; // list elements are named x_0, x_1
  SmallVector<std::pair<StringRef, const Argument *>> given;
  SmallVector<std::pair<StringRef, int64_t>> lists;
  if (views) {
    const Argument *all = fields.lookup("_all_bases");
    for (const Argument &item : all ? ArrayRef(all->items) : ArrayRef<Argument>()) {
      auto base = lookup(item);
      if (failed(base)) {
        return failure();
      }
      if (!(*base)->isTensor()) {
        return fail(ErrorKind::Semantic, "a base is not a tensor");
      }
      bases.push_back(**base);
    }
  }
  for (const NamedArgument &input : ArrayRef(node.inputs).drop_front()) {
    StringRef name = input.name;
    bool special = views && name.starts_with("_");
    if (special && name.consume_back("_base_index")) {
      View view;
      if (failed(readView(name, fields, bases, view))) {
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
  if (!views) {
    // The first form passes the mutated tensors themselves; only a schema tells which they are.
    if (!schema) {
      return fail(ErrorKind::Unsupported,
                  "operator '" + opName + "' is not known, so neither is what it mutates");
    }
    for (const AtenArgument &argument : schema->arguments) {
      const Argument *value = fields.lookup(argument.name);
      if (!argument.isWrite || !value || value->kind != Argument::Kind::Tensor) {
        continue;
      }
      auto base = lookup(*value);
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
  }

  CallArguments call;
  SmallVector<int64_t> mutatedOperands;
  SmallVector<std::pair<View, ImportedValue>> passed;
  auto addMutated = [&](const View &view) -> Attribute {
    if (view.kind == View::Kind::Absent) {
      return builder.getUnitAttr();
    }
    ImportedValue value = emitView(view, bases[view.base]);
    auto operand = cast<OperandAttr>(addOperand(value, call));
    mutatedOperands.push_back(operand.getIndex());
    passed.emplace_back(view, value);
    return operand;
  };
  /// A mutated argument by name: one tensor, or a list of them; null if it is neither.
  auto mutatedArgument = [&](StringRef name) -> Attribute {
    auto *one = llvm::find_if(mutated, [&](auto &entry) { return entry.first == name; });
    if (one != mutated.end()) {
      return addMutated(one->second);
    }
    auto *list = llvm::find_if(lists, [&](auto &entry) { return entry.first == name; });
    if (list == lists.end()) {
      return {};
    }
    SmallVector<Attribute> items;
    for (auto &[element, view] : mutated) {
      StringRef index = element;
      if (index.consume_front(name) && index.consume_front("_")) {
        items.push_back(addMutated(view));
      }
    }
    return list->second < 0 ? Attribute(builder.getUnitAttr()) : builder.getArrayAttr(items);
  };
  if (schema) {
    for (const AtenArgument &expected : schema->arguments) {
      FailureOr<Attribute> attr = mutatedArgument(expected.name);
      if (!*attr) {
        const Argument *value = fields.lookup(expected.name);
        attr = value                   ? argument(*value, &expected, call)
               : expected.defaultValue ? defaultLiteral(expected)
                                       : FailureOr<Attribute>(builder.getUnitAttr());
      }
      if (failed(attr)) {
        return failure();
      }
      call.arguments.push_back(*attr);
    }
  } else {
    for (auto &[name, value] : given) {
      auto attr = argument(*value, nullptr, call);
      if (failed(attr)) {
        return failure();
      }
      call.arguments.push_back(*attr);
      call.names.push_back(builder.getStringAttr(name));
    }
    for (auto &[name, view] : mutated) {
      bool element = llvm::any_of(lists, [&, name = name](auto &list) {
        StringRef index = name;
        return index.consume_front(list.first) && index.consume_front("_");
      });
      if (!element) {
        call.arguments.push_back(addMutated(view));
        call.names.push_back(builder.getStringAttr(name));
      }
    }
    for (auto &[name, length] : lists) {
      call.arguments.push_back(mutatedArgument(name));
      call.names.push_back(builder.getStringAttr(name));
    }
  }

  // Outputs: what the operator returns (one None if nothing), then every base after the call.
  if (node.outputs.size() < bases.size()) {
    return fail(ErrorKind::Semantic, "the node has fewer results than mutated tensors");
  }
  ArrayRef<Argument> returned = ArrayRef(node.outputs).drop_back(bases.size());
  if (returned.size() == 1 && returned[0].kind == Argument::Kind::None) {
    returned = {};
  }
  SmallVector<CallResult> results;
  SmallVector<int64_t> lengths;
  if (failed(addResults(returned, results, lengths))) {
    return failure();
  }
  size_t own = results.size();
  for (auto &[view, value] : passed) {
    CallResult result;
    result.type = value.value.getType();
    result.dtype = value.dtype;
    result.layout = value.layout;
    result.storage = freshStorage();
    result.device = value.device;
    results.push_back(result);
    lengths.push_back(-1);
  }
  AtenOp op = emitCall(opName, call, results);
  if (!mutatedOperands.empty()) {
    op.setMutatedOperands(mutatedOperands);
  }
  if (llvm::any_of(lengths, [](int64_t length) { return length >= 0; })) {
    op.setResultLists(lengths);
  }
  if (failed(defineResults(results, op.getResults()))) {
    return failure();
  }
  SmallVector<unsigned> writers(bases.size());
  for (auto &[view, value] : passed) {
    ++writers[view.base];
  }
  for (auto [i, entry] : llvm::enumerate(passed)) {
    auto &[view, value] = entry;
    if (view.kind == View::Kind::Whole && writers[view.base] > 1) {
      return fail(ErrorKind::Unsupported, "two mutated arguments are the same tensor");
    }
    const CallResult &result = results[own + i];
    ImportedValue after{op.getResult(own + i), result.dtype,  result.layout,
                        result.storage,        result.device, {}};
    bases[view.base] = emitScatter(view, bases[view.base], after);
  }
  for (auto [output, base] : llvm::zip(ArrayRef(node.outputs).take_back(bases.size()), bases)) {
    if (output.kind != Argument::Kind::Tensor) {
      continue;
    }
    auto info = tensor(output.text);
    if (failed(info)) {
      return failure();
    }
    if (info->type != base.value.getType()) {
      return fail(ErrorKind::Semantic,
                  "'" + output.text + "' has another type than the tensor it is after the call");
    }
    if (failed(define(output.text, base))) {
      return failure();
    }
  }
  return success();
}
