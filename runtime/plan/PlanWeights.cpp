#include "runtime/plan/PlanWeights.h"

#include <algorithm>

namespace frit {

namespace {

/// Bytes from the first element to the end of the last; false when sizes and strides make no sense.
bool spanOf(const WeightView &weight, uint64_t &bytes) {
  uint64_t last = 0;
  bool empty = false;
  for (size_t dim = 0; dim < weight.sizes.size(); ++dim) {
    uint64_t reach;
    if (weight.sizes[dim] < 0 || weight.strides[dim] < 0 ||
        __builtin_mul_overflow(static_cast<uint64_t>(std::max<int64_t>(weight.sizes[dim] - 1, 0)),
                               static_cast<uint64_t>(weight.strides[dim]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
    empty |= weight.sizes[dim] == 0;
  }
  return !__builtin_mul_overflow(empty ? 0 : last + 1, bytesOf(weight.dtype), &bytes);
}

} // namespace

Result<WeightView> weightOf(const DecodedPlan &plan, uint32_t number) {
  const format::Constant &constant = *plan.source->constants()->Get(number);
  std::string name = constant.name() ? " ('" + constant.name()->str() + "')" : "";
  const auto *weights = plan.artifact->root().weights();
  if (constant.weight() < 0 || !weights || static_cast<uint32_t>(constant.weight()) >= weights->size()) {
    return Status::error(ErrorKind::BadInput, "constant " + std::to_string(number) + name +
                                                  " of the graph is not in the file; compile a .pt2, which has its weights");
  }
  const format::Weight &weight = *weights->Get(static_cast<uint32_t>(constant.weight()));
  auto list = [](const auto *values) {
    return values ? std::vector<int64_t>(values->begin(), values->end()) : std::vector<int64_t>();
  };
  // Pages of the mapping are the process's own from the first write on.
  auto *data = const_cast<uint8_t *>(plan.artifact->weights().data()) + weight.offset();
  WeightView view = {data, list(weight.sizes()), list(weight.strides()), weight.dtype()};
  uint64_t bytes;
  if (view.sizes.size() != view.strides.size() || view.dtype > format::Dtype::MAX || !spanOf(view, bytes) ||
      bytes > weight.bytes()) {
    return Status::error(ErrorKind::BadArtifact, "constant " + std::to_string(number) + name +
                                                     " reaches beyond its weight in the file; compile it again");
  }
  return view;
}

} // namespace frit
