// What the constants of a plan are bound to: weights where their file is mapped, never copied, or
// tensors of the caller. A mapping is private to the process, so a program that updates its buffers
// keeps their values from call to call and leaves the file alone.

#pragma once

#include "runtime/plan/Host.h"

#include <optional>

namespace frit {

struct WeightView {
  void *data;
  std::vector<int64_t> sizes, strides;
  format::Dtype dtype;
  uint64_t bytes;
};

/// The weight that constant `number` of the plan is bound to, checked to lie inside of its bytes
/// and to be what the plan expects.
Result<WeightView> weightOf(const DecodedPlan &plan, uint32_t number);

/// Whether constant `number` can be bound to a tensor like `view`: dtype, device, rank, sizes and
/// strides.
Status fitsConstant(const DecodedPlan &plan, uint32_t number, const TensorView &view);

/// Nothing, or the name under which the caller gives constant `number`.
std::optional<std::string> givenName(const DecodedPlan &plan, uint32_t number);

/// Every weight the caller has to give is among `names`, and nothing else is.
Status checkGiven(const Artifact &artifact, const std::vector<std::string> &names);

/// The names of what the keys of a map hold.
template <typename Map> std::vector<std::string> keysOf(const Map &map) {
  std::vector<std::string> keys;
  for (const auto &[key, value] : map) {
    keys.push_back(key);
  }
  return keys;
}

} // namespace frit
