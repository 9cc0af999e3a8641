#include "runtime/cuda/CudaBackend.h"

#include "runtime/plan/ListTable.h"

#include <cstdlib>
#include <limits>
#include <thread>

namespace frit {

namespace {

constexpr DriverCode kNotReady = 600;
/// The driver's codes for the trap of a failed index check.
constexpr DriverCode kIllegalInstruction = 715, kLaunchFailed = 719;
constexpr int64_t kGridLimits[] = {std::numeric_limits<int32_t>::max(), 65535, 65535};

} // namespace

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(std::shared_ptr<const DecodedPlan> plan,
                                                         std::shared_ptr<Driver> driver,
                                                         JitLinkerSource linker) {
  std::unique_ptr<CudaBackend> backend(
      new CudaBackend(std::move(plan), std::move(driver), std::move(linker)));
  const char *sync = std::getenv("FRIT_CUDA_SYNC");
  backend->synchronous = sync && *sync == '1';
  return backend;
}

std::vector<std::pair<std::string, uint64_t>> CudaBackend::counters() const {
  const ModuleCounters &counts = modules.counters();
  return {
      {"modules_cubin", counts.cubins.load()},      {"modules_linked", counts.linked.load()},
      {"modules_compiled", counts.compiled.load()}, {"modules_refused", counts.refused.load()},
      {"modules_kept", counts.kept.load()},         {"modules_completed", counts.completed.load()}};
}

Status CudaBackend::failed(DriverCode code, const std::string &what) const {
  std::string message = what + " (graph '" + std::string(plan->artifact->graphName()) +
                        "'): " + driver->describe(code);
  if (code == kIllegalInstruction || code == kLaunchFailed) {
    message += ", which is how a kernel stops at an index out of range (run the graph on the CPU "
               "to see which)";
  }
  if (Driver::isSticky(code)) {
    message += synchronous ? ""
                           : "; it may stem from a kernel launched before this one, "
                             "FRIT_CUDA_SYNC=1 names the one at fault";
    message += "; the process's GPU state is lost: restart it";
    driver->markLost(message);
    return Status::error(ErrorKind::Runtime, message);
  }
  return Status::error(code == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::Runtime, message);
}

std::string CudaBackend::kernelName(uint32_t number) const {
  const format::Kernel &kernel = *plan->source->kernels()->Get(number);
  return kernel.name() ? kernel.name()->str() : "kernel " + std::to_string(number);
}

/// "kernel frit_add_..., grid (40, 1, 1), block (128, 1, 1), from model.py:6 in f: ..."
std::string CudaBackend::describeLaunch(const CudaModules::Launch &launch,
                                        const int64_t (&grid)[3]) const {
  const format::Kernel &kernel = *launch.kernel;
  const format::KernelLaunch &source = *launch.source;
  std::string what = "kernel " + (kernel.name() ? kernel.name()->str() : source.entry()->str()) +
                     ", grid (" + std::to_string(grid[0]) + ", " + std::to_string(grid[1]) + ", " +
                     std::to_string(grid[2]) + "), block (" + std::to_string(source.block_x()) +
                     ", " + std::to_string(source.block_y()) + ", " +
                     std::to_string(source.block_z()) + ")";
  const auto *lines = plan->artifact->root().sources();
  if (lines && kernel.sources() && kernel.sources()->size() != 0 &&
      kernel.sources()->Get(0) < lines->size()) {
    // The location and the beginning of the source line, because a message is one line.
    constexpr size_t kLongestLine = 100;
    std::string line = lines->Get(kernel.sources()->Get(0))->str();
    what +=
        ", from " + (line.size() > kLongestLine ? line.substr(0, kLongestLine - 3) + "..." : line);
  }
  return what;
}

bool CudaBackend::freedMemory(DriverStream stream, TensorHost &host) const {
  return !driver->isCapturing(stream) && host.releaseCachedMemory();
}

/// Waits until everything on the stream has finished. Polls, so that it can give up.
Status CudaBackend::waitFor(DriverStream stream, const std::string &what) const {
  auto start = std::chrono::steady_clock::now();
  for (auto pause = std::chrono::microseconds(10);;
       pause = std::min(2 * pause, std::chrono::microseconds(5000))) {
    DriverCode code = driver->call().cuStreamQuery(stream);
    if (code != kNotReady) {
      return code ? failed(code, what) : Status::ok();
    }
    auto waited = std::chrono::steady_clock::now() - start;
    if (waited > patience) {
      std::string message =
          what + " (graph '" + std::string(plan->artifact->graphName()) +
          "') has not ended after " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()) +
          " ms: the kernel or the device hangs (see dmesg for Xid); restart the process";
      driver->markLost(message);
      return Status::error(ErrorKind::Runtime, message);
    }
    std::this_thread::sleep_for(pause);
  }
}

