// The plan's calls through torch's dispatcher: literals and registers in schema order, results as
// single values or as the list that the schema returns.

#include "compiler/PlanWriter.h"

#include "ir/AtenSchemas.h"
#include "ir/FritAttributes.h"
#include "passes/AtenAliases.h"
#include "passes/Layouts.h"
#include "passes/Raising.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::ValueKind;

static std::unique_ptr<format::ValueT> valueOf(ValueKind kind, uint32_t reg = kNoRegister) {
  auto value = std::make_unique<format::ValueT>();
  value->kind = kind;
  value->reg = reg;
  return value;
}

/// The attribute's verifier allows three kinds: device, layout and memory format.
static std::unique_ptr<format::ValueT> literal(TorchEnumAttr attribute) {
  auto value = std::make_unique<format::ValueT>();
  value->integer = attribute.getValue();
  if (attribute.getKind() == "device") {
    auto [type, index] = attribute.getText().split(':');
    value->kind = ValueKind::Device;
    value->integer = int64_t(type == "cpu" ? format::Device::Cpu : format::Device::Cuda);
    int64_t number = -1;
    value->real = index.getAsInteger(10, number) ? -1 : double(number);
  } else {
    // Both enumerations of the format have torch's values.
    value->kind = attribute.getKind() == "layout" ? ValueKind::Layout : ValueKind::MemoryFormat;
  }
  return value;
}

/// A value as a call gets it. Strides of dims of one element address nothing, but an operator sees
/// them, so there they are the traced ones. Our own kernels do not look at them.
uint32_t PlanWriter::operandRegister(OpOperand &use) {
  Value value = use.get();
  const TensorValue known = tensors.find(value)->second;
  auto type = cast<RankedTensorType>(value.getType());
  LayoutDemand demand = getLayoutDemand(use);
  bool isOurs = cast<AtenOp>(use.getOwner()).getOpName().starts_with("frit.");
  if (isOurs || isa<BlockArgument>(value) || demand.kind != DemandKind::Exact ||
      !areSizesKnown(value) || demand.layout.getStrides() == known.layout.getStrides() ||
      !satisfies(known.layout, type, demand)) {
    return known.reg;
  }
  uint32_t reg = addView(value, value, dtypes.lookup(value),
                         withOffset(demand.layout, known.layout.getOffset()));
  tensors[value] = known;
  return reg;
}

std::unique_ptr<format::ValueT> PlanWriter::argumentValue(AtenOp op, Attribute argument) {
  if (auto operand = dyn_cast<OperandAttr>(argument)) {
    Value value = op.getOperands()[operand.getIndex()];
    if (isa<NoneType>(value.getType())) {
      return valueOf(ValueKind::None);
    }
    if (isa<RankedTensorType>(value.getType())) {
      return valueOf(ValueKind::Tensor, operandRegister(op->getOpOperand(operand.getIndex())));
    }
    if (isa<FloatType>(value.getType())) {
      return valueOf(ValueKind::FloatReg, floatRegister(value));
    }
    return valueOf(value.getType().isInteger(1) ? ValueKind::BoolReg : ValueKind::IntReg,
                   intRegister(value));
  }
  auto value = std::make_unique<format::ValueT>();
  if (auto list = dyn_cast<ArrayAttr>(argument)) {
    value->kind = ValueKind::List;
    for (Attribute item : list) {
      value->items.push_back(argumentValue(op, item));
      if (!value->items.back()) {
        return nullptr;
      }
    }
  } else if (isa<UnitAttr>(argument)) {
    value->kind = ValueKind::None;
  } else if (auto integer = dyn_cast<IntegerAttr>(argument)) {
    bool isBool = integer.getType().isInteger(1);
    value->kind = isBool ? ValueKind::Bool : ValueKind::Int;
    value->integer = isBool ? integer.getValue().getZExtValue() : integer.getValue().getSExtValue();
  } else if (auto real = dyn_cast<FloatAttr>(argument)) {
    value->kind = ValueKind::Double;
    value->real = real.getValueAsDouble();
  } else if (auto complex = dyn_cast<ComplexAttr>(argument)) {
    value->kind = ValueKind::Complex;
    value->real = complex.getReal().getValueAsDouble();
    value->imag = complex.getImag().getValueAsDouble();
  } else if (auto text = dyn_cast<StringAttr>(argument)) {
    value->kind = ValueKind::String;
    value->string = text.str();
  } else if (auto dtype = dyn_cast<DTypeAttr>(argument)) {
    value->kind = ValueKind::Dtype;
    value->integer = int64_t(dtypeOf(dtype.getValue()));
  } else if (auto torch = dyn_cast<TorchEnumAttr>(argument)) {
    return literal(torch);
  } else if (auto size = dyn_cast<SizeAttr>(argument)) {
    return valueOf(ValueKind::IntReg, sizeRegister(size));
  } else {
    error(*op) << "argument " << argument << " of '" << op.getOpName() << "' has no form in a plan";
    return nullptr;
  }
  return value;
}

