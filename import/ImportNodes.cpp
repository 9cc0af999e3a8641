// Operator calls: arguments in schema order with defaults filled in, results with layouts and
// storage, and the write-backs that end a torch.compile graph.
#include "import/GraphImporter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Attribute GraphImporter::addOperand(const ImportedValue &value, CallArguments &call) {
  if (value.size) {
    // A known constant is a literal; another known size is computed where it is used.
    if (auto constant = value.size.getConstant()) {
      return builder.getI64IntegerAttr(*constant);
    }
    call.operands.push_back(sizeValue(value.size));
  } else {
    call.operands.push_back(value.value);
  }
  call.dtypes.push_back(value.dtype);
  call.layouts.push_back(value.layout ? Attribute(value.layout) : builder.getUnitAttr());
  return OperandAttr::get(context, call.operands.size() - 1);
}

FailureOr<Attribute> GraphImporter::literal(const Argument &value, const AtenArgument *expected) {
  using Kind = Argument::Kind;
  StringRef element = expected ? expected->getElementType() : StringRef();
  switch (value.kind) {
  case Kind::None:
    return Attribute(builder.getUnitAttr());
  case Kind::Int:
    if (element == "float") {
      return Attribute(builder.getF64FloatAttr(static_cast<double>(value.integer)));
    }
    if (element == "bool") {
      return Attribute(builder.getBoolAttr(value.integer != 0));
    }
    return Attribute(builder.getI64IntegerAttr(value.integer));
  case Kind::Float:
    return Attribute(builder.getF64FloatAttr(value.real));
  case Kind::Bool:
    return Attribute(builder.getBoolAttr(value.integer != 0));
  case Kind::String:
  case Kind::Operator:
    if (element == "Device" && value.kind == Kind::String) {
      return Attribute(TorchEnumAttr::get(context, "device", 0, value.text));
    }
    return Attribute(builder.getStringAttr(value.text));
  case Kind::Complex:
    return Attribute(ComplexAttr::get(context, builder.getF64FloatAttr(value.real),
                                      builder.getF64FloatAttr(value.imaginary)));
  case Kind::ScalarType:
    if (auto dtype = dtypeFromExport(value.integer)) {
      return Attribute(DTypeAttr::get(context, *dtype));
    }
    return fail(ErrorKind::Unsupported, "dtype code " + Twine(value.integer) +
                                            " is of no dtype that frit compiles; cast before");
  case Kind::MemoryFormat:
    if (Attribute format = memoryFormat(context, value.integer)) {
      return format;
    }
    return fail(ErrorKind::Schema,
                "memory format code " + Twine(value.integer) + " is not one of 1 to 4");
  case Kind::Layout:
    if (Attribute layout = layoutLiteral(context, value.integer)) {
      return layout;
    }
    return fail(ErrorKind::Schema, "layout code " + Twine(value.integer) + " is not one of 1 to 7");
  case Kind::Device: {
    std::string text = value.text.str();
    if (value.integer >= 0) {
      text += ":" + std::to_string(value.integer);
    }
    return Attribute(TorchEnumAttr::get(context, "device", 0, text));
  }
  default:
    return fail(
        ErrorKind::Unsupported,
        "an argument is a graph or a custom object, which no operator call can hold; export the "
        "program without it");
  }
}

/// Whether an argument may be passed for a type: rejects literals in the wrong place, but not what
/// torch's own parser would convert.
static bool mayStandFor(const Argument &value, StringRef element) {
  using Kind = Argument::Kind;
  bool number = value.kind == Kind::Int || value.kind == Kind::Float || value.kind == Kind::Bool ||
                value.kind == Kind::Complex || value.kind == Kind::SymInt ||
                value.kind == Kind::SymFloat || value.kind == Kind::SymBool;
  if (element == "Tensor") {
    return value.kind == Kind::Tensor || number; // a wrapped number
  }
  if (element == "Scalar") {
    return value.kind == Kind::Tensor || number;
  }
  if (element == "int" || element == "SymInt") {
    return value.kind == Kind::Int || value.kind == Kind::SymInt || value.kind == Kind::Bool ||
           value.kind == Kind::Layout || value.kind == Kind::ScalarType ||
           value.kind == Kind::MemoryFormat;
  }
  if (element == "bool" || element == "SymBool") {
    return value.kind == Kind::Bool || value.kind == Kind::SymBool || value.kind == Kind::Int;
  }
  if (element == "float" || element == "SymFloat") {
    return number;
  }
  if (element == "str") {
    return value.kind == Kind::String || value.kind == Kind::Device;
  }
  if (element == "ScalarType") {
    return value.kind == Kind::ScalarType || value.kind == Kind::Int;
  }
  return true;
}

