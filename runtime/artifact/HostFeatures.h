// Decides which code this machine can run. An image requires a level of the x86-64 psABI and
// possibly features beyond it; both are compared with what the processor reports and with the
// registers that the operating system saves. The C++ compiler's tables (`__builtin_cpu_supports`)
// are not used, because users may build the runtime with any compiler.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

/// The results of CPUID (eax, ebx, ecx and edx of a leaf) and XGETBV.
struct CpuLeaves {
  uint32_t zero[4] = {}, one[4] = {}, seven[4] = {}, sevenOne[4] = {}, extended[4] = {};
  /// The registers that the operating system saves: XCR0, or 0 if it cannot be read.
  uint64_t kept = 0;
};

/// All features that kernels may use, by LLVM's names.
std::vector<std::string_view> kernelFeatures();

/// The features of a level ("x86-64-v4"); none for an unknown level.
std::span<const std::string_view> levelFeatures(std::string_view level);

/// The kernels' features that a machine with these leaves has.
std::vector<std::string_view> featuresOf(const CpuLeaves &leaves);

/// Whether the processor is Intel's. No code may need that: it is for choices between two that are
/// right.
bool isIntel(const CpuLeaves &leaves);

/// Whether this machine's processor is Intel's.
bool isHostIntel();

/// The features of this machine.
const std::vector<std::string_view> &hostFeatures();

/// "avx512bw, gfni": the features of a level and beyond it that `host` lacks; empty if it can run
/// the code. Features unknown to this version count as lacking.
std::string missingFeatures(std::string_view level, const std::vector<std::string_view> &features,
                            const std::vector<std::string_view> &host = hostFeatures());

} // namespace frit
