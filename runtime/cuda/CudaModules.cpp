#include "runtime/cuda/CudaModules.h"

#include "runtime/artifact/GpuCode.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace frit {

using format::GpuCodeKind;
using format::GpuModule;

namespace {

constexpr int kAttributeMajor = 75, kAttributeMinor = 76;
constexpr int kFunctionSharedBytes = 8;
constexpr int kJitErrorBuffer = 5, kJitErrorBytes = 6;
constexpr uint32_t kStaticSharedLimit = 48 * 1024;

std::string describe(const GpuModule &code) {
  return std::string(code.kind() == GpuCodeKind::Ptx ? "PTX" : "cubin") + " for sm_" +
         std::to_string(code.arch());
}

bool hasEntry(const GpuModule &code, std::string_view entry) {
  return code.entries() &&
         std::any_of(code.entries()->begin(), code.entries()->end(),
                     [&](const flatbuffers::String *name) { return name->string_view() == entry; });
}

bool runsOn(const GpuModule &code, uint32_t capability) {
  return code.bytes() && code.arch() <= capability &&
         (code.kind() == GpuCodeKind::Ptx || code.arch() / 10 == capability / 10);
}

} // namespace

CudaModules::CudaModules(std::shared_ptr<const DecodedPlan> plan, std::shared_ptr<Driver> driver,
                         JitLinkerSource linker)
    : plan(std::move(plan)), driver(std::move(driver)), linkerSource(std::move(linker)) {
  if (const auto *kernels = this->plan->source->kernels()) {
    for (const format::Kernel *kernel : *kernels) {
      auto &ofKernel = first.emplace_back();
      for (const format::KernelVariant *variant : *kernel->variants()) {
        ofKernel.push_back(static_cast<uint32_t>(all.size()));
        if (variant->launches()) {
          for (const format::KernelLaunch *launch : *variant->launches()) {
            all.push_back({kernel, launch});
            isUsual.push_back(ofKernel.size() == 1);
          }
        }
      }
    }
  }
}

CudaModules::~CudaModules() {
  // A lost or forked context, or the end of the process, destroys the modules, and the driver must
  // not be called then.
  if (driver->usable().isOk()) {
    for (const auto &loaded : contexts) {
      unload(*loaded);
    }
  }
}

void CudaModules::unload(Loaded &loaded) {
  for (DriverModule module : loaded.modules) {
    driver->call().cuModuleUnload(module);
  }
  loaded.modules.clear();
}

Status CudaModules::failed(DriverCode code, const std::string &what) const {
  std::string message = what + " (" + graph() + "): " + driver->describe(code);
  if (Driver::isSticky(code)) {
    message += "; a kernel launched before has destroyed the process's GPU state: restart it "
               "(FRIT_CUDA_SYNC=1 names the kernel at fault)";
    driver->markLost(message);
  }
  return Status::error(code == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::Runtime, message);
}

/// Loads all of the images or none.
Result<std::vector<CudaModules::Part>> CudaModules::loadImages(const std::vector<Image> &images,
                                                               const std::string &what) {
  std::vector<Part> parts;
  for (const Image &image : images) {
    char log[2048] = {};
    int options[] = {kJitErrorBuffer, kJitErrorBytes};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
    DriverModule loaded = nullptr;
    DriverCode code = driver->call().cuModuleLoadDataEx(&loaded, image.bytes, 2, options, values);
    if (code != 0) {
      std::string said(log, ::strnlen(log, sizeof(log)));
      std::replace(said.begin(), said.end(), '\n', ' ');
      std::string names = images.size() > 1 ? " with " + listed(*image.entries) : "";
      Status status =
          failed(code, "loading the " + what + names + (said.empty() ? "" : " (" + said + ")"));
      if (driver->usable().isOk()) {
        for (const Part &part : parts) {
          driver->call().cuModuleUnload(part.module);
        }
      }
      return status;
    }
    parts.push_back({loaded, image.entries});
  }
  return parts;
}

/// `isKept` says whether the cubins are an earlier process's.
Result<std::vector<CudaModules::Part>> CudaModules::loadLinked(uint32_t number,
                                                               const std::string &text,
                                                               uint32_t capability, bool &isKept) {
  const JitLinker *linker = linkerSource ? linkerSource() : nullptr;
  if (!linker) {
    return Status::error(ErrorKind::Unsupported, "no nvJitLink was found");
  }
  isKept = false;
  bool isNew = false;
  std::string key = store ? CubinStore::keyOf(text, capability, linker->name()) : "";
  auto made = linkedCubins.find({number, capability});
  if (made == linkedCubins.end()) {
    std::optional<std::vector<LinkedCubin>> kept = store ? store->read(key) : std::nullopt;
    isKept = kept.has_value();
    isNew = !isKept;
    Result<std::vector<LinkedCubin>> cubins =
        isKept ? Result<std::vector<LinkedCubin>>(std::move(*kept))
               : linker->link(text, capability);
    if (!cubins.isOk() && cubins.status().kind() == ErrorKind::OutOfMemory) {
      // Not recorded, because memory may be available the next time.
      return cubins.status();
    }
    made = linkedCubins.emplace(std::pair(number, capability), std::move(cubins)).first;
  }
  if (!made->second.isOk()) {
    return made->second.status();
  }
  std::vector<Image> images;
  for (const LinkedCubin &cubin : *made->second) {
    images.push_back({cubin.bytes.data(), &cubin.entries});
  }
  Result<std::vector<Part>> parts =
      loadImages(images, "cubin of " + linker->name() + " for sm_" + std::to_string(capability));
  bool isRefused = !parts.isOk() && parts.status().kind() != ErrorKind::OutOfMemory;
  if (isKept && isRefused && driver->usable().isOk()) {
    // The driver may be another than that process had.
    store->drop(key);
    linkedCubins.erase(made);
    return loadLinked(number, text, capability, isKept);
  }
  if (isNew && parts.isOk() && store) {
    store->write(key, *made->second);
  }
  return parts;
}

