// Calls of aten::topk and aten::sort that the runtime's own kernel can compute (Order.h).

#pragma once

#include "runtime/cpu/Order.h"
#include "runtime/plan/Host.h"

#include <optional>

namespace frit {

struct OrderCall {
  uint32_t input;
  /// A sort otherwise.
  bool isTopK;
  /// topk: the number of elements, in a register if it varies.
  uint32_t countRegister;
  int64_t count;
  /// Counted from the last one if negative.
  int64_t dim;
  bool descending;
  bool isStable;
};

/// Decodes the call; nullopt for other operators, and for a topk whose result is not sorted, so
/// that its order is ATen's own.
std::optional<OrderCall> orderOf(const format::Aten &call);

/// The rows of this operand, without results; nullopt if the kernel cannot take its type or
/// strides, or if ATen would report an error. `count`: of topk.
std::optional<OrderedRows> rowsFrom(const OrderCall &call, const TensorView &input, int64_t count);

} // namespace frit
