#include "compiler/PlanMemory.h"

namespace frit {
using namespace mlir;

int PlanMemory::newStorage(Kind kind, unsigned number, std::optional<Sampled> bytes) {
  storages.push_back({kind, number, bytes, {}});
  return static_cast<int>(storages.size()) - 1;
}

PlanMemory::Span PlanMemory::spanOf(const Place &place, unsigned sample) const {
  int64_t begin = place.offset[sample], end = begin + place.elementBytes;
  for (auto [size, stride] : llvm::zip(place.sizes, place.strides)) {
    if (size[sample] <= 0) {
      return {begin, begin};
    }
    int64_t reach = (size[sample] - 1) * stride[sample];
    (reach < 0 ? begin : end) += reach;
  }
  return {begin, end};
}

bool PlanMemory::meet(const Place &left, const Place &right) const {
  if (left.storage != right.storage) {
    return false;
  }
  if (left.origin != right.origin || !left.isKnown || !right.isKnown) {
    return true;
  }
  for (unsigned sample = 0; sample != samples.count(); ++sample) {
    Span a = spanOf(left, sample), b = spanOf(right, sample);
    if (a.begin < b.end && b.begin < a.end) {
      return true;
    }
  }
  return false;
}

bool PlanMemory::same(const Place &left, const Place &right) const {
  if (left.storage != right.storage || left.origin != right.origin ||
      left.elementBytes != right.elementBytes || left.isKnown != right.isKnown ||
      left.sizes.size() != right.sizes.size()) {
    return false;
  }
  for (unsigned sample = 0; sample != samples.count(); ++sample) {
    bool isEmpty = false, differ = left.offset[sample] != right.offset[sample];
    for (size_t dim = 0; dim != left.sizes.size(); ++dim) {
      int64_t size = left.sizes[dim][sample];
      if (size != right.sizes[dim][sample]) {
        return false;
      }
      isEmpty |= size == 0;
      differ |= size > 1 && left.strides[dim][sample] != right.strides[dim][sample];
    }
    if (differ && !isEmpty) {
      return false;
    }
  }
  return true;
}

bool PlanMemory::fits(const Place &place) const {
  const std::optional<Sampled> &bytes = storages[place.storage].bytes;
  if (!bytes || place.origin != 0 || !place.isKnown) {
    return true;
  }
  for (unsigned sample = 0; sample != samples.count(); ++sample) {
    Span span = spanOf(place, sample);
    if (span.begin != span.end && (span.begin < 0 || span.end > (*bytes)[sample])) {
      return false;
    }
  }
  return true;
}

void PlanMemory::write(const Place &place, Value value) {
  auto &holdings = storages[place.storage].holdings;
  llvm::erase_if(holdings,
                 [&](const Holding &one) { return one.value == value || meet(one.place, place); });
  if (value) {
    holdings.push_back({value, place});
  }
}

const Place *PlanMemory::find(int storage, Value value) const {
  for (const Holding &one : storages[storage].holdings) {
    if (one.value == value) {
      return &one.place;
    }
  }
  return nullptr;
}

SmallVector<Value> PlanMemory::held(int storage) const {
  SmallVector<Value> values;
  for (const Holding &one : storages[storage].holdings) {
    values.push_back(one.value);
  }
  return values;
}

} // namespace frit