/// Loads one piece of code as modules, and tells the host by which method.
Result<std::vector<CudaModules::Part>> CudaModules::loadCode(uint32_t number, uint32_t capability,
                                                             TensorHost &host) {
  const GpuModule &code = *plan->artifact->root().gpu_modules()->Get(number);
  std::string text(reinterpret_cast<const char *>(code.bytes()->data()), code.bytes()->size());
  std::string device = graph() + " on sm_" + std::to_string(capability) + ": ";
  if (code.kind() == GpuCodeKind::Cubin) {
    Result<std::vector<Part>> loaded = loadImages({{text.data()}}, describe(code));
    if (loaded.isOk()) {
      counts.cubins.fetch_add(1);
      host.note(device + "the file's " + describe(code));
    }
    return loaded;
  }
  // The driver needs text that ends in a zero; the artifact may hold it with or without.
  text.resize(text.find_last_not_of('\0') + 1);
  bool isKept = false;
  Result<std::vector<Part>> linked = loadLinked(number, text, capability, isKept);
  if (linked.isOk()) {
    counts.linked.fetch_add(1);
    counts.kept.fetch_add(isKept ? 1 : 0);
    std::string made = linked->size() == 1 ? "a cubin" : std::to_string(linked->size()) + " cubins";
    host.note(device + describe(code) +
              (isKept ? ", of which an earlier process made " : ", made ") + made + " by " +
              linkerSource()->name());
    return linked;
  }
  if (linked.status().kind() == ErrorKind::OutOfMemory || !driver->usable().isOk()) {
    return linked;
  }
  Result<std::vector<Part>> compiled = loadImages({{text.c_str()}}, describe(code));
  if (compiled.isOk()) {
    counts.compiled.fetch_add(1);
    host.note(device + describe(code) + ", compiled by the driver: " + linked.status().message());
  }
  return compiled;
}

/// Looks up the functions of this module that no earlier module had.
Status CudaModules::takeFunctions(Loaded &loaded, const GpuModule &code, const Part &part) {
  const DriverTable &call = driver->call();
  for (size_t at = 0; at < all.size(); ++at) {
    const format::KernelLaunch &launch = *all[at].source;
    // Entries of other modules are not looked up, because tools that monitor the driver report each
    // failure as an error.
    std::string_view entry = launch.entry()->string_view();
    bool isHere = hasEntry(code, entry) &&
                  (!part.entries || std::find(part.entries->begin(), part.entries->end(), entry) !=
                                        part.entries->end());
    if (loaded.functions[at] || !isHere ||
        call.cuModuleGetFunction(&loaded.functions[at], part.module, launch.entry()->c_str()) !=
            0) {
      continue;
    }
    uint32_t shared = launch.shared_bytes();
    if (shared <= kStaticSharedLimit) {
      continue;
    }
    if (DriverCode wrong = call.cuFuncSetAttribute(loaded.functions[at], kFunctionSharedBytes,
                                                   static_cast<int>(shared));
        wrong != 0) {
      return failed(wrong, "reserving " + std::to_string(shared) +
                               " bytes of shared memory for kernel " + launch.entry()->str());
    }
  }
  return Status::ok();
}