FailureOr<Attribute> GraphImporter::argument(const Argument &value, const AtenArgument *expected,
                                             CallArguments &call) {
  using Kind = Argument::Kind;
  if (value.kind == Kind::None) {
    if (expected && !expected->isOptional() && !expected->type.contains('?') &&
        expected->type != "Any" && expected->getElementType() != "Generator") {
      return fail(ErrorKind::Semantic,
                  "argument '" + expected->name + "' is None, its type is " + expected->type);
    }
    return Attribute(builder.getUnitAttr());
  }
  if (value.kind == Kind::List) {
    if (expected && !expected->isList() && expected->type != "Any") {
      return fail(ErrorKind::Semantic,
                  "argument '" + expected->name + "' is a list, its type is " + expected->type);
    }
    SmallVector<Attribute> items;
    for (const Argument &item : value.items) {
      if (item.kind == Kind::None) { // an element of Tensor?[]
        items.push_back(builder.getUnitAttr());
        continue;
      }
      // Inside the list the type is that of an element.
      AtenArgument element;
      if (expected) {
        element = *expected;
        element.type = item.kind == Kind::List ? expected->type : expected->getElementType();
      }
      auto attr = argument(item, expected ? &element : nullptr, call);
      if (failed(attr)) {
        return failure();
      }
      items.push_back(*attr);
    }
    return Attribute(builder.getArrayAttr(items));
  }
  if (expected && !mayStandFor(value, expected->getElementType())) {
    return fail(ErrorKind::Semantic,
                "argument '" + expected->name + "' is not a " + expected->type);
  }
  FailureOr<Attribute> attr;
  if (value.isName()) {
    auto imported = lookup(value);
    if (failed(imported)) {
      return failure();
    }
    attr = addOperand(**imported, call);
  } else {
    attr = literal(value, expected);
  }
  // `dim=1` for `int[1] dim`.
  if (succeeded(attr) && expected && expected->isList()) {
    return Attribute(builder.getArrayAttr({*attr}));
  }
  return attr;
}

/// The default of a schema as a literal: numbers, True, None, [0, 0], "text".
FailureOr<Attribute> GraphImporter::defaultLiteral(const AtenArgument &argument) {
  StringRef text = *argument.defaultValue, element = argument.getElementType();
  auto one = [&](StringRef word) -> Attribute {
    word = word.trim();
    int64_t integer;
    double real;
    if (word == "None") {
      return builder.getUnitAttr();
    }
    if (word == "True" || word == "False") {
      return builder.getBoolAttr(word == "True");
    }
    if (word.size() >= 2 && (word.front() == '"' || word.front() == '\'')) {
      return builder.getStringAttr(word.drop_front().drop_back());
    }
    if (element != "float" && !word.getAsInteger(10, integer)) {
      if (element == "MemoryFormat") {
        // c10's numbers: contiguous 0, preserve 1
        return memoryFormat(context, integer == 0 ? 1 : integer == 1 ? 4 : integer);
      }
      return builder.getI64IntegerAttr(integer);
    }
    if (!word.getAsDouble(real)) {
      return builder.getF64FloatAttr(real);
    }
    return {};
  };
  if (text.consume_front("[")) {
    text.consume_back("]");
    SmallVector<Attribute> items;
    SmallVector<StringRef> words;
    text.split(words, ',', -1, /*KeepEmpty=*/false);
    for (StringRef word : words) {
      items.push_back(one(word));
    }
    if (!llvm::is_contained(items, Attribute())) {
      return Attribute(builder.getArrayAttr(items));
    }
  } else if (Attribute value = one(text)) {
    bool alone = argument.isList() && !isa<UnitAttr>(value);
    return alone ? Attribute(builder.getArrayAttr({value})) : value;
  }
  return fail(ErrorKind::Unsupported, "argument '" + argument.name +
                                          "' is missing and its default " + text +
                                          " cannot be read; pass it");
}

