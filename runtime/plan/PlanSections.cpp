#include "runtime/plan/PlanSections.h"

namespace frit {

Status PlanSection::checkInt(uint32_t number, bool optional) const {
  return number < source.int_count() || (optional && number == kNoRegister)
             ? Status::ok()
             : wrong("int register " + std::to_string(number) + " is not one of the plan's " +
                     std::to_string(source.int_count()));
}

Status PlanSection::checkFloat(uint32_t number) const {
  return number < source.float_count()
             ? Status::ok()
             : wrong("float register " + std::to_string(number) + " is not one of the plan's " +
                     std::to_string(source.float_count()));
}

Status PlanSection::checkTensor(uint32_t number) const {
  return number < countOf(source.tensors())
             ? Status::ok()
             : wrong("tensor register " + std::to_string(number) + " is not one of the plan's " +
                     std::to_string(countOf(source.tensors())));
}

Status PlanSection::checkScalar(uint32_t number, format::Dtype dtype) const {
  return isFloating(dtype) ? checkFloat(number) : checkInt(number);
}

Status PlanSection::checkInts(Registers numbers, bool optional) const {
  for (uint32_t number : numbers) {
    FRIT_RETURN_IF_ERROR(checkInt(number, optional));
  }
  return Status::ok();
}

Status PlanSection::checkShaped(uint32_t tensor) const {
  FRIT_RETURN_IF_ERROR(checkTensor(tensor));
  return plan.tensors[tensor].rank >= 0 && plan.tensors[tensor].hasStrides
             ? Status::ok()
             : wrong("tensor register " + std::to_string(tensor) + " has no sizes or strides");
}

Status PlanSection::needHandle(uint32_t tensor) {
  FRIT_RETURN_IF_ERROR(checkTensor(tensor));
  plan.tensors[tensor].needsHandle = true;
  return Status::ok();
}

} // namespace frit
