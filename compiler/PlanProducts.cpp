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

void markProducts(format::ArtifactT &artifact) {
  for (const auto &plan : artifact.plans) {
    for (const auto &step : plan->steps) {
      auto *call = plan->target == format::Target::Cpu ? step->action.AsAten() : nullptr;
      if (call && isProduct(*plan, *call)) {
        call->own_product = true;
      }
    }
  }
}

} // namespace frit