LogicalResult GraphImporter::addArguments(const Node &node, const AtenSchema *schema,
                                          CallArguments &call) {
  if (!schema) {
    for (const NamedArgument &input : node.inputs) {
      auto attr = argument(input.value, nullptr, call);
      if (failed(attr)) {
        return failure();
      }
      call.arguments.push_back(*attr);
      call.names.push_back(builder.getStringAttr(input.name));
    }
    return success();
  }
  SmallVector<const Argument *> given(schema->arguments.size());
  for (auto [position, input] : llvm::enumerate(node.inputs)) {
    size_t place = input.name.empty() ? position : schema->arguments.size();
    for (auto [i, expected] : llvm::enumerate(schema->arguments)) {
      if (!input.name.empty() && expected.name == input.name) {
        place = i;
      }
    }
    if (place >= schema->arguments.size()) {
      return fail(ErrorKind::Semantic,
                  "the operator has no argument '" + input.name.take_front(80) + "'");
    }
    if (given[place]) {
      return fail(ErrorKind::Semantic, "argument '" + input.name + "' is given twice");
    }
    given[place] = &input.value;
  }
  for (auto [expected, value] : llvm::zip(schema->arguments, given)) {
    if (!value && !expected.defaultValue && !expected.isOptional()) {
      return fail(ErrorKind::Semantic,
                  "argument '" + expected.name + "' is missing and has no default");
    }
    FailureOr<Attribute> attr = value ? argument(*value, &expected, call)
                                : expected.defaultValue
                                    ? defaultLiteral(expected)
                                    : FailureOr<Attribute>(builder.getUnitAttr());
    if (failed(attr)) {
      return failure();
    }
    call.arguments.push_back(*attr);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::addResults(ArrayRef<Argument> outputs,
                                        SmallVectorImpl<CallResult> &results,
                                        SmallVectorImpl<int64_t> &lists) {
  using Kind = Argument::Kind;
  auto add = [&](const Argument &output) -> LogicalResult {
    CallResult result;
    result.name = output.text;
    switch (output.kind) {
    case Kind::Tensor: {
      auto info = tensor(output.text);
      if (failed(info)) {
        return failure();
      }
      result.type = info->type;
      result.dtype = info->dtype;
      result.layout = info->layout;
      result.device = info->device;
      result.storage = freshStorage();
      mainDevice = mainDevice ? mainDevice : info->device;
      break;
    }
    case Kind::None:
      result.name = {};
      result.type = builder.getNoneType();
      result.dtype = DTypeAttr::get(context, DType::Bool);
      break;
    case Kind::SymInt: {
      result.type = builder.getI64Type();
      result.dtype = DTypeAttr::get(context, DType::I64);
      auto it = ints.find(output.text);
      if (it == ints.end()) {
        return fail(ErrorKind::Semantic,
                    "integer '" + output.text + "' is not described in sym_int_values");
      }
      auto size = program.size(*it->second, ("result '" + output.text + "'").str(), here());
      if (failed(size)) {
        return failure();
      }
      noteSymbols(*size);
      result.size = *size;
      break;
    }
    case Kind::SymFloat:
      result.type = builder.getF64Type();
      result.dtype = DTypeAttr::get(context, DType::F64);
      break;
    case Kind::SymBool:
      result.type = builder.getI1Type();
      result.dtype = DTypeAttr::get(context, DType::Bool);
      break;
    default:
      return fail(ErrorKind::Semantic, "a result is neither a tensor nor a named scalar");
    }
    results.push_back(result);
    return success();
  };
  for (const Argument &output : outputs) {
    if (output.kind != Kind::List) {
      lists.push_back(-1);
      if (failed(add(output))) {
        return failure();
      }
      continue;
    }
    lists.push_back(output.items.size());
    for (const Argument &item : output.items) {
      if (failed(add(item))) {
        return failure();
      }
    }
  }
  return success();
}

AtenOp GraphImporter::emitCall(StringRef opName, CallArguments &call,
                               ArrayRef<CallResult> results) {
  SmallVector<Type> types;
  SmallVector<Attribute> dtypes, layouts, devices;
  bool otherDevice = false;
  for (const CallResult &result : results) {
    types.push_back(result.type);
    dtypes.push_back(result.dtype);
    layouts.push_back(result.layout ? Attribute(result.layout) : builder.getUnitAttr());
    devices.push_back(result.device ? Attribute(result.device) : builder.getUnitAttr());
    otherDevice |= result.device && result.device != mainDevice;
  }
  bool known = program.schema(opName) != nullptr;
  auto op = AtenOp::create(builder, here(), types, builder.getStringAttr(opName), call.operands,
                           builder.getArrayAttr(call.arguments),
                           known ? ArrayAttr() : builder.getArrayAttr(call.names),
                           builder.getArrayAttr(call.dtypes), builder.getArrayAttr(dtypes),
                           builder.getArrayAttr(call.layouts), builder.getArrayAttr(layouts),
                           storageClasses(call.operands, results), /*reason=*/StringAttr());
  if (otherDevice) {
    op.setDevicesAttr(builder.getArrayAttr(devices));
  }
  if (current && !current->whole.empty()) {
    op.setReason(current->whole);
  }
  return op;
}

LogicalResult GraphImporter::defineResults(ArrayRef<CallResult> results, ValueRange resultValues) {
  if (failed(bindSymbols(results, resultValues))) {
    return failure();
  }
  for (auto [result, value] : llvm::zip(results, resultValues)) {
    if (result.name.empty()) {
      continue;
    }
    if (failed(define(result.name, {value, result.dtype, result.layout, result.storage,
                                    result.device, result.size, result.base}))) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Whether the node is a `copy_` to a placeholder whose storage is not read afterwards: AOTAutograd
/// writes mutated inputs back in this way.
bool GraphImporter::isFinalStore(const Node &node) {
  if (node.target != "torch.ops.aten.copy_.default" || node.inputs.size() < 2 ||
      node.inputs[0].value.kind != Argument::Kind::Tensor ||
      node.inputs[1].value.kind != Argument::Kind::Tensor || node.outputs.size() != 1 ||
      node.outputs[0].kind != Argument::Kind::Tensor) {
    return false;
  }
  auto it = arguments.find(node.inputs[0].value.text);
  return it != arguments.end() && !lastUse.contains(node.outputs[0].text) &&
         llvm::all_of(namesOfArgument[it->second],
                      [&](StringRef name) { return lastUse.lookup(name) <= currentIndex; });
}

LogicalResult GraphImporter::importStore(const Node &node) {
  auto target = lookup(node.inputs[0].value);
  auto value = lookup(node.inputs[1].value);
  if (failed(target) || failed(value)) {
    return failure();
  }
  if ((*target)->value.getType() != (*value)->value.getType() ||
      (*target)->dtype != (*value)->dtype) {
    return importOperator(node, "aten.copy_.default"); // it broadcasts or converts
  }
  ImportedValue argument = **target;
  StoreOp::create(builder, here(), (*value)->value, argument.value);
  return define(node.outputs[0].text, argument);
}

LogicalResult GraphImporter::importOperator(const Node &node, StringRef opName) {
  const AtenSchema *schema = program.schema(opName);
  CallArguments call;
  SmallVector<CallResult> results;
  SmallVector<int64_t> lists;
  if (failed(addResults(node.outputs, results, lists))) {
    return failure();
  }
  // A call that only computes known sizes is not needed.
  AtenEffects effects = schema ? schema->effects : AtenEffects{.ordered = true};
  bool sizesOnly = !results.empty() && llvm::all_of(results, [&](const CallResult &result) {
    return result.size && isBound(result.size);
  });
  if (sizesOnly && effects.isPure()) {
    for (const CallResult &result : results) {
      if (failed(define(result.name, {Value(), result.dtype, {}, {}, {}, result.size}))) {
        return failure();
      }
    }
    return success();
  }
  if (failed(addArguments(node, schema, call))) {
    return failure();
  }
  if (schema) {
    if (schema->returns.size() != lists.size()) {
      return fail(ErrorKind::Semantic, "the operator returns " + Twine(schema->returns.size()) +
                                           " values, the node " + Twine(lists.size()));
    }
    for (auto [returned, length] : llvm::zip(schema->returns, lists)) {
      if (returned.isList() != (length >= 0)) {
        return fail(ErrorKind::Semantic,
                    "a result is a list where the operator returns a single value, or the reverse");
      }
    }
  }
  AtenOp op = emitCall(opName, call, results);
  if (schema) {
    setStorage(op, *schema, call, lists, results);
  }
  if (llvm::any_of(lists, [](int64_t length) { return length >= 0; })) {
    op.setResultLists(lists);
  }
  return defineResults(results, op.getResults());
}

LogicalResult GraphImporter::importNode(const Node &node) {
  StringRef target = node.target;
  if (target.consume_front("torch.ops.")) {
    if (target.consume_front("higher_order.")) {
      return importHigherOrder(node, target);
    }
    if (isFinalStore(node)) {
      return importStore(node);
    }
    return importOperator(node, target);
  }
  for (StringRef module : {"_operator.", "math.", "torch.sym_", "torch._sym_", "builtins."}) {
    if (target.consume_front(module)) {
      return importScalar(node, target);
    }
  }
  return fail(ErrorKind::Unsupported,
              "the target is neither an operator of torch.ops nor scalar arithmetic");
}
