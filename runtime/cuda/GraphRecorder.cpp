#include "runtime/cuda/GraphRecorder.h"

#include "runtime/cuda/KernelRecorder.h"
#include "runtime/cuda/OperatorRecorder.h"

namespace frit {

std::unique_ptr<GraphRecorder> GraphRecorder::make(const GraphedPlan &plan, const GraphCache &cache,
                                                   GraphCounts &counts) {
  if (plan.callsOperators()) {
    return std::make_unique<OperatorRecorder>(plan, cache, counts);
  }
  return std::make_unique<KernelRecorder>(plan, cache);
}

DriverCode GraphRecorder::beginCapture(DriverStream stream) const {
  constexpr int kThreadLocalCapture = 1;
  return plan.driver->call().cuStreamBeginCapture(stream, kThreadLocalCapture);
}

std::string GraphRecorder::whyNotWorth(const GraphEntry &entry, uint64_t launches) const {
  uint64_t copies = entry.copies.size(), bytes = 0;
  for (const ArgumentCopy &copy : entry.copies) {
    bytes += copy.bytes;
  }
  for (const ResultStorage &storage : entry.storages) {
    copies += storage.bytes != 0 && !storage.kept;
    bytes += storage.kept ? 0 : storage.bytes;
  }
  if (launches < GraphedPlan::kFewestKernels) {
    return GraphedPlan::tooFew(launches);
  }
  if (launches <= copies) {
    return "it launches " + std::to_string(launches) + " kernels and would copy " +
           std::to_string(copies) + " arguments and results";
  }
  if (bytes / kBytesPerLaunch > launches) {
    return "it would copy " + std::to_string(bytes >> 20) + " MiB to save " +
           std::to_string(launches) + " launches";
  }
  return cache.whyNoMore();
}

GraphResult *GraphRecorder::addResult(const OutputValue &output, GraphEntry &entry) const {
  const format::Output &spec =
      *plan.decoded->source->outputs()->Get(static_cast<uint32_t>(entry.results.size()));
  GraphResult &result = entry.results.emplace_back();
  result.kind = output.kind;
  result.integer = output.integer;
  result.real = output.real;
  if (spec.kind() == format::OutputKind::Input) {
    result.kind = OutputValue::Kind::Input;
    result.number = spec.reg();
    return nullptr;
  }
  return output.kind == OutputValue::Kind::Tensor ? &result : nullptr;
}

} // namespace frit
