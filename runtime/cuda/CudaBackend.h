// Kernels of a plan on a GPU. Modules are loaded once a context, when the first kernel is launched there: a cubin of the device's
// architecture if the artifact has one, else PTX of an older or equal one, which the driver compiles. A launch then is filling an
// array of addresses and one driver call on the current stream; nothing waits.
//
// Errors name kernel, graph and launch. After an error that destroys the context nothing is retried: every later launch says
// what happened first and that the process has to be restarted.

#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/plan/Host.h"

#include <mutex>

namespace frit {

class CudaBackend : public KernelBackend {
public:
  static Result<std::unique_ptr<CudaBackend>> create(std::shared_ptr<const DecodedPlan> plan, std::shared_ptr<Driver> driver);
  ~CudaBackend() override;

  Status launch(const KernelArguments &arguments, TensorHost &host) override;

  /// Waits after each launch, so that an error is found where it happens (FRIT_CUDA_SYNC=1).
  bool synchronous = false;

private:
  struct Launch {
    const format::Kernel *kernel;
    const format::KernelLaunch *source;
  };
  /// The modules of one context; `functions` in the order of `launches`.
  struct Loaded {
    DriverContext context;
    std::vector<DriverModule> modules;
    std::vector<DriverFunction> functions;
  };

  CudaBackend(std::shared_ptr<const DecodedPlan> plan, std::shared_ptr<Driver> driver)
      : plan(std::move(plan)), driver(std::move(driver)) {}

  Result<const Loaded *> loadedFor(DriverContext context, DriverStream stream);
  Status loadModules(Loaded &loaded) const;
  Result<DriverModule> loadModule(const format::GpuModule &module) const;
  Status failed(DriverCode code, const std::string &what) const;

  std::shared_ptr<const DecodedPlan> plan;
  std::shared_ptr<Driver> driver;
  std::vector<Launch> launches;
  std::vector<std::vector<uint32_t>> firstLaunch;
  std::mutex loadLock;
  std::vector<std::unique_ptr<Loaded>> contexts;
  std::atomic<const Loaded *> lastContext{nullptr};
};

} // namespace frit
