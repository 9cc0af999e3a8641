#include "runtime/cuda/CudaBackend.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace frit {

using format::GpuCodeKind;
using format::GpuModule;

namespace {

constexpr int kAttributeMajor = 75, kAttributeMinor = 76;
constexpr int kFunctionSharedBytes = 8;
constexpr int kJitErrorBuffer = 5, kJitErrorBytes = 6;
constexpr DriverCode kOutOfMemory = 2;
/// What drivers make of the trap behind the check of an index.
constexpr DriverCode kIllegalInstruction = 715, kLaunchFailed = 719;
constexpr uint32_t kStaticSharedLimit = 48 * 1024;
constexpr int64_t kGridLimits[] = {std::numeric_limits<int32_t>::max(), 65535, 65535};

} // namespace

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(std::shared_ptr<const DecodedPlan> plan,
                                                         std::shared_ptr<Driver> driver) {
  std::unique_ptr<CudaBackend> backend(new CudaBackend(plan, std::move(driver)));
  const char *sync = std::getenv("FRIT_CUDA_SYNC");
  backend->synchronous = sync && *sync == '1';
  if (!plan->source->kernels()) {
    return backend;
  }
  for (const format::Kernel *kernel : *plan->source->kernels()) {
    auto &first = backend->firstLaunch.emplace_back();
    for (const format::KernelVariant *variant : *kernel->variants()) {
      first.push_back(static_cast<uint32_t>(backend->launches.size()));
      if (variant->launches()) {
        for (const format::KernelLaunch *launch : *variant->launches()) {
          backend->launches.push_back({kernel, launch});
        }
      }
    }
  }
  return backend;
}

CudaBackend::~CudaBackend() {
  // A lost or forked context takes its modules with it; the driver may refuse, and there is nobody to tell.
  if (driver->usable().isOk()) {
    for (const auto &loaded : contexts) {
      for (DriverModule module : loaded->modules) {
        driver->call().cuModuleUnload(module);
      }
    }
  }
}

Status CudaBackend::failed(DriverCode code, const std::string &what) const {
  std::string message = what + " (graph '" + std::string(plan->artifact->graphName()) + "'): " + driver->describe(code);
  if (code == kIllegalInstruction || code == kLaunchFailed) {
    message += ", which is how a kernel stops at an index out of range (run the graph on the CPU to see which)";
  }
  if (Driver::isSticky(code)) {
    message += "; the process's GPU state is lost, restart it (FRIT_CUDA_SYNC=1 names the kernel at fault)";
    driver->markLost(message);
    return Status::error(ErrorKind::Runtime, message);
  }
  return Status::error(code == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::Runtime, message);
}

