// Buckets of a call: chooses them, counts them, reports misses, and numbers combinations of them.

#include "runtime/plan/PlanExecutor.h"

#include <algorithm>
#include <bit>

namespace frit {

void PlanExecutor::chooseBuckets(RunState &state, bool changed) {
  auto add = [](std::atomic<uint64_t> &counter, uint64_t value) {
    counter.fetch_add(value, std::memory_order_relaxed);
  };
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
      host.warn(badInput(symbol.input, symbol.what() + " is " + std::to_string(size) +
                                           ", above the largest bucket " +
                                           std::to_string(bucket.sizes.back()) +
                                           "; the generic kernels run it, this and later times")
                    .message());
      return;
    }
  }
}

/// The size of a symbol, read from the arguments of a call that has not started.
std::optional<int64_t> PlanExecutor::sizeOf(const SymbolSpec &symbol,
                                            std::span<const InputValue> inputs) const {
  const InputValue &input = inputs[symbol.input];
  if (symbol.dim < 0) {
    return input.kind == InputValue::Kind::Int ? symbol.solve(input.integer) : std::nullopt;
  }
  if (input.kind != InputValue::Kind::Tensor) {
    return std::nullopt;
  }
  TensorView view = host.viewOf(input.handle);
  return symbol.dim < view.rank ? symbol.solve(symbol.in(view)) : std::nullopt;
}

std::optional<uint64_t> PlanExecutor::bucketKey(std::span<const InputValue> inputs) const {
  if (inputs.size() != inputSpecs.size() || bucketSpecs.empty()) {
    return std::nullopt;
  }
  // All lists together have at most 64 entries, so the product of their lengths stays far below
  // 2^64.
  uint64_t key = 0;
  for (const BucketSpec &bucket : bucketSpecs) {
    std::optional<int64_t> size = sizeOf(symbolSpecs[bucket.source], inputs);
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

/// Rounds up to the ramp: 1, 2, 4 ... 64, then eight steps per octave.
static int64_t onRamp(int64_t size) {
  if (size <= 1 || size > INT64_MAX / 2) {
    return size;
  }
  auto count = static_cast<uint64_t>(size);
  uint64_t step = count <= 64 ? std::bit_ceil(count) : std::bit_floor(count) / 8;
  return static_cast<int64_t>((count + step - 1) / step * step);
}

bool PlanExecutor::roundedSizes(std::span<const InputValue> inputs,
                                std::vector<int64_t> &sizes) const {
  for (size_t number = 0; number < symbolSpecs.size(); ++number) {
    std::optional<int64_t> size = sizeOf(symbolSpecs[number], inputs);
    if (!size) {
      return false;
    }
    auto bucket = std::find_if(bucketSpecs.begin(), bucketSpecs.end(),
                               [&](const BucketSpec &one) { return one.source == number; });
    if (bucket == bucketSpecs.end()) {
      sizes.push_back(symbolSpecs[number].stride ? *size : onRamp(*size));
      continue;
    }
    auto entry = std::lower_bound(bucket->sizes.begin(), bucket->sizes.end(), *size);
    sizes.push_back(entry == bucket->sizes.end() ? *size : *entry);
  }
  return true;
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
