#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <optional>
#include <string>
#include <vector>

/// The interface of this room to the compiler: the kernels of an outlined module as machine code,
/// with descriptors of their launches. Arguments are passed as runtime/artifact/KernelAbi.h
/// defines; sizes are expressions over a kernel's parameters p0...
namespace mlir::frit {

/// One launch of a kernel; a kernel runs its launches in order.
struct LaunchDesc {
  std::string entry;
  /// CPU: the runtime splits [0, units) over threads, at least `grain` each.
  SizeAttr units;
  int64_t grain = 1;
  /// CPU: the byte offset of the entry in the image.
  uint64_t offset = 0;
  /// GPU and SIMT.
  SizeAttr grid[3];
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
  /// Blocks of a cluster, along x; `grid[0]` is a multiple of it.
  uint32_t cluster = 1;
  /// GPU and SIMT: the number of items in the table that the entry takes (ir/KernelLists.h), with
  /// the grid of one item; 0: plain arguments.
  uint32_t listItems = 0;
};

/// Requires that the address of the tensor with this number (operands, then results) is a multiple
/// of `bytes`, a power of two.
struct AlignedTensor {
  unsigned number = 0;
  uint32_t bytes = 1;
};

/// Code for some of the calls: for the sizes of one of the kernel's `frit.variants`, for aligned
/// pointers, or for both.
struct VariantDesc {
  /// The number in `frit.variants`; empty if it serves all sizes.
  std::optional<unsigned> number;
  std::vector<AlignedTensor> aligned;
  std::vector<LaunchDesc> launches;
  SizeAttr workspaceBytes;
};

struct KernelDesc {
  std::string name;
  /// The launches of the generic kernel, which runs for any sizes and pointers.
  std::vector<LaunchDesc> launches;
  /// Scratch shared by the launches of one call; the constant 0 if none.
  SizeAttr workspaceBytes;
  /// In the order in which they are tried, without variants that are equal to the generic kernel.
  std::vector<VariantDesc> variants;

  /// The hot launches: those that are tried first and run in most calls.
  const std::vector<LaunchDesc> &getHot() const {
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
  /// LLVM's features that kernels may use beyond the level, in LLVM's order.
  std::vector<std::string> features = {};

  /// The best level of this machine (V3 is the floor).
  static CpuTarget host();
  /// Parses "host", a level, LLVM's name of a CPU, and features after it: "x86-64-v3,+avx512f",
  /// "skylake-avx512", "avx2,fma" (which add to x86-64-v3). Returns an empty string or an error.
  static std::string parse(llvm::StringRef text, CpuTarget &target);
  /// The features that parse accepts beyond those of a level: kernels can use them without a change
  /// of results.
  static llvm::ArrayRef<llvm::StringLiteral> usableFeatures();

  llvm::StringRef levelName() const;
  /// "x86-64-v3,+avx512f": the text that parse reads as this target.
  std::string text() const;
};

/// Counts of a graph's kernels; each kernel counts once per target.
struct KernelCounts {
  unsigned compiled = 0;
  /// Compiled before by this process, for this graph or another.
  unsigned reused = 0;
  /// Older kernels that were evicted from the process's cache.
  unsigned forgotten = 0;
};

/// Position-independent code and constants. Map it (page-aligned, readable and executable) and call
/// `base + offset`; it refers to nothing else in the process.
struct CpuImage {
  std::string bytes;
  std::vector<KernelDesc> kernels;
  KernelCounts counts;
  /// LLVM's IR of the kernels after LLVM's passes, if it was requested.
  std::string llvmIr;
};

/// Compiles every frit.kernel of the module, which is not changed. Fails with a diagnostic per
/// kernel, and sets `kRefusedAttr` on it; a kernel that already has the attribute fails too. Here
/// and below `keepsLlvmIr` requests LLVM's IR too.
LogicalResult generateCpuImage(ModuleOp module, const CpuTarget &target, CpuImage &image,
                               bool keepsLlvmIr = false);

/// Clears the process's cache of compiled kernels.
void forgetKernels();

struct PtxImages {
  struct Text {
    /// Compute capability times ten.
    unsigned arch;
    std::string ptx;
    /// The cold code: a driver need not load it before one of its launches runs.
    bool isCold = false;
    std::string llvmIr;
  };
  /// The hot code for each architecture, then the cold code where there is any.
  std::vector<Text> texts;
  std::vector<KernelDesc> kernels;
  KernelCounts counts;
};

/// Compiles all kernels to PTX, for each architecture (80, 90, 100). Fails with a diagnostic.
LogicalResult generatePtx(ModuleOp module, llvm::ArrayRef<unsigned> architectures,
                          PtxImages &images, bool keepsLlvmIr = false);

/// Compiles the same GPU kernels to host code for the emulator of runtime/simt.
LogicalResult generateSimtImage(ModuleOp module, CpuLevel level, CpuImage &image,
                                bool keepsLlvmIr = false);

/// Prints the kernel program of every frit.kernel of the module, and counts them.
FailureOr<unsigned> printKernelPrograms(ModuleOp module, llvm::raw_ostream &os);

} // namespace mlir::frit
