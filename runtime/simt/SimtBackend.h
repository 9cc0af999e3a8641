// Runs the kernels of a plan for the SIMT target: the launches of a GPU, run by the emulation with
// all its checks. Slow and exact; it tests GPU kernels on any machine.

#pragma once

#include "runtime/cpu/CodeMapping.h"
#include "runtime/plan/Host.h"
#include "runtime/simt/SimtGrid.h"

#include <atomic>
#include <bitset>
#include <mutex>
#include <unordered_map>

namespace frit {

class SimtBackend : public KernelBackend {
public:
  static Result<std::unique_ptr<SimtBackend>>
  create(const std::shared_ptr<const DecodedPlan> &plan);
  Status launch(const KernelArguments &arguments, TensorHost &host) override;
  /// Called when a call begins.
  Status ready() override;
  /// Bytes of global memory that all launches moved, and had to move. `bytes_mandatory` sums this
  /// over kernels, even if another kernel wrote or read the same bytes. `bytes_read_first` counts
  /// bytes that a call reads before it has read or written them: those of its arguments, each once.
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

private:
  SimtBackend(std::shared_ptr<const DecodedPlan> plan, CodeMapping code)
      : plan(std::move(plan)), code(std::move(code)) {}
  /// The bytes from the first element of a tensor to the end of its last, and the bytes of its
  /// elements.
  struct Extent {
    uint64_t span, reach;
  };
  Extent extentOf(uint32_t tensor, const KernelArguments &arguments, TensorHost &host) const;
  void addTraffic(const SimtTraffic &traffic);

  std::shared_ptr<const DecodedPlan> plan;
  CodeMapping code;
  /// [kernel][variant]: launches without their grids.
  std::vector<std::vector<std::vector<SimtLaunch>>> kernels;
  std::atomic<uint64_t> moved = 0, mandatory = 0, readFirst = 0;
  static constexpr uint64_t kPage = 4096;
  std::mutex mutex;
  /// The bytes that this call has accessed, by page number.
  std::unordered_map<uint64_t, std::bitset<kPage>> known;
};

} // namespace frit
