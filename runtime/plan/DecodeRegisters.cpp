#include "runtime/plan/PlanSections.h"
#include "runtime/plan/ScalarProgram.h"

#include <algorithm>

namespace frit {

using namespace format;

namespace {

constexpr uint32_t kMaxRegisters = 1u << 24;

class RegisterSection : PlanSection {
public:
  using PlanSection::PlanSection;

  Status decodeScalars();
  Status decodeTensors();
};

Status RegisterSection::decodeScalars() {
  place = {"registers"};
  uint32_t intCount = source.int_count(), floatCount = source.float_count();
  if (intCount > kMaxRegisters || floatCount > kMaxRegisters) {
    return wrong(std::to_string(std::max(intCount, floatCount)) + " registers (limit " +
                 std::to_string(kMaxRegisters) + ")");
  }
  plan.initialInts.resize(intCount);
  plan.initialFloats.resize(floatCount);
  if (source.int_constants()) {
    for (const IntConstant *constant : *source.int_constants()) {
      FRIT_RETURN_IF_ERROR(checkInt(constant->reg()));
      plan.initialInts[constant->reg()] = constant->value();
    }
  }
  if (source.float_constants()) {
    for (const FloatConstant *constant : *source.float_constants()) {
      FRIT_RETURN_IF_ERROR(checkFloat(constant->reg()));
      plan.initialFloats[constant->reg()] = constant->value();
    }
  }
  for (size_t number = 0; number < countOf(source.programs()); ++number) {
    const auto *code = source.programs()->Get(static_cast<uint32_t>(number))->code();
    plan.programs.push_back(
        code ? Code(reinterpret_cast<const Instruction *>(code->data()), code->size()) : Code());
    FRIT_RETURN_IF_ERROR(verifyProgram(plan.programs.back(), intCount, floatCount));
  }
  if (source.size_program() != kNoRegister) {
    if (source.size_program() >= plan.programs.size()) {
      return wrong("size program " + std::to_string(source.size_program()) + " is not there");
    }
    plan.sizeProgram = plan.programs[source.size_program()];
  }
  plan.paddedElements = source.padded_elements();
  plan.logicalElements = source.logical_elements();
  if ((plan.paddedElements == kNoRegister) != (plan.logicalElements == kNoRegister)) {
    return wrong("padded elements are counted without the logical ones, or the other way round");
  }
  FRIT_RETURN_IF_ERROR(checkInt(plan.paddedElements, true));
  FRIT_RETURN_IF_ERROR(checkInt(plan.logicalElements, true));
  plan.arenaBytes = source.arena_bytes();
  return checkInt(plan.arenaBytes, true);
}

Status RegisterSection::decodeTensors() {
  place = {"tensor registers"};
  auto tensorCount = static_cast<uint32_t>(countOf(source.tensors()));
  plan.tensors.reserve(tensorCount);
  for (uint32_t number = 0; number < tensorCount; ++number) {
    const Tensor &tensor = *source.tensors()->Get(number);
    TensorType type = {tensor.dtype(),
                       tensor.device(),
                       tensor.rank(),
                       registersOf(tensor.sizes()),
                       registersOf(tensor.strides()),
                       false};
    if (type.dtype > Dtype::MAX || type.device > Device::MAX) {
      return wrong("tensor register " + std::to_string(number) + " has an unknown dtype or device");
    }
    if (type.rank < -1 || type.rank > 64 ||
        type.sizes.size() != static_cast<size_t>(std::max(type.rank, 0)) ||
        (!type.strides.empty() && type.strides.size() != type.sizes.size())) {
      return wrong("rank, sizes and strides of tensor register " + std::to_string(number) +
                   " do not fit each other");
    }
    type.hasStrides = type.rank == 0 || !type.strides.empty();
    FRIT_RETURN_IF_ERROR(checkInts(type.sizes));
    FRIT_RETURN_IF_ERROR(checkInts(type.strides));
    plan.maxRank = std::max(plan.maxRank, type.sizes.size());
    plan.tensors.push_back(type);
  }
  return Status::ok();
}

} // namespace

Status decodeRegisters(const Plan &source, DecodedPlan &plan) {
  RegisterSection section(source, plan);
  FRIT_RETURN_IF_ERROR(section.decodeScalars());
  return section.decodeTensors();
}

} // namespace frit
