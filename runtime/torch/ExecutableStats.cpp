// The counters of an executable as JSON, summed with those of its kernels for single buckets.

#include "runtime/torch/TorchExecutable.h"

#include "runtime/cuda/CudaGraphs.h"
#include "runtime/torch/AtenCall.h"
#include "runtime/torch/TorchHost.h"

#include <algorithm>
#include <map>

namespace frit {

class ExecutableSums {
public:
  void add(const TorchExecutable &one) {
    const Counters &counters = one.executor->counters();
    auto sum = [&](const char *name, const std::atomic<uint64_t> &value) {
      fields[name] += value.load();
    };
    auto most = [&](const char *name, const std::atomic<uint64_t> &value) {
      fields[name] = std::max(fields[name], value.load());
    };
    sum("calls", counters.calls);
    sum("kernel_launches", counters.kernelLaunches);
    sum("aten_calls", counters.atenCalls);
    fields["subgraph_calls"] += 0;
    fields["own_products"] += 0;
    fields["packed_bytes"] += 0;
    fields["own_attention"] += 0;
    fields["own_convolutions"] += 0;
    sum("allocations", counters.allocations);
    sum("size_evaluations", counters.sizeEvaluations);
    most("peak_bytes", counters.peakBytes);
    most("temporary_bytes", counters.temporaryBytes);
    sum("overlap_copies", counters.overlapCopies);
    sum("restrided_arguments", counters.restridedArguments);
    sum("lazy_copies", counters.lazyCopies);
    sum("padded_elements", counters.paddedElements);
    sum("logical_elements", counters.logicalElements);
    for (const auto &[name, value] : one.backend->counters()) {
      fields[name] += value;
    }
    addGraphs(one);
    addCalls(one);
    for (VariantCounts &kernel : one.executor->variantCounts()) {
      std::vector<uint64_t> &launches = variants[kernel.kernel];
      launches.resize(std::max(launches.size(), kernel.launches.size()));
      std::transform(kernel.launches.begin(), kernel.launches.end(), launches.begin(),
                     launches.begin(), std::plus<>());
    }
    std::span<const BucketCounters> counted = one.executor->bucketCounters();
    buckets.resize(std::max(buckets.size(), counted.size()));
    for (size_t number = 0; number < counted.size(); ++number) {
      buckets[number].hits += counted[number].hits;
      buckets[number].misses += counted[number].misses;
      buckets[number].logical += counted[number].logical;
      buckets[number].padded += counted[number].padded;
    }
  }

  void addSpecialized(const SpecializedKernels &specialized) {
    uint64_t sets = 0, kernels = 0, calls = 0;
    specialized.forEach([&](const TorchExecutable &one) {
      sets += 1;
      kernels += one.plan->source->kernels() ? one.plan->source->kernels()->size() : 0;
      calls +=
          one.executor->counters().calls.load() + (one.graphs ? one.graphs->counters().replays : 0);
      add(one);
    });
    fields["specialized_buckets"] = sets;
    fields["specialized_kernels"] = kernels;
    fields["specialized_calls"] = calls;
    fields["specialize_failures"] = specialized.failed();
  }

  /// Adds what a graph of control flow did in the calls.
  void addSubgraph(const TorchExecutable &one) {
    uint64_t calls = fields["calls"];
    add(one);
    fields["subgraph_calls"] += fields["calls"] - calls;
    fields["calls"] = calls;
  }