/// How much of a result's promised layout the runtime must check, because fake tensors may be wrong
/// about it. 0: all, because kernels or views read it. 1: only operators read it, which take any
/// layout (a backward graph checks its arguments before it runs). 2: the user gets it with the
/// layout of eager, which is the layout that the operator returns if its operands have their traced
/// layouts.
int64_t PlanWriter::keptOf(OpResult result, LayoutAttr layout) {
  bool forOperators = true;
  bool forUser = llvm::all_of(result.getOwner()->getOpOperands(), [&](OpOperand &use) {
    auto found = tensors.find(use.get());
    return found == tensors.end() ||
           satisfies(found->second.layout, cast<RankedTensorType>(use.get().getType()),
                     getLayoutDemand(use));
  });
  for (OpOperand &use : result.getUses()) {
    auto number = use.getOperandNumber();
    bool isReturned = isa<ReturnOp>(use.getOwner());
    bool isSeen = isReturned && (firstKept < 0 || number < firstKept);
    auto promised = isReturned ? kResultLayoutAttr.get(graph, number) : LayoutAttr();
    forUser &= isSeen && (!promised || promised == layout);
    forOperators &= isReturned || isa<AtenOp>(use.getOwner());
  }
  return forUser ? 2 : forOperators ? 1 : 0;
}

std::unique_ptr<format::ValueT> PlanWriter::resultValue(AtenOp op, unsigned number) {
  OpResult result = op->getResult(number);
  Type type = result.getType();
  if (isa<NoneType>(type)) {
    return valueOf(ValueKind::None);
  }
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    LayoutAttr layout = getCallResultLayout(op, number);
    if (auto self = copiesStorageOf(op); self && !SizeExpr(layout.getOffset()).isConstant(0)) {
      layout = withOffset(layout, tensors.find(self)->second.layout.getOffset());
    }
    format::Dtype dtype = dtypeOf(cast<DTypeAttr>(op.getResultDtypes()[number]).getValue());
    if (areSizesKnown(result)) {
      auto value = valueOf(ValueKind::Tensor, newTensor(result, dtype, layout, result));
      value->integer = keptOf(result, layout);
      return value;
    }
    // The shape is only known after the call; the following binds read it.
    auto device =
        builder.plan.target == format::Target::Gpu ? format::Device::Cuda : format::Device::Cpu;
    uint32_t reg = builder.newOpaqueTensor(dtype, device);
    tensors[result] = {reg, layout, result};
    dtypes[result] = dtype;
    checkLater(result);
    return valueOf(ValueKind::Tensor, reg);
  }
  if (isa<FloatType>(type)) {
    floats[result] = builder.newFloat();
    return valueOf(ValueKind::FloatReg, floats[result]);
  }
  ints[result] = builder.newInt();
  return valueOf(type.isInteger(1) ? ValueKind::BoolReg : ValueKind::IntReg, ints[result]);
}

static bool isAttention(StringRef name) {
  return name == "aten._scaled_dot_product_flash_attention_for_cpu.default";
}

