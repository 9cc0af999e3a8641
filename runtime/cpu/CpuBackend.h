// Kernels of a plan on the CPU: entries are looked up once, a launch is a direct call, or a
// parallel-for where there is more than one grain of work. What a kernel leaves in its error record
// becomes the sentence eager would have raised.

#pragma once

#include "runtime/artifact/KernelAbi.h"
#include "runtime/cpu/CodeMapping.h"
#include "runtime/plan/Host.h"

namespace frit {

class CpuBackend : public KernelBackend {
public:
  static Result<std::unique_ptr<CpuBackend>> create(const DecodedPlan &plan);

  Status launch(const KernelArguments &arguments, TensorHost &host) override;

  /// "x86-64-v4" ...; empty when the plan has no kernels.
  std::string_view level() const { return code.level(); }

private:
  explicit CpuBackend(CodeMapping code) : code(std::move(code)) {}

  struct Launch {
    KernelFunction function;
    int64_t grain;
  };
  Status launchList(const KernelArguments &arguments, TensorHost &host) const;

  CodeMapping code;
  /// Launches of all variants of all kernels in a row, and where those of (kernel, variant) begin.
  std::vector<Launch> launches;
  std::vector<std::vector<uint32_t>> firstLaunch;
};

/// The words of eager for an error record.
Status kernelError(const ErrorRecord &record);

} // namespace frit
