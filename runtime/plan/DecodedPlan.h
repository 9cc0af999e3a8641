// A plan as the executor wants it: flat vectors, every index checked once, so that a call only
// walks arrays.
//
// Decoding also plays the steps through once to find mistakes that no index check sees: a tensor
// register read before it is written or after its storage is gone, and it decides for each tensor
// register whether bare memory is enough (only kernels touch it) or whether it must be a tensor of
// the host (an ATen call, a callback or the user sees it). Bare memory costs one pointer.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace frit {

using Registers = std::span<const uint32_t>;
using Code = std::span<const format::Instruction>;

/// What a tensor register holds, sizes and strides as int registers.
struct TensorType {
  format::Dtype dtype;
  format::Device device;
  /// -1: unknown until the call that makes it has run.
  int32_t rank;
  Registers sizes;
  Registers strides;
  bool hasStrides;
  /// Must be a tensor of the host, not bare memory.
  bool needsHandle = false;
  /// Where a result begins in the storage made for it, kNoRegister for its start.
  uint32_t offset = kNoRegister;
  /// Bytes of a temporary's block at the bucket of its sizes, kNoRegister for one of its own size.
  uint32_t capacity = kNoRegister;
};

enum class StepKind : uint8_t {
  Eval,
  Alloc,
  Reuse,
  Free,
  View,
  Launch,
  Aten,
  CopyInto,
  Touch,
  Dim,
  Item,
  Wrap,
  Check
};

/// One step; the meaning of the operands is that of the table of the same name in Artifact.fbs, in
/// its order of fields. `flag` is the storage class of an Alloc and whether an Item or Wrap uses
/// the float file.
struct DecodedStep {
  StepKind kind;
  uint8_t flag = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
};

struct DecodedVariant {
  uint32_t guard;
  uint32_t workspace;
  /// Bits that addresses of the site's tensors must not have.
  std::vector<format::PointerBits> aligned;
  /// Three registers (x, y, z) a launch, or one over a list, for each item.
  std::vector<std::array<uint32_t, 3>> launches;
};

/// A use of a kernel.
struct LaunchSite {
  uint32_t kernel;
  Registers tensors, ints, floats;
  std::vector<DecodedVariant> variants;
  /// Where the kernel's variants are counted, if it has several.
  uint32_t counts = 0;
  /// Uses at once; each has its share of the registers.
  uint32_t items = 1;
  /// How many items the table of a GPU's entry holds; 0: its parameters are plain.
  uint32_t room = 0;

  /// What the driver or a thread pool gets to do: a list is one launch.
  size_t launchesOf(const DecodedVariant &variant) const { return variant.launches.size() / items; }
};

struct DecodedPlan {
  static Result<std::shared_ptr<const DecodedPlan>> decode(std::shared_ptr<const Artifact> artifact,
                                                           const format::Plan &plan);

  std::shared_ptr<const Artifact> artifact;
  const format::Plan *source = nullptr;

  /// Int and float files as they are before the first step (constants in place, zeros elsewhere).
  std::vector<int64_t> initialInts;
  std::vector<double> initialFloats;
  std::vector<TensorType> tensors;
  std::vector<Code> programs;
  /// Empty when the plan has none.
  Code sizeProgram;
  std::vector<DecodedStep> steps;
  std::vector<LaunchSite> sites;
  std::vector<const format::Aten *> atenCalls;
  std::vector<std::string> checkMessages;
  /// Guards over sizes, whose registers follow one another from `firstGuard` on, and those over
  /// addresses.
  std::vector<const format::Guard *> sizeGuards, addressGuards;
  uint32_t firstGuard = 0;
  /// Kernels with several variants, and how many counters they need together.
  std::vector<uint32_t> kernelsWithVariants;
  uint32_t variantCounts = 0;
  /// Largest number of tensors, ints and floats of a launch: the scratch a call needs.
  size_t maxPointers = 0, maxInts = 0, maxFloats = 0, maxRank = 0;
  uint32_t arenaBytes = kNoRegister;
  /// What pads write at a call and how much of it is logical: both or none.
  uint32_t paddedElements = kNoRegister, logicalElements = kNoRegister;
};

/// Bytes of one element.
size_t bytesOf(format::Dtype dtype);
/// Whether a scalar of this type lives in the float file.
bool isFloating(format::Dtype dtype);
/// torch's name: "float32", "int64" ...
const char *nameOf(format::Dtype dtype);

} // namespace frit
