#include "compiler/PlanReplay.h"

#include "compiler/PlanValidator.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::Action;

std::optional<std::string> validatePlan(GraphOp graph, const format::PlanT &plan,
                                        int64_t firstKept) {
  PlanReplay replay(graph, plan, firstKept);
  return failed(replay.run()) ? std::optional(replay.whatIsWrong()) : std::nullopt;
}

PlanReplay::PlanReplay(GraphOp graph, const format::PlanT &plan, int64_t firstKept)
    : graph(graph), plan(plan), firstKept(firstKept), symbolTable(graph->getParentOp()),
      samples(graph, plan), memory(samples), registers(plan.tensors.size()), stored(samples) {}

LogicalResult PlanReplay::run() {
  if (failed(readArguments())) {
    return failure();
  }
  Block &body = graph.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (failed(visit(op))) {
      return failure();
    }
  }
  return visitReturn(cast<ReturnOp>(body.getTerminator()));
}

LogicalResult PlanReplay::readArguments() {
  // A store may update a weight in place: the runtime maps weights as private, writable memory.
  llvm::DenseSet<Value> updated;
  for (StoreOp store : graph.getBody().getOps<StoreOp>()) {
    updated.insert(baseOf(store.getTarget()));
  }
  size_t input = 0, constant = 0;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    bool isConstant = kArgumentConstantAttr.isOn(graph, number);
    std::string by = nameOf(argument);
    if (isConstant ? constant >= plan.constants.size() : input >= plan.inputs.size()) {
      return fail(by, "the plan has no such input");
    }
    const format::InputT *given = isConstant ? nullptr : plan.inputs[input].get();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type) {
      if (given->kind == format::InputKind::Float || given->kind == format::InputKind::Int ||
          given->kind == format::InputKind::Bool) {
        scalars[argument] = {given->kind == format::InputKind::Float, given->reg};
      }
      inputNumbers[argument] = static_cast<unsigned>(input++);
      continue;
    }
    uint32_t reg = isConstant ? plan.constants[constant++]->tensor : given->reg;
    if (!isConstant) {
      inputNumbers[argument] = static_cast<unsigned>(input++);
    }
    Place place;
    if (failed(describe(reg, place, by))) {
      return failure();
    }
    if (!hasSizes(place, type)) {
      return fail(by, "has other sizes than the graph says");
    }
    auto kind = isConstant && !updated.contains(argument) ? PlanMemory::Kind::Constant
                                                          : PlanMemory::Kind::Argument;
    place.storage = memory.newStorage(kind, number, std::nullopt);
    if (failed(define(reg, place, by))) {
      return failure();
    }
    argumentRegisters[argument] = reg;
    memory.write(place, argument);
    Place whole = place;
    whole.storage = storedIn[argument] = stored.newStorage(kind, number, std::nullopt);
    stored.write(whole, argument);
  }
  return success();
}

Sampled PlanReplay::bytesAt(uint32_t reg, int64_t elementBytes) const {
  return reg == kNoRegister ? Sampled(0) : samples.reg(reg).value_or(Sampled(0)) * elementBytes;
}

LogicalResult PlanReplay::replayStorage(const format::StepT &step, bool &isStorage) {
  isStorage = true;
  std::string by = "step " + std::to_string(next);
  if (const auto *alloc = step.action.AsAlloc()) {
    Place place;
    if (failed(describe(alloc->tensor, place, by))) {
      return failure();
    }
    std::optional<Sampled> bytes = samples.reg(alloc->bytes);
    if (!bytes) {
      return fail(by, "the bytes of a storage are read before they are computed");
    }
    place.offset = bytesAt(alloc->offset, place.elementBytes);
    place.storage = memory.newStorage(PlanMemory::Kind::Fresh, static_cast<unsigned>(next), *bytes);
    return define(alloc->tensor, place, by);
  }
  if (const auto *view = step.action.AsView()) {
    const Place *source;
    Place place;
    if (failed(alive(view->source, source, by)) || failed(describe(view->tensor, place, by))) {
      return failure();
    }
    if (!source->isKnown && !view->checks) {
      return fail(by, "looks at tensor register " + Twine(view->source) +
                          ", whose shape nothing has checked");
    }
    place.storage = source->storage;
    place.origin = source->origin;
    place.offset = source->offset + bytesAt(view->offset, place.elementBytes);
    return define(view->tensor, place, by);
  }
  if (const auto *reuse = step.action.AsReuse()) {
    const Place *source;
    Place place;
    if (failed(alive(reuse->from, source, by)) || failed(describe(reuse->tensor, place, by))) {
      return failure();
    }
    if (memory.kindOf(source->storage) != PlanMemory::Kind::Fresh) {
      return fail(by, "takes over storage that is not the plan's");
    }
    place.storage = source->storage;
    place.origin = source->origin;
    place.offset = source->offset;
    registers[reuse->from].isAlive = false;
    return define(reuse->tensor, place, by);
  }
  if (const auto *drop = step.action.AsFree()) {
    const Place *place;
    if (failed(alive(drop->tensor, place, by))) {
      return failure();
    }
    registers[drop->tensor].isAlive = false;
    return success();
  }
  if (const auto *eval = step.action.AsEval()) {
    samples.run(eval->program);
    return success();
  }
  if (const auto *touch = step.action.AsTouch()) {
    const Place *place;
    return alive(touch->tensor, place, by);
  }
  isStorage = step.action.AsCheck() != nullptr;
  return success();
}

