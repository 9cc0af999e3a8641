// Runs the kernels of a plan on a GPU. A launch fills an array of addresses and makes one driver
// call on the current stream, without waiting.
//
// Errors name the kernel, the graph, the user's source line and the launch. After an error that
// destroys the context nothing is retried: every later call repeats the first error and says that
// the process has to be restarted.

#pragma once

#include "runtime/cuda/CudaModules.h"

#include <chrono>

namespace frit {

class CudaBackend : public KernelBackend {
public:
  /// Receives launches that do not simply go to a stream.
  class LaunchSink {
  public:
    virtual ~LaunchSink() = default;
    virtual DriverCode launch(const DriverKernelNode &launch, DriverStream stream) = 0;
  };

  static Result<std::unique_ptr<CudaBackend>> create(std::shared_ptr<const DecodedPlan> plan,
                                                     std::shared_ptr<Driver> driver,
                                                     JitLinkerSource linker = {});

  /// Keeps cubins that are linked here for other processes (CubinStore). Before the first launch.
  void keepCubins(CubinStore store) { modules.keepCubins(std::move(store)); }

  /// Checked before a call allocates anything.
  Status ready() override { return driver->usable(); }
  Status launch(const KernelArguments &arguments, TensorHost &host) override {
    return launchInto(nullptr, arguments, host);
  }
  /// With `sink` null the launch goes to the current stream.
  Status launchInto(LaunchSink *sink, const KernelArguments &arguments, TensorHost &host);
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

  /// Waits after each launch, for at most `patience`, so that an error is attributed to its kernel
  /// (FRIT_CUDA_SYNC=1).
  bool synchronous = false;
  std::chrono::milliseconds patience = std::chrono::minutes(5);

  /// The error for the user. After an error that destroys the context nothing runs any more.
  Status failed(DriverCode code, const std::string &what) const;
  /// Frees cached memory; whether an allocation is worth repeating. During a stream capture cached
  /// memory cannot be freed, because that would break the capture.
  bool freedMemory(DriverStream stream, TensorHost &host) const;
  bool isCapturing(DriverStream stream) const { return driver->isCapturing(stream); }
  const DriverTable &call() const { return driver->call(); }
  /// The name of kernel `number` of the plan, for messages.
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
  std::string describeLaunch(const CudaModules::Launch &launch, const int64_t (&grid)[3]) const;

  std::shared_ptr<const DecodedPlan> plan;
  std::shared_ptr<Driver> driver;
  CudaModules modules;
};

} // namespace frit
