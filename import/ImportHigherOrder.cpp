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