Status CudaModules::load(Loaded &loaded, TensorHost &host) {
  int device = 0, major = 0, minor = 0;
  const DriverTable &call = driver->call();
  DriverCode code = call.cuCtxGetDevice(&device);
  code = code ? code : call.cuDeviceGetAttribute(&major, kAttributeMajor, device);
  code = code ? code : call.cuDeviceGetAttribute(&minor, kAttributeMinor, device);
  if (code != 0) {
    return failed(code, "asking for the device");
  }
  auto capability = static_cast<uint32_t>(major * 10 + minor);
  std::string offered;
  std::vector<uint32_t> order;
  const auto *modules = plan->artifact->root().gpu_modules();
  for (uint32_t number = 0; modules && number < modules->size(); ++number) {
    offered += (offered.empty() ? "sm_" : ", sm_") + std::to_string(modules->Get(number)->arch());
    if (runsOn(*modules->Get(number), capability)) {
      order.push_back(number);
    }
  }
  // Cubins before PTX, newer before older, and otherwise in the order of the file.
  auto rank = [&](uint32_t number) {
    const GpuModule &one = *modules->Get(number);
    return std::tuple(one.kind() != GpuCodeKind::Cubin, -static_cast<int64_t>(one.arch()), number);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
  loaded.functions.resize(all.size(), nullptr);
  Status lastFailure;
  for (uint32_t number : order) {
    const GpuModule &one = *modules->Get(number);
    bool useful = false;
    for (size_t at = 0; at < all.size(); ++at) {
      useful |= isWanted(loaded, at) && hasEntry(one, all[at].source->entry()->string_view());
    }
    if (!useful || std::count(loaded.refused.begin(), loaded.refused.end(), number) != 0) {
      continue;
    }
    Result<std::vector<Part>> parts = loadCode(number, capability, host);
    if (parts.isOk()) {
      for (const Part &part : *parts) {
        loaded.modules.push_back(part.module);
      }
      for (const Part &part : *parts) {
        FRIT_RETURN_IF_ERROR(takeFunctions(loaded, one, part));
      }
      continue;
    }
    // If the driver refuses a cubin there may still be PTX.
    lastFailure = parts.status();
    FRIT_RETURN_IF_ERROR(driver->usable());
    if (lastFailure.kind() == ErrorKind::OutOfMemory) {
      return lastFailure;
    }
    counts.refused.fetch_add(1);
    loaded.refused.push_back(number);
    host.note(lastFailure.message());
  }
  size_t missing = 0;
  while (missing < all.size() && !isWanted(loaded, missing)) {
    ++missing;
  }
  if (missing == all.size()) {
    return Status::ok();
  }
  if (!lastFailure.isOk()) {
    return Status::error(ErrorKind::Unsupported,
                         lastFailure.message() + "; compile the graph again for sm_" +
                             std::to_string(capability) + ", or run it on the CPU");
  }
  return Status::error(ErrorKind::Unsupported,
                       "the artifact's code (" + offered + ") has no kernel '" +
                           all[missing].source->entry()->str() + "' for this device of sm_" +
                           std::to_string(capability) + "; compile it for this device");
}

Result<const CudaModules::Loaded *> CudaModules::find(DriverContext context, DriverStream stream,
                                                      TensorHost &host) {
  ForkSafeGuard guard(lock);
  if (!guard.held) {
    return driver->usable();
  }
  for (const auto &loaded : contexts) {
    if (loaded->context != context) {
      continue;
    }
    if (!loaded->failure.isOk() && loaded->functions.empty()) {
      return loaded->failure;
    }
    last.store(loaded.get(), std::memory_order_release);
    return loaded.get();
  }
  if (driver->isCapturing(stream)) {
    return Status::error(
        ErrorKind::Runtime,
        graph() + " is called for the first time inside of a CUDA graph capture, where its "
                  "kernels cannot be loaded; call it once before capturing");
  }
  auto loaded = std::make_unique<Loaded>();
  loaded->context = context;
  Status status = load(*loaded, host);
  if (!status.isOk()) {
    if (driver->usable().isOk()) {
      unload(*loaded);
    }
    if (status.kind() == ErrorKind::Unsupported) {
      loaded->failure = status;
      loaded->functions.clear();
      contexts.push_back(std::move(loaded));
    }
    return status;
  }
  contexts.push_back(std::move(loaded));
  last.store(contexts.back().get(), std::memory_order_release);
  return contexts.back().get();
}

Result<const CudaModules::Loaded *> CudaModules::complete(DriverContext context,
                                                          DriverStream stream, TensorHost &host) {
  ForkSafeGuard guard(lock);
  if (!guard.held) {
    return driver->usable();
  }
  auto place = std::find_if(contexts.begin(), contexts.end(),
                            [&](const auto &loaded) { return loaded->context == context; });
  if ((*place)->isComplete) {
    return (*place)->failure.isOk() ? Result<const Loaded *>(place->get()) : (*place)->failure;
  }
  if (driver->isCapturing(stream)) {
    return Status::error(
        ErrorKind::Runtime,
        graph() + " is called with other alignments or sizes than before inside of a CUDA graph "
                  "capture, where the kernels for them cannot be loaded; call it once with such "
                  "arguments before capturing");
  }
  auto successor = std::make_unique<Loaded>(**place);
  successor->isComplete = true;
  Status status = load(*successor, host);
  if (!status.isOk() && status.kind() != ErrorKind::Unsupported) {
    // Memory may be available the next time; the modules loaded now are unloaded and loaded again
    // then.
    if (driver->usable().isOk()) {
      for (size_t at = (*place)->modules.size(); at < successor->modules.size(); ++at) {
        driver->call().cuModuleUnload(successor->modules[at]);
      }
    }
    return status;
  }
  counts.completed.fetch_add(1);
  successor->failure = status;
  (*place)->modules.clear();
  replaced.push_back(std::exchange(*place, std::move(successor)));
  last.store(place->get(), std::memory_order_release);
  return status.isOk() ? Result<const Loaded *>(place->get()) : status;
}

} // namespace frit