Result<DriverModule> CudaBackend::loadModule(const GpuModule &module) const {
  char log[2048] = {};
  int options[] = {kJitErrorBuffer, kJitErrorBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  DriverModule loaded = nullptr;
  // PTX is text that must end in a zero; the artifact may hold it without.
  std::string text(reinterpret_cast<const char *>(module.bytes()->data()), module.bytes()->size());
  DriverCode code = driver->call().cuModuleLoadDataEx(&loaded, text.c_str(), 2, options, values);
  if (code != 0) {
    std::string said(log);
    std::replace(said.begin(), said.end(), '\n', ' ');
    return failed(code, std::string("loading the ") + (module.kind() == GpuCodeKind::Ptx ? "PTX" : "cubin") + " for sm_" +
                            std::to_string(module.arch()) + (said.empty() ? "" : " (" + said + ")"));
  }
  return loaded;
}

/// For each piece of code the artifact has: cubins of this architecture first, then PTX from the newest that the device can run.
Status CudaBackend::loadModules(Loaded &loaded) const {
  int device = 0, major = 0, minor = 0;
  const DriverTable &call = driver->call();
  DriverCode code = call.cuCtxGetDevice(&device);
  code = code ? code : call.cuDeviceGetAttribute(&major, kAttributeMajor, device);
  code = code ? code : call.cuDeviceGetAttribute(&minor, kAttributeMinor, device);
  if (code != 0) {
    return failed(code, "asking for the device");
  }
  auto capability = static_cast<uint32_t>(major * 10 + minor);
  std::vector<const GpuModule *> candidates;
  std::string offered;
  if (const auto *modules = plan->artifact->root().gpu_modules()) {
    for (const GpuModule *module : *modules) {
      offered += (offered.empty() ? "sm_" : ", sm_") + std::to_string(module->arch());
      bool runs = module->kind() == GpuCodeKind::Cubin ? module->arch() / 10 == static_cast<uint32_t>(major) && module->arch() <= capability
                                                       : module->arch() <= capability;
      if (runs && module->bytes()) {
        candidates.push_back(module);
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const GpuModule *a, const GpuModule *b) {
    return std::make_pair(a->kind() == GpuCodeKind::Cubin, a->arch()) > std::make_pair(b->kind() == GpuCodeKind::Cubin, b->arch());
  });
  loaded.functions.assign(launches.size(), nullptr);
  Status lastFailure;
  for (const GpuModule *candidate : candidates) {
    bool useful = false;
    for (size_t at = 0; at < launches.size(); ++at) {
      useful |= !loaded.functions[at] && candidate->entries() &&
                std::any_of(candidate->entries()->begin(), candidate->entries()->end(), [&](const flatbuffers::String *name) {
                  return name->string_view() == launches[at].source->entry()->string_view();
                });
    }
    if (!useful) {
      continue;
    }
    Result<DriverModule> module = loadModule(*candidate);
    if (!module.isOk()) {
      // A cubin the driver does not like is no reason to give up while there is PTX.
      lastFailure = module.status();
      FRIT_RETURN_IF_ERROR(driver->usable());
      if (lastFailure.kind() == ErrorKind::OutOfMemory) {
        return lastFailure;
      }
      continue;
    }
    loaded.modules.push_back(*module);
    for (size_t at = 0; at < launches.size(); ++at) {
      if (!loaded.functions[at]) {
        call.cuModuleGetFunction(&loaded.functions[at], *module, launches[at].source->entry()->c_str());
      }
    }
  }
  for (size_t at = 0; at < launches.size(); ++at) {
    if (!loaded.functions[at]) {
      return !lastFailure.isOk() ? lastFailure
                                 : Status::error(ErrorKind::Unsupported,
                                                 "the artifact's code (" + offered + ") has no kernel '" +
                                                     launches[at].source->entry()->str() + "' for this device of sm_" +
                                                     std::to_string(capability) + "; compile it for this device");
    }
    uint32_t shared = launches[at].source->shared_bytes();
    if (shared > kStaticSharedLimit) {
      code = call.cuFuncSetAttribute(loaded.functions[at], kFunctionSharedBytes, static_cast<int>(shared));
      if (code != 0) {
        return failed(code, "reserving " + std::to_string(shared) + " bytes of shared memory for kernel " +
                                launches[at].source->entry()->str());
      }
    }
  }
  return Status::ok();
}

Result<const CudaBackend::Loaded *> CudaBackend::loadedFor(DriverContext context, DriverStream stream) {
  if (const Loaded *last = lastContext.load(std::memory_order_acquire); last && last->context == context) {
    return last;
  }
  std::lock_guard<std::mutex> guard(loadLock);
  for (const auto &loaded : contexts) {
    if (loaded->context == context) {
      lastContext.store(loaded.get(), std::memory_order_release);
      return loaded.get();
    }
  }
  int capturing = 0;
  if (driver->call().cuStreamIsCapturing(stream, &capturing) == 0 && capturing != 0) {
    return Status::error(ErrorKind::Runtime, "graph '" + std::string(plan->artifact->graphName()) +
                                                 "' is called for the first time inside of a CUDA graph capture, where its "
                                                 "kernels cannot be loaded; call it once before capturing");
  }
  auto loaded = std::make_unique<Loaded>();
  loaded->context = context;
  Status status = loadModules(*loaded);
  if (!status.isOk()) {
    for (DriverModule module : loaded->modules) {
      driver->call().cuModuleUnload(module);
    }
    return status;
  }
  contexts.push_back(std::move(loaded));
  lastContext.store(contexts.back().get(), std::memory_order_release);
  return contexts.back().get();
}

Status CudaBackend::launch(const KernelArguments &arguments, TensorHost &host) {
  FRIT_RETURN_IF_ERROR(driver->usable());
  const DriverTable &call = driver->call();
  DriverContext context = nullptr;
  if (DriverCode code = call.cuCtxGetCurrent(&context); code != 0 || !context) {
    return code ? failed(code, "asking for the current context")
                : Status::error(ErrorKind::Runtime, "no CUDA context is current on this thread; allocate a CUDA tensor first");
  }
  DriverStream stream = host.currentStream();
  Result<const Loaded *> loaded = loadedFor(context, stream);
  if (!loaded.isOk() && loaded.status().kind() == ErrorKind::OutOfMemory && host.releaseCachedMemory()) {
    loaded = loadedFor(context, stream);
  }
  if (!loaded.isOk()) {
    return loaded.status();
  }
  const LaunchSite &site = *arguments.site;
  std::vector<void *> parameters;
  parameters.reserve(site.tensors.size() + site.ints.size() + site.floats.size() + 1);
  for (size_t at = 0; at < site.tensors.size(); ++at) {
    parameters.push_back(&arguments.pointers[at]);
  }
  for (size_t at = 0; at < site.ints.size(); ++at) {
    parameters.push_back(const_cast<int64_t *>(&arguments.ints[at]));
  }
  for (size_t at = 0; at < site.floats.size(); ++at) {
    parameters.push_back(const_cast<double *>(&arguments.floats[at]));
  }
  void *workspace = arguments.workspace;
  if (arguments.variant->workspace != kNoRegister) {
    parameters.push_back(&workspace);
  }
  uint32_t first = firstLaunch[site.kernel][arguments.variantIndex];
  for (size_t at = 0; at < arguments.variant->launches.size(); ++at) {
    const format::KernelLaunch &source = *launches[first + at].source;
    int64_t grid[3];
    bool empty = false;
    for (int dim = 0; dim < 3; ++dim) {
      uint32_t reg = arguments.variant->launches[at][dim];
      grid[dim] = reg == kNoRegister ? 1 : arguments.registers[reg];
      empty |= grid[dim] <= 0;
    }
    if (empty) {
      continue;
    }
    std::string what; // Only worded when something went wrong.
    auto word = [&] {
      const format::Kernel &kernel = *launches[first + at].kernel;
      what = "kernel " + (kernel.name() ? kernel.name()->str() : source.entry()->str()) + ", grid (" + std::to_string(grid[0]) +
             ", " + std::to_string(grid[1]) + ", " + std::to_string(grid[2]) + "), block (" + std::to_string(source.block_x()) +
             ", " + std::to_string(source.block_y()) + ", " + std::to_string(source.block_z()) + ")";
      return what;
    };
    for (int dim = 0; dim < 3; ++dim) {
      if (grid[dim] > kGridLimits[dim]) {
        return Status::error(ErrorKind::Runtime, word() + ": the grid is larger than a device takes");
      }
    }
    auto start = [&] {
      return call.cuLaunchKernel((*loaded)->functions[first + at], static_cast<unsigned>(grid[0]),
                                 static_cast<unsigned>(grid[1]), static_cast<unsigned>(grid[2]), source.block_x(),
                                 source.block_y(), source.block_z(), source.shared_bytes(), stream, parameters.data(), nullptr);
    };
    DriverCode code = start();
    if (code == kOutOfMemory && host.releaseCachedMemory()) {
      code = start();
    }
    if (code == 0 && synchronous) {
      code = call.cuStreamSynchronize(stream);
    }
    if (code != 0) {
      return failed(code, word());
    }
  }
  return Status::ok();
}

} // namespace frit
