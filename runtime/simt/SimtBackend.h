// Kernels of a plan for the SIMT target: the launches a GPU would get, run by the emulation with
// all its checks. Slow and exact; it exists to find out on any machine whether a GPU kernel is
// right.

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
  static Result<std::unique_ptr<SimtBackend>> create(std::shared_ptr<const DecodedPlan> plan);
  Status launch(const KernelArguments &arguments, TensorHost &host) override;
  /// A call begins.
  Status ready() override;
  /// What all launches moved and had to, in bytes of global memory: `bytes_mandatory` is the sum of
  /// what each kernel had to by itself, though another one wrote it or had read it;
  /// `bytes_read_first` counts those that a call reads before it has written or read them, so the
  /// bytes of its arguments, each once.
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

private:
  SimtBackend(std::shared_ptr<const DecodedPlan> plan, CodeMapping code)
      : plan(std::move(plan)), code(std::move(code)) {}
  /// Bytes from the first element of a tensor to the end of its last, and those of its elements.
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
  /// The bytes that this call has touched, by the number of their page.
  std::unordered_map<uint64_t, std::bitset<kPage>> known;
};

} // namespace frit
