// Replays kernels and operator calls: what they read and write, and whether a kernel may write in
// place.

#include "compiler/PlanReplay.h"

#include "ir/AtenSharing.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::Action;
using format::ValueKind;

LogicalResult PlanReplay::checkScalar(Value value, bool isFloat, uint32_t reg,
                                      const std::string &by) {
  auto known = scalars.find(value);
  bool isSize = !isFloat && (value.getDefiningOp<SizeOp>() ||
                             isa_and_nonnull<arith::ConstantOp>(value.getDefiningOp()));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    isSize = !isFloat && kArgumentSizeAttr.isOn(graph, argument.getArgNumber());
  }
  if (isSize) {
    std::optional<Sampled> given = samples.reg(reg);
    return given && samples.equal(*given, valueOf(value))
               ? success()
               : fail(by, "a size is another one than the graph passes");
  }
  if (known == scalars.end()) {
    // Its computation is not replayed, but it must be the same register at all uses.
    scalars[value] = {isFloat, reg};
    return success();
  }
  return known->second.isFloat == isFloat && known->second.reg == reg
             ? success()
             : fail(by, "a scalar is another one than the graph passes");
}

/// Checks a register against the type and layout that the kernel was made for, in terms of its
/// parameters.
LogicalResult PlanReplay::checkStrides(uint32_t reg, RankedTensorType type, LayoutAttr layout,
                                       const llvm::StringMap<Sampled> &parameters,
                                       const std::string &by) {
  const Place *place;
  if (failed(alive(reg, place, by))) {
    return failure();
  }
  SmallVector<SizeExpr> sizes = getSizes(type);
  if (!place->isKnown) {
    return fail(by, "tensor register " + Twine(reg) + " has a shape that nothing has checked");
  }
  if (sizes.size() != place->sizes.size()) {
    return success(); // the kernel uses only the number of elements
  }
  SmallVector<SizeExpr> strides =
      layout ? SmallVector<SizeExpr>(layout.getStrides().begin(), layout.getStrides().end())
             : getContiguousStrides(sizes, type.getContext());
  Place made = *place;
  for (size_t dim = 0; dim != sizes.size(); ++dim) {
    made.sizes[dim] = samples.of(sizes[dim], parameters);
    made.strides[dim] = samples.of(strides[dim], parameters) * place->elementBytes;
  }
  return memory.same(made, *place)
             ? success()
             : fail(by, "tensor register " + Twine(reg) +
                            " has other sizes or strides than the kernel is made for");
}

LogicalResult PlanReplay::checkItem(LaunchOp op, KernelOp kernel, size_t item, const Passed &passed,
                                    const std::string &by) {
  size_t numSizes = kernel.getSymbols().size(), numOperands = kernel.getArgumentTypes().size();
  size_t nextInt = 0, nextFloat = 0, nextTensor = 0;
  llvm::StringMap<Sampled> parameters;
  for (size_t i = 0; i != numSizes; ++i) {
    Sampled wanted = samples.of(cast<SizeAttr>(op.getSizes()[item * numSizes + i]));
    std::optional<Sampled> given = samples.reg(passed.ints[nextInt++]);
    if (!given || !samples.equal(*given, wanted)) {
      return fail(by, "size " + Twine(i) + " is another one than the graph passes");
    }
    parameters[cast<SymbolAttr>(kernel.getSymbols()[i]).getName()] = wanted;
  }
  for (size_t i = 0; i != numOperands; ++i) {
    Value operand = op.getOperands()[item * numOperands + i];
    if (auto type = dyn_cast<RankedTensorType>(kernel.getArgumentTypes()[i])) {
      uint32_t reg = passed.tensors[nextTensor++];
      auto layout = kArgumentLayoutAttr.get(kernel, i);
      if (failed(read(reg, operand, by)) ||
          failed(checkStrides(reg, type, layout, parameters, by))) {
        return failure();
      }
      continue;
    }
    bool isFloat = isa<FloatType>(operand.getType());
    if (failed(checkScalar(operand, isFloat,
                           isFloat ? passed.floats[nextFloat++] : passed.ints[nextInt++], by))) {
      return failure();
    }
  }
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto layout = kResultLayoutAttr.get(kernel, i);
    if (failed(checkStrides(passed.tensors[nextTensor++], cast<RankedTensorType>(type), layout,
                            parameters, by))) {
      return failure();
    }
  }
  return success();
}

