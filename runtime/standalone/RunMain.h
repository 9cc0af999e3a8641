// The command line of frit-run: loads an artifact, runs it on arrays from files, writes or compares
// the results. No torch, no compiler; frit-run-torch is the same over libtorch.

#pragma once

#include "runtime/artifact/Status.h"
#include "runtime/plan/Values.h"

#include <functional>
#include <map>
#include <span>

namespace frit {

/// A loaded model to frit-run.
struct Runner {
  std::function<Result<std::vector<Value>>(std::span<const Value>)> run;
  std::function<Statistics()> statistics;
  std::string report;
};

using Loader = std::function<Result<Runner>(const std::string &path, const LoadOptions &options,
                                            const std::map<std::string, Tensor> &weights)>;

/// Empty, or why there is no device of this name ("cuda", "cuda:1") to run on.
using DeviceCheck = std::function<std::string(const std::string &device)>;

/// Returns the exit status: 0, 1 for a file or a call that failed, 2 for a wrong command line, 3
/// where results differ from what was expected, 4 without a device. Errors are one line on stderr.
int runMain(int argc, char **argv, const Loader &load, const DeviceCheck &checkDevice);
/// With neither torch nor a GPU.
int runMain(int argc, char **argv);

} // namespace frit