bool PlanReplay::comesNext(Action wanted) const {
  for (size_t at = next; at != plan.steps.size(); ++at) {
    Action type = plan.steps[at]->action.type;
    if (!llvm::is_contained({Action::Alloc, Action::View, Action::Reuse, Action::Free, Action::Eval,
                             Action::Touch, Action::Check},
                            type)) {
      return type == wanted;
    }
  }
  return false;
}

const format::StepT *PlanReplay::advance(Action wanted, Operation *op) {
  for (; next != plan.steps.size(); ++next) {
    const format::StepT &step = *plan.steps[next];
    if (step.action.type == wanted) {
      return plan.steps[next++].get();
    }
    bool isStorage;
    if (failed(replayStorage(step, isStorage))) {
      return nullptr;
    }
    if (!isStorage) {
      break;
    }
  }
  (void)fail("step " + std::to_string(next),
             "does not follow the graph, where '" +
                 (op ? op->getName().getStringRef() : StringRef("the end")) + "' is next");
  return nullptr;
}

LogicalResult PlanReplay::visit(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](LaunchOp launch) { return visitLaunch(launch); })
      .Case([&](AtenOp call) { return visitAten(call); })
      .Case([&](StoreOp store) { return visitStore(store); })
      .Case([&](BindOp bind) { return visitBind(bind); })
      .Case([&](tensor::FromElementsOp wrap) { return visitWrap(op, wrap.getElements().front()); })
      .Case([&](tensor::ExtractOp extract) -> LogicalResult {
        auto argument = dyn_cast<BlockArgument>(extract.getTensor());
        auto input = argument ? inputNumbers.find(argument) : inputNumbers.end();
        if (input != inputNumbers.end() &&
            plan.inputs[input->second]->kind == format::InputKind::ScalarTensor) {
          scalars[extract.getResult()] = {isa<FloatType>(extract.getType()),
                                          plan.inputs[input->second]->scalar};
          return success();
        }
        const format::StepT *step = advance(Action::Item, &op);
        if (!step) {
          return failure();
        }
        const auto &item = *step->action.AsItem();
        bool isFloat = isa<FloatType>(extract.getType());
        scalars[extract.getResult()] = {isFloat, item.dst};
        if (!isFloat) {
          samples.define(item.dst, kSomeNumber + ++unboundSizes);
        }
        return read(item.tensor, extract.getTensor(),
                    "step " + std::to_string(next - 1) + " (item)");
      })
      .Case([&](arith::ConstantOp constant) {
        return isa<RankedTensorType>(constant.getType()) ? visitWrap(op, {}) : success();
      })
      // Views, sizes, guards and host scalars have no step, or one that does not touch storage.
      .Default([](Operation *) { return success(); });
}

LogicalResult PlanReplay::visitStore(StoreOp store) {
  SmallVector<Operation *> views;
  Value value = store.getValue(), target = store.getTarget(), base = baseOf(target, &views);
  auto argument = dyn_cast<BlockArgument>(base);
  std::string by = "the store into " + nameOf(base);
  if (!argument || !argumentRegisters.contains(argument)) {
    return fail(by, "which is no argument");
  }
  Place place = registers[argumentRegisters[argument]].place;
  if (store.getInPlace()) {
    // An earlier step has written it there. Whether it is still there at the end is checked at the
    // end.
    if (target != base) {
      return fail(by, "nothing is stored in place through a view");
    }
    if (failed(readPlace(place, value, by))) {
      return failure();
    }
  } else {
    const format::StepT *step = advance(Action::CopyInto, store);
    if (!step) {
      return failure();
    }
    const auto &copy = *step->action.AsCopyInto();
    by = "step " + std::to_string(next - 1) + " (copy into " + nameOf(base) + ")";
    const Place *to;
    if (failed(read(copy.source, value, by)) || failed(alive(copy.tensor, to, by))) {
      return failure();
    }
    if (to->storage != place.storage ||
        (views.empty() ? !memory.same(place, *to) : !sameThrough(views, place, *to, target))) {
      return fail(by, "writes to other places than the graph says");
    }
    place = *to;
    memory.write(place, value);
    written.insert(place.storage);
  }
  place.storage = storedIn[argument];
  stored.write(place, value);
  return success();
}