/// Items of a list run concurrently, so none may write what another one uses.
LogicalResult PlanReplay::checkItemsApart(ArrayRef<uint32_t> tensors, size_t items,
                                          size_t numOperands, const std::string &by) {
  if (items == 1) {
    return success();
  }
  size_t ofItem = tensors.size() / items;
  llvm::DenseMap<int, SmallVector<size_t, 2>> users;
  for (size_t at = 0; at != tensors.size(); ++at) {
    users[registers[tensors[at]].place.storage].push_back(at);
  }
  for (size_t at = 0; at != tensors.size(); ++at) {
    const Place &place = registers[tensors[at]].place;
    if (at % ofItem < numOperands) {
      continue;
    }
    for (size_t other : users[place.storage]) {
      if (other / ofItem != at / ofItem && memory.meet(place, registers[tensors[other]].place)) {
        return fail(by, "item " + Twine(at / ofItem) + " writes what item " +
                            Twine(other / ofItem) + " uses");
      }
    }
  }
  return success();
}

LogicalResult PlanReplay::visitLaunch(LaunchOp op) {
  const format::StepT *step = advance(Action::Launch, op);
  if (!step) {
    return failure();
  }
  const auto &launch = *step->action.AsLaunch();
  std::string by = "step " + std::to_string(next - 1) + " (" + op.getKernel().str() + ")";
  auto kernel = symbolTable.lookup<KernelOp>(op.getKernel());
  if (!kernel || launch.kernel >= plan.kernels.size() ||
      plan.kernels[launch.kernel]->name != op.getKernel()) {
    return fail(by, "runs another kernel");
  }
  size_t items = op.getItems().value_or(1), numSizes = kernel.getSymbols().size(),
         numOperands = kernel.getArgumentTypes().size(),
         numResults = kernel.getResultTypes().size();
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  size_t tensorOperands = llvm::count_if(kernel.getArgumentTypes(), isTensor),
         tensors = tensorOperands + numResults;
  size_t floats =
      llvm::count_if(kernel.getArgumentTypes(), [](Type type) { return isa<FloatType>(type); });
  if (launch.items != items || launch.tensors.size() != items * tensors ||
      launch.floats.size() != items * floats ||
      launch.ints.size() != items * (numSizes + numOperands - tensorOperands - floats)) {
    return fail(by, "passes another number of values than the kernel takes");
  }
  size_t ints = launch.ints.size() / items;
  for (size_t item = 0; item != items; ++item) {
    Passed passed{ArrayRef(launch.tensors).slice(item * tensors, tensors),
                  ArrayRef(launch.ints).slice(item * ints, ints),
                  ArrayRef(launch.floats).slice(item * floats, floats)};
    if (failed(checkItem(op, kernel, item, passed, by)) ||
        failed(checkInPlace(kernel, passed.tensors, tensorOperands, by))) {
      return failure();
    }
  }
  if (failed(checkItemsApart(launch.tensors, items, tensorOperands, by))) {
    return failure();
  }
  for (size_t item = 0; item != items; ++item) {
    for (size_t i = 0; i != numResults; ++i) {
      if (failed(write(launch.tensors[item * tensors + tensorOperands + i],
                       op.getResult(item * numResults + i), by))) {
        return failure();
      }
    }
  }
  return success();
}

namespace {
/// How a kernel's body uses one of its arguments.
struct Uses {
  /// Every path to a result goes through elementwise operations ...
  bool inPlace = true;
  /// ... or through reductions of whole rows, before anything of the row is written.
  bool reduced = false;
  SmallVector<unsigned> results;
};
} // namespace

static Uses usesOf(BlockArgument argument) {
  Uses uses;
  SmallVector<Value> open = {argument};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!open.empty()) {
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user)) {
        uses.results.push_back(use.getOperandNumber());
        continue;
      }
      uses.reduced |= isa<ReduceOp>(user);
      // After a reduction the whole row has been read.
      uses.inPlace &= mlir::frit::isElementwise(user) || isa<ReduceOp>(user) ||
                      (uses.reduced && !seen.empty() && isa<ReindexOp>(user));
      for (Value result : user->getResults()) {
        if (seen.insert(result.getAsOpaquePointer()).second) {
          open.push_back(result);
        }
      }
    }
  }
  return uses;
}

