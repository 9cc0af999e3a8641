// The order of the passes between the imported and the outlined form. No other file depends on it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace frit {

/// The kind of target for which a module is scheduled. The emulation runs the kernels of a GPU.
enum class TargetKind { Cpu, Gpu };

/// The compile options that affect fused regions.
struct FusionOptions {
  /// Keeps every rounding of eager, and does not contract multiply and add.
  bool eagerNumerics = false;
  /// Every call gives the same bits, also on GPUs.
  bool deterministic = false;
  /// Fuse operators into kernels.
  bool merge = true;
  /// Generate random numbers in kernels.
  bool philox = false;
  /// Which library calls get padded operands: "auto", "off" or "force".
  std::string padding = "auto";
  /// Every target is a GPU or the emulation of one.
  bool gpu = false;
  /// The oldest GPU architecture among the targets.
  unsigned arch = 80;
  /// Fill lanes that no result may depend on with conspicuous values.
  bool poison = false;
  /// A planted mistake in a legalisation rule (frit-legalize-aten's `mutant`).
  std::string mutant;
  /// The first result that only a backward graph sees; -1 for none.
  int64_t firstKept = -1;
  /// Bucket lists and policy: the options of `assign-buckets`.
  std::string buckets;
  std::string bucketPolicy = "auto";
  /// Convolutions run in the runtime's own kernel, with their epilogues. For CPUs only.
  bool convolutions = false;
};

/// From imported form to canonical form: the vocabulary, canonicalised, before any decision is made
/// about the graph.
void buildCanonicalPipeline(mlir::OpPassManager &passes, const FusionOptions &options = {});

/// Buckets, padding and calls of convolutions with their epilogues, before operators share kernels;
/// the same for every target.
void buildCallPipeline(mlir::OpPassManager &passes, const FusionOptions &options = {});

/// Then fused regions; the same for every target.
void buildFusionPipeline(mlir::OpPassManager &passes, const FusionOptions &options = {});

/// Options about layouts and sizes.
struct LayoutOptions {
  /// Calls may use another order of dims than the trace.
  bool relay = true;
  /// Weights that share their bytes with no other may be stored in another order too.
  bool relayWeights = false;
  /// The first result that only a backward graph sees; -1 for none.
  int64_t firstKept = -1;
  /// The arguments that are channels-last.
  std::vector<int64_t> channelsLastInputs;
  /// The oldest GPU architecture among the targets.
  unsigned arch = 80;
  /// The lowest level of the target CPUs.
  std::string cpuLevel = "x86-64-v4";
  /// The option `choices` of `choose-schedules`, for regions, or on CPUs of `schedule-cpu-kernels`,
  /// for kernels.
  std::string schedules;
  /// Known ranges of sizes, in the syntax of `narrow-sizes`.
  std::string ranges;
  /// Reuse memory, and write results over operands that are dead or overwritten anyway.
  bool reuse = true;
  /// The bits of a row do not depend on the number of rows. For CPUs only.
  bool batchInvariant = false;
};

/// From fused regions to outlined form: layouts, schedules, buffers and kernels for one kind of
/// target.
void buildTargetPipeline(mlir::OpPassManager &passes, TargetKind kind,
                         const LayoutOptions &options = {});

/// Schedules of kernels that are outlined already; part of the target pipeline.
void buildSchedulePipeline(mlir::OpPassManager &passes, TargetKind kind,
                           const LayoutOptions &options);

/// `--frit-graph-pipeline[=target=gpu eager-numerics fusion=false]` for frit-opt: both.
void registerPipelines();

} // namespace frit
