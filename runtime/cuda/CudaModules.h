// The GPU code of a plan in the contexts in which it runs. Modules are loaded once per context: the
// hot ones when the first kernel is launched, the cold ones when one of their variants is. For each
// kernel the first of these that the device accepts is used: a cubin of its architecture; PTX of an
// equal or older one, linked to cubins by nvJitLink, each cubin a module; the same PTX, compiled by
// the driver; older PTX. The method is reported to the host and counted; refused code is not
// offered again in the same context.

#pragma once

#include "runtime/cuda/CubinStore.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/JitLinker.h"
#include "runtime/plan/Host.h"

#include <functional>
#include <map>
#include <optional>

namespace frit {

/// How code was loaded, over all contexts.
struct ModuleCounters {
  /// Pieces of code loaded from a cubin of the file, from nvJitLink's cubins, and from PTX by the
  /// driver.
  std::atomic<uint64_t> cubins{0}, linked{0}, compiled{0};
  /// Pieces of code that nvJitLink or the driver refused.
  std::atomic<uint64_t> refused{0};
  /// Contexts that needed the cold modules.
  std::atomic<uint64_t> completed{0};
  /// Pieces of code, among the linked ones, whose cubins an earlier process had made.
  std::atomic<uint64_t> kept{0};
};

/// Returns nvJitLink, or null if there is none.
using JitLinkerSource = std::function<const JitLinker *()>;

class CudaModules {
public:
  /// One launch of one variant of a kernel.
  struct Launch {
    const format::Kernel *kernel;
    const format::KernelLaunch *source;
  };
  /// The modules of one context. `functions` is in the order of the launches, null for functions
  /// that are not loaded. Immutable once published: loading the cold modules makes a new object.
  struct Loaded {
    DriverContext context = nullptr;
    std::vector<DriverModule> modules;
    std::vector<DriverFunction> functions;
    /// Modules that the device refused.
    std::vector<uint32_t> refused;
    /// Why there are no functions or, for the cold modules, no further ones.
    Status failure;
    bool isComplete = false;
  };

  CudaModules(std::shared_ptr<const DecodedPlan> plan, std::shared_ptr<Driver> driver,
              JitLinkerSource linker);
  ~CudaModules();
  CudaModules(const CudaModules &) = delete;
  CudaModules &operator=(const CudaModules &) = delete;

  /// Keeps nvJitLink's cubins for other processes, and takes theirs. Must precede the first launch.
  void keepCubins(CubinStore inStore) { store = std::move(inStore); }

  const std::vector<Launch> &launches() const { return all; }
  /// The number of the first launch of a variant.
  uint32_t firstLaunch(uint32_t kernel, uint32_t variant) const { return first[kernel][variant]; }
  /// The functions in `context`, which must be current. Loads them if that has not happened yet;
  /// fails if `stream` is being captured then.
  Result<const Loaded *> in(DriverContext context, DriverStream stream, TensorHost &host) {
    if (const Loaded *known = last.load(std::memory_order_acquire);
        known && known->context == context) {
      return known;
    }
    return find(context, stream, host);
  }
  /// Returns `loaded` if it has the `count` functions from launch `first` on, and otherwise its
  /// successor with the cold modules.
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
  /// The code of one module and its entries; null: all entries of the piece of code.
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
                                       uint32_t capability, bool &isKept);
  Status takeFunctions(Loaded &loaded, const format::GpuModule &code, const Part &part);
  Status failed(DriverCode code, const std::string &what) const;
  std::string graph() const { return "graph '" + std::string(plan->artifact->graphName()) + "'"; }
  void unload(Loaded &loaded);

  std::shared_ptr<const DecodedPlan> plan;
  std::shared_ptr<Driver> driver;
  JitLinkerSource linkerSource;
  std::optional<CubinStore> store;
  std::vector<Launch> all;
  /// For each launch, whether it belongs to the first variant of its kernel.
  std::vector<bool> isUsual;
  std::vector<std::vector<uint32_t>> first;
  ForkSafeLock lock;
  std::vector<std::unique_ptr<Loaded>> contexts;
  /// Objects replaced by successors; a launch on another thread may still read them.
  std::vector<std::unique_ptr<Loaded>> replaced;
  /// nvJitLink's results by piece of code and architecture, for further contexts.
  std::map<std::pair<uint32_t, uint32_t>, Result<std::vector<LinkedCubin>>> linkedCubins;
  std::atomic<const Loaded *> last{nullptr};
  ModuleCounters counts;
};

} // namespace frit
