// Reads a .frit file. Everything is checked before it is used: sizes against the available bytes,
// SHA-256 over header and body, FlatBuffers' own verifier with limits on depth and tables. The
// indices of a plan are checked where it is decoded (runtime/plan/DecodedPlan). The result is
// immutable and shared by all executables made from it.
//
//   offset 0    Header, 128 bytes, little endian
//   offset 128  body, FlatBuffers (Artifact.fbs), at most 64 MiB
//   offset weightsOffset (a multiple of 4096, or 0)
//               weights, each with its own digest in the body, checked on request
//
// The weights may also be in a separate file, or be passed by the caller (docs/Artifact.md).
//
// The digest covers the header too (with zeros in place of the digest), so every flipped bit is
// noticed. It protects against accidents; it is not a signature, since anybody who can write the
// file can write the digest.

#pragma once

#include "runtime/artifact/Status.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

namespace format {
struct Artifact;
struct CodeImage;
struct Plan;
enum class Target : uint8_t;
} // namespace format

inline constexpr std::array<char, 8> kMagic = {'\x7f', 'F', 'R', 'I', 'T', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint64_t kMaxBodyBytes = uint64_t(64) << 20;
inline constexpr uint64_t kWeightsAlignment = 4096;
inline constexpr uint32_t kNoRegister = 0xffffffffu;

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t headerBytes;
  uint64_t bodyBytes;
  uint64_t weightsOffset;
  uint64_t weightsBytes;
  std::array<uint8_t, 32> sha256;
  std::array<uint8_t, 56> reserved;
};
static_assert(sizeof(Header) == 128);

using Digest = std::array<uint8_t, 32>;
Digest sha256(std::span<const uint8_t> bytes);

/// The name of an artifact's file of weights, from its digest.
std::string weightsFileName(std::span<const uint8_t> digest);

/// Pages of a file, mapped copy-on-write.
struct Mapping {
  Mapping() = default;
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping();
  void *address = nullptr;
  size_t bytes = 0;
};

class Artifact {
public:
  /// Checks and copies `bytes` (any alignment).
  static Result<std::shared_ptr<const Artifact>> fromBytes(std::span<const uint8_t> bytes);

  /// Opens, checks and maps a file. Host code may run only if the file belongs to the caller or to
  /// root and is not writable by others, or with `allowHostCode`; see hostCodeTrusted().
  /// `weightsFolder` is the folder of a separate weights file.
  static Result<std::shared_ptr<const Artifact>> fromFile(const std::string &path,
                                                          bool allowHostCode = false,
                                                          const std::string &weightsFolder = "");

  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  const format::Artifact &root() const { return *body; }
  /// The plan for a target, null if the file has none. Of several for the CPU, the first that this
  /// machine can run; if there is none, the first.
  const format::Plan *plan(format::Target target) const;
  std::string_view graphName() const;
  std::string_view report() const;
  /// The graph of this name that control flow calls, checked anew. As trusted as this artifact.
  Result<std::shared_ptr<const Artifact>> subgraph(std::string_view name) const;

  std::span<const uint8_t> weights() const { return weightBytes; }
  /// Bytes of the body. Decoding it needs no more memory than a few times as much.
  uint64_t bodyBytes() const { return sizeOfBody; }
  /// Compares every weight with its digest and the gaps between them with zero. Reads all weights.
  Status checkWeights() const;

  /// Ok, or the reason why host code of this artifact may not be mapped.
  Status hostCodeTrusted() const;

private:
  Artifact() = default;
  Status attach(std::span<const uint8_t> bytes);
  Status findWeights(std::span<const uint8_t> section);

  /// The body is always a private copy, so what was checked is what is used even if the file
  /// changes later.
  std::vector<uint64_t> bodyCopy;
  std::vector<uint8_t> weightsCopy;
  Mapping mapping, weightsMapping;
  std::string weightsFolder;
  const format::Artifact *body = nullptr;
  uint64_t sizeOfBody = 0;
  std::span<const uint8_t> weightBytes;
  std::string distrust;
};

/// The features that this machine lacks for an image of a checked body; empty if it can run it.
std::string missingFeatures(const format::CodeImage &image);

/// "x86-64-v3,+avx512f": the target of an image.
std::string levelText(const format::CodeImage &image);

} // namespace frit
