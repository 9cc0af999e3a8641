#include "runtime/cpu/Order.h"

#include "runtime/cpu/Pieces.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <vector>

namespace frit {

namespace {

/// A digit of a key.
constexpr int kBits = 11, kDigits = 3;
constexpr size_t kValues = size_t{1} << kBits;
/// Shorter lists are sorted by comparisons: a pass over the counters of a digit takes longer.
constexpr size_t kFew = 256;
/// Elements in a piece of a parallel loop, about 20 us.
constexpr int64_t kPieceElements = 2000;

using Counters = std::array<uint32_t, kValues>;

/// Orders as the number does: the greater the number, the greater the key.
inline uint32_t ascendingKey(float number) {
  uint32_t bits = std::bit_cast<uint32_t>(number + 0.0f); // -0 + 0 is +0
  uint32_t key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return number != number ? ~0u : key;
}

inline uint32_t digitOf(uint64_t item, int digit) {
  return static_cast<uint32_t>(item >> (32 + digit * kBits)) & (kValues - 1);
}

/// Sorts items by their upper 32 bits; items with equal ones must be in the order of their lower
/// 32 bits.
void sortItems(std::vector<uint64_t> &items, std::vector<uint64_t> &other) {
  if (items.size() < kFew) {
    std::sort(items.begin(), items.end());
    return;
  }
  std::array<Counters, kDigits> counters = {};
  for (uint64_t item : items) {
    for (int digit = 0; digit < kDigits; ++digit) {
      ++counters[digit][digitOf(item, digit)];
    }
  }
  other.resize(items.size());
  for (int digit = 0; digit < kDigits; ++digit) {
    Counters &begin = counters[digit];
    if (begin[digitOf(items.front(), digit)] == items.size()) {
      continue; // all have the same digit
    }
    uint32_t sum = 0;
    for (uint32_t &counter : begin) {
      sum += std::exchange(counter, sum);
    }
    for (uint64_t item : items) {
      other[begin[digitOf(item, digit)]++] = item;
    }
    items.swap(other);
  }
}

/// One row at a time, with the memory that it needs.
class RowSorter {
public:
  explicit RowSorter(const OrderedRows &rows) : of(rows), keys(size_t(rows.length)) {}

  /// Returns false if equal elements have no order.
  bool order(int64_t row) {
    const float *from = of.input + row * of.rowStride;
    for (size_t at = 0; at < keys.size(); ++at) {
      keys[at] = keyOf(from[at]);
    }
    uint32_t last = of.count < of.length ? lastOfInterest() : ~0u;
    items.clear();
    for (size_t at = 0; at < keys.size(); ++at) {
      if (keys[at] <= last) {
        items.push_back(uint64_t{keys[at]} << 32 | at);
      }
    }
    sortItems(items, other);
    size_t checked = of.isStable ? 0 : std::min(items.size(), size_t(of.count) + 1);
    for (size_t at = 1; at < checked; ++at) {
      if (items[at] >> 32 == items[at - 1] >> 32) {
        return false;
      }
    }
    for (int64_t at = 0; at < of.count; ++at) {
      auto place = static_cast<uint32_t>(items[size_t(at)]);
      of.places[row * of.count + at] = place;
      of.values[row * of.count + at] = from[place];
    }
    return true;
  }

private:
  uint32_t keyOf(float number) const {
    uint32_t key = ascendingKey(number);
    return of.descending ? ~key : key;
  }

  /// A key that is not less than the last one that is wanted. Not many more keys are at most that
  /// great, unless many are equal.
  uint32_t lastOfInterest() {
    uint32_t prefix = 0, fixed = 0; // the digits that are known, and their bits
    auto wanted = size_t(of.count);
    for (int digit = kDigits; digit-- > 0;) {
      int shift = digit * kBits;
      Counters counters = {};
      for (uint32_t key : keys) {
        counters[(key >> shift) & (kValues - 1)] += (key & fixed) == prefix;
      }
      uint32_t value = 0;
      for (; counters[value] < wanted; ++value) {
        wanted -= counters[value];
      }
      prefix |= value << shift;
      fixed |= uint32_t(kValues - 1) << shift;
      if (counters[value] <= wanted + size_t(of.count) / 2) {
        break;
      }
    }
    return prefix | ~fixed;
  }

  const OrderedRows &of;
  std::vector<uint32_t> keys;
  std::vector<uint64_t> items, other;
};

} // namespace

bool isOrderFaster(int64_t length, int64_t count) {
  return length >= 64 && length <= INT32_MAX && count * 32 > length;
}

std::vector<int64_t> orderRows(const OrderedRows &rows, ParallelFor parallelFor) {
  std::vector<int64_t> left;
  std::mutex mutex;
  inPieces(parallelFor, rows.rows, kPieceElements / rows.length, [&](int64_t begin, int64_t end) {
    RowSorter sorter(rows);
    for (int64_t row = begin; row < end; ++row) {
      if (!sorter.order(row)) {
        std::lock_guard lock(mutex);
        left.push_back(row);
      }
    }
  });
  std::sort(left.begin(), left.end());
  return left;
}

} // namespace frit
