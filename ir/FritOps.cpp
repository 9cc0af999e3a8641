// Text forms, builders and interfaces of the operations.
#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::frit;

//===----------------------------------------------------------------------===//
// frit.graph and frit.kernel
//===----------------------------------------------------------------------===//

template <typename OpTy>
static ParseResult parseFunctionLike(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> outputs,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, outputs); };
  if (function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                               OpTy::getFunctionTypeAttrName(result.name),
                                               buildType, OpTy::getArgAttrsAttrName(result.name),
                                               OpTy::getResAttrsAttrName(result.name))) {
    return failure();
  }
  // A graph without symbols may leave the table out of its text.
  if (!result.attributes.get(OpTy::getSymbolsAttrName(result.name))) {
    result.addAttribute(OpTy::getSymbolsAttrName(result.name),
                        parser.getBuilder().getArrayAttr({}));
  }
  return success();
}

template <typename OpTy> static void printFunctionLike(OpAsmPrinter &printer, OpTy op) {
  function_interface_impl::printFunctionOp(printer, op, /*isVariadic=*/false,
                                           op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
                                           op.getResAttrsAttrName());
}

template <typename OpTy>
static void buildFunctionLike(OpBuilder &builder, OperationState &state, StringRef name,
                              FunctionType type, ArrayRef<Attribute> symbols) {
  state.addAttribute(OpTy::getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(OpTy::getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addAttribute(OpTy::getSymbolsAttrName(state.name), builder.getArrayAttr(symbols));
  Block &body = state.addRegion()->emplaceBlock();
  for (Type input : type.getInputs()) {
    body.addArgument(input, state.location);
  }
}

template <typename OpTy> static SizeFacts collectFacts(OpTy op) {
  SizeFacts facts(op.getContext());
  for (auto symbol : op.getSymbols().template getAsRange<SymbolAttr>()) {
    facts.addSymbol(symbol);
  }
  return facts;
}

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<GraphOp>(parser, result);
}
void GraphOp::print(OpAsmPrinter &printer) { printFunctionLike(printer, *this); }
void GraphOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                    ArrayRef<Attribute> symbols) {
  buildFunctionLike<GraphOp>(builder, state, name, type, symbols);
}
SizeFacts GraphOp::getSizeFacts() { return collectFacts(*this); }

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<KernelOp>(parser, result);
}
void KernelOp::print(OpAsmPrinter &printer) { printFunctionLike(printer, *this); }
void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                     ArrayRef<Attribute> symbols) {
  buildFunctionLike<KernelOp>(builder, state, name, type, symbols);
}
SizeFacts KernelOp::getSizeFacts() { return collectFacts(*this); }

//===----------------------------------------------------------------------===//
// Calls and launches
//===----------------------------------------------------------------------===//

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto graph = symbols.lookupNearestSymbolFrom<GraphOp>(*this, getCalleeAttr());
  if (!graph) {
    return emitOpError("calls '") << getCallee() << "', which is not a graph of this module";
  }
  if (getOperandTypes() != graph.getArgumentTypes() || getResultTypes() != graph.getResultTypes()) {
    InFlightDiagnostic diagnostic = emitOpError("operands and results do not have the types of '")
                                    << getCallee() << "'";
    diagnostic.attachNote(graph.getLoc()) << "the graph is here";
    return diagnostic;
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) {
    return emitOpError("launches '") << getKernel() << "', which is not a kernel of this module";
  }
  std::optional<uint64_t> given = getItems(), most = kernel.getList();
  if (given.has_value() != most.has_value() || (given && (*given < 1 || *given > *most))) {
    return emitOpError("has ") << given.value_or(0) << " items for a kernel over lists of "
                               << most.value_or(0);
  }
  size_t items = given.value_or(1);
  if (items * kernel.getSymbols().size() != getSizes().size()) {
    return emitOpError("passes ") << getSizes().size() << " sizes to a kernel of "
                                  << kernel.getSymbols().size() << " parameters";
  }
  if (items * kernel.getArgumentTypes().size() != getOperands().size() ||
      items * kernel.getResultTypes().size() != getResults().size()) {
    return emitOpError("passes ") << getOperands().size() << " operands for " << getResults().size()
                                  << " results to a kernel of " << kernel.getArgumentTypes().size()
                                  << " and " << kernel.getResultTypes().size();
  }
  return success();
}

#define GET_OP_CLASSES
#include "ir/FritOps.cpp.inc"