LogicalResult PlanWriter::writeAten(AtenOp op) {
  if (writePlacedClone(op)) {
    return success();
  }
  format::AtenT call;
  auto [space, rest] = op.getOpName().split('.');
  auto [name, overload] = rest.split('.');
  call.name = (space + "::" + name).str();
  call.overload = overload == "default" ? "" : overload.str();
  call.reason = op.getReason().value_or("").str();
  call.source = sources.intern(op.getLoc());

  for (Attribute name : op.getGraphs() ? op.getGraphsAttr().getValue() : ArrayRef<Attribute>()) {
    if (auto digest = dyn_cast<StringAttr>(name)) {
      call.graphs.push_back(digest.str());
    } else {
      return error(*op) << "the graph " << name << " has not been taken out of the module";
    }
  }

  std::optional<ArrayAttr> names = op.getArgumentNames();
  for (auto [index, argument] : llvm::enumerate(op.getArguments())) {
    auto value = argumentValue(op, argument);
    if (!value) {
      return failure();
    }
    if (names) {
      value->name = cast<StringAttr>((*names)[index]).str();
    }
    call.arguments.push_back(std::move(value));
  }

  std::vector<std::unique_ptr<format::ValueT>> results;
  size_t mutatedCount = op.getMutatedOperands() ? op.getMutatedOperands()->size() : 0;
  for (OpResult result : op->getResults()) {
    if (Value operand = getMutatedOperand(result)) {
      // It is the operand itself after the call, not a result.
      tensors[result] = tensors.lookup(operand);
      dtypes[result] = dtypes.lookup(operand);
      mutated.insert(rootOf(operand));
    } else if (result.use_empty() && isAttention(op.getOpName())) {
      // The sums for a backward, which the runtime's own kernel does not store.
      results.push_back(valueOf(ValueKind::None));
    } else {
      results.push_back(resultValue(op, result.getResultNumber()));
    }
  }
  // Which results are lists is known from the schema or, without one, from the importer. In a
  // schema with one list, all results that do not belong to other returns are its items.
  auto schema = AtenSchema::lookup(op.getOpName());
  DenseI64ArrayAttr lengths = op.getResultListsAttr();
  size_t returns = schema    ? schema->returns.size()
                   : lengths ? lengths.size() - mutatedCount
                             : results.size();
  for (size_t i = 0, next = 0; i != returns; ++i) {
    bool isList = schema ? schema->returns[i].isList() : lengths && lengths[i] >= 0;
    if (isList) {
      size_t items = lengths && i < size_t(lengths.size()) && lengths[i] >= 0
                         ? lengths[i]
                         : results.size() - (returns - 1);
      auto list = valueOf(ValueKind::List);
      for (size_t k = 0; k != items; ++k) {
        list->items.push_back(std::move(results[next++]));
      }
      call.results.push_back(std::move(list));
    } else if (next < results.size()) {
      call.results.push_back(std::move(results[next++]));
    }
  }
  if (schema) {
    // A mutated argument of the graph is the caller's tensor. The dispatcher updates its version
    // counter; the plan only sets its flag.
    for (auto [index, argument] : llvm::enumerate(op.getArguments())) {
      auto operand = dyn_cast<OperandAttr>(argument);
      if (operand && index < schema->arguments.size() && schema->arguments[index].isWrite) {
        mutated.insert(rootOf(op.getOperands()[operand.getIndex()]));
      }
    }
  }
  call.raises = callMayRaise(op);
  call.irreversible = isIrreversible(op);
  call.fresh = schema && !mayAliasOperands(op);
  call.assumes_no_writes = !schema && mutatedCount == 0 && !op.getGraphs();
  builder.step<format::AtenT>() = std::move(call);
  return success();
}

/// Writes a clone in whose storage results of the graph lie, so that it begins at the offset that
/// they require.
bool PlanWriter::writePlacedClone(AtenOp op) {
  if (op.getOpName() != "aten.clone.default" || !returned.contains(op.getResult(0))) {
    return false;
  }
  LayoutAttr layout = getCallResultLayout(op, 0);
  if (startFor(op.getResult(0), layout).isConstant(0)) {
    return false;
  }
  Value result = op.getResult(0);
  uint32_t source = tensors.find(op.getOperand(0))->second.reg,
           reg = newTensor(result, dtypes.lookup(op.getOperand(0)), layout, result);
  allocate(result, format::StorageClass::Output);
  auto &step = builder.step<format::CopyIntoT>();
  step.tensor = reg;
  step.source = source;
  return true;
}

uint32_t PlanWriter::writeClone(Value value, LayoutAttr layout, StringRef reason) {
  format::AtenT call;
  call.name = "aten::clone";
  call.reason = reason.str();
  call.arguments.push_back(valueOf(ValueKind::Tensor, tensors.find(value)->second.reg));
  call.arguments.push_back(valueOf(ValueKind::None));
  uint32_t reg = describe(cast<RankedTensorType>(value.getType()), dtypes.lookup(value), layout,
                          rootOf(value));
  call.results.push_back(valueOf(ValueKind::Tensor, reg));
  builder.step<format::AtenT>() = std::move(call);
  return reg;
}

} // namespace frit