LogicalResult PlanReplay::checkInPlace(KernelOp kernel, ArrayRef<uint32_t> tensors,
                                       size_t numOperands, const std::string &by) {
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (isa<RankedTensorType>(argument.getType())) {
      arguments.push_back(argument);
    }
  }
  auto placeOf = [&](size_t number) -> const Place & { return registers[tensors[number]].place; };
  bool reduces = !kernel.getBody().front().getOps<ReduceOp>().empty();
  for (size_t result = numOperands; result != tensors.size(); ++result) {
    for (size_t other = result + 1; other < tensors.size(); ++other) {
      if (memory.meet(placeOf(result), placeOf(other))) {
        return fail(by, "two results share memory");
      }
    }
    for (size_t operand = 0; operand != numOperands; ++operand) {
      if (!memory.meet(placeOf(result), placeOf(operand))) {
        continue;
      }
      unsigned number = result - numOperands;
      Uses uses = usesOf(arguments[operand]);
      // A kernel loads an element once. Results are computed and written in order, so an element
      // that a later result needs must already be loaded for this or an earlier one. In a kernel
      // with reductions each result may have its own loop.
      bool isLoaded = llvm::any_of(uses.results, [&](unsigned other) { return other <= number; });
      bool elsewhere =
          llvm::any_of(uses.results, [&](unsigned other) { return other > number && !isLoaded; }) ||
          (reduces && llvm::any_of(uses.results, [&](unsigned other) { return other != number; }));
      bool wholeRows = true;
      if (uses.reduced) {
        // Writing a row after reading it is safe only if the kernel handles whole rows and the
        // result has one element for each reduced one.
        ScheduleAttr schedule = kernel.getScheduleAttr();
        wholeRows = schedule && schedule.getKind() == ScheduleKind::RowReduction;
      }
      if (!memory.same(placeOf(result), placeOf(operand)) || !uses.inPlace || elsewhere ||
          !wholeRows) {
        return fail(by, "writes result " + Twine(number) + " over operand " + Twine(operand) +
                            ", which it reads at other places or later");
      }
    }
  }
  return success();
}

LogicalResult PlanReplay::checkArgument(AtenOp op, Attribute argument, const format::ValueT &given,
                                        const std::string &by) {
  auto wrong = [&] { return fail(by, "an argument is another one than the graph passes"); };
  if (auto operand = dyn_cast<OperandAttr>(argument)) {
    Value value = op.getOperands()[operand.getIndex()];
    switch (given.kind) {
    case ValueKind::Tensor:
      callOperands[operand.getIndex()] = given.reg;
      if (!isa<RankedTensorType>(value.getType())) {
        return wrong();
      }
      return failure(
          failed(read(given.reg, value, by)) ||
          failed(checkDtype(given.reg, cast<DTypeAttr>(op.getOperandDtypes()[operand.getIndex()]),
                            by)));
    case ValueKind::IntReg:
    case ValueKind::BoolReg:
      return value.getType().isInteger() ? checkScalar(value, false, given.reg, by) : wrong();
    case ValueKind::FloatReg:
      return isa<FloatType>(value.getType()) ? checkScalar(value, true, given.reg, by) : wrong();
    default:
      return given.kind == ValueKind::None && isa<NoneType>(value.getType()) ? success() : wrong();
    }
  }
  if (auto list = dyn_cast<ArrayAttr>(argument)) {
    if (given.kind != ValueKind::List || given.items.size() != list.size()) {
      return wrong();
    }
    for (auto [item, one] : llvm::zip(list, given.items)) {
      if (failed(checkArgument(op, item, *one, by))) {
        return failure();
      }
    }
    return success();
  }
  if (auto size = dyn_cast<SizeAttr>(argument)) {
    std::optional<Sampled> value =
        given.kind == ValueKind::IntReg ? samples.reg(given.reg) : std::nullopt;
    return value && samples.equal(*value, samples.of(size)) ? success() : wrong();
  }
  if (auto integer = dyn_cast<IntegerAttr>(argument)) {
    bool isBool = integer.getType().isInteger(1);
    bool same = given.kind == (isBool ? ValueKind::Bool : ValueKind::Int) &&
                given.integer == (isBool ? integer.getValue().getZExtValue()
                                         : static_cast<uint64_t>(integer.getInt()));
    return same ? success() : wrong();
  }
  if (auto real = dyn_cast<FloatAttr>(argument)) {
    double value = real.getValueAsDouble();
    return given.kind == ValueKind::Double && llvm::bit_cast<uint64_t>(value) ==
                                                  llvm::bit_cast<uint64_t>(given.real.value_or(0))
               ? success()
               : wrong();
  }
  // A literal must not be given as a tensor, a register or nothing.
  bool isLiteral = given.kind != ValueKind::Tensor && given.kind != ValueKind::IntReg &&
                   given.kind != ValueKind::FloatReg && given.kind != ValueKind::BoolReg;
  return isLiteral && (given.kind == ValueKind::None) == isa<UnitAttr>(argument) ? success()
                                                                                 : wrong();
}

