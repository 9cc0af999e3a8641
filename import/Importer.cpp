// From a checked program to a module: symbols, signature, and the graphs in order.
#include "import/Importer.h"
#include "import/GraphImporter.h"
#include "import/SympyText.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

/// Escapes names of the text for messages, so that a message is one line without anything that
/// makes a terminal show it differently.
static std::string shown(StringRef message) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (size_t at = 0; at < message.size(); ++at) {
    auto byte = static_cast<unsigned char>(message[at]);
    auto last = static_cast<unsigned char>(at + 2 < message.size() ? message[at + 2] : 0);
    // Direction marks: U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069.
    StringRef lead = message.substr(at, 2);
    bool turns = (lead == "\xe2\x80" &&
                  ((last >= 0x8e && last <= 0x8f) || (last >= 0xaa && last <= 0xae))) ||
                 (lead == "\xe2\x81" && last >= 0xa6 && last <= 0xa9);
    if (turns) {
      stream << llvm::format("\\u20%02x", (lead.back() == '\x80' ? 0x00 : 0x40) + (last & 0x3f));
      at += 2;
    } else if (byte < 0x20 || byte == 0x7f) {
      stream << llvm::format("\\x%02x", byte);
    } else {
      stream << message[at];
    }
  }
  return text;
}

OwningOpRef<ModuleOp> mlir::frit::importExportedProgram(MLIRContext *context, StringRef json,
                                                        const ImportOptions &options,
                                                        exported::Error *error) {
  context->loadDialect<FritDialect, arith::ArithDialect, math::MathDialect>();
  exported::Error local;
  exported::Error &result = error ? *error : local;
  Location location = UnknownLoc::get(context);
  std::unique_ptr<Program> program = readProgram(json, result);
  if (!program) {
    location = FileLineColLoc::get(context, options.fileName, result.line, result.column);
  } else {
    ProgramImporter importer(context, *program, options, result);
    if (OwningOpRef<ModuleOp> module = importer.run()) {
      return module;
    }
    location = importer.failedAt;
  }
  std::string place = program ? "" : (":" + Twine(result.line) + ":" + Twine(result.column)).str();
  emitError(location) << stringify(result.kind) << " error in " << options.fileName << place << ": "
                      << shown(result.message);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Whether torch binds the symbol while the graph runs.
static bool isUnbacked(StringRef symbol) {
  unsigned number;
  return symbol.consume_front("u") && !symbol.getAsInteger(10, number);
}

ProgramImporter::ProgramImporter(MLIRContext *context, const Program &program,
                                 const ImportOptions &options, Error &error)
    : context(context), program(program), options(options), failedAt(UnknownLoc::get(context)),
      facts(context), error(error) {
  llvm::StringSet<> integers = findIntegersOfAnySign(program.graph);
  for (auto &[name, promised] : program.ranges) {
    RangeConstraint range = promised;
    if (range.min == 0 && integers.contains(name)) {
      range.min.reset();
    }
    if (isUnbacked(name)) {
      // The fake kernel of the operator that the size comes from promised the range. Some promise
      // too little: masked_select promises the elements of its input, but the mask may have more.
      range.max.reset();
    }
    ranges.try_emplace(name, range);
    facts.setRange(name, range.min.value_or(INT64_MIN / 4), range.max);
  }
}

LogicalResult ProgramImporter::fail(ErrorKind kind, const Twine &message, Location location) {
  if (error.message.empty()) {
    error.kind = kind;
    error.message = message.str();
    failedAt = location;
  }
  return failure();
}

FailureOr<SizeExpr> ProgramImporter::sizeOfInput(const SymValue &value, StringRef name,
                                                 Location location) {
  return size(value, ("input '" + name + "'").str(), location, ("input_" + name).str());
}

FailureOr<SizeExpr> ProgramImporter::size(const SymValue &value, StringRef what, Location location,
                                          StringRef symbol) {
  if (!value.isExpr) {
    return SizeExpr::constant(context, value.integer);
  }
  SizeExpr &size = sizes[value.expr];
  if (!size) {
    std::string reason;
    bool malformed = false;
    SizeExpr parsed = parseSympyText(context, value.expr, facts, reason, malformed,
                                     [&](StringRef text) { return sizeOnHost(text); });
    if (!parsed && !malformed && !symbol.empty()) {
      ranges[symbol].min = INT64_MIN / 4;
      facts.setRange(symbol, INT64_MIN / 4, std::nullopt);
      parsed = hostSizes[value.expr] = SizeExpr::symbol(context, symbol);
    }
    if (!parsed) {
      return malformed ? fail(ErrorKind::Schema,
                              what + ": " + reason + " in \"" + value.expr.take_front(200) + "\"",
                              location)
                       : fail(ErrorKind::Unsupported,
                              what + " needs " + reason + ": \"" + value.expr.take_front(200) +
                                  "\"; mark the sizes it depends on as static",
                              location);
    }
    size = facts.simplify(parsed);
  }
  if (auto symbol = size.getSymbol(); symbol && value.hint) {
    hints.try_emplace(*symbol, *value.hint);
  }
  return size;
}

SizeExpr ProgramImporter::sizeIfKnown(const SymValue &value) {
  if (!value.isExpr) {
    return SizeExpr::constant(context, value.integer);
  }
  std::string reason;
  bool malformed;
  SizeExpr parsed = parseSympyText(context, value.expr, facts, reason, malformed,
                                   [&](StringRef text) { return sizeOnHost(text); });
  return parsed ? facts.simplify(parsed) : parsed;
}

SizeExpr ProgramImporter::sizeOnHost(StringRef text) {
  auto [known, isNew] = hostSizes.try_emplace(text);
  if (!isNew) {
    return known->second;
  }
  std::optional<HostExpression> expression = parseHostExpression(text);
  if (!expression || !expression->isInteger()) {
    return SizeExpr();
  }
  std::string name = (kHostSizeName + Twine(hostExpressions.size())).str();
  // The floats may round, so only the sign is known.
  int64_t min = expression->provablyNonNegative(context, facts) ? 0 : INT64_MIN / 4;
  facts.setRange(name, min, std::nullopt);
  ranges[name].min = min;
  hostExpressions[name] = std::move(*expression);
  return hostSizes[text] = SizeExpr::symbol(context, name);
}

const HostExpression *ProgramImporter::hostExpression(StringRef symbol) const {
  auto known = hostExpressions.find(symbol);
  return known == hostExpressions.end() ? nullptr : &known->second;
}

const AtenSchema *ProgramImporter::schema(StringRef opName) {
  auto [it, inserted] = schemas.try_emplace(opName);
  if (inserted) {
    it->second = AtenSchema::lookup(opName);
  }
  return it->second ? &*it->second : nullptr;
}

SymbolAttr ProgramImporter::symbol(StringRef name) {
  bool unbacked = isUnbacked(name) || hostExpression(name);
  RangeConstraint range = ranges.lookup(name);
  std::optional<int64_t> hint;
  if (auto it = hints.find(name); it != hints.end()) {
    hint = it->second;
  }
  // torch gives every size a lower bound, so a range without one belongs to an integer of any sign.
  // Only sizes have no range at all.
  bool isAnyInteger = unbacked || ranges.contains(name);
  int64_t min = range.min.value_or(isAnyInteger ? INT64_MIN / 4 : 0);
  return SymbolAttr::get(context, name, min, range.max, hint, 1, unbacked);
}

FailureOr<GraphOp> ProgramImporter::subgraph(const Argument &argument, Location location) {
  if (GraphOp known = subgraphs.lookup(argument.graphText)) {
    return known;
  }
  if (subgraphDepth >= 8) {
    return fail(ErrorKind::Limit, "graphs call graphs more than 8 deep; nest fewer of them",
                location);
  }
  std::string name = argument.text.str();
  // A graph takes its name before the graphs inside of it, which are imported first.
  for (unsigned i = 1; name == options.graphName || !subgraphNames.insert(name).second; ++i) {
    name = (argument.text + "_" + Twine(i)).str();
  }
  ++subgraphDepth;
  auto graph = GraphImporter(*this, *argument.graph, /*isMain=*/false).run(*module, name);
  --subgraphDepth;
  if (succeeded(graph)) {
    subgraphs[argument.graphText] = *graph;
  }
  return graph;
}

OwningOpRef<ModuleOp> ProgramImporter::run() {
  Location unknown = UnknownLoc::get(context);
  for (auto &[name, range] : program.ranges) {
    if (range.min && range.max && *range.min > *range.max) {
      (void)fail(ErrorKind::Semantic,
                 "symbol '" + name + "' has the empty range [" + Twine(*range.min) + ", " +
                     Twine(*range.max) + "]",
                 unknown);
      return nullptr;
    }
  }
  if (program.inputSpecs.size() != program.graph.inputs.size()) {
    (void)fail(ErrorKind::Semantic,
               "the signature has " + Twine(program.inputSpecs.size()) + " inputs, the graph " +
                   Twine(program.graph.inputs.size()),
               unknown);
    return nullptr;
  }
  if (program.outputSpecs.size() != program.graph.outputs.size()) {
    (void)fail(ErrorKind::Semantic,
               "the signature has " + Twine(program.outputSpecs.size()) + " outputs, the graph " +
                   Twine(program.graph.outputs.size()),
               unknown);
    return nullptr;
  }
  module = ModuleOp::create(unknown);
  if (failed(
          GraphImporter(*this, program.graph, /*isMain=*/true).run(*module, options.graphName))) {
    return nullptr;
  }
  if (failed(verify(*module))) {
    (void)fail(ErrorKind::Semantic, "the program does not verify", unknown);
    return nullptr;
  }
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// One graph: signature
//===----------------------------------------------------------------------===//

GraphImporter::GraphImporter(ProgramImporter &program, const Graph &graph, bool isMain)
    : program(program), graph(graph), isMain(isMain), context(program.context),
      builder(program.context) {}

LogicalResult GraphImporter::fail(ErrorKind kind, const Twine &message) {
  if (!current) {
    return program.fail(kind, place + message, builder.getUnknownLoc());
  }
  StringRef name = current->name.empty() ? StringRef("<unnamed>") : current->name;
  return program.fail(kind, "node '" + name + "' (" + current->target + "): " + message, here());
}

static StringRef kindName(const InputSpec *spec) {
  if (!spec) {
    return "user_input";
  }
  switch (spec->kind) {
  case InputSpec::Kind::Parameter:
    return "parameter";
  case InputSpec::Kind::Buffer:
    return "buffer";
  case InputSpec::Kind::TensorConstant:
    return "tensor_constant";
  default:
    return "user_input";
  }
}

LogicalResult GraphImporter::addInput(const Argument &input, const InputSpec *spec,
                                      SmallVectorImpl<Type> &types) {
  using Kind = Argument::Kind;
  unsigned position = types.size();
  if (spec) {
    if (spec->kind == InputSpec::Kind::Token || spec->kind == InputSpec::Kind::CustomObject) {
      return fail(ErrorKind::Unsupported, "it is a custom object or an effect token; export the "
                                          "program without it");
    }
    bool constant = spec->kind == InputSpec::Kind::ConstantInput;
    if (!constant && spec->value.isName() && spec->value.text != input.text) {
      return fail(ErrorKind::Semantic, "it is '" + input.text + "' in the graph and '" +
                                           spec->value.text + "' in the signature");
    }
  }
  NamedAttrList attrs;
  ImportedValue value;
  switch (input.kind) {
  case Kind::Tensor: {
    auto info = tensor(input.text);
    if (failed(info)) {
      return failure();
    }
    types.push_back(info->type);
    value.dtype = info->dtype;
    value.layout = info->layout;
    value.device = info->device;
    value.storage = StorageAttr::get(context, StorageKind::Argument, position);
    // A GPU's graph may have CPU scalars among its arguments.
    if (!mainDevice || mainDevice == "cpu") {
      mainDevice = info->device;
    }
    kArgumentDtypeAttr.add(attrs, info->dtype);
    kArgumentLayoutAttr.add(attrs, info->layout);
    kArgumentDeviceAttr.add(attrs, info->device);
    for (SizeExpr size : getSizes(info->type)) {
      if (auto symbol = size.getSymbol()) {
        bound.insert(builder.getStringAttr(*symbol));
      }
    }
    break;
  }
  case Kind::SymInt: {
    types.push_back(builder.getI64Type());
    value.dtype = DTypeAttr::get(context, DType::I64);
    auto it = ints.find(input.text);
    if (it == ints.end()) {
      return fail(ErrorKind::Semantic,
                  "integer '" + input.text + "' is not described in sym_int_values");
    }
    auto size = program.sizeOfInput(*it->second, input.text, builder.getUnknownLoc());
    if (failed(size)) {
      return failure();
    }
    noteSymbols(*size);
    if (auto symbol = size->getSymbol()) {
      bound.insert(builder.getStringAttr(*symbol));
    }
    value.size = *size;
    kArgumentSizeAttr.add(attrs, size->getAttr());
    break;
  }
  case Kind::SymFloat:
    types.push_back(builder.getF64Type());
    value.dtype = DTypeAttr::get(context, DType::F64);
    break;
  case Kind::SymBool:
    types.push_back(builder.getI1Type());
    value.dtype = DTypeAttr::get(context, DType::Bool);
    break;
  // A value that torch specialised is still an argument of the call; nothing in the graph reads it.
  case Kind::None:
    types.push_back(builder.getNoneType());
    break;
  case Kind::Int: {
    types.push_back(builder.getI64Type());
    kArgumentLiteralAttr.add(attrs, builder.getI64IntegerAttr(input.integer));
    break;
  }
  case Kind::Float:
    types.push_back(builder.getF64Type());
    kArgumentLiteralAttr.add(attrs, builder.getF64FloatAttr(input.real));
    break;
  case Kind::Bool:
    types.push_back(builder.getI1Type());
    kArgumentLiteralAttr.add(attrs, builder.getBoolAttr(input.integer != 0));
    break;
  case Kind::String:
    types.push_back(builder.getNoneType());
    kArgumentLiteralAttr.add(attrs, builder.getStringAttr(input.text));
    break;
  default:
    return fail(ErrorKind::Unsupported,
                "it is neither a tensor nor a scalar; pass its parts one by one");
  }
  if (input.isName()) {
    kArgumentNameAttr.add(attrs, builder.getStringAttr(input.text));
  }
  kArgumentKindAttr.add(attrs, builder.getStringAttr(kindName(spec)));
  if (spec && !spec->target.empty()) {
    kArgumentTargetAttr.add(attrs, builder.getStringAttr(spec->target));
  }
  if (spec && spec->kind == InputSpec::Kind::Buffer && !spec->persistent) {
    kArgumentTransientAttr.add(attrs, builder.getUnitAttr());
  }
  if (spec && spec->kind == InputSpec::Kind::TensorConstant) {
    kArgumentConstantAttr.add(attrs, builder.getUnitAttr());
  }
  argumentAttrs.push_back(attrs.getDictionary(context));
  if (!input.isName()) {
    return success();
  }
  arguments.try_emplace(input.text, position);
  return define(input.text, value);
}

LogicalResult GraphImporter::addResult(const Argument &output, SmallVectorImpl<Value> &results,
                                       SmallVectorImpl<Attribute> &attributes) {
  NamedAttrList attrs;
  using Kind = Argument::Kind;
  if (output.kind == Kind::None) {
    results.push_back(NoneOp::create(builder, builder.getUnknownLoc(), builder.getNoneType()));
  } else if (output.kind == Kind::Tensor) {
    auto value = lookup(output);
    if (failed(value)) {
      return failure();
    }
    // A value that the program also leaves in an input is the input, as in
    // `ExportedProgram.module()`.
    if (auto left = written.find(output.text); left != written.end()) {
      value = &left->second;
    }
    // The caller can tell one tensor that is returned twice from two equal tensors.
    if (auto [first, isNew] = returned.try_emplace(output.text, results.size()); !isNew) {
      kResultSameAsAttr.add(attrs, builder.getI64IntegerAttr(first->second));
    }
    results.push_back((*value)->value);
    kResultDeviceAttr.add(attrs, (*value)->device);
    kResultDtypeAttr.add(attrs, (*value)->dtype);
    kResultLayoutAttr.add(attrs, (*value)->layout);
    addStorage(**value, attrs);
  } else if (output.kind == Kind::String) {
    return fail(ErrorKind::Unsupported, "it is a string; return tensors and numbers");
  } else {
    auto value = scalar(output);
    if (failed(value)) {
      return failure();
    }
    results.push_back(*value);
  }
  attributes.push_back(attrs.getDictionary(context));
  return success();
}

LogicalResult GraphImporter::addStore(const OutputSpec &spec, unsigned number) {
  std::optional<unsigned> position;
  for (auto [i, input] : llvm::enumerate(program.program.inputSpecs)) {
    bool user = spec.kind == OutputSpec::Kind::UserInputMutation;
    if (user ? input.kind == InputSpec::Kind::UserInput && input.value.text == spec.target
             : input.target == spec.target) {
      position = i;
    }
  }
  if (!position) {
    return fail(ErrorKind::Semantic, "it mutates '" + spec.target + "', which is not an input");
  }
  auto value = lookup(spec.value);
  if (failed(value)) {
    return failure();
  }
  if (auto [first, isNew] = writtenBy.try_emplace(*position, number); !isNew) {
    return fail(ErrorKind::Semantic,
                "it mutates '" + spec.target + "', and so does output " + Twine(first->second));
  }
  auto target = values.find(program.program.inputSpecs[*position].value.text);
  if (target == values.end() || !target->second.isTensor() || !(*value)->isTensor()) {
    return fail(ErrorKind::Semantic,
                "it mutates '" + spec.target + "', which is no tensor or gets none");
  }
  const ImportedValue &to = target->second;
  if ((*value)->value == to.value) {
    return success();
  }
  FailureOr<ImportedValue> copied = copyTo(to, **value);
  if (failed(copied)) {
    return fail(ErrorKind::Semantic, "the value written to '" + spec.target +
                                         "' has sizes that cannot be expanded to its own");
  }
  stores.emplace_back(copied->value, to.value);
  written.insert_or_assign(spec.value.text, to);
  return success();
}

LogicalResult GraphImporter::addOutputs(GraphOp op) {
  current = nullptr;
  SmallVector<Value> results;
  SmallVector<Attribute> attributes;
  for (auto [i, output] : llvm::enumerate(graph.outputs)) {
    const OutputSpec *spec = isMain ? &program.program.outputSpecs[i] : nullptr;
    place = "output " + std::to_string(i) + ": ";
    using Kind = OutputSpec::Kind;
    if (spec && spec->kind == Kind::Token) {
      return fail(ErrorKind::Unsupported, "it is an effect token; export the program without it");
    }
    if (spec && spec->value.isName() && spec->value.text != output.text) {
      return fail(ErrorKind::Semantic, "it is '" + output.text + "' in the graph and '" +
                                           spec->value.text + "' in the signature");
    }
    bool mutation =
        spec && (spec->kind == Kind::BufferMutation || spec->kind == Kind::UserInputMutation ||
                 spec->kind == Kind::ParameterMutation);
    if (failed(mutation ? addStore(*spec, i) : addResult(output, results, attributes))) {
      return failure();
    }
  }
  // The values of all of them are read before the first write.
  for (auto [value, target] : stores) {
    StoreOp::create(builder, builder.getUnknownLoc(), value, target);
  }
  ReturnOp::create(builder, builder.getUnknownLoc(), results);
  SmallVector<Type> resultTypes(ValueRange(results).getTypes());
  op.setFunctionType(builder.getFunctionType(block->getArgumentTypes(), resultTypes));
  op.setArgAttrsAttr(builder.getArrayAttr(argumentAttrs));
  op.setResAttrsAttr(builder.getArrayAttr(attributes));
  return success();
}

/// Each symbol must be known at run time before a size needs it.
LogicalResult GraphImporter::checkSymbols() {
  for (auto &[name, location] : symbols) {
    if (isMain && !bound.contains(name)) {
      return program.fail(
          ErrorKind::Unsupported,
          "size symbol '" + name.getValue() +
              "' is used, but no argument and no operator's result has it as a size",
          location);
    }
  }
  return success();
}

FailureOr<GraphOp> GraphImporter::run(ModuleOp module, StringRef name) {
  if (failed(indexValues())) {
    return failure();
  }
  SmallVector<Type> types;
  for (auto [i, input] : llvm::enumerate(graph.inputs)) {
    place = "input " + std::to_string(i) + ": ";
    if (failed(addInput(input, isMain ? &program.program.inputSpecs[i] : nullptr, types))) {
      return failure();
    }
  }
  // Built outside of the module: a graph whose import fails must not stay in it.
  OperationState state(builder.getUnknownLoc(), GraphOp::getOperationName());
  GraphOp::build(builder, state, name, builder.getFunctionType(types, {}), {});
  OwningOpRef<GraphOp> op = cast<GraphOp>(Operation::create(state));
  block = &op->getBody().front();
  builder.setInsertionPointToEnd(block);
  for (auto &[text, position] : arguments) {
    ImportedValue &value = values[text];
    value.value = block->getArgument(position);
    if (value.storage) {
      storageOf[value.value] = value.storage;
    }
    if (auto symbol = floatNames.find(text); symbol != floatNames.end()) {
      floatSymbols.try_emplace(symbol->second, value.value);
    }
  }
  if (isMain) {
    bindDerivedSymbols();
  }
  // Symbols that occur in the sizes of arguments.
  for (const auto &symbol : llvm::to_vector(llvm::make_first_range(symbols))) {
    computeSymbol(symbol.getValue());
  }
  if (isMain && failed(bindOffsetsOfArguments())) {
    return failure();
  }
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    currentIndex = i;
    current = &node;
    if (failed(importNode(node))) {
      return failure();
    }
  }
  if (failed(addOutputs(*op)) || failed(checkSymbols())) {
    return failure();
  }
  SmallVector<Attribute> symbolAttrs;
  for (auto &[symbol, location] : symbols) {
    symbolAttrs.push_back(program.symbol(symbol.getValue()));
  }
  op->setSymbolsAttr(builder.getArrayAttr(symbolAttrs));
  if (mainDevice) {
    op->setDeviceAttr(mainDevice);
  }
  GraphOp graphOp = op.release();
  if (isMain) {
    module.getBody()->push_front(graphOp);
  } else {
    module.push_back(graphOp);
  }
  return graphOp;
}