LogicalResult PlanReplay::visitBind(BindOp bind) {
  if (!isa<RankedTensorType>(bind.getSource().getType())) {
    samples.bind(bind.getSymbol(), valueOf(bind.getSource()));
    return success();
  }
  const format::StepT *step = advance(Action::Dim, bind);
  if (!step) {
    return failure();
  }
  const auto &dim = *step->action.AsDim();
  std::string by = "step " + std::to_string(next - 1) + " (size of a dimension)";
  if (dim.dim != bind.getDim().value_or(0)) {
    return fail(by, "another dimension than the graph says");
  }
  if (!samples.symbol(bind.getSymbol())) {
    samples.bind(bind.getSymbol(), kSomeNumber + ++unboundSizes);
  }
  samples.define(dim.dst, *samples.symbol(bind.getSymbol()));
  return read(dim.tensor, bind.getSource(), by);
}

LogicalResult PlanReplay::visitWrap(Operation &op, Value scalar) {
  const format::StepT *step = advance(Action::Wrap, &op);
  if (!step) {
    return failure();
  }
  const auto &wrap = *step->action.AsWrap();
  std::string by = "step " + std::to_string(next - 1) + " (scalar as a tensor)";
  Place place;
  if (failed(describe(wrap.tensor, place, by)) ||
      (scalar && failed(checkScalar(scalar, isa<FloatType>(scalar.getType()), wrap.reg, by)))) {
    return failure();
  }
  place.storage =
      memory.newStorage(PlanMemory::Kind::Fresh, static_cast<unsigned>(next), std::nullopt);
  return failure(failed(define(wrap.tensor, place, by)) ||
                 failed(write(wrap.tensor, op.getResult(0), by)));
}

/// The result of an integer operation for these operands, by MLIR's own folders; nullopt if it has
/// none.
static std::optional<int64_t> evaluate(Operation *op, ArrayRef<int64_t> numbers) {
  auto numberOf = [](IntegerAttr attr) {
    const APInt &value = attr.getValue();
    return value.getBitWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                    : value.getSExtValue();
  };
  SmallVector<Attribute> constants;
  for (auto [operand, number] : llvm::zip_equal(op->getOperands(), numbers)) {
    constants.push_back(IntegerAttr::get(
        operand.getType(), APInt(operand.getType().getIntOrFloatBitWidth(), number, true, true)));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(constants, results)) || results.size() != 1) {
    // A quotient by zero is never used; the plan's steps make it 0.
    bool isByZero = isa<arith::FloorDivSIOp, arith::DivSIOp, arith::RemSIOp>(op) && numbers[1] == 0;
    return isByZero ? std::optional<int64_t>(0) : std::nullopt;
  }
  if (auto value = dyn_cast<Value>(results.front())) {
    for (auto [operand, number] : llvm::zip_equal(op->getOperands(), numbers)) {
      if (operand == value) {
        return number;
      }
    }
    return std::nullopt;
  }
  auto integer = dyn_cast<IntegerAttr>(cast<Attribute>(results.front()));
  return integer ? std::optional(numberOf(integer)) : std::nullopt;
}

Sampled PlanReplay::valueOf(Value scalar) {
  if (auto size = scalar.getDefiningOp<SizeOp>()) {
    return samples.of(size.getSize());
  }
  if (auto known = scalars.find(scalar); known != scalars.end() && !known->second.isFloat) {
    return samples.reg(known->second.reg).value_or(Sampled(kSomeNumber));
  }
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    auto size = kArgumentSizeAttr.get(graph, argument.getArgNumber());
    return size ? samples.of(size) : Sampled(kSomeNumber);
  }
  Operation *op = scalar.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(constant.getValue());
    bool isBool = integer && integer.getType().isInteger(1);
    return integer ? Sampled(isBool ? integer.getValue().getZExtValue()
                                    : integer.getValue().getSExtValue())
                   : Sampled(kSomeNumber);
  }
  auto isInteger = [](Type type) { return isa<IntegerType>(type); };
  if (op->getNumResults() != 1 || !llvm::all_of(op->getOperandTypes(), isInteger)) {
    return kSomeNumber;
  }
  SmallVector<Sampled> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(valueOf(operand));
  }
  Sampled result(kSomeNumber);
  for (unsigned sample = 0; sample != samples.count(); ++sample) {
    SmallVector<int64_t> numbers;
    for (const Sampled &operand : operands) {
      numbers.push_back(operand[sample]);
    }
    result[sample] = evaluate(op, numbers).value_or(kSomeNumber);
  }
  return result;
}

} // namespace frit