  std::string json() const {
    uint64_t hits = 0, misses = 0;
    std::string each, kernels;
    for (const Bucket &one : buckets) {
      hits += one.hits;
      misses += one.misses;
      each += std::string(each.empty() ? "" : ", ") + "{" + field("hits", one.hits) + ", " +
              field("misses", one.misses) + ", " + field("logical", one.logical) + ", " +
              field("padded", one.padded) + "}";
    }
    for (const auto &[name, launches] : variants) {
      std::string list;
      for (uint64_t count : launches) {
        list += (list.empty() ? "" : ", ") + std::to_string(count);
      }
      kernels += (kernels.empty() ? "\"" : ", \"") + name + "\": [" + list + "]";
    }
    std::string numbers;
    for (const auto &[name, value] : fields) {
      numbers += field(name, value) + ", ";
    }
    return "{" + numbers + field("bucket_hits", hits) + ", " + field("bucket_misses", misses) +
           ", \"buckets\": [" + each + "], \"variants\": {" + kernels +
           "}, \"aten\": " + object(byName) + ", \"stride_copies\": " + object(restridedByName) +
           ", \"not_captured\": " + object(notCaptured) +
           ", \"graphs_of_one_size\": " + object(exactGraphs) + "}";
  }

private:
  struct Bucket {
    uint64_t hits = 0, misses = 0, logical = 0, padded = 0;
  };

  void addGraphs(const TorchExecutable &one) {
    GraphCounters counters;
    if (one.graphs) {
      counters = one.graphs->counters();
    } else if (uint64_t calls = one.callsWithoutGraphs.load()) {
      counters.notCaptured[one.whyNoGraphs] = calls;
    }
    fields["calls"] += counters.replays;
    fields["graph_captures"] += counters.captures;
    fields["graph_replays"] += counters.replays;
    fields["graph_evictions"] += counters.evictions;
    fields["graph_updates"] += counters.updates;
    fields["graph_kept_bytes"] += counters.keptBytes;
    for (const auto &[why, graphs] : counters.exact) {
      exactGraphs[why] += graphs;
    }
    for (const auto &[why, calls] : counters.notCaptured) {
      notCaptured[why] += calls;
    }
  }

  void addCalls(const TorchExecutable &one) {
    for (const TorchHost::Call &prepared : one.host->preparedCalls()) {
      if (!std::holds_alternative<AtenCall>(prepared)) {
        continue;
      }
      const auto &call = std::get<AtenCall>(prepared);
      // The name as torch writes it in a graph: "aten.mm.default".
      std::string name = call.name();
      if (size_t colons = name.find("::"); colons != std::string::npos) {
        name.replace(colons, 2, ".");
      }
      name += "." + (call.overload().empty() ? "default" : call.overload());
      byName[name] += call.count.load();
      fields["own_products"] += call.ownProducts.load();
      fields["packed_bytes"] += call.packedBytes();
      fields["own_attention"] += call.ownAttention.load();
      fields["own_convolutions"] += call.ownConvolutions.load();
      fields["own_orders"] += call.ownOrders.load();
      if (uint64_t copies = call.strideCopies.load()) {
        restridedByName[name] += copies;
      }
    }
  }

  /// Reasons may quote messages of drivers and names in files.
  static std::string escaped(const std::string &text) {
    std::string safe;
    for (char c : text) {
      safe += c == '"' || c == '\\'                  ? "'"
              : static_cast<unsigned char>(c) < 0x20 ? " "
                                                     : std::string(1, c);
    }
    return safe;
  }

  static std::string field(const std::string &name, uint64_t value) {
    return "\"" + escaped(name) + "\": " + std::to_string(value);
  }

  static std::string object(const std::map<std::string, uint64_t> &counts) {
    std::string text;
    for (const auto &[name, count] : counts) {
      text += (text.empty() ? "" : ", ") + field(name, count);
    }
    return "{" + text + "}";
  }

  std::map<std::string, uint64_t> fields, byName, restridedByName, notCaptured, exactGraphs;
  std::map<std::string, std::vector<uint64_t>> variants;
  std::vector<Bucket> buckets;
};

std::string TorchExecutable::stats() const {
  ExecutableSums sums;
  sums.add(*this);
  forEachSubgraph([&](const TorchExecutable &one) { sums.addSubgraph(one); });
  if (specialized) {
    sums.addSpecialized(*specialized);
  }
  return sums.json();
}

} // namespace frit
