// Operators that take graphs or operators. Calls of graphs become frit.call; functionalised
// mutation becomes a plain call whose extra results are the mutated operands; branches and loops
// become calls with graphs; the rest cannot run without Python and is an error.
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
  if (name == "cond" || name == "while_loop" || name == "while_loop_stack_output" ||
      name == "scan" || name == "map_impl") {
    return importControlFlow(node, name);
  }
  return fail(
      ErrorKind::Unsupported,
      "the higher-order operator '" + name +
          "' needs Python to run: compile the program with torch.compile, or export it without it");
}

/// Branches and loops become calls of `higher_order.NAME`. Its arguments are those of torch's
/// operator without the graphs: cond (predicate, operands), while_loop and while_loop_stack_output
/// (carried, others), scan (carried, scanned, others). The runtime runs the graphs
/// (runtime/plan/ControlFlow.h).
LogicalResult GraphImporter::importControlFlow(const Node &node, StringRef name) {
  CallArguments call;
  SmallVector<Attribute> graphs;
  if (name == "map_impl") { // a scan that carries nothing
    name = "scan";
    call.arguments.push_back(builder.getArrayAttr({}));
    call.names.push_back(builder.getStringAttr(""));
  }
  for (const NamedArgument &input : node.inputs) {
    if (input.name == "mutated_arg_indices") {
      continue; // the graphs show what they write
    }
    if (input.value.kind == Argument::Kind::Graph) {
      auto graph = program.subgraph(input.value, here());
      if (failed(graph)) {
        return failure();
      }
      graphs.push_back(FlatSymbolRefAttr::get(graph->getSymNameAttr()));
      continue;
    }
    auto attr = argument(input.value, nullptr, call);
    if (failed(attr)) {
      return failure();
    }
    call.arguments.push_back(*attr);
    call.names.push_back(builder.getStringAttr(""));
  }
  if (graphs.size() != (name == "scan" ? 1 : 2) ||
      call.arguments.size() != (name == "scan" ? 3 : 2)) {
    return fail(ErrorKind::Semantic, "'" + name + "' has " + Twine(graphs.size()) + " graphs and " +
                                         Twine(call.arguments.size()) + " other arguments");
  }
  SmallVector<CallResult> results;
  SmallVector<int64_t> lists;
  if (failed(addResults(node.outputs, results, lists))) {
    return failure();
  }
  AtenOp op = emitCall(("higher_order." + name).str(), call, results);
  op.setGraphsAttr(builder.getArrayAttr(graphs));
  if (llvm::any_of(lists, [](int64_t length) { return length >= 0; })) {
    op.setResultLists(lists);
  }
  return defineResults(results, op.getResults());
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
