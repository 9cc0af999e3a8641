// Which sizes a varying dimension may be padded to: the ramp, a user's list, or the best list for
// sizes that were counted. Plain numbers and text, so that the command line, the options and the
// pass share one set of rules and one set of errors.

#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::frit {

/// The most entries of all lists of a graph together: every entry may cost a kernel, a CUDA graph
/// or a block of memory.
inline constexpr unsigned kMaxBuckets = 64;

using BucketList = llvm::SmallVector<int64_t>;

/// The default list: powers of two to 64, then eight steps per octave, which waste less than 12.5%.
/// Entries are multiples of `divisor` and at least `min`; `max`, if given, ends the list. At most
/// `count` entries.
BucketList rampBuckets(int64_t min, std::optional<int64_t> max, int64_t divisor, unsigned count);

/// A user's list for sizes in [min, max]: rounds entries up to multiples of `divisor`, drops those
/// below `min` and lowers those above `max` to `max`.
BucketList clipBuckets(llvm::ArrayRef<int64_t> sizes, int64_t min, std::optional<int64_t> max,
                       int64_t divisor);

/// Divides `available` entries among several ramps that need `wanted` each: equal shares, and what
/// one ramp does not need goes to the others. Returns each ramp's share.
std::vector<unsigned> shareBuckets(llvm::ArrayRef<unsigned> wanted, unsigned available);

/// The `count` buckets with the least padded cost (the sum of the buckets of all recorded sizes).
/// Exact, by dynamic programming.
BucketList bucketsOfHistogram(const std::map<int64_t, uint64_t> &sizes, unsigned count);

/// What the user asked for one size.
struct BucketRequest {
  /// An argument and a dimension ("x[0]"), an integer argument ("n"), or after '%' a symbol that
  /// the caller has resolved.
  std::string key;
  /// "ramp", "off", "list" or "histogram".
  std::string policy;
  BucketList sizes;
};

/// Reads "x[0]=8,16,32;n=ramp;%s77=histogram:4,9". Returns an empty string, or what is wrong with
/// the text.
std::string readBuckets(llvm::StringRef text, std::vector<BucketRequest> &requests);

/// Checks the list of `key`. Returns an empty string, or what is wrong with it.
std::string checkBuckets(llvm::StringRef key, llvm::ArrayRef<int64_t> sizes);

/// Reads {"x[0]": {"17": 120, "64": 3}}, sizes and how often each was seen, and makes a request of
/// `count` buckets for each key. Returns an empty string, or what is wrong with the text.
std::string readHistogram(llvm::StringRef json, unsigned count,
                          std::vector<BucketRequest> &requests);

/// The text form that readBuckets reads.
std::string writeBuckets(llvm::ArrayRef<BucketRequest> requests);

} // namespace mlir::frit
