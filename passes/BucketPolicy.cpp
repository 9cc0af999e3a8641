#include "passes/BucketPolicy.h"

#include "ir/BoundedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mlir::frit {

BucketList rampBuckets(int64_t min, std::optional<int64_t> max, int64_t divisor, unsigned count) {
  BucketList sizes;
  for (int64_t value = 1; sizes.size() < count;
       value =
           value < 64
               ? value * 2
               : value + static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(value))) / 8) {
    int64_t size = (value + divisor - 1) / divisor * divisor;
    if (max && size >= *max) {
      if (*max >= 1) {
        sizes.push_back(*max);
      }
      break;
    }
    if (size >= min && (sizes.empty() || size > sizes.back())) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

BucketList clipBuckets(llvm::ArrayRef<int64_t> sizes, int64_t min, std::optional<int64_t> max,
                       int64_t divisor) {
  BucketList clipped;
  for (int64_t given : sizes) {
    int64_t size = (given + divisor - 1) / divisor * divisor;
    size = max ? std::min(size, std::max<int64_t>(*max, 1)) : size;
    if (size >= min && (clipped.empty() || size > clipped.back())) {
      clipped.push_back(size);
    }
  }
  return clipped;
}

std::vector<unsigned> shareBuckets(llvm::ArrayRef<unsigned> wanted, unsigned available) {
  std::vector<unsigned> order(wanted.size()), shares(wanted.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(wanted[a], a) < std::pair(wanted[b], b);
  });
  for (size_t i = 0; i != order.size(); ++i) {
    unsigned fair = available / static_cast<unsigned>(order.size() - i);
    shares[order[i]] = std::min(wanted[order[i]], fair);
    available -= shares[order[i]];
  }
  return shares;
}

namespace {
/// Sums of size times count, which may exceed 64 bits.
using Cost = unsigned __int128;

/// One step of the dynamic program, which adds a bucket. The sizes are distinct and ascending;
/// best[j] is the least cost of the first j of them if sizes[j - 1] is the last bucket. The best
/// previous bucket grows with j, so that divide and conquer halves the candidates along with the
/// range.
struct NextBucket {
  llvm::ArrayRef<int64_t> sizes;
  llvm::ArrayRef<uint64_t> upTo;
  llvm::ArrayRef<Cost> previous;
  std::vector<Cost> &best;
  std::vector<size_t> &from;

  void solve(size_t low, size_t high, size_t firstCandidate, size_t lastCandidate) {
    if (low > high) {
      return;
    }
    size_t middle = low + (high - low) / 2, chosen = firstCandidate;
    Cost least = ~Cost(0);
    for (size_t before = firstCandidate; before <= std::min(lastCandidate, middle - 1); ++before) {
      if (previous[before] == ~Cost(0)) {
        continue;
      }
      Cost cost = previous[before] + Cost(sizes[middle - 1]) * (upTo[middle] - upTo[before]);
      if (cost < least) {
        least = cost;
        chosen = before;
      }
    }
    best[middle] = least;
    from[middle] = chosen;
    if (middle > low) {
      solve(low, middle - 1, firstCandidate, chosen);
    }
    solve(middle + 1, high, chosen, lastCandidate);
  }
};
} // namespace

BucketList bucketsOfHistogram(const std::map<int64_t, uint64_t> &counted, unsigned count) {
  std::vector<int64_t> sizes;
  std::vector<uint64_t> upTo = {0};
  for (auto [size, times] : counted) {
    if (times != 0) {
      sizes.push_back(size);
      upTo.push_back(upTo.back() + times);
    }
  }
  size_t n = sizes.size();
  if (n <= count) {
    return BucketList(sizes.begin(), sizes.end());
  }
  std::vector<Cost> best(n + 1, ~Cost(0));
  best[0] = 0;
  std::vector<std::vector<size_t>> from;
  for (unsigned bucket = 0; bucket < count; ++bucket) {
    std::vector<Cost> next(n + 1, ~Cost(0));
    from.emplace_back(n + 1, 0);
    NextBucket{sizes, upTo, best, next, from.back()}.solve(1, n, 0, n - 1);
    best = std::move(next);
  }
  BucketList chosen;
  size_t at = n;
  for (unsigned bucket = count; bucket-- > 0;) {
    chosen.push_back(sizes[at - 1]);
    at = from[bucket][at];
  }
  return BucketList(chosen.rbegin(), chosen.rend());
}

