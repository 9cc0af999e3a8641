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

/// Entries of all lists of a graph together: every entry may cost a kernel, a CUDA graph or a block
/// of memory.
inline constexpr unsigned kMaxBuckets = 64;

using BucketList = llvm::SmallVector<int64_t>;

/// Powers of two to 64, then eight steps an octave, which waste less than 12.5 %; from `min` to
/// `max`, which is the last entry where it is declared; multiples of `divisor`; at most `count`
/// entries.
BucketList rampBuckets(int64_t min, std::optional<int64_t> max, int64_t divisor, unsigned count);

/// A user's list for sizes in [min, max]: entries below `min` hold nothing, those above `max` are
/// `max`.
BucketList clipBuckets(llvm::ArrayRef<int64_t> sizes, int64_t min, std::optional<int64_t> max,
                       int64_t divisor);

/// How many of `available` entries each of several ramps gets, which would take `wanted`: equal
/// shares, and what one leaves the others take.
std::vector<unsigned> shareBuckets(llvm::ArrayRef<unsigned> wanted, unsigned available);

/// The `count` buckets of least padded cost (sum of the bucket over all recorded sizes), exactly.
BucketList bucketsOfHistogram(const std::map<int64_t, uint64_t> &sizes, unsigned count);

/// What was asked for one size.
struct BucketRequest {
  /// An argument and a dimension ("x[0]"), an integer argument ("n"), or after '%' a symbol that
  /// the caller has resolved.
  std::string key;
  /// "ramp", "off", "list" or "histogram".
  std::string policy;
  BucketList sizes;
};

/// Reads "x[0]=8,16,32;n=ramp;%s77=histogram:4,9": empty, or what is wrong with it.
std::string readBuckets(llvm::StringRef text, std::vector<BucketRequest> &requests);

/// Empty, or what is wrong with the list of `key`.
std::string checkBuckets(llvm::StringRef key, llvm::ArrayRef<int64_t> sizes);

/// Reads {"x[0]": {"17": 120, "64": 3}}, sizes and how often each was seen, and makes a request of
/// `count` buckets for each key.
std::string readHistogram(llvm::StringRef json, unsigned count,
                          std::vector<BucketRequest> &requests);

/// The text form that readBuckets reads.
std::string writeBuckets(llvm::ArrayRef<BucketRequest> requests);

} // namespace mlir::frit
