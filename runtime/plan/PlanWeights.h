// The weights a file carries for its plans: looked at where the file is mapped, never copied. The mapping is private to the process, so
// a program that updates its buffers keeps their values from call to call and leaves the file alone.

#pragma once

#include "runtime/plan/DecodedPlan.h"

namespace frit {

struct WeightView {
  void *data;
  std::vector<int64_t> sizes, strides;
  format::Dtype dtype;
  uint64_t bytes;
};

/// The weight that constant `number` of the plan is bound to, checked to lie inside of its bytes.
Result<WeightView> weightOf(const DecodedPlan &plan, uint32_t number);

} // namespace frit
