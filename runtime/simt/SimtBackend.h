// Kernels of a plan for the SIMT target: the launches a GPU would get, run by the emulation with all its checks. Slow and exact; it
// exists to find out on any machine whether a GPU kernel is right.

#pragma once

#include "runtime/cpu/CodeMapping.h"
#include "runtime/plan/Host.h"
#include "runtime/simt/SimtGrid.h"

#include <atomic>

namespace frit {

class SimtBackend : public KernelBackend {
public:
  static Result<std::unique_ptr<SimtBackend>> create(std::shared_ptr<const DecodedPlan> plan);
  Status launch(const KernelArguments &arguments, TensorHost &host) override;
  /// What all launches moved and had to, in bytes of global memory.
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

private:
  SimtBackend(std::shared_ptr<const DecodedPlan> plan, CodeMapping code) : plan(std::move(plan)), code(std::move(code)) {}
  uint64_t extentOf(uint32_t tensor, const KernelArguments &arguments, TensorHost &host) const;

  std::shared_ptr<const DecodedPlan> plan;
  CodeMapping code;
  /// [kernel][variant]: launches without their grids.
  std::vector<std::vector<std::vector<SimtLaunch>>> kernels;
  std::atomic<uint64_t> moved = 0, mandatory = 0;
};

} // namespace frit
