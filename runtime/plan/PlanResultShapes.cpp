// Kernels are compiled for the shapes that torch's fake kernels promise. If a size follows from
// data, only the call itself knows the shape of its result, which is compared with the promise
// before a kernel reads it.

#include "runtime/plan/PlanExecutor.h"

#include <algorithm>

namespace frit {

/// The operator that a register is a result of.
static std::string nameOfCall(const DecodedPlan &plan, uint32_t reg) {
  auto isResult = [&](const format::Value &value) {
    return value.kind() == format::ValueKind::Tensor && value.reg() == reg;
  };
  for (const format::Aten *call : plan.atenCalls) {
    if (!call->results()) {
      continue;
    }
    for (const format::Value *value : *call->results()) {
      const auto *items = value->kind() == format::ValueKind::List ? value->items() : nullptr;
      bool isIn = items && std::any_of(items->begin(), items->end(),
                                       [&](const format::Value *item) { return isResult(*item); });
      if (isIn || isResult(*value)) {
        return call->name()->str();
      }
    }
  }
  return "an operator";
}

Status PlanExecutor::checkShape(const RunState &state, uint32_t shaped, uint32_t result) const {
  TensorView found = host.viewOf(state.tensors[result].handle);
  const TensorType &type = decoded->tensors[shaped];
  size_t rank = type.sizes.size();
  bool hasSizes = found.dtype == type.dtype && static_cast<size_t>(found.rank) == rank;
  bool hasStrides = true, isEmpty = false;
  for (size_t dim = 0; hasSizes && dim < rank; ++dim) {
    int64_t size = state.ints[type.sizes[dim]];
    hasSizes = found.sizes[dim] == size;
    hasStrides &= size == 1 || found.strides[dim] == state.ints[type.strides[dim]];
    isEmpty |= size == 0;
  }
  if (hasSizes && (hasStrides || isEmpty)) {
    return Status::ok();
  }
  std::string sizes, expected;
  for (int64_t dim = 0; dim < found.rank; ++dim) {
    sizes += (dim ? ", " : "") + std::to_string(found.sizes[dim]);
  }
  for (size_t dim = 0; dim < rank; ++dim) {
    expected += (dim ? ", " : "") + std::to_string(state.ints[type.sizes[dim]]);
  }
  return Status::error(
      ErrorKind::Disagreement,
      nameOfCall(*decoded, result) + " returned " + nameOf(found.dtype) + " of sizes (" + sizes +
          (hasSizes ? ") in other strides than the graph was traced with"
                    : "), the graph was traced with " + std::string(nameOf(type.dtype)) +
                          " of sizes (" + expected + ")") +
          "; its fake implementation disagrees with its kernel");
}

} // namespace frit
