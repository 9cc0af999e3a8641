// The order of things: which passes run between the imported and the outlined form. Nobody else
// knows an order.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace frit {

/// Whose schedules a module carries. The emulation runs what a GPU would.
enum class Family { Cpu, Gpu };

/// The compile options that decide about fused regions.
struct FusionOptions {
  /// Every rounding of eager stays, and no multiply and add become one.
  bool eagerNumerics = false;
  /// Operators share kernels.
  bool merge = true;
  /// Kernels make their random numbers.
  bool philox = false;
  /// Which library calls get padded operands: "auto", "off" or "force".
  std::string padding = "auto";
  /// Every target is a GPU, or emulates one.
  bool gpu = false;
  /// The oldest GPU architecture that is compiled for.
  unsigned arch = 80;
  /// Lanes that nobody may depend on hold what would show.
  bool poison = false;
  /// A legalisation rule with a mistake (frit-legalize-aten's `mutant`).
  std::string mutant;
  /// The first result that only a backward graph sees; -1 for none.
  int64_t firstKept = -1;
  /// Which sizes round up to what: the options of `assign-buckets`.
  std::string buckets;
  std::string bucketPolicy = "auto";
};

/// Imported form to the vocabulary, each formula in its canonical form: what a graph means, before
/// anything is decided about it.
void buildCanonicalPipeline(mlir::OpPassManager &passes, const FusionOptions &options = {});

/// Canonical form to fused regions: the same for every target.
void buildFusionPipeline(mlir::OpPassManager &passes, const FusionOptions &options = {});

/// What a graph's layouts and sizes may be, beyond what its tensors say.
struct LayoutOptions {
  /// Calls may work in another order of dims than the trace saw.
  bool relay = true;
  /// Weights with bytes of their own may lie in another order too.
  bool relayWeights = false;
  /// The first result that only a backward graph sees; -1 for none.
  int64_t firstKept = -1;
  /// Arguments that are channels-last.
  std::vector<int64_t> channelsLastInputs;
  /// The oldest GPU architecture that is compiled for.
  unsigned arch = 80;
  /// The lowest level of the CPUs that are compiled for.
  std::string cpuLevel = "x86-64-v4";
  /// Which schedule of which region, as `choose-schedules` takes it, or, on CPUs, of which kernel,
  /// as `schedule-cpu-kernels` does.
  std::string schedules;
  /// Sizes that are known to stay within a range, as `narrow-sizes` takes them.
  std::string ranges;
  /// Memory is used again, and results are written over what ends or is overwritten anyway.
  bool reuse = true;
};

/// Fused regions to outlined form: layouts, schedules, buffers and kernels of one family.
void buildTargetPipeline(mlir::OpPassManager &passes, Family family,
                         const LayoutOptions &options = {});

/// Schedules of kernels that are outlined already; part of the target pipeline.
void buildCpuSchedulePipeline(mlir::OpPassManager &passes, const LayoutOptions &options);

/// `--frit-graph-pipeline[=target=gpu eager-numerics fusion=false]` for frit-opt: both.
void registerPipelines();

} // namespace frit
