#include "runtime/plan/DecodedPlan.h"

#include "runtime/plan/PlanChecks.h"
#include "runtime/plan/PlanLiveness.h"
#include "runtime/plan/PlanSections.h"

namespace frit {

using namespace format;

Result<std::shared_ptr<const DecodedPlan>>
DecodedPlan::decode(std::shared_ptr<const ::frit::Artifact> artifact, const Plan &plan) {
  auto decoded = std::make_shared<DecodedPlan>();
  decoded->artifact = std::move(artifact);
  decoded->source = &plan;
  FRIT_RETURN_IF_ERROR(checkPlan(*decoded->artifact, plan));
  FRIT_RETURN_IF_ERROR(decodeRegisters(plan, *decoded));
  FRIT_RETURN_IF_ERROR(decodeSignature(plan, *decoded));
  FRIT_RETURN_IF_ERROR(decodeSteps(plan, *decoded));
  FRIT_RETURN_IF_ERROR(checkLiveness(*decoded));
  if (plan.target() == Target::Gpu) {
    FRIT_RETURN_IF_ERROR(checkGpuCode(*decoded));
  }
  return std::shared_ptr<const DecodedPlan>(std::move(decoded));
}

bool isFloating(Dtype dtype) {
  return (dtype >= Dtype::F16 && dtype <= Dtype::F64) || dtype >= Dtype::F8E4M3FN;
}

} // namespace frit
