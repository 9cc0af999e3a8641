// Which code this machine can run. An image says the level of the x86-64 psABI it is for and what
// it may use beyond it; both are looked up in what the processor says of itself and in what the
// system keeps of its registers. No compiler's table takes part: the runtime is built by whatever
// compiler a user has.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

/// What CPUID and XGETBV say: eax, ebx, ecx and edx of a leaf.
struct CpuLeaves {
  uint32_t one[4] = {}, seven[4] = {}, sevenOne[4] = {}, extended[4] = {};
  /// Which registers the system keeps: XCR0, 0 where it cannot be read.
  uint64_t kept = 0;
};

/// All features that kernels make use of, by LLVM's names.
std::vector<std::string_view> kernelFeatures();

/// Those of a level ("x86-64-v4"); none for one that is not known.
std::span<const std::string_view> levelFeatures(std::string_view level);

/// The kernels' features that such a machine has.
std::vector<std::string_view> featuresOf(const CpuLeaves &leaves);

/// Those of this machine.
const std::vector<std::string_view> &hostFeatures();

/// "avx512bw, gfni": what `host` lacks of a level and of the features beyond it; empty where it can
/// run the code. What this version does not know is lacking.
std::string missingFeatures(std::string_view level, const std::vector<std::string_view> &features,
                            const std::vector<std::string_view> &host = hostFeatures());

} // namespace frit
