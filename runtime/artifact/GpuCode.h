// Reads the declarations of entries in GPU code. A launch passes the driver one address for each
// parameter, and the driver reads as many bytes there as the code declares. So the declarations are
// compared with what the plan passes before the driver gets either.

#pragma once

#include "runtime/artifact/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

struct GpuEntry {
  std::string_view name;
  /// One letter per parameter: 'i' for an integer or an address of 8 bytes, 'f' for an f64, 'n' for
  /// either of them, 't' for a table.
  std::string parameters;
  /// Bytes of all tables together.
  uint64_t tableBytes = 0;
  /// Threads of a block, at most (.maxntid) or exactly (.reqntid); 0 if not declared.
  uint64_t threads = 0;
  /// Blocks of a cluster (.reqnctapercluster).
  uint64_t cluster = 1;
};

/// Precedes each kernel of a PTX text with several. Kernels do not depend on each other, only on
/// the text before the first mark.
inline constexpr std::string_view kPtxKernelMark = "\n// frit: another kernel\n";

/// PTX of some of a text's kernels; can be linked by itself.
struct PtxPart {
  std::string text;
  std::vector<std::string> entries;
};

/// Splits PTX into up to `most` parts of about equal length, each with some of its kernels, ordered
/// by the first kernel of each. Returns the whole text if no kernels are marked.
std::vector<PtxPart> splitPtx(std::string_view text, size_t most);

/// Lists names for a message.
std::string listed(const std::vector<std::string> &entries);

/// The entries of PTX for sm_`arch`. Refuses text that is not PTX or is for another architecture,
/// and parameters that are neither 8-byte numbers nor tables of them.
Result<std::vector<GpuEntry>> readPtx(std::string_view text, uint32_t arch);

/// The entries of a cubin, which does not distinguish integers from floats. Refuses bytes that are
/// not an ELF file for NVIDIA GPUs, sections outside of the bytes, and parameters that readPtx
/// would refuse.
Result<std::vector<GpuEntry>> readCubin(std::span<const uint8_t> bytes);

} // namespace frit
