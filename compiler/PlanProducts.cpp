#include "compiler/PlanProducts.h"

#include "llvm/ADT/STLExtras.h"

namespace frit {

/// Whether it is a factor that the schema has as its default.
static bool isOne(const format::ValueT &value) {
  using format::ValueKind;
  return value.kind == ValueKind::Default || (value.kind == ValueKind::Int && value.integer == 1) ||
         (value.kind == ValueKind::Double && value.real == 1.0);
}

static bool isProduct(const format::PlanT &plan, const format::AtenT &call) {
  size_t operands = call.name == "aten::mm" ? 2 : call.name == "aten::addmm" ? 3 : 0;
  if (operands == 0 || !call.overload.empty() || call.arguments.size() < operands ||
      call.results.size() != 1 || call.results[0]->kind != format::ValueKind::Tensor) {
    return false;
  }
  auto isMatrix = [&](const auto &value) {
    return value->kind == format::ValueKind::Tensor && value->name.empty() &&
           plan.tensors[value->reg]->dtype == format::Dtype::F32 &&
           plan.tensors[value->reg]->device == format::Device::Cpu;
  };
  llvm::ArrayRef<std::unique_ptr<format::ValueT>> arguments(call.arguments);
  return llvm::all_of(arguments.take_front(operands), isMatrix) &&
         llvm::all_of(arguments.drop_front(operands),
                      [](const auto &value) { return isOne(*value); });
}

/// Whether a call is attention without dropout whose logsumexp, which is for a backward, is not
/// read.
static bool isAttention(const format::PlanT &plan, const format::AtenT &call) {
  using format::ValueKind;
  if (call.name != "aten::_scaled_dot_product_flash_attention_for_cpu" || !call.overload.empty() ||
      call.arguments.size() < 3 || call.arguments.size() > 7 || call.results.size() != 2 ||
      call.results[0]->kind != ValueKind::Tensor || call.results[1]->kind != ValueKind::None) {
    return false;
  }
  auto isTensor = [&](const format::ValueT &value) {
    return value.kind == ValueKind::Tensor &&
           plan.tensors[value.reg]->dtype == format::Dtype::F32 &&
           plan.tensors[value.reg]->device == format::Device::Cpu;
  };
  auto fits = [&](size_t at, const format::ValueT &value) {
    bool isAbsent = value.kind == ValueKind::Default || (at >= 5 && value.kind == ValueKind::None);
    switch (at) {
    case 3: // dropout_p
      return isAbsent || (value.kind == ValueKind::Double && value.real == 0.0) ||
             (value.kind == ValueKind::Int && value.integer == 0);
    case 4: // is_causal
      return isAbsent || value.kind == ValueKind::Bool;
    case 5: // attn_mask
      return isAbsent || isTensor(value);
    case 6: // scale
      return isAbsent || value.kind == ValueKind::Double;
    default:
      return isTensor(value);
    }
  };
  return llvm::all_of(llvm::enumerate(call.arguments), [&](const auto &one) {
    return one.value()->name.empty() && fits(one.index(), *one.value());
  });
}

void markProducts(format::ArtifactT &artifact) {
  for (const auto &plan : artifact.plans) {
    for (const auto &step : plan->steps) {
      auto *call = plan->target == format::Target::Cpu ? step->action.AsAten() : nullptr;
      if (call && isProduct(*plan, *call)) {
        call->own_product = true;
      }
      if (call && isAttention(*plan, *call)) {
        call->own_attention = true;
      }
    }
  }
}

} // namespace frit
