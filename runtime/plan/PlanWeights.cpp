#include "runtime/plan/PlanWeights.h"

#include "runtime/plan/StorageSpan.h"

namespace frit {

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
  WeightView view = {data, list(weight.sizes()), list(weight.strides()), weight.dtype(), weight.bytes()};
  // The reader has seen that they are as many and of a known dtype (BodyChecks).
  std::optional<uint64_t> span = spanOf(view.sizes, view.strides);
  uint64_t bytes;
  if (!span || __builtin_mul_overflow(*span, bytesOf(view.dtype), &bytes) || bytes > weight.bytes() ||
      weight.offset() % bytesOf(view.dtype) != 0) {
    return Status::error(ErrorKind::BadArtifact, "constant " + std::to_string(number) + name +
                                                     " reaches beyond its weight in the file, or begins inside of an element; "
                                                     "compile it again");
  }
  return view;
}

} // namespace frit
