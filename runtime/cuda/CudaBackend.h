// Kernels of a plan on a GPU. A launch is filling an array of addresses and one driver call on the
// current stream; nothing waits.
//
// Errors name kernel, graph, the user's line and the launch. After an error that destroys the
// context nothing is retried: every later call says what happened first and that the process has to
// be restarted.

#pragma once

#include "runtime/cuda/CudaModules.h"

#include <chrono>

namespace frit {

class CudaBackend : public KernelBackend {
public:
  /// Where launches go that do not simply go to a stream.
  class LaunchSink {
  public:
    virtual ~LaunchSink() = default;
    virtual DriverCode launch(const DriverKernelNode &launch, DriverStream stream) = 0;
  };

  static Result<std::unique_ptr<CudaBackend>> create(std::shared_ptr<const DecodedPlan> plan,
                                                     std::shared_ptr<Driver> driver,
                                                     JitLinkerSource linker = {});

  /// Before a call allocates anything.
  Status ready() override { return driver->usable(); }
  Status launch(const KernelArguments &arguments, TensorHost &host) override {
    return launchInto(nullptr, arguments, host);
  }
  /// `sink` null: the current stream.
  Status launchInto(LaunchSink *sink, const KernelArguments &arguments, TensorHost &host);
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

  /// Waits after each launch, so that an error is found where it happens (FRIT_CUDA_SYNC=1); for so
  /// long at most.
  bool synchronous = false;
  std::chrono::milliseconds patience = std::chrono::minutes(5);

  /// What to tell the user; after an error that destroys the context nothing runs any more.
  Status failed(DriverCode code, const std::string &what) const;
  /// Whether asking for memory again is worth it. What is cached cannot be given back while a
  /// stream is captured: that would break the capture.
  bool freedMemory(DriverStream stream, TensorHost &host) const;
  bool isCapturing(DriverStream stream) const { return driver->isCapturing(stream); }
  const DriverTable &call() const { return driver->call(); }
  /// How messages call kernel `number` of the plan.
  std::string kernelName(uint32_t number) const;

private:
  CudaBackend(std::shared_ptr<const DecodedPlan> plan, std::shared_ptr<Driver> driver,
              JitLinkerSource linker)
      : plan(plan), driver(driver), modules(std::move(plan), std::move(driver), std::move(linker)) {
  }

  Status launchList(LaunchSink *sink, const KernelArguments &arguments,
                    const CudaModules::Loaded &loaded, DriverStream stream, TensorHost &host) const;
  Status start(LaunchSink *sink, const CudaModules::Launch &launched, DriverFunction function,
               const int64_t (&grid)[3], void **parameters, DriverStream stream,
               TensorHost &host) const;
  Status waitFor(DriverStream stream, const std::string &what) const;
  std::string wordLaunch(const CudaModules::Launch &launch, const int64_t (&grid)[3]) const;

  std::shared_ptr<const DecodedPlan> plan;
  std::shared_ptr<Driver> driver;
  CudaModules modules;
};

} // namespace frit