/// The storages of operands that a result may be a view of, by the alias annotations of torch's
/// schema and what they do not say; all of them if there is no schema and the graph does not say.
SmallVector<int> PlanReplay::storagesBehind(AtenOp op, const AtenSchema *schema, OpResult result) {
  SmallVector<int> storages;
  auto add = [&](unsigned operand) {
    if (operand < callOperands.size() && callOperands[operand] != kNoRegister) {
      int storage = registers[callOperands[operand]].place.storage;
      if (!llvm::is_contained(storages, storage)) {
        storages.push_back(storage);
      }
    }
  };
  if (!schema) {
    for (unsigned operand = 0; !op.getResultStorage() && operand != op.getNumOperands();
         ++operand) {
      add(operand);
    }
    return storages;
  }
  if (schema->returns.empty()) {
    return storages;
  }
  if (mayReturnOperands(op)) {
    for (unsigned operand = 0; operand != op.getNumOperands(); ++operand) {
      add(operand);
    }
    return storages;
  }
  StringRef alias =
      schema->returns[std::min<size_t>(result.getResultNumber(), schema->returns.size() - 1)].alias;
  Access access = getAccess(op);
  if (alias.empty() && access.views && access.writes.empty()) {
    add(*access.views);
    return storages;
  }
  for (auto [argument, given] : llvm::zip(schema->arguments, op.getArguments())) {
    if (alias.empty() || argument.alias != alias) {
      continue;
    }
    if (auto operand = dyn_cast<OperandAttr>(given)) {
      add(operand.getIndex());
    } else if (auto list = dyn_cast<ArrayAttr>(given)) {
      for (Attribute item : list) {
        if (auto operand = dyn_cast<OperandAttr>(item)) {
          add(operand.getIndex());
        }
      }
    }
  }
  return storages;
}

LogicalResult PlanReplay::defineResult(AtenOp op, const AtenSchema *schema, OpResult result,
                                       const format::ValueT &given, const std::string &by) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type) {
    if (!isa<NoneType>(result.getType())) {
      bool isFloat = isa<FloatType>(result.getType());
      scalars[result] = {isFloat, given.reg};
      if (!isFloat) {
        samples.define(given.reg, kSomeNumber + ++unboundSizes);
      }
    }
    return success();
  }
  if (given.kind == ValueKind::None) {
    return success(); // it has no readers
  }
  bool isNew = false;
  for (SizeExpr size : getSizes(type)) {
    size.forEachSymbol([&](StringRef name) {
      if (!samples.symbol(name)) {
        isNew = true;
        samples.bind(name, kSomeNumber + ++unboundSizes);
      }
    });
  }
  Place place;
  if (!isNew && failed(describe(given.reg, place, by))) {
    return failure();
  }
  // A shape that only the call knows is not described; binds read it from the tensor.
  place.isKnown &= !isNew;
  if (!hasSizes(place, type)) {
    return fail(by, "a result has other sizes than the graph says");
  }
  SmallVector<int> behind = storagesBehind(op, schema, result);
  std::optional<unsigned> viewed = getAccess(op).views;
  Sharing sharing = !schema || mayReturnOperands(op) ? Sharing::Unknown
                    : viewed                         ? getSharing(op, *viewed)
                                                     : Sharing::Always;
  if (sharing == Sharing::Never) {
    behind.clear();
  }
  bool isView = behind.size() == 1 && sharing == Sharing::Always;
  if (isView) {
    place.storage = behind.front();
    place.origin = memory.newOrigin();
  } else {
    place.storage =
        memory.newStorage(PlanMemory::Kind::Fresh, static_cast<unsigned>(next), std::nullopt);
    // The operator chooses the offset in its storage.
    place.origin = memory.newOrigin();
    for (int storage : behind) {
      Place there = place;
      there.storage = storage;
      there.isKnown = false;
      memory.show(there, result);
      sharedWith[result].push_back(storage);
    }
  }
  memory.show(place, result);
  return define(given.reg, place, by);
}

