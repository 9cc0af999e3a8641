#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <optional>
#include <string>
#include <vector>

/// What the compiler asks of this room: the kernels of an outlined module as
/// machine code, with the descriptors their launches need. The forms of the
/// numbers are those of runtime/artifact/KernelAbi.h; sizes are expressions over
/// a kernel's parameters p0...
namespace mlir::frit {

/// One launch of a kernel; a kernel runs its launches in order.
struct LaunchDesc {
  std::string entry;
  /// CPU: the runtime splits [0, units) over threads, at least `grain` each.
  SizeAttr units;
  int64_t grain = 1;
  /// CPU: where the entry lies in the image.
  uint64_t offset = 0;
  /// GPU and SIMT.
  SizeAttr grid[3];
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
  /// Blocks of a cluster, along x; `grid[0]` is a multiple of it.
  uint32_t cluster = 1;
  /// GPU and SIMT: the entry takes a table of so many items (ir/KernelLists.h); the grid is that of
  /// one item. 0: plain arguments.
  uint32_t listItems = 0;
};

/// The address of the tensor with this number (operands, then results) is a multiple of `bytes`, a
/// power of two.
struct AlignedTensor {
  unsigned number = 0;
  uint32_t bytes = 1;
};

/// Code for a part of the calls: for sizes of one of the variants a kernel lists in
/// `frit.variants`, for aligned pointers, or for both.
struct VariantDesc {
  /// Which of them; none where it serves all sizes.
  std::optional<unsigned> number;
  std::vector<AlignedTensor> aligned;
  std::vector<LaunchDesc> launches;
  SizeAttr workspaceBytes;
};

struct KernelDesc {
  std::string name;
  /// Of the generic kernel, which runs whatever the sizes and pointers are.
  std::vector<LaunchDesc> launches;
  /// Scratch shared by the launches of one call; the constant 0 if none.
  SizeAttr workspaceBytes;
  /// In the order they are tried; those that would be the generic one again are left out.
  std::vector<VariantDesc> variants;

  /// What is tried first, and runs in most calls.
  const std::vector<LaunchDesc> &getUsual() const {
    return variants.empty() ? launches : variants.front().launches;
  }

  /// Variants' launches, then the generic kernel's.
  template <typename F> void forEachLaunch(F &&visit) {
    for (VariantDesc &variant : variants) {
      llvm::for_each(variant.launches, visit);
    }
    llvm::for_each(launches, visit);
  }
  template <typename F> void forEachLaunch(F &&visit) const {
    const_cast<KernelDesc *>(this)->forEachLaunch([&](const LaunchDesc &launch) { visit(launch); });
  }
};

enum class CpuLevel {
  /// AVX2, FMA, F16C.
  X86_64_V3,
  /// and AVX-512 F, BW, CD, DQ, VL.
  X86_64_V4
};

struct CpuTarget {
  CpuLevel level = CpuLevel::X86_64_V3;
  /// What kernels may use beyond the level, by LLVM's names, in order.
  std::vector<std::string> features = {};

  /// The best level of this machine (V3 is the floor).
  static CpuTarget host();
  /// Reads "host", a level, LLVM's name of a CPU, and features after it: "x86-64-v3,+avx512f",
  /// "skylake-avx512", "avx2,fma" (which add to x86-64-v3). Returns an empty string or what is
  /// wrong.
  static std::string parse(llvm::StringRef text, CpuTarget &target);
  /// All that parse lets through without being of a level: what kernels can use and compute the
  /// same values with.
  static llvm::ArrayRef<llvm::StringLiteral> usableFeatures();

  llvm::StringRef levelName() const;
  /// "x86-64-v3,+avx512f": what parse reads as this target.
  std::string text() const;
};

/// What became of a graph's kernels; each counts once for every target.
struct KernelCounts {
  unsigned compiled = 0;
  /// Compiled before by this process, for this graph or another.
  unsigned reused = 0;
  /// Older ones that left the memory of the process to make room.
  unsigned forgotten = 0;
};

/// Position-independent code and constants: map it (page-aligned, readable and
/// executable), call `base + offset`. It needs nothing else of the process.
struct CpuImage {
  std::string bytes;
  std::vector<KernelDesc> kernels;
  KernelCounts counts;
};

/// On a kernel that no code was generated for, by the generators below when they fail; on one that
/// has it before, they fail.
inline constexpr llvm::StringLiteral kRefusedAttr = "frit.refused";

/// Compiles every frit.kernel of the module; the module stays as it is.
LogicalResult generateCpuImage(ModuleOp module, const CpuTarget &target, CpuImage &image);

/// From here on every kernel is compiled again, for whatever target.
void forgetKernels();

struct PtxImages {
  struct Text {
    /// Compute capability times ten.
    unsigned arch;
    std::string ptx;
    /// Of the launches that are not their kernel's usual ones: a driver need not compile them
    /// before one of them runs.
    bool isSeldom = false;
  };
  /// The usual launches for each architecture, then the others where there are any.
  std::vector<Text> texts;
  std::vector<KernelDesc> kernels;
  KernelCounts counts;
};

/// All kernels as PTX, for each architecture (80, 90, 100).
LogicalResult generatePtx(ModuleOp module, llvm::ArrayRef<unsigned> architectures,
                          PtxImages &images);

/// The same GPU kernels as host code for the emulator of runtime/simt.
LogicalResult generateSimtImage(ModuleOp module, CpuLevel level, CpuImage &image);

} // namespace mlir::frit
