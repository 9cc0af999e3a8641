// Handles arguments that a plan writes to and that share memory with other arguments of the call.
// The plan was compiled for disjoint arguments. So such an argument is copied when the call begins,
// the steps work on the copy, and its values are written back after the last step. Every argument
// is then read as it was at entry, in whatever order the kernels run. Arguments of a call that may
// have to start again are copied for the same reason.

#include "runtime/plan/InputOverlap.h"
#include "runtime/plan/PlanExecutor.h"

#include <algorithm>

namespace frit {

Status PlanExecutor::separateMutated(RunState &state) {
  for (uint32_t number : mutatedInputs) {
    if (overlapsItself(state.views[number])) {
      return Status::error(ErrorKind::Runtime,
                           "unsupported operation: more than one element of the written-to tensor "
                           "refers to a single memory "
                           "location. Please clone() the tensor before performing the operation.");
    }
  }
  bool copiesAll = state.keepsArguments && effects.writesBeforePromise();
  bool meetAny = rangesMeet(state);
  if (!meetAny && !copiesAll) {
    return Status::ok();
  }
  for (uint32_t number : mutatedInputs) {
    bool meets =
        meetAny &&
        std::any_of(state.ranges.begin(), state.ranges.end(), [&](const ArgumentRange &other) {
          return other.input != number &&
                 mayShareMemory(state.views[number], state.views[other.input]);
        });
    if (meets && refusesOverlap) {
      return badInput(number, "the program writes to it, and it shares memory with another "
                              "argument; pass tensors that lie apart");
    }
    counts.overlapCopies.fetch_add(meets, std::memory_order_relaxed);
    if (meets || copiesAll) {
      FRIT_RETURN_IF_ERROR(replaceByCopy(state, number));
    }
  }
  return Status::ok();
}

/// Checks for overlap in a sweep over the arguments by address. They are sorted anew only if they
/// have moved since the previous call.
bool PlanExecutor::rangesMeet(RunState &state) const {
  if (state.ranges.empty()) {
    for (uint32_t number = 0; number < inputSpecs.size(); ++number) {
      format::InputKind kind = inputSpecs[number].kind;
      if (kind == format::InputKind::Tensor || kind == format::InputKind::ScalarTensor) {
        bool written =
            std::find(mutatedInputs.begin(), mutatedInputs.end(), number) != mutatedInputs.end();
        state.ranges.push_back({{}, number, written});
      }
    }
  }
  auto before = [](const ArgumentRange &a, const ArgumentRange &b) {
    return a.bytes.begin < b.bytes.begin;
  };
  for (ArgumentRange &range : state.ranges) {
    range.bytes = rangeOf(state.views[range.input]);
  }
  if (!std::is_sorted(state.ranges.begin(), state.ranges.end(), before)) {
    std::sort(state.ranges.begin(), state.ranges.end(), before);
  }
  uintptr_t end = 0, writtenEnd = 0;
  for (const ArgumentRange &range : state.ranges) {
    if (range.bytes.begin < writtenEnd || (range.written && range.bytes.begin < end)) {
      return true;
    }
    end = std::max(end, range.bytes.end);
    if (range.written) {
      writtenEnd = std::max(writtenEnd, range.bytes.end);
    }
  }
  return false;
}

Status PlanExecutor::replaceByCopy(RunState &state, uint32_t number) {
  const TensorView &view = state.views[number];
  TensorSlot &slot = state.tensors[inputSpecs[number].reg];
  TensorSlot copy;
  TensorShape shape = shapeOfView(view);
  shape.lazy = view.lazy;
  FRIT_RETURN_IF_ERROR(host.allocateTensor(shape, copy));
  copy.owner = TensorSlot::Owner::Handle;
  if (Status status = host.copyInto(copy, slot); !status.isOk()) {
    host.releaseTensor(copy.handle);
    return status;
  }
  // The plan may drop the register's reference; this one lasts until the values are written back.
  host.retainTensor(copy.handle);
  state.copies.push_back({number, slot, copy});
  ByteRange range = rangeOf(view);
  state.held.add(range.end - range.begin);
  state.heldTemporaries.add(range.end - range.begin);
  slot = copy;
  return Status::ok();
}

Status PlanExecutor::writeBack(RunState &state) {
  for (const InputCopy &copy : state.copies) {
    FRIT_RETURN_IF_ERROR(host.copyInto(copy.original, copy.copy));
  }
  return Status::ok();
}

/// Turns a result that is a view of a copy into the same view of the original argument.
Status PlanExecutor::ontoOriginal(RunState &state, TensorSlot &result) {
  TensorView view = host.viewOf(result.handle);
  for (const InputCopy &copy : state.copies) {
    ByteRange range = rangeOf(host.viewOf(copy.copy.handle));
    auto first = reinterpret_cast<uintptr_t>(view.data);
    if (first < range.begin || first >= range.end) {
      continue;
    }
    auto offset = static_cast<int64_t>((first - range.begin) / bytesOf(view.dtype));
    TensorSlot moved;
    TensorShape shape = shapeOfView(view);
    shape.lazy = view.lazy;
    FRIT_RETURN_IF_ERROR(host.viewTensor(copy.original, shape, offset, moved));
    host.releaseTensor(result.handle);
    result.handle = moved.handle;
    return Status::ok();
  }
  return Status::ok();
}

void PlanExecutor::dropCopies(RunState &state) {
  for (const InputCopy &copy : state.copies) {
    host.releaseTensor(copy.original.handle);
    host.releaseTensor(copy.copy.handle);
  }
  state.copies.clear();
}

} // namespace frit