/// Replays a clone written as an allocation that begins where results promise, and a copy into it.
LogicalResult PlanReplay::visitPlacedClone(AtenOp op) {
  const format::StepT *step = advance(Action::CopyInto, op);
  const auto &copy = *step->action.AsCopyInto();
  std::string by = "step " + std::to_string(next - 1) + " (" + op.getOpName().str() + ")";
  const Place *to;
  if (failed(read(copy.source, op.getOperand(0), by)) || failed(alive(copy.tensor, to, by))) {
    return failure();
  }
  if (memory.kindOf(to->storage) != PlanMemory::Kind::Fresh ||
      !hasSizes(*to, cast<RankedTensorType>(op.getResult(0).getType()))) {
    return fail(by, "copies to storage or sizes that are not the clone's");
  }
  return write(copy.tensor, op.getResult(0), by);
}

LogicalResult PlanReplay::visitAten(AtenOp op) {
  if (op.getOpName() == "aten.clone.default" && comesNext(Action::CopyInto)) {
    return visitPlacedClone(op);
  }
  const format::StepT *step = advance(Action::Aten, op);
  if (!step) {
    return failure();
  }
  const auto &call = *step->action.AsAten();
  std::string by = "step " + std::to_string(next - 1) + " (" + op.getOpName().str() + ")";
  auto [space, rest] = op.getOpName().split('.');
  auto [name, overload] = rest.split('.');
  if (call.name != (space + "::" + name).str() ||
      call.overload != (overload == "default" ? StringRef() : overload)) {
    return fail(by, "calls '" + call.name + "'");
  }
  ArrayRef<Attribute> graphs =
      op.getGraphs() ? op.getGraphsAttr().getValue() : ArrayRef<Attribute>();
  if (!llvm::equal(graphs, call.graphs, [](Attribute wanted, const std::string &given) {
        return cast<StringAttr>(wanted) == given;
      })) {
    return fail(by, "calls other graphs");
  }
  if (call.arguments.size() != op.getArguments().size()) {
    return fail(by, "passes another number of arguments than the graph");
  }
  if (call.own_product && call.name != "aten::mm" && call.name != "aten::addmm") {
    return fail(by, "is marked as a matrix product");
  }
  if (call.own_attention && call.name != "aten::_scaled_dot_product_flash_attention_for_cpu") {
    return fail(by, "is marked as attention");
  }
  callOperands.assign(op.getNumOperands(), kNoRegister);
  for (auto [argument, given] : llvm::zip(op.getArguments(), call.arguments)) {
    if (failed(checkArgument(op, argument, *given, by))) {
      return failure();
    }
  }
  ArrayRef<int64_t> mutated = op.getMutatedOperands().value_or(ArrayRef<int64_t>());
  // Lists among the results stand for their items.
  SmallVector<const format::ValueT *> given;
  for (const auto &one : call.results) {
    if (one->kind == ValueKind::List) {
      for (const auto &item : one->items) {
        given.push_back(item.get());
      }
    } else {
      given.push_back(one.get());
    }
  }
  std::optional<AtenSchema> known = AtenSchema::lookup(op.getOpName());
  const AtenSchema *schema = known ? &*known : nullptr;
  size_t own = op.getNumResults() - mutated.size();
  if (given.size() != own) {
    return fail(by, "makes another number of results than the graph");
  }
  for (size_t i = 0; i != own; ++i) {
    if (failed(defineResult(op, schema, op->getResult(i), *given[i], by))) {
      return failure();
    }
  }
  SmallVector<int64_t> writes(mutated);
  if (schema) {
    for (auto [argument, attribute] : llvm::zip(schema->arguments, op.getArguments())) {
      auto operand = dyn_cast<OperandAttr>(attribute);
      if (argument.isWrite && operand && !llvm::is_contained(writes, operand.getIndex())) {
        writes.push_back(operand.getIndex());
      }
    }
  }
  for (auto [i, number] : llvm::enumerate(writes)) {
    uint32_t reg = callOperands[number];
    if (reg == kNoRegister) {
      continue; // an optional operand that is absent
    }
    const Place &place = registers[reg].place;
    for (auto [operand, other] : llvm::enumerate(callOperands)) {
      if (other != kNoRegister && int64_t(operand) != number &&
          memory.meet(registers[other].place, place)) {
        return fail(by, "writes operand " + Twine(number) + " over operand " + Twine(operand));
      }
    }
    Value after = i < mutated.size() ? Value(op->getResult(own + i)) : Value();
    if (after && failed(write(reg, after, by))) {
      return failure();
    }
    if (!after) {
      memory.write(place, {});
      written.insert(place.storage);
    }
  }
  return success();
}

} // namespace frit
