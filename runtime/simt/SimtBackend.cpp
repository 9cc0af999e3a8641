#include "runtime/simt/SimtBackend.h"

#include "runtime/cpu/MathCallbacks.h"
#include "runtime/plan/ListTable.h"

#include <limits>

namespace frit {

Result<std::unique_ptr<SimtBackend>>
SimtBackend::create(const std::shared_ptr<const DecodedPlan> &plan) {
  Result<CodeMapping> code =
      CodeMapping::map(*plan->artifact, static_cast<int>(format::ImageKind::Simt));
  if (!code.isOk()) {
    return code.status();
  }
  std::unique_ptr<SimtBackend> backend(new SimtBackend(plan, std::move(*code)));
  if (!plan->source->kernels()) {
    return backend;
  }
  for (const format::Kernel *kernel : *plan->source->kernels()) {
    auto &variants = backend->kernels.emplace_back();
    for (const format::KernelVariant *variant : *kernel->variants()) {
      auto &launches = variants.emplace_back();
      if (!variant->launches()) {
        continue;
      }
      for (const format::KernelLaunch *source : *variant->launches()) {
        SimtLaunch launch;
        launch.kernel = kernel->name() ? kernel->name()->str() : "kernel";
        launch.entry = reinterpret_cast<SimtFunction>(
            const_cast<void *>(backend->code.find(source->entry()->string_view())));
        if (!launch.entry) {
          return Status::error(ErrorKind::BadArtifact,
                               "the emulation of kernel entry '" + source->entry()->str() +
                                   "' is missing from the artifact; compile it with --target=simt");
        }
        launch.block[0] = source->block_x();
        launch.block[1] = source->block_y();
        launch.block[2] = source->block_z();
        launch.sharedBytes = source->shared_bytes();
        launch.cluster = source->cluster_x();
        launches.push_back(launch);
      }
    }
  }
  return backend;
}

Status SimtBackend::ready() {
  std::lock_guard lock(mutex);
  known.clear();
  return Status::ok();
}

void SimtBackend::addTraffic(const SimtTraffic &traffic) {
  moved += traffic.moved;
  mandatory += traffic.mandatory;
  std::lock_guard lock(mutex);
  auto add = [&](const std::vector<SimtTraffic::Span> &spans, bool isRead) {
    for (const SimtTraffic::Span &span : spans) {
      for (uint64_t at = span.begin; at < span.end;) {
        std::bitset<kPage> &page = known[at / kPage];
        uint64_t before = page.count();
        for (uint64_t end = std::min(span.end, (at / kPage + 1) * kPage); at < end; ++at) {
          page.set(at % kPage);
        }
        readFirst += isRead ? page.count() - before : 0;
      }
    }
  };
  add(traffic.read, true);
  add(traffic.written, false);
}

SimtBackend::Extent SimtBackend::extentOf(uint32_t tensor, const KernelArguments &arguments,
                                          TensorHost &host) const {
  const TensorType &type = plan->tensors[tensor];
  const TensorSlot &slot = arguments.tensors[tensor];
  // The sizes of a result with a data-dependent shape are not in the plan; they are read from its
  // tensor.
  bool isAsked = type.rank < 0 && slot.handle;
  TensorView seen = isAsked ? host.viewOf(slot.handle) : TensorView{};
  size_t rank = isAsked ? static_cast<size_t>(seen.rank) : type.sizes.size();
  int64_t last = 0, elements = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t size = isAsked ? seen.sizes[dim] : arguments.registers[type.sizes[dim]];
    if (size <= 0) {
      return {0, 0};
    }
    int64_t stride = isAsked                ? seen.strides[dim]
                     : type.strides.empty() ? 1
                                            : arguments.registers[type.strides[dim]];
    last += (size - 1) * stride;
    elements *= stride == 0 ? 1 : size;
  }
  auto span = static_cast<uint64_t>(last + 1);
  return {span * bytesOf(type.dtype),
          std::min(span, static_cast<uint64_t>(elements)) * bytesOf(type.dtype)};
}

Status SimtBackend::launch(const KernelArguments &arguments, TensorHost &host) {
  const LaunchSite &site = *arguments.site;
  const format::Kernel &kernel = *plan->source->kernels()->Get(site.kernel);
  SimtArguments simt;
  for (size_t at = 0; at < site.tensors.size(); ++at) {
    SimtBuffer buffer;
    buffer.name = "argument " + std::to_string(at);
    buffer.data = arguments.pointers[at];
    Extent extent = extentOf(site.tensors[at], arguments, host);
    buffer.bytes = extent.span;
    buffer.reach = extent.reach;
    size_t ofItem = at % (site.tensors.size() / site.items);
    char access = kernel.access() && ofItem < kernel.access()->size()
                      ? (*kernel.access())[static_cast<uint32_t>(ofItem)]
                      : 'u';
    buffer.isWritten = access != 'r';
    buffer.isInitialised = access != 'w';
    simt.buffers.push_back(buffer);
  }
  simt.ints.assign(arguments.ints, arguments.ints + site.ints.size());
  simt.floats.assign(arguments.floats, arguments.floats + site.floats.size());
  if (arguments.variant->workspace != kNoRegister) {
    simt.workspaceBytes = static_cast<uint64_t>(
        std::max<int64_t>(arguments.registers[arguments.variant->workspace], 0));
  }
  simt.callbacks = &mathCallbacks();
  std::vector<SimtLaunch> launches;
  const auto &prepared = kernels[site.kernel][arguments.variantIndex];
  if (site.tableItems != 0) {
    simt.makeTable = [&](void *const *places) {
      ListTable table(arguments, site.tableItems, places);
      return std::vector<int64_t>(table.words(), table.words() + table.size());
    };
    SimtLaunch launch = prepared.front();
    int64_t blocks = ListTable(arguments, site.tableItems, arguments.pointers).blocks();
    if (blocks > std::numeric_limits<int32_t>::max()) {
      return Status::error(ErrorKind::Runtime,
                           launch.kernel + ": a grid of 2^31 blocks or more is too large");
    }
    launch.grid[0] = static_cast<uint32_t>(blocks);
    if (blocks != 0) {
      launches.push_back(launch);
    }
  }
  for (size_t at = 0; site.tableItems == 0 && at < prepared.size(); ++at) {
    SimtLaunch launch = prepared[at];
    bool empty = false;
    for (int dim = 0; dim < 3; ++dim) {
      uint32_t reg = arguments.variant->launches[at][dim];
      int64_t size = reg == kNoRegister ? 1 : arguments.registers[reg];
      empty |= size <= 0;
      if (size > std::numeric_limits<int32_t>::max()) {
        return Status::error(ErrorKind::Runtime, launch.kernel + ": a grid of " +
                                                     std::to_string(size) + " blocks is too large");
      }
      launch.grid[dim] = static_cast<uint32_t>(std::max<int64_t>(size, 0));
    }
    if (!empty) {
      launches.push_back(launch);
    }
  }
  if (launches.empty()) {
    return Status::ok();
  }
  SimtTraffic traffic;
  simt.traffic = &traffic;
  FRIT_RETURN_IF_ERROR(runSimtKernel(simt, launches));
  addTraffic(traffic);
  return Status::ok();
}

std::vector<std::pair<std::string, uint64_t>> SimtBackend::counters() const {
  return {{"bytes_moved", moved.load()},
          {"bytes_mandatory", mandatory.load()},
          {"bytes_read_first", readFirst.load()}};
}

} // namespace frit
