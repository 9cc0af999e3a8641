// Runs the kernels of a plan on the CPU. Entries are looked up once; a launch is a direct call, or
// a parallel-for if there is more than one grain of work. An error record becomes the message that
// eager would have raised.

#pragma once

#include "runtime/artifact/KernelAbi.h"
#include "runtime/cpu/CodeMapping.h"
#include "runtime/plan/Host.h"

namespace frit {

class CpuBackend : public KernelBackend {
public:
  /// Maps the plan's code; fails if this machine cannot run it or an entry is missing.
  static Result<std::unique_ptr<CpuBackend>> create(const DecodedPlan &plan);

  Status launch(const KernelArguments &arguments, TensorHost &host) override;

  /// "x86-64-v4" ...; empty if the plan has no kernels.
  std::string_view level() const { return code.level(); }

private:
  explicit CpuBackend(CodeMapping code) : code(std::move(code)) {}

  struct Launch {
    KernelFunction function;
    int64_t grain;
  };
  Status launchList(const KernelArguments &arguments, TensorHost &host) const;

  CodeMapping code;
  /// The launches of all variants of all kernels, and the index of the first one of (kernel,
  /// variant).
  std::vector<Launch> launches;
  std::vector<std::vector<uint32_t>> firstLaunch;
};

/// Eager's message for an error record.
Status kernelError(const ErrorRecord &record);

} // namespace frit
