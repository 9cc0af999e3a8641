// Checks the final state of a replayed plan: results have the storage and the layout that the graph
// promises, and arguments hold what it stored.

#include "compiler/PlanReplay.h"
#include "ir/FritAttributes.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::OutputKind;

LogicalResult PlanReplay::visitReturn(ReturnOp op) {
  if (plan.outputs.size() != op.getNumOperands()) {
    return fail("the results", "another number than the graph returns");
  }
  // Steps after the last operation affect storage or copy results that must not share it.
  for (; next != plan.steps.size(); ++next) {
    const format::StepT &step = *plan.steps[next];
    std::string by = "step " + std::to_string(next);
    bool isStorage;
    if (failed(replayStorage(step, isStorage))) {
      return failure();
    }
    if (isStorage) {
      continue;
    }
    const auto *call = step.action.AsAten();
    const auto *copy = step.action.AsCopyInto();
    if (!copy && (!call || call->name != "aten::clone" || call->arguments.empty() ||
                  call->results.size() != 1)) {
      return fail(by, "does not follow the graph, which has ended");
    }
    uint32_t made = copy ? copy->tensor : call->results.front()->reg,
             source = copy ? copy->source : call->arguments.front()->reg;
    for (auto [number, output] : llvm::enumerate(plan.outputs)) {
      if (output->kind != OutputKind::Tensor || output->reg != made) {
        continue;
      }
      Value value = op.getOperand(number);
      Place place;
      if (failed(read(source, value, by)) || failed(describe(made, place, by))) {
        return failure();
      }
      if (!registers[made].isDefined) {
        place.storage =
            memory.newStorage(PlanMemory::Kind::Fresh, static_cast<unsigned>(next), std::nullopt);
        if (failed(define(made, place, by))) {
          return failure();
        }
      } else if (copy && memory.kindOf(registers[made].place.storage) != PlanMemory::Kind::Fresh) {
        return fail(by, "copies a result over what the graph has not made");
      }
      clones.insert(made);
      if (!hasSizes(place, cast<RankedTensorType>(value.getType()))) {
        return fail(by, "a result has other sizes than the graph says");
      }
    }
    if (!clones.contains(made)) {
      return fail(by, "copies what is no result");
    }
  }
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    const format::OutputT &output = *plan.outputs[number];
    std::string by = "result " + std::to_string(number);
    if (isa<NoneType>(value.getType())) {
      if (output.kind != OutputKind::None) {
        return fail(by, "is something where the graph returns nothing");
      }
      continue;
    }
    if (!isa<RankedTensorType>(value.getType())) {
      bool isFloat = isa<FloatType>(value.getType());
      if (isFloat != (output.kind == OutputKind::Float)) {
        return fail(by, "is of another kind than the graph returns");
      }
      if (failed(checkScalar(value, isFloat, output.reg, by))) {
        return failure();
      }
      continue;
    }
    uint32_t reg = output.reg;
    if (output.kind == OutputKind::Input) {
      auto input =
          llvm::find_if(inputNumbers, [&](const auto &one) { return one.second == output.reg; });
      if (input == inputNumbers.end() || !argumentRegisters.contains(input->first)) {
        return fail(by, "is an argument that is no tensor");
      }
      // The caller's own tensor is alive even if the plan freed it.
      reg = argumentRegisters[input->first];
      registers[reg].isAlive = true;
    } else if (output.kind != OutputKind::Tensor) {
      return fail(by, "is of another kind than the graph returns");
    }
    const Place *place;
    if (failed(alive(reg, place, by)) ||
        failed(checkDtype(reg, kResultDtypeAttr.get(graph, number), by)) ||
        failed(checkStorage(number, value, *place)) || failed(checkLayout(number, *place))) {
      return failure();
    }
    if (!clones.contains(reg) && !showsArgument(number, *place) &&
        failed(readPlace(*place, value, by))) {
      return failure();
    }
  }
  return checkArguments();
}

/// A result that is an argument, or a view of one, shows the argument's final contents, whatever
/// value the graph returns; only its storage and layout are checked.
bool PlanReplay::showsArgument(unsigned number, const Place &place) {
  auto promise = kResultStorageAttr.get(graph, number);
  return promise && promise.getKind() != StorageKind::Fresh &&
         kResultLayoutAttr.isOn(graph, number) &&
         memory.kindOf(place.storage) != PlanMemory::Kind::Fresh;
}

