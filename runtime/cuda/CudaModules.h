// The GPU code of a plan in the contexts it runs in. Modules are loaded once a context: what
// kernels' first variants need when the first kernel is launched there, and the rest when a variant
// is launched that it holds. For each kernel the first of these that the device takes: a cubin of
// its architecture; PTX of an older or equal one made cubins by nvJitLink, several of several
// kernels, each a module; the same PTX, which the driver compiles; older PTX. Which it was is told
// to the host and counted; code that was refused is not offered again in the same context.

#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/JitLinker.h"
#include "runtime/plan/Host.h"

#include <functional>
#include <map>

namespace frit {

/// What was done to load code, over all contexts.
struct ModuleCounters {
  /// Pieces of code loaded from a cubin of the file, from the cubins nvJitLink made of PTX, from
  /// PTX by the driver.
  std::atomic<uint64_t> cubins{0}, linked{0}, compiled{0};
  /// Pieces of code that nvJitLink or the driver would not take.
  std::atomic<uint64_t> refused{0};
  /// Contexts that needed more than first variants.
  std::atomic<uint64_t> completed{0};
};

/// Where nvJitLink is to be had; null: nowhere.
using JitLinkerSource = std::function<const JitLinker *()>;

class CudaModules {
public:
  /// One launch of one variant of a kernel.
  struct Launch {
    const format::Kernel *kernel;
    const format::KernelLaunch *source;
  };
  /// The modules of one context; `functions` in the order of the launches, null for what is not
  /// loaded. Nothing of it changes once it was handed out: what loads the rest makes another.
  struct Loaded {
    DriverContext context = nullptr;
    std::vector<DriverModule> modules;
    std::vector<DriverFunction> functions;
    /// Modules that the device would not take.
    std::vector<uint32_t> refused;
    /// Why there are none, or (of the rest) no others.
    Status failure;
    bool isComplete = false;
  };

  CudaModules(std::shared_ptr<const DecodedPlan> plan, std::shared_ptr<Driver> driver,
              JitLinkerSource linker);
  ~CudaModules();
  CudaModules(const CudaModules &) = delete;
  CudaModules &operator=(const CudaModules &) = delete;

  const std::vector<Launch> &launches() const { return all; }
  /// Number of the first launch of a variant.
  uint32_t firstLaunch(uint32_t kernel, uint32_t variant) const { return first[kernel][variant]; }
  /// The functions in `context`, which is current; loads them where that has not happened yet and
  /// `stream` is not being captured.
  Result<const Loaded *> in(DriverContext context, DriverStream stream, TensorHost &host) {
    if (const Loaded *known = last.load(std::memory_order_acquire);
        known && known->context == context) {
      return known;
    }
    return find(context, stream, host);
  }
  /// `loaded` if it has `count` functions from the launch `first` on, or its successor with the
  /// rest of the modules.
  Result<const Loaded *> with(const Loaded *loaded, uint32_t first, size_t count,
                              DriverStream stream, TensorHost &host) {
    for (size_t at = first; at < first + count; ++at) {
      if (!loaded->functions[at]) {
        return complete(loaded->context, stream, host);
      }
    }
    return loaded;
  }
  const ModuleCounters &counters() const { return counts; }

private:
  /// What becomes one module, and the entries it has of its piece of code; null: all of them.
  struct Image {
    const char *bytes;
    const std::vector<std::string> *entries = nullptr;
  };
  struct Part {
    DriverModule module;
    const std::vector<std::string> *entries;
  };

  Result<const Loaded *> find(DriverContext context, DriverStream stream, TensorHost &host);
  Result<const Loaded *> complete(DriverContext context, DriverStream stream, TensorHost &host);
  Status load(Loaded &loaded, TensorHost &host);
  bool isWanted(const Loaded &loaded, size_t launch) const {
    return !loaded.functions[launch] && (loaded.isComplete || isUsual[launch]);
  }
  Result<std::vector<Part>> loadCode(uint32_t number, uint32_t capability, TensorHost &host);
  Result<std::vector<Part>> loadImages(const std::vector<Image> &images, const std::string &what);
  Result<std::vector<Part>> loadLinked(uint32_t number, const std::string &text,
                                       uint32_t capability);
  Status takeFunctions(Loaded &loaded, const format::GpuModule &code, const Part &part);
  Status failed(DriverCode code, const std::string &what) const;
  std::string graph() const { return "graph '" + std::string(plan->artifact->graphName()) + "'"; }
  void unload(Loaded &loaded);

  std::shared_ptr<const DecodedPlan> plan;
  std::shared_ptr<Driver> driver;
  JitLinkerSource linkerSource;
  std::vector<Launch> all;
  /// Of each launch, whether its variant is its kernel's first.
  std::vector<bool> isUsual;
  std::vector<std::vector<uint32_t>> first;
  ForkSafeLock lock;
  std::vector<std::unique_ptr<Loaded>> contexts;
  /// What successors replaced; a launch on another thread may still read it.
  std::vector<std::unique_ptr<Loaded>> replaced;
  /// By piece of code and architecture, for further contexts.
  std::map<std::pair<uint32_t, uint32_t>, Result<std::vector<LinkedCubin>>> linkedCubins;
  std::atomic<const Loaded *> last{nullptr};
  ModuleCounters counts;
};

} // namespace frit
