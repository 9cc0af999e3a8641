// What a piece of GPU code says about its entries. A launch hands the driver one address for each
// parameter and the driver reads as many bytes behind each as the code declares, so what the code
// declares is compared with what the plan passes before the driver sees either.

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
  /// One letter a parameter: 'i' for an integer or an address of 8 bytes, 'f' for an f64, 'n' for
  /// either of them, 't' for a table.
  std::string parameters;
  /// Of the tables together.
  uint64_t tableBytes = 0;
  /// Threads of a block, at most (.maxntid) or exactly (.reqntid); 0 where nothing is said.
  uint64_t threads = 0;
  /// Blocks of a cluster (.reqnctapercluster).
  uint64_t cluster = 1;
};

/// In front of each of several kernels of a PTX text; they need nothing of each other, only what
/// stands in front of the first.
inline constexpr std::string_view kPtxKernelMark = "\n// frit: another kernel\n";

/// PTX of some of the kernels of a text, which stands alone.
struct PtxPart {
  std::string text;
  std::vector<std::string> entries;
};

/// PTX in up to `most` parts of about the same length, which have its kernels between them, in
/// order of the first of each; the text itself where no kernels are marked.
std::vector<PtxPart> splitPtx(std::string_view text, size_t most);

/// Names for a message.
std::string listed(const std::vector<std::string> &entries);

/// The entries of PTX text for sm_`arch`; refuses text that is none, is for another architecture,
/// or whose parameters are not all numbers of 8 bytes or tables of such.
Result<std::vector<GpuEntry>> readPtx(std::string_view text, uint32_t arch);

/// The entries of a cubin, which does not tell integers from floats. Refuses bytes that are no ELF
/// file for NVIDIA's GPUs or whose sections lie outside of them, and entries whose parameters are
/// not those of readPtx.
Result<std::vector<GpuEntry>> readCubin(std::span<const uint8_t> bytes);

} // namespace frit
