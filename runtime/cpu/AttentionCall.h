// A call of ATen's attention for CPUs that the compiler left to the runtime's own kernel
// (Attention.h).

#pragma once

#include "runtime/cpu/Attention.h"
#include "runtime/plan/Host.h"

#include <optional>

namespace frit {

/// The tensor registers of the operands, and the literals.
struct AttentionCall {
  uint32_t query, key, value;
  /// kNoRegister: nothing is added to the scores.
  uint32_t mask;
  bool causal;
  /// Absent: 1 / sqrt(depth).
  std::optional<double> scale;
};

/// Decodes a call of attention; nullopt if the call is not marked as one, an error if it is marked
/// although it has other arguments or readers of its second result.
Result<std::optional<AttentionCall>> attentionOf(const format::Aten &call);

/// Attention of these operands, without a result; nullopt if the kernel cannot take their types,
/// sizes or strides, or if ATen would report an error. `mask` may be null.
std::optional<Attention> attentionFrom(const AttentionCall &call, const TensorView &query,
                                       const TensorView &key, const TensorView &value,
                                       const TensorView *mask);

} // namespace frit
