#include "runtime/cuda/KeptResults.h"

#include <algorithm>

namespace frit {

uint64_t KeptResults::add(const void *graph, std::vector<std::shared_ptr<KeptTensor>> tensors,
                          const std::vector<const void *> &places) {
  ForkSafeGuard guard(lock);
  ++captured;
  for (std::shared_ptr<KeptTensor> &tensor : tensors) {
    kept.push_back({graph, captured, std::move(tensor)});
  }
  for (const void *place : places) {
    steady.emplace_back(graph, place);
  }
  return captured;
}

void KeptResults::leave(const void *graph) {
  ForkSafeGuard guard(lock);
  std::erase_if(steady, [&](const auto &one) { return one.first == graph; });
  for (One &one : kept) {
    one.graph = one.graph == graph ? nullptr : one.graph;
  }
  std::erase_if(kept, [](const One &one) { return !one.graph && !one.tensor->isShared(); });
}

KeptResults::Conflict KeptResults::conflict(const void *graph, uint64_t order) {
  ForkSafeGuard guard(lock);
  std::erase_if(kept, [](const One &one) { return !one.graph && !one.tensor->isShared(); });
  Conflict found = Conflict::None;
  for (const One &one : kept) {
    bool isOwn = one.graph == graph;
    if ((isOwn || one.order > order) && one.tensor->isShared()) {
      if (isOwn) {
        return Conflict::Own;
      }
      found = Conflict::OfLater;
    }
  }
  return found;
}

bool KeptResults::hold(const void *memory) {
  ForkSafeGuard guard(lock);
  bool lies = std::any_of(kept.begin(), kept.end(), [&](const One &one) {
    auto *first = static_cast<const char *>(one.tensor->begin());
    return memory >= first && memory < first + one.tensor->bytes();
  });
  return lies || std::any_of(steady.begin(), steady.end(),
                             [&](const auto &one) { return one.second == memory; });
}

} // namespace frit
