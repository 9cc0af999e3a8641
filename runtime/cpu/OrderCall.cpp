#include "runtime/cpu/OrderCall.h"

#include "runtime/cpu/PlainTensor.h"

namespace frit {

using format::ValueKind;

std::optional<OrderCall> orderOf(const format::Aten &call) {
  std::string_view name = call.name()->string_view();
  std::string_view overload = call.overload() ? call.overload()->string_view() : "";
  bool isTopK = name == "aten::topk", isStable = overload == "stable";
  if ((!isTopK && name != "aten::sort") || !(overload.empty() || (isStable && !isTopK)) ||
      !call.arguments() || call.arguments()->size() == 0 || !call.results() ||
      call.results()->size() != 2) {
    return std::nullopt;
  }
  OrderCall found = {kNoRegister, isTopK, kNoRegister, 0, -1, isTopK, false};
  bool isSorted = true;
  // sort.stable has its flag before the others.
  const char *const names[2][5] = {{"self", "dim", "descending", "", ""},
                                   {"self", "k", "dim", "largest", "sorted"}};
  const char *const stable[] = {"self", "stable", "dim", "descending"};
  for (uint32_t at = 0; at < call.arguments()->size(); ++at) {
    const format::Value &value = *call.arguments()->Get(at);
    bool isNamed = value.name() && value.name()->size() != 0;
    if (!isNamed && at >= (isStable ? 4u : 5u)) {
      return std::nullopt;
    }
    std::string_view which = isNamed    ? value.name()->string_view()
                             : isStable ? stable[at]
                                        : names[isTopK][at];
    ValueKind kind = value.kind();
    if (kind == ValueKind::Default) {
      continue;
    }
    if (which == "self" && kind == ValueKind::Tensor) {
      found.input = value.reg();
    } else if (which == "k" && kind == ValueKind::IntReg) {
      found.countRegister = value.reg();
    } else if (which == "k" && kind == ValueKind::Int) {
      found.count = value.integer();
    } else if (which == "dim" && kind == ValueKind::Int) {
      found.dim = value.integer();
    } else if ((which == "largest" || which == "descending") && kind == ValueKind::Bool) {
      found.descending = value.integer() != 0;
    } else if (which == "sorted" && kind == ValueKind::Bool) {
      isSorted = value.integer() != 0;
    } else if (which == "stable" && kind == ValueKind::Bool) {
      found.isStable = value.integer() != 0;
    } else if (which != "stable" || kind != ValueKind::None) {
      return std::nullopt;
    }
  }
  return found.input != kNoRegister && isSorted ? std::optional(found) : std::nullopt;
}

std::optional<OrderedRows> rowsFrom(const OrderCall &call, const TensorView &input, int64_t count) {
  int64_t rank = input.rank;
  if (!isPlain(input) || rank == 0 || (call.dim != -1 && call.dim != rank - 1)) {
    return std::nullopt;
  }
  OrderedRows made;
  made.length = input.sizes[rank - 1];
  made.count = call.isTopK ? count : made.length;
  made.descending = call.descending;
  made.isStable = call.isStable;
  made.input = static_cast<const float *>(input.data);
  made.rows = 1;
  // The rows must be evenly spaced.
  made.rowStride = rank > 1 ? input.strides[rank - 2] : made.length;
  int64_t expected = made.rowStride;
  for (int64_t dim = rank - 1; dim-- > 0;) {
    if (input.sizes[dim] != 1 && input.strides[dim] != expected) {
      // A dim of one element says nothing about the stride of rows.
      if (made.rows != 1) {
        return std::nullopt;
      }
      made.rowStride = expected = input.strides[dim];
    }
    made.rows *= input.sizes[dim];
    expected *= input.sizes[dim];
  }
  if (made.rows == 0 || made.count < 1 || made.count > made.length ||
      input.strides[rank - 1] != 1 || !isOrderFaster(made.length, made.count)) {
    return std::nullopt;
  }
  return made;
}

} // namespace frit
