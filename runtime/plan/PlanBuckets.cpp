// Sizes and the buckets they fall into: what a call chooses, counts and says about it, and the number that names a choice.

#include "runtime/plan/PlanExecutor.h"

#include <algorithm>

namespace frit {

void PlanExecutor::chooseBuckets(RunState &state, bool changed) {
  auto add = [](std::atomic<uint64_t> &counter, uint64_t value) { counter.fetch_add(value, std::memory_order_relaxed); };
  for (size_t number = 0; number < bucketSpecs.size(); ++number) {
    const BucketSpec &bucket = bucketSpecs[number];
    int64_t size = state.ints[bucket.symbol];
    if (changed) {
      auto found = std::lower_bound(bucket.sizes.begin(), bucket.sizes.end(), size);
      state.ints[bucket.dst] = found == bucket.sizes.end() ? size : *found;
    }
    BucketCounters &counted = bucketCounts[number];
    bool hit = size <= bucket.sizes.back();
    add(hit ? counted.hits : counted.misses, 1);
    add(counted.logical, static_cast<uint64_t>(size));
    add(counted.padded, static_cast<uint64_t>(state.ints[bucket.dst]));
    if (!hit && !warned.load(std::memory_order_relaxed)) {
      warnAboutMiss(bucket, size);
    }
  }
}

void PlanExecutor::warnAboutMiss(const BucketSpec &bucket, int64_t size) {
  if (warned.exchange(true)) {
    return;
  }
  for (const SymbolSpec &symbol : symbolSpecs) {
    if (symbol.reg == bucket.symbol) {
      std::string what = symbol.dim < 0 ? "its value " : "its size along dimension " + std::to_string(symbol.dim) + " ";
      host.warn(badInput(symbol.input, what + "is " + std::to_string(size) + ", above the largest bucket " +
                                           std::to_string(bucket.sizes.back()) +
                                           "; the generic kernels run it, this and later times")
                    .message());
      return;
    }
  }
}

std::optional<uint64_t> PlanExecutor::bucketKey(std::span<const InputValue> inputs) const {
  if (inputs.size() != inputSpecs.size() || bucketSpecs.empty()) {
    return std::nullopt;
  }
  // Lists hold 64 entries together: products of their lengths stay far below 2^64.
  uint64_t key = 0;
  for (const BucketSpec &bucket : bucketSpecs) {
    const SymbolSpec &symbol = symbolSpecs[bucket.source];
    const InputValue &input = inputs[symbol.input];
    int64_t read = input.integer;
    if (symbol.dim >= 0) {
      if (input.kind != InputValue::Kind::Tensor) {
        return std::nullopt;
      }
      TensorView view = host.look(input.handle);
      if (symbol.dim >= view.rank) {
        return std::nullopt;
      }
      read = view.sizes[symbol.dim];
    } else if (input.kind != InputValue::Kind::Int) {
      return std::nullopt;
    }
    std::optional<int64_t> size = symbol.solve(read);
    if (!size) {
      return std::nullopt;
    }
    auto found = std::lower_bound(bucket.sizes.begin(), bucket.sizes.end(), *size);
    if (found == bucket.sizes.end()) {
      return std::nullopt;
    }
    key = key * bucket.sizes.size() + static_cast<uint64_t>(found - bucket.sizes.begin());
  }
  return key;
}

std::optional<uint64_t> PlanExecutor::keyOfBuckets(std::span<const uint32_t> entries) const {
  if (entries.size() != bucketSpecs.size() || entries.empty()) {
    return std::nullopt;
  }
  uint64_t key = 0;
  for (size_t number = 0; number < entries.size(); ++number) {
    uint64_t count = bucketSpecs[number].sizes.size();
    if (entries[number] >= count) {
      return std::nullopt;
    }
    key = key * count + entries[number];
  }
  return key;
}

std::vector<uint32_t> PlanExecutor::bucketsOfKey(uint64_t key) const {
  std::vector<uint32_t> entries(bucketSpecs.size());
  for (size_t number = entries.size(); number-- > 0;) {
    uint64_t count = bucketSpecs[number].sizes.size();
    entries[number] = static_cast<uint32_t>(key % count);
    key /= count;
  }
  return entries;
}

} // namespace frit