Status CudaBackend::launchInto(LaunchSink *sink, const KernelArguments &arguments,
                               TensorHost &host) {
  FRIT_RETURN_IF_ERROR(driver->usable());
  Result<DriverContext> current = driver->currentContext(host);
  if (!current.isOk()) {
    return current.status();
  }
  DriverContext context = *current;
  DriverStream stream = host.currentStream();
  const LaunchSite &site = *arguments.site;
  uint32_t first = modules.firstLaunch(site.kernel, arguments.variantIndex);
  auto load = [&] {
    auto usual = modules.in(context, stream, host);
    return usual.isOk()
               ? modules.with(*usual, first, site.launchesOf(*arguments.variant), stream, host)
               : usual;
  };
  Result<const CudaModules::Loaded *> loaded = load();
  if (!loaded.isOk() && loaded.status().kind() == ErrorKind::OutOfMemory &&
      freedMemory(stream, host)) {
    loaded = load();
  }
  if (!loaded.isOk()) {
    return loaded.status();
  }
  if (site.tableItems != 0) {
    return launchList(sink, arguments, **loaded, stream, host);
  }
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
  for (size_t at = 0; at < arguments.variant->launches.size(); ++at) {
    const CudaModules::Launch &launched = modules.launches()[first + at];
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
    FRIT_RETURN_IF_ERROR(start(sink, launched, (*loaded)->functions[first + at], grid,
                               parameters.data(), stream, host));
  }
  return Status::ok();
}

Status CudaBackend::start(LaunchSink *sink, const CudaModules::Launch &launched,
                          DriverFunction function, const int64_t (&grid)[3], void **parameters,
                          DriverStream stream, TensorHost &host) const {
  const format::KernelLaunch &source = *launched.source;
  for (int dim = 0; dim < 3; ++dim) {
    if (grid[dim] > kGridLimits[dim]) {
      return Status::error(ErrorKind::Runtime, describeLaunch(launched, grid) +
                                                   ": the grid is larger than a device takes");
    }
  }
  // The size of a cluster is part of the code.
  if (grid[0] % source.cluster_x() != 0) {
    return Status::error(ErrorKind::Runtime, describeLaunch(launched, grid) +
                                                 ": the grid is no multiple of a cluster of " +
                                                 std::to_string(source.cluster_x()) + " blocks");
  }
  auto launch = [&] {
    DriverKernelNode node = {function,
                             static_cast<unsigned>(grid[0]),
                             static_cast<unsigned>(grid[1]),
                             static_cast<unsigned>(grid[2]),
                             source.block_x(),
                             source.block_y(),
                             source.block_z(),
                             source.shared_bytes(),
                             parameters,
                             nullptr,
                             nullptr,
                             nullptr};
    return sink ? sink->launch(node, stream)
                : driver->call().cuLaunchKernel(function, node.gridX, node.gridY, node.gridZ,
                                                node.blockX, node.blockY, node.blockZ,
                                                node.sharedBytes, stream, parameters, nullptr);
  };
  DriverCode code = launch();
  if (code == kOutOfMemory && freedMemory(stream, host)) {
    code = launch();
  }
  if (code != 0) {
    return failed(code, describeLaunch(launched, grid));
  }
  return synchronous && !driver->isCapturing(stream)
             ? waitFor(stream, describeLaunch(launched, grid))
             : Status::ok();
}

/// Launches a list: the items that have blocks fill the table, which the driver copies (also into a
/// graph that is being captured).
Status CudaBackend::launchList(LaunchSink *sink, const KernelArguments &arguments,
                               const CudaModules::Loaded &loaded, DriverStream stream,
                               TensorHost &host) const {
  uint32_t number = modules.firstLaunch(arguments.site->kernel, arguments.variantIndex);
  const CudaModules::Launch &launched = modules.launches()[number];
  ListTable table(arguments, arguments.site->tableItems, arguments.pointers);
  if (table.blocks() == 0) {
    return Status::ok();
  }
  int64_t grid[3] = {table.blocks(), 1, 1};
  void *parameters[] = {table.words()};
  return start(sink, launched, loaded.functions[number], grid, parameters, stream, host);
}

} // namespace frit