std::string checkBuckets(llvm::StringRef key, llvm::ArrayRef<int64_t> sizes) {
  std::string of = ("buckets of '" + key + "' ").str();
  if (sizes.empty()) {
    return of + "are empty; give sizes in ascending order, or 'ramp'";
  }
  int64_t before = 0;
  for (int64_t size : sizes) {
    if (size < 1) {
      return of + "must be positive sizes, found " + std::to_string(size);
    }
    if (size <= before) {
      return of + "must ascend, found " + std::to_string(size) + " after " + std::to_string(before);
    }
    before = size;
  }
  if (sizes.size() > kMaxBuckets) {
    return of + "are " + std::to_string(sizes.size()) + "; a graph takes at most " +
           std::to_string(kMaxBuckets);
  }
  return "";
}

std::string readBuckets(llvm::StringRef text, std::vector<BucketRequest> &requests) {
  llvm::SmallVector<llvm::StringRef> entries;
  text.split(entries, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef entry : entries) {
    auto [key, value] = entry.rsplit('=');
    key = key.trim();
    value = value.trim();
    if (key.empty() || !entry.contains('=')) {
      return ("buckets are written KEY=8,16,32 or KEY=ramp, found '" + entry + "'").str();
    }
    BucketRequest request{key.str(), value.str(), {}};
    if (value != "ramp" && value != "off") {
      request.policy = value.consume_front("histogram:") ? "histogram" : "list";
      llvm::SmallVector<llvm::StringRef> words;
      value.split(words, ',', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef word : words) {
        int64_t size;
        if (word.trim().getAsInteger(10, size)) {
          return ("buckets of '" + key + "' must be integers, found '" + word.trim() + "'").str();
        }
        request.sizes.push_back(size);
      }
      if (std::string wrong = checkBuckets(key, request.sizes); !wrong.empty()) {
        return wrong;
      }
    }
    for (const BucketRequest &other : requests) {
      if (other.key == request.key) {
        return ("buckets of '" + key + "' are given twice").str();
      }
    }
    requests.push_back(std::move(request));
  }
  return "";
}

std::string readHistogram(llvm::StringRef json, unsigned count,
                          std::vector<BucketRequest> &requests) {
  llvm::Expected<llvm::json::Value> parsed = parseBoundedJson(json);
  if (!parsed) {
    return "not JSON: " + llvm::toString(parsed.takeError());
  }
  const llvm::json::Object *keys = parsed->getAsObject();
  if (!keys || keys->empty()) {
    return R"(a histogram looks like {"x[0]": {"17": 120, "64": 3}}: how often each size of a dimension was seen)";
  }
  for (const auto &[key, value] : *keys) {
    std::string of = "sizes of '" + key.str() + "' ";
    const llvm::json::Object *counts = value.getAsObject();
    if (!counts) {
      return of + R"(must be an object like {"17": 120, "64": 3})";
    }
    std::map<int64_t, uint64_t> sizes;
    uint64_t total = 0;
    for (const auto &[size, times] : *counts) {
      int64_t number;
      std::optional<int64_t> seen = times.getAsInteger();
      if (llvm::StringRef(size).getAsInteger(10, number) || number < 0) {
        return of + "must be sizes, found '" + size.str() + "'";
      }
      if (!seen || *seen < 0 ||
          static_cast<uint64_t>(*seen) > std::numeric_limits<int64_t>::max() - total) {
        return of + "must be counted by non-negative integers, found one that is not at size " +
               size.str();
      }
      total += static_cast<uint64_t>(*seen);
      // A size of 0 fits into every bucket.
      if (number > 0) {
        sizes[number] += static_cast<uint64_t>(*seen);
      }
    }
    BucketRequest request{key.str(), "histogram", bucketsOfHistogram(sizes, count)};
    if (request.sizes.empty()) {
      return of + "were never seen: every count is 0";
    }
    requests.push_back(std::move(request));
  }
  llvm::sort(requests,
             [](const BucketRequest &a, const BucketRequest &b) { return a.key < b.key; });
  return "";
}

std::string writeBuckets(llvm::ArrayRef<BucketRequest> requests) {
  std::string text;
  for (const BucketRequest &request : requests) {
    text += (text.empty() ? "" : ";") + request.key + "=";
    if (request.policy == "ramp" || request.policy == "off") {
      text += request.policy;
      continue;
    }
    text += request.policy == "histogram" ? "histogram:" : "";
    text += llvm::join(
        llvm::map_range(request.sizes, [](int64_t size) { return std::to_string(size); }), ",");
  }
  return text;
}

} // namespace mlir::frit