LogicalResult PlanReplay::checkStorage(unsigned number, Value value, const Place &place) {
  auto promise = kResultStorageAttr.get(graph, number);
  // Whether such an operator copied is known only at the call.
  if (!promise || sharedWith.contains(baseOf(value))) {
    return success();
  }
  std::string by = "result " + std::to_string(number);
  PlanMemory::Kind kind = memory.kindOf(place.storage);
  // A result for a backward graph may be a copy where eager has a view.
  if (promise.getKind() != StorageKind::Fresh) {
    bool same = !isSeen(number) || (kind != PlanMemory::Kind::Fresh &&
                                    memory.numberOf(place.storage) == promise.getIndex());
    return same ? success()
                : fail(by, "is not in the storage of argument " + Twine(promise.getIndex()) +
                               ", as it must be");
  }
  if (kind != PlanMemory::Kind::Fresh) {
    return fail(by, "is in the storage of argument " + Twine(memory.numberOf(place.storage)) +
                        " and must have storage of its own");
  }
  auto [storage, isNew] = promised.try_emplace(promise.getIndex(), place.storage);
  if (isSeen(number) && !isNew && storage->second != place.storage) {
    return fail(by, "must share its storage with another result");
  }
  auto [other, isFirst] = promises.try_emplace(place.storage, promise.getIndex());
  return isFirst || other->second == promise.getIndex()
             ? success()
             : fail(by, "shares its storage with a result that must have its own");
}

LogicalResult PlanReplay::checkLayout(unsigned number, const Place &place) {
  auto layout = kResultLayoutAttr.get(graph, number);
  // A result for a backward graph may have any layout.
  if (!layout || !place.isKnown || kResultKeptAttr.isOn(graph, number)) {
    return success();
  }
  std::string by = "result " + std::to_string(number);
  Sampled start = samples.of(layout.getOffset());
  if (memory.kindOf(place.storage) != PlanMemory::Kind::Fresh) {
    if (auto own = kArgumentLayoutAttr.get(graph, memory.numberOf(place.storage))) {
      start = start - samples.of(own.getOffset());
    }
  }
  if (layout.getStrides().size() != place.sizes.size()) {
    return fail(by, "has another rank than the graph promises");
  }
  for (unsigned sample = 0; sample != samples.count(); ++sample) {
    if (llvm::any_of(place.sizes, [&](const Sampled &size) { return size[sample] == 0; })) {
      continue;
    }
    // The user sees the storage offset, a backward graph does not.
    if (isSeen(number) && place.origin == 0 &&
        start[sample] * place.elementBytes != place.offset[sample]) {
      return fail(by, "begins at element " + Twine(place.offset[sample] / place.elementBytes) +
                          " of its storage, which the graph promises at " + Twine(start[sample]));
    }
    for (auto [size, stride, wanted] : llvm::zip(place.sizes, place.strides, layout.getStrides())) {
      if (size[sample] > 1 && samples.of(wanted)[sample] * place.elementBytes != stride[sample]) {
        return fail(by, "has other strides than the graph promises");
      }
    }
  }
  return success();
}

LogicalResult PlanReplay::checkArguments() {
  for (auto [argument, reg] : argumentRegisters) {
    const Place &place = registers[reg].place;
    std::string by = nameOf(argument) + " in the end";
    // The values that the graph stored last, as far as they were not overwritten.
    for (Value value : stored.held(storedIn[argument])) {
      Place wanted = *stored.find(storedIn[argument], value);
      wanted.storage = place.storage;
      const Place *held = memory.find(place.storage, value);
      bool isThere = held && memory.same(*held, wanted);
      if (!isThere && failed(readPlace(wanted, value, by))) {
        return failure();
      }
    }
    bool isWritten = written.contains(place.storage);
    auto input = inputNumbers.find(argument);
    if (input != inputNumbers.end() && plan.inputs[input->second]->mutated != isWritten) {
      return fail(by, isWritten ? "is written, which the plan does not say"
                                : "is said to be written and is not");
    }
  }
  return success();
}

} // namespace frit
