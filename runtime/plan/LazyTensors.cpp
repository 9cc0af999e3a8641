// Tensors that torch conjugates or negates lazily: x.conj(), x.conj().imag. They occur as
// arguments, constants and results of ATen calls, and keep their bits in views, in further calls
// and as results, as in eager mode. Only kernels read memory directly, so a kernel gets a copy:
// such a slot has no address (TensorSlot::data).

#include "runtime/plan/PlanExecutor.h"

#include <algorithm>

namespace frit {

/// Replaces the launch's tensors with lazy bits by copies, one per tensor even if the kernel has it
/// several times.
Status PlanExecutor::resolve(RunState &state, const LaunchSite &site) {
  const auto *access = decoded->source->kernels()->Get(site.kernel)->access();
  size_t ofItem = site.tensors.size() / site.items;
  for (size_t at = 0; at < site.tensors.size(); ++at) {
    uint32_t tensor = site.tensors[at];
    if (state.tensors[tensor].lazy == kPlain) {
      continue;
    }
    auto known = std::find_if(state.resolved.begin(), state.resolved.end(),
                              [&](const auto &one) { return one.tensor == tensor; });
    if (known == state.resolved.end()) {
      TensorSlot copy;
      FRIT_RETURN_IF_ERROR(host.resolveTensor(state.tensors[tensor], copy));
      counts.lazyCopies.fetch_add(1, std::memory_order_relaxed);
      known = state.resolved.insert(known, {tensor, copy, false});
    }
    auto letter = static_cast<uint32_t>(at % ofItem);
    known->written |= !access || letter >= access->size() || access->Get(letter) != 'r';
    state.pointers[at] = known->copy.data;
  }
  return Status::ok();
}

/// After the launch, copies written values back through the lazy bits of their tensor.
Status PlanExecutor::writeResolved(RunState &state) {
  for (const ResolvedTensor &one : state.resolved) {
    if (one.written) {
      FRIT_RETURN_IF_ERROR(host.copyInto(state.tensors[one.tensor], one.copy));
    }
  }
  dropResolved(state);
  return Status::ok();
}

void PlanExecutor::dropResolved(RunState &state) {
  for (const ResolvedTensor &one : state.resolved) {
    host.releaseTensor(one.copy.handle);
  }
  state.resolved.clear();
}

} // namespace frit
