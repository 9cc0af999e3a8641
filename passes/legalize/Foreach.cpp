// `_foreach_` arithmetic: a call on lists becomes one call of the plain operator per element, which
// is what eager does on the CPU. Each is then legalised by the rule of the plain operator, and
// fusion puts elements of equal types into one kernel again.
#include "passes/legalize/Foreach.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

/// The plain operator of `_foreach_<name>.<overload>`, or empty.
static std::string getElementName(StringRef name, StringRef overload) {
  bool tensors = overload == "List" || overload == "Tensor";
  if (overload == "default") {
    static const llvm::StringSet<> unary = {
        "abs",        "acos",  "asin",  "atan",    "ceil", "cos",   "cosh",  "erf",  "erfc",
        "exp",        "expm1", "floor", "frac",    "log",  "log10", "log1p", "log2", "neg",
        "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin",   "sinh",  "sqrt", "tan",
        "tanh",       "trunc", "copy",  "clone",   "zero", "max"};
    return unary.contains(name) ? ("aten." + name + ".default").str() : "";
  }
  if (name == "add" || name == "sub" || name == "mul" || name == "div") {
    return ("aten." + name + (tensors ? ".Tensor" : ".Scalar")).str();
  }
  if (name == "maximum" || name == "minimum") {
    StringRef clamp = name == "maximum" ? "aten.clamp_min.default" : "aten.clamp_max.default";
    return tensors ? ("aten." + name + ".default").str() : clamp.str();
  }
  if (name == "clamp_min" || name == "clamp_max") {
    return ("aten." + name + (tensors ? ".Tensor" : ".default")).str();
  }
  if (name == "lerp") {
    return tensors ? "aten.lerp.Tensor" : "aten.lerp.Scalar";
  }
  if (name == "addcmul" || name == "addcdiv") {
    return overload == "Tensor" ? "" : ("aten." + name + ".default").str();
  }
  if (name == "pow") {
    return overload == "ScalarAndTensor" ? "aten.pow.Scalar"
           : tensors                     ? "aten.pow.Tensor_Tensor"
                                         : "aten.pow.Tensor_Scalar";
  }
  return name == "norm" && overload == "Scalar" ? "aten.linalg_vector_norm.default" : "";
}

/// Adds the arguments that the plain form has and the list form lacks.
static void addMissing(StringRef element, SmallVectorImpl<Attribute> &arguments,
                       OpBuilder &builder) {
  bool scaled = element.starts_with("aten.add.") || element.starts_with("aten.sub.");
  if (scaled && arguments.size() == 2) {
    arguments.push_back(builder.getI64IntegerAttr(1));
  }
  // linalg_vector_norm(self, ord, dim, keepdim, dtype) of (self, ord, dtype)
  if (element == "aten.linalg_vector_norm.default") {
    arguments.insert(arguments.begin() + 2, {builder.getUnitAttr(), builder.getBoolAttr(false)});
  }
}

static ArrayAttr only(OpBuilder &builder, ArrayAttr all, size_t i) {
  return all && i < all.size() ? builder.getArrayAttr({all[i]}) : ArrayAttr();
}

bool mlir::frit::expandForeach(AtenOp op, SmallVectorImpl<AtenOp> &elements) {
  StringRef full = op.getOpName();
  if (op.getReason() || !full.consume_front("aten._foreach_")) {
    return false;
  }
  auto [name, overload] = full.split('.');
  std::string element = getElementName(name, overload);
  if (element.empty()) {
    return false;
  }
  size_t count = op->getNumResults();
  for (Attribute attr : op.getArguments()) {
    if (auto list = dyn_cast<ArrayAttr>(attr); list && list.size() != count) {
      return false;
    }
  }
  OpBuilder builder(op);
  for (size_t i = 0; i < count; ++i) {
    SmallVector<Attribute> arguments, dtypes, layouts;
    SmallVector<Value> operands;
    for (Attribute attr : op.getArguments()) {
      auto list = dyn_cast<ArrayAttr>(attr);
      Attribute own = list ? list[i] : attr;
      if (auto operand = dyn_cast<OperandAttr>(own)) {
        size_t from = operand.getIndex();
        own = OperandAttr::get(builder.getContext(), operands.size());
        operands.push_back(op.getOperands()[from]);
        dtypes.push_back(op.getOperandDtypes()[from]);
        if (ArrayAttr known = op.getOperandLayoutsAttr(); known && from < known.size()) {
          layouts.push_back(known[from]);
        }
      }
      arguments.push_back(own);
    }
    addMissing(element, arguments, builder);
    ArrayAttr operandLayouts =
        layouts.size() == operands.size() ? builder.getArrayAttr(layouts) : ArrayAttr();
    elements.push_back(AtenOp::create(
        builder, op.getLoc(), TypeRange{op->getResult(i).getType()}, builder.getStringAttr(element),
        operands, builder.getArrayAttr(arguments), ArrayAttr(), builder.getArrayAttr(dtypes),
        only(builder, op.getResultDtypes(), i), operandLayouts,
        only(builder, op.getResultLayoutsAttr(), i), only(builder, op.getResultStorageAttr(), i),
        StringAttr()));
    op->getResult(i).replaceAllUsesWith(elements.back()->getResult(0));
  }
  op.erase();
  return true;
}
