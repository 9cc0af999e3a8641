// Binds the constants of a plan: to weights in their mapped file, without copying, or to tensors of
// the caller. The mapping is private, so a program that updates its buffers keeps their values from
// call to call and does not change the file.

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

/// The weight for constant `number` of the plan. Checks that it is inside of the file's bytes and
/// has the type that the plan expects.
Result<WeightView> weightOf(const DecodedPlan &plan, uint32_t number);

/// Whether constant `number` can be bound to a tensor like `view`: dtype, device, rank, sizes and
/// strides.
Status fitsConstant(const DecodedPlan &plan, uint32_t number, const TensorView &view);

/// The name under which the caller passes constant `number`; nullopt if it does not.
std::optional<std::string> givenName(const DecodedPlan &plan, uint32_t number);

/// Checks that `names` are exactly the weights that the caller has to pass.
Status checkGiven(const Artifact &artifact, const std::vector<std::string> &names);

/// The keys of a map, which are names.
template <typename Map> std::vector<std::string> keysOf(const Map &map) {
  std::vector<std::string> keys;
  for (const auto &[key, value] : map) {
    keys.push_back(key);
  }
  return keys;
}

} // namespace frit
