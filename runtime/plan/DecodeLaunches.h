// Decodes the kernels of a plan and their uses.

#pragma once

#include "runtime/plan/PlanSections.h"

namespace frit {

class LaunchSection : PlanSection {
public:
  using PlanSection::PlanSection;

  Status decodeKernels();
  /// Decodes the use of a kernel by the step at `at`, after decodeKernels.
  Status decodeLaunch(const PlanPlace &at, const format::Launch &launch);

private:
  Status checkRegisters(const LaunchSite &site);
  Status decodeVariant(const format::VariantSizes &sizes, const format::KernelVariant &kernel,
                       LaunchSite &site);

  /// For each kernel, the index of its first variant counter.
  std::vector<uint32_t> firstCount;
};

} // namespace frit
