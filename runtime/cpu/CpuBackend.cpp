#include "runtime/cpu/CpuBackend.h"

#include "runtime/cpu/MathCallbacks.h"

#include <algorithm>

namespace frit {

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const DecodedPlan &plan) {
  Result<CodeMapping> code = CodeMapping::map(
      *plan.artifact, static_cast<int>(format::ImageKind::Cpu), plan.source->image());
  if (!code.isOk()) {
    return code.status();
  }
  std::unique_ptr<CpuBackend> backend(new CpuBackend(std::move(*code)));
  if (!plan.source->kernels()) {
    return backend;
  }
  for (const format::Kernel *kernel : *plan.source->kernels()) {
    std::vector<uint32_t> &first = backend->firstLaunch.emplace_back();
    for (const format::KernelVariant *variant : *kernel->variants()) {
      first.push_back(static_cast<uint32_t>(backend->launches.size()));
      if (!variant->launches()) {
        continue;
      }
      for (const format::KernelLaunch *launch : *variant->launches()) {
        const void *address = backend->code.find(launch->entry()->string_view());
        if (!address) {
          return Status::error(ErrorKind::BadArtifact,
                               "the code of kernel entry '" + launch->entry()->str() +
                                   "' is missing from the artifact; compile it again");
        }
        backend->launches.push_back({reinterpret_cast<KernelFunction>(const_cast<void *>(address)),
                                     std::max<int64_t>(launch->grain(), 1)});
      }
    }
  }
  return backend;
}

/// Runs all items of a list in one parallel-for: their units are concatenated, and a range may
/// cover several items.
Status CpuBackend::launchList(const KernelArguments &arguments, TensorHost &host) const {
  const LaunchSite &site = *arguments.site;
  ErrorRecord error = {};
  struct Work {
    KernelFunction function;
    std::vector<Context> contexts;
    /// The end of each item's units.
    std::vector<int64_t> ends;
  } work;
  const Launch &launch = launches[firstLaunch[site.kernel][arguments.variantIndex]];
  work.function = launch.function;
  size_t tensors = site.tensors.size() / site.items, ints = site.ints.size() / site.items,
         floats = site.floats.size() / site.items;
  int64_t units = 0;
  for (size_t item = 0; item < site.items; ++item) {
    work.contexts.push_back({arguments.pointers + item * tensors, arguments.ints + item * ints,
                             arguments.floats + item * floats, nullptr, &mathCallbacks(), &error});
    units += std::max<int64_t>(arguments.registers[arguments.variant->launches[item][0]], 0);
    work.ends.push_back(units);
  }
  RangeBody body = [](void *argument, int64_t begin, int64_t end) {
    auto *work = static_cast<Work *>(argument);
    size_t item = static_cast<size_t>(
        std::upper_bound(work->ends.begin(), work->ends.end(), begin) - work->ends.begin());
    for (; begin < end; ++item) {
      int64_t start = item == 0 ? 0 : work->ends[item - 1], stop = std::min(end, work->ends[item]);
      if (begin < stop) {
        work->function(&work->contexts[item], begin - start, stop - start);
        begin = stop;
      }
    }
  };
  if (units <= launch.grain) {
    body(&work, 0, units);
  } else {
    host.parallelFor(units, launch.grain, body, &work);
  }
  return error.code == 0 ? Status::ok() : kernelError(error);
}

Status CpuBackend::launch(const KernelArguments &arguments, TensorHost &host) {
  if (arguments.site->items > 1) {
    return launchList(arguments, host);
  }
  ErrorRecord error = {};
  Context context = {arguments.pointers,  arguments.ints,   arguments.floats,
                     arguments.workspace, &mathCallbacks(), &error};
  struct Work {
    KernelFunction function;
    const Context *context;
  };
  uint32_t first = firstLaunch[arguments.site->kernel][arguments.variantIndex];
  for (size_t at = 0; at < arguments.variant->launches.size(); ++at) {
    const Launch &launch = launches[first + at];
    int64_t units = arguments.registers[arguments.variant->launches[at][0]];
    if (units <= 0) {
      continue;
    }
    if (units <= launch.grain) {
      launch.function(&context, 0, units);
    } else {
      Work work = {launch.function, &context};
      host.parallelFor(
          units, launch.grain,
          [](void *argument, int64_t begin, int64_t end) {
            auto *work = static_cast<Work *>(argument);
            work->function(work->context, begin, end);
          },
          &work);
    }
    if (error.code != 0) {
      return kernelError(error);
    }
  }
  return Status::ok();
}

Status kernelError(const ErrorRecord &record) {
  std::string outOfBounds = "index " + std::to_string(record.index) +
                            " is out of bounds for dimension " + std::to_string(record.operand) +
                            " with size " + std::to_string(record.size);
  switch (static_cast<KernelError>(record.code)) {
  case KernelError::IndexOutOfRange:
    return Status::error(ErrorKind::Index, outOfBounds);
  case KernelError::EmbeddingIndexOutOfRange:
    return Status::error(ErrorKind::Index, "index out of range in self");
  case KernelError::GatherIndexOutOfRange:
    return Status::error(ErrorKind::Runtime, outOfBounds);
  case KernelError::TargetOutOfRange:
    return Status::error(ErrorKind::Index,
                         "Target " + std::to_string(record.index) + " is out of bounds.");
  case KernelError::SelectedIndexOutOfRange:
    return Status::error(ErrorKind::Runtime, "INDICES element is out of DATA bounds, id=" +
                                                 std::to_string(record.index) +
                                                 " axis_dim=" + std::to_string(record.size));
  case KernelError::DivisionByZero:
    return Status::error(ErrorKind::Runtime, "ZeroDivisionError");
  case KernelError::NegativeValue:
    return Status::error(ErrorKind::Runtime,
                         "a value that must not be negative is " + std::to_string(record.index));
  case KernelError::None:
    break;
  }
  return Status::error(ErrorKind::Runtime, "a kernel stopped with the unknown code " +
                                               std::to_string(record.code) +
                                               "; compile the artifact again");
}

} // namespace frit
