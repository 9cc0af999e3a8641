// A plan in the executor's form: flat vectors with every index checked, so that a call only walks
// arrays.
//
// Decoding also simulates the steps once, for errors that no index check finds: a tensor register
// that is read before it is written or after its storage is freed. The simulation decides for each
// tensor register whether bare memory is enough (only kernels access it) or whether it must be a
// tensor of the host (an ATen call, a callback or the user sees it). Bare memory costs one pointer.

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

/// The type of a tensor register, with sizes and strides as int registers.
struct TensorType {
  format::Dtype dtype;
  format::Device device;
  /// -1: unknown until the call that makes it has run.
  int32_t rank;
  Registers sizes;
  Registers strides;
  bool hasStrides;
  /// It must be a tensor of the host, not bare memory.
  bool needsHandle = false;
  /// The register with a result's offset in its storage, kNoRegister for 0.
  uint32_t offset = kNoRegister;
  /// The register with the bytes of a temporary's block at the bucket of its sizes; kNoRegister for
  /// a block of its own size.
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

/// One step. The operands are the fields of the table of the same name in Artifact.fbs, in order.
/// `flag` is the storage class of an Alloc; for an Item or Wrap, whether it uses the float file.
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
  /// Bits that must be zero in the addresses of the site's tensors.
  std::vector<format::PointerBits> aligned;
  /// Three registers (x, y, z) for each launch; for a list, those of each item.
  std::vector<std::array<uint32_t, 3>> launches;
};

/// A use of a kernel.
struct LaunchSite {
  uint32_t kernel;
  Registers tensors, ints, floats;
  std::vector<DecodedVariant> variants;
  /// The index of the kernel's first variant counter, if it has several variants.
  uint32_t counts = 0;
  /// Items of a list, which run at once; each has an equal share of the registers.
  uint32_t items = 1;
  /// The items that the table of a GPU entry holds; 0: it has no table.
  uint32_t tableItems = 0;

  /// The number of launches for the driver or a thread pool: a list is one launch.
  size_t launchesOf(const DecodedVariant &variant) const { return variant.launches.size() / items; }
};

struct DecodedPlan {
  /// Decodes and checks a plan of `artifact`; the error of a malformed one names the place.
  static Result<std::shared_ptr<const DecodedPlan>> decode(std::shared_ptr<const Artifact> artifact,
                                                           const format::Plan &plan);

  std::shared_ptr<const Artifact> artifact;
  const format::Plan *source = nullptr;

  /// The int and float files before the first step (constants set, all else zero).
  std::vector<int64_t> initialInts;
  std::vector<double> initialFloats;
  std::vector<TensorType> tensors;
  std::vector<Code> programs;
  /// Empty if the plan has none.
  Code sizeProgram;
  std::vector<DecodedStep> steps;
  std::vector<LaunchSite> sites;
  std::vector<const format::Aten *> atenCalls;
  std::vector<std::string> checkMessages;
  /// Guards over sizes, whose registers are consecutive from `firstGuard` on, and guards over
  /// addresses.
  std::vector<const format::Guard *> sizeGuards, addressGuards;
  uint32_t firstGuard = 0;
  /// Kernels with several variants, and their total number of counters.
  std::vector<uint32_t> kernelsWithVariants;
  uint32_t variantCounts = 0;
  /// The largest numbers of tensors, ints and floats of a launch, for the scratch of a call.
  size_t maxPointers = 0, maxInts = 0, maxFloats = 0, maxRank = 0;
  uint32_t arenaBytes = kNoRegister;
  /// Registers with the elements that pads write, and how many of them are logical: both or none.
  uint32_t paddedElements = kNoRegister, logicalElements = kNoRegister;
};

/// Bytes of one element.
size_t bytesOf(format::Dtype dtype);
/// Whether a scalar of this type is in the float file.
bool isFloating(format::Dtype dtype);
/// torch's name: "float32", "int64" ...
const char *nameOf(format::Dtype dtype);

} // namespace frit
