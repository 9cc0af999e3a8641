#include "runtime/plan/PlanSections.h"

#include <algorithm>

namespace frit {

using namespace format;

namespace {

class SignatureSection : PlanSection {
public:
  using PlanSection::PlanSection;

  Status decodeInputs();
  Status decodeSymbols();
  Status decodeBuckets();
  Status decodeConstants();
  Status decodeOutputs();
  Status decodeGuards();

private:
  Status checkBucket(const Bucket &bucket) const;
};

Status SignatureSection::decodeInputs() {
  for (size_t number = 0; number < countOf(source.inputs()); ++number) {
    const Input &input = *source.inputs()->Get(static_cast<uint32_t>(number));
    place = {"input", number};
    switch (input.kind()) {
    case InputKind::Tensor:
      FRIT_RETURN_IF_ERROR(checkTensor(input.reg()));
      FRIT_RETURN_IF_ERROR(checkInt(input.offset(), true));
      plan.tensors[input.reg()].needsHandle = true;
      if (plan.tensors[input.reg()].rank < 0) {
        return wrong("its tensor register has no rank");
      }
      break;
    case InputKind::ScalarTensor:
      FRIT_RETURN_IF_ERROR(checkTensor(input.reg()));
      FRIT_RETURN_IF_ERROR(checkScalar(input.scalar(), plan.tensors[input.reg()].dtype));
      plan.tensors[input.reg()].needsHandle = true;
      if (plan.tensors[input.reg()].rank != 0) {
        return wrong("a host scalar has rank " + std::to_string(plan.tensors[input.reg()].rank) +
                     ", not 0");
      }
      break;
    case InputKind::Int:
    case InputKind::Bool:
      FRIT_RETURN_IF_ERROR(checkInt(input.reg()));
      FRIT_RETURN_IF_ERROR(checkInt(input.expected(), true));
      break;
    case InputKind::Float:
      FRIT_RETURN_IF_ERROR(checkFloat(input.reg()));
      break;
    case InputKind::None:
      break;
    default:
      return wrong("unknown kind");
    }
  }
  return Status::ok();
}

Status SignatureSection::decodeSymbols() {
  for (size_t number = 0; number < countOf(source.symbols()); ++number) {
    const Symbol &symbol = *source.symbols()->Get(static_cast<uint32_t>(number));
    place = {"symbol", number};
    FRIT_RETURN_IF_ERROR(checkInt(symbol.reg()));
    if (symbol.input() >= countOf(source.inputs())) {
      return wrong("it is bound by an input that is not there");
    }
    const Input &input = *source.inputs()->Get(symbol.input());
    bool fits = symbol.dim() < 0 ? input.kind() == InputKind::Int && !symbol.stride()
                                 : input.kind() == InputKind::Tensor &&
                                       symbol.dim() < plan.tensors[input.reg()].rank;
    if (!fits) {
      return wrong("the input that binds it has no such size");
    }
    if (symbol.divisor() < 1) {
      return wrong("divisor " + std::to_string(symbol.divisor()) + " is less than 1");
    }
    if (symbol.scale() < 1) {
      return wrong("scale " + std::to_string(symbol.scale()) + " is less than 1");
    }
  }
  return Status::ok();
}

Status SignatureSection::decodeBuckets() {
  for (size_t number = 0; number < countOf(source.buckets()); ++number) {
    place = {"bucket", number};
    FRIT_RETURN_IF_ERROR(checkBucket(*source.buckets()->Get(static_cast<uint32_t>(number))));
  }
  return Status::ok();
}

Status SignatureSection::checkBucket(const Bucket &bucket) const {
  FRIT_RETURN_IF_ERROR(checkInt(bucket.dst()));
  bool isSymbol = false;
  for (size_t number = 0; number < countOf(source.symbols()); ++number) {
    isSymbol |= source.symbols()->Get(static_cast<uint32_t>(number))->reg() == bucket.symbol();
  }
  if (!isSymbol || bucket.dst() == bucket.symbol()) {
    return wrong("int register " + std::to_string(bucket.symbol()) +
                 " is no symbol that it can round up");
  }
  if (countOf(bucket.sizes()) == 0 ||
      !std::is_sorted(bucket.sizes()->begin(), bucket.sizes()->end())) {
    return wrong("its sizes do not ascend");
  }
  return Status::ok();
}

Status SignatureSection::decodeConstants() {
  for (size_t number = 0; number < countOf(source.constants()); ++number) {
    const Constant &constant = *source.constants()->Get(static_cast<uint32_t>(number));
    place = {"constant", number};
    FRIT_RETURN_IF_ERROR(checkTensor(constant.tensor()));
    plan.tensors[constant.tensor()].needsHandle = true;
  }
  return Status::ok();
}

Status SignatureSection::decodeOutputs() {
  for (size_t number = 0; number < countOf(source.outputs()); ++number) {
    const Output &output = *source.outputs()->Get(static_cast<uint32_t>(number));
    place = {"output", number};
    switch (output.kind()) {
    case OutputKind::Tensor:
      FRIT_RETURN_IF_ERROR(checkTensor(output.reg()));
      plan.tensors[output.reg()].needsHandle = true;
      if (output.view_of() != kNoRegister && output.view_of() >= countOf(source.inputs())) {
        return wrong("it is a view of an input that is not there");
      }
      if (output.shares_with() != kNoRegister && output.shares_with() >= number) {
        return wrong("it shares memory with an output that is not before it");
      }
      if (countOf(output.base_sizes()) != countOf(output.base_strides())) {
        return wrong("its base has " + std::to_string(countOf(output.base_sizes())) +
                     " sizes and " + std::to_string(countOf(output.base_strides())) + " strides");
      }
      for (const auto *numbers : {output.base_sizes(), output.base_strides()}) {
        for (uint32_t at = 0; at < countOf(numbers); ++at) {
          FRIT_RETURN_IF_ERROR(checkInt(numbers->Get(at)));
        }
      }
      break;
    case OutputKind::Int:
    case OutputKind::Bool:
      FRIT_RETURN_IF_ERROR(checkInt(output.reg()));
      break;
    case OutputKind::Float:
      FRIT_RETURN_IF_ERROR(checkFloat(output.reg()));
      break;
    case OutputKind::None:
      break;
    case OutputKind::Input:
      if (output.reg() >= countOf(source.inputs())) {
        return wrong("it is an input that is not there");
      }
      break;
    case OutputKind::IntTensor:
      FRIT_RETURN_IF_ERROR(checkInt(output.reg()));
      break;
    case OutputKind::FloatTensor:
      FRIT_RETURN_IF_ERROR(checkFloat(output.reg()));
      break;
    default:
      return wrong("unknown kind");
    }
  }
  return Status::ok();
}

Status SignatureSection::decodeGuards() {
  for (uint32_t number = 0; number < countOf(source.guards()); ++number) {
    const Guard &guard = *source.guards()->Get(number);
    place = {"guard", number};
    for (uint32_t at = 0; at < countOf(guard.symbols()); ++at) {
      if (guard.symbols()->Get(at) >= countOf(source.symbols())) {
        return wrong("symbol " + std::to_string(guard.symbols()->Get(at)) + " is not there");
      }
    }
    if (guard.kind() == GuardKind::Aligned) {
      if (guard.input() >= countOf(source.inputs()) ||
          source.inputs()->Get(guard.input())->kind() != InputKind::Tensor) {
        return wrong("input " + std::to_string(guard.input()) + " is no tensor");
      }
      plan.addressGuards.push_back(&guard);
      continue;
    }
    FRIT_RETURN_IF_ERROR(checkInt(guard.holds()));
    if (plan.sizeGuards.empty()) {
      plan.firstGuard = guard.holds();
    } else if (guard.holds() != plan.firstGuard + plan.sizeGuards.size()) {
      return wrong("its register does not follow that of the guard before");
    }
    plan.sizeGuards.push_back(&guard);
  }
  return Status::ok();
}

} // namespace

Status decodeSignature(const Plan &source, DecodedPlan &plan) {
  SignatureSection section(source, plan);
  FRIT_RETURN_IF_ERROR(section.decodeInputs());
  FRIT_RETURN_IF_ERROR(section.decodeSymbols());
  FRIT_RETURN_IF_ERROR(section.decodeBuckets());
  FRIT_RETURN_IF_ERROR(section.decodeConstants());
  FRIT_RETURN_IF_ERROR(section.decodeOutputs());
  return section.decodeGuards();
}

} // namespace frit
