#include "runtime/plan/DecodeLaunches.h"
#include "runtime/plan/PlanSections.h"

namespace frit {

using namespace format;

namespace {

class StepSection : PlanSection {
public:
  StepSection(const Plan &source, DecodedPlan &plan)
      : PlanSection(source, plan), launches(source, plan) {}

  Status decode();

private:
  // Each sets `decoded` and checks the operands of one kind of step.
  Status decodeStep(const Step &step);
  Status decodeEval(const Eval &eval);
  Status decodeAlloc(const Alloc &alloc);
  Status decodeReuse(const Reuse &reuse);
  Status decodeFree(const Free &free);
  Status decodeView(const View &view);
  Status decodeLaunch(const Launch &launch);
  Status decodeCall(const Aten &call);
  Status decodeCopyInto(const CopyInto &copy);
  Status decodeTouch(const Touch &touch);
  Status decodeDim(const Dim &dim);
  Status decodeScalar(StepKind kind, uint32_t tensor, uint32_t scalar);
  Status decodeCheck(const Check &check);
  Status checkValue(const Value &value, bool isResult);

  LaunchSection launches;
  DecodedStep decoded = {};
};

Status StepSection::decode() {
  FRIT_RETURN_IF_ERROR(launches.decodeKernels());
  plan.steps.reserve(countOf(source.steps()));
  for (uint32_t number = 0; number < countOf(source.steps()); ++number) {
    const Step &step = *source.steps()->Get(number);
    place = {"step", number, EnumNameAction(step.action_type())};
    FRIT_RETURN_IF_ERROR(decodeStep(step));
    plan.steps.push_back(decoded);
  }
  return Status::ok();
}

Status StepSection::decodeStep(const Step &step) {
  switch (step.action_type()) {
  case Action::Eval:
    return decodeEval(*step.action_as_Eval());
  case Action::Alloc:
    return decodeAlloc(*step.action_as_Alloc());
  case Action::Reuse:
    return decodeReuse(*step.action_as_Reuse());
  case Action::Free:
    return decodeFree(*step.action_as_Free());
  case Action::View:
    return decodeView(*step.action_as_View());
  case Action::Launch:
    return decodeLaunch(*step.action_as_Launch());
  case Action::Aten:
    return decodeCall(*step.action_as_Aten());
  case Action::CopyInto:
    return decodeCopyInto(*step.action_as_CopyInto());
  case Action::Touch:
    return decodeTouch(*step.action_as_Touch());
  case Action::Dim:
    return decodeDim(*step.action_as_Dim());
  case Action::Item:
    return decodeScalar(StepKind::Item, step.action_as_Item()->tensor(),
                        step.action_as_Item()->dst());
  case Action::Wrap:
    return decodeScalar(StepKind::Wrap, step.action_as_Wrap()->tensor(),
                        step.action_as_Wrap()->reg());
  case Action::Check:
    return decodeCheck(*step.action_as_Check());
  default:
    return wrong("this version does not know such a step");
  }
}

Status StepSection::decodeEval(const Eval &eval) {
  decoded = {StepKind::Eval, 0, eval.program()};
  return decoded.a < plan.programs.size()
             ? Status::ok()
             : wrong("program " + std::to_string(decoded.a) + " is not there");
}

Status StepSection::decodeAlloc(const Alloc &alloc) {
  FRIT_RETURN_IF_ERROR(checkShaped(alloc.tensor()));
  FRIT_RETURN_IF_ERROR(checkInt(alloc.bytes()));
  FRIT_RETURN_IF_ERROR(checkInt(alloc.arena_offset(), true));
  FRIT_RETURN_IF_ERROR(checkInt(alloc.offset(), true));
  if (alloc.offset() != kNoRegister && alloc.storage() == StorageClass::Temporary) {
    return wrong("a temporary begins inside of its storage, which only a result can");
  }
  FRIT_RETURN_IF_ERROR(checkInt(alloc.capacity(), true));
  if (alloc.capacity() != kNoRegister && alloc.storage() != StorageClass::Temporary) {
    return wrong("a result has a capacity, which only a temporary can have");
  }
  TensorType &tensor = plan.tensors[alloc.tensor()];
  tensor.offset = alloc.offset();
  tensor.capacity = alloc.capacity();
  if (alloc.storage() != StorageClass::Temporary) {
    tensor.needsHandle = true;
    if (alloc.arena_offset() != kNoRegister) {
      return wrong("a result lies in the arena, where only temporaries can");
    }
  }
  if (alloc.arena_offset() != kNoRegister && plan.arenaBytes == kNoRegister) {
    return wrong("the plan has no arena");
  }
  decoded = {StepKind::Alloc, static_cast<uint8_t>(alloc.storage()), alloc.tensor(), alloc.bytes(),
             alloc.arena_offset()};
  return Status::ok();
}

Status StepSection::decodeReuse(const Reuse &reuse) {
  decoded = {StepKind::Reuse, 0, reuse.tensor(), reuse.from()};
  FRIT_RETURN_IF_ERROR(checkShaped(reuse.tensor()));
  return checkTensor(reuse.from());
}

Status StepSection::decodeFree(const Free &free) {
  decoded = {StepKind::Free, 0, free.tensor()};
  return checkTensor(free.tensor());
}

Status StepSection::decodeView(const View &view) {
  decoded = {StepKind::View, view.checks(), view.tensor(), view.source(), view.offset()};
  FRIT_RETURN_IF_ERROR(checkShaped(view.tensor()));
  FRIT_RETURN_IF_ERROR(checkTensor(view.source()));
  FRIT_RETURN_IF_ERROR(checkInt(view.offset(), true));
  return view.checks() ? needHandle(view.source()) : Status::ok();
}

Status StepSection::decodeLaunch(const Launch &launch) {
  decoded = {StepKind::Launch, 0, static_cast<uint32_t>(plan.sites.size())};
  return launches.decodeLaunch(place, launch);
}

Status StepSection::decodeCall(const Aten &call) {
  decoded = {StepKind::Aten, 0, static_cast<uint32_t>(plan.atenCalls.size())};
  if (!call.name()) {
    return wrong("the call has no name");
  }
  for (size_t at = 0; at < countOf(call.arguments()); ++at) {
    FRIT_RETURN_IF_ERROR(checkValue(*call.arguments()->Get(static_cast<uint32_t>(at)), false));
  }
  for (size_t at = 0; at < countOf(call.results()); ++at) {
    FRIT_RETURN_IF_ERROR(checkValue(*call.results()->Get(static_cast<uint32_t>(at)), true));
  }
  plan.atenCalls.push_back(&call);
  return Status::ok();
}

/// Checks the registers of an argument or result tree; `isResult` allows only the kinds of
/// results.
Status StepSection::checkValue(const Value &value, bool isResult) {
  switch (value.kind()) {
  case ValueKind::Tensor:
    return needHandle(value.reg());
  case ValueKind::IntReg:
  case ValueKind::BoolReg:
    return checkInt(value.reg());
  case ValueKind::FloatReg:
    return checkFloat(value.reg());
  case ValueKind::None:
    return Status::ok();
  case ValueKind::List:
    for (size_t at = 0; at < countOf(value.items()); ++at) {
      FRIT_RETURN_IF_ERROR(checkValue(*value.items()->Get(static_cast<uint32_t>(at)), isResult));
    }
    return Status::ok();
  default:
    return value.kind() > ValueKind::MAX || isResult ? wrong("unknown kind of value")
                                                     : Status::ok();
  }
}

Status StepSection::decodeCopyInto(const CopyInto &copy) {
  decoded = {StepKind::CopyInto, 0, copy.tensor(), copy.source()};
  FRIT_RETURN_IF_ERROR(needHandle(copy.tensor()));
  return needHandle(copy.source());
}

Status StepSection::decodeTouch(const Touch &touch) {
  decoded = {StepKind::Touch, 0, touch.tensor()};
  return needHandle(touch.tensor());
}

Status StepSection::decodeDim(const Dim &dim) {
  decoded = {StepKind::Dim, 0, dim.tensor(), dim.dim(), dim.dst()};
  FRIT_RETURN_IF_ERROR(needHandle(dim.tensor()));
  return checkInt(dim.dst());
}

/// Item or Wrap: between a 0-d tensor and the scalar register of its dtype.
Status StepSection::decodeScalar(StepKind kind, uint32_t tensor, uint32_t scalar) {
  FRIT_RETURN_IF_ERROR(needHandle(tensor));
  Dtype dtype = plan.tensors[tensor].dtype;
  decoded = {kind, isFloating(dtype), tensor, scalar};
  return checkScalar(scalar, dtype);
}

Status StepSection::decodeCheck(const Check &check) {
  decoded = {StepKind::Check, 0, check.reg(), static_cast<uint32_t>(plan.checkMessages.size())};
  plan.checkMessages.push_back(check.message() ? check.message()->str() : "check failed");
  return checkInt(check.reg());
}

} // namespace

Status decodeSteps(const Plan &source, DecodedPlan &plan) {
  return StepSection(source, plan).decode();
}

} // namespace frit
