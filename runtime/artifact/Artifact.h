// Reading a .frit file. Nothing in it is believed before it is checked: sizes against the bytes at
// hand, SHA-256 over header and body, FlatBuffers' own verifier with caps on depth and tables; the
// indices of a plan are checked where it is decoded (runtime/plan/DecodedPlan). What comes out is
// immutable and shared by all executables made from it.
//
//   offset 0    Header, 128 bytes, little endian
//   offset 128  body, FlatBuffers (Artifact.fbs), at most 64 MiB
//   offset weightsOffset (a multiple of 4096, or 0)  weights, each with its own digest in the body,
//   checked on request
//
// The weights may also lie in a file of their own, or be given by the caller (docs/Artifact.md).
//
// The digest covers the header too (with the digest field as zeros), so that every flipped bit is
// noticed. It is a guard against accidents, not a signature: who can write the file can write the
// digest.

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

/// What an artifact's file of weights is called, by its digest.
std::string weightsFileName(std::span<const uint8_t> digest);

/// Pages of a file, private to this process: who writes to them gets pages of their own.
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
  /// Checks and copies `bytes` (their alignment does not matter).
  static Result<std::shared_ptr<const Artifact>> fromBytes(std::span<const uint8_t> bytes);

  /// Opens, checks and maps a file. Whether host code in it may run is decided by
  /// `hostCodeTrusted()`: the file must belong to the caller or to root and must not be writable by
  /// others, or the caller must insist with `allowHostCode`. `weightsFolder` is where the weights
  /// of an artifact without them lie.
  static Result<std::shared_ptr<const Artifact>> fromFile(const std::string &path,
                                                          bool allowHostCode = false,
                                                          const std::string &weightsFolder = "");

  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  const format::Artifact &root() const { return *body; }
  /// The plan for a target, null when the file has none. Of several for the CPU the first that this
  /// machine can run, or the first.
  const format::Plan *plan(format::Target target) const;
  std::string_view graphName() const;
  std::string_view report() const;

  std::span<const uint8_t> weights() const { return weightBytes; }
  /// Bytes of the body: nothing that it says needs more memory than a few times as much.
  uint64_t bodyBytes() const { return sizeOfBody; }
  /// Compares every weight with its digest and what lies between them with zero; reads all of it.
  Status checkWeights() const;

  /// Ok, or the reason why host code of this artifact is not mapped.
  Status hostCodeTrusted() const;

private:
  Artifact() = default;
  Status attach(std::span<const uint8_t> bytes);
  Status findWeights(std::span<const uint8_t> section);

  /// The body is always a private copy: what was digested is what is used, whoever changes the file
  /// later.
  std::vector<uint64_t> bodyCopy;
  std::vector<uint8_t> weightsCopy;
  Mapping mapping, weightsMapping;
  std::string weightsFolder;
  const format::Artifact *body = nullptr;
  uint64_t sizeOfBody = 0;
  std::span<const uint8_t> weightBytes;
  std::string distrust;
};

/// What this machine lacks for an image of a checked body; empty where it can run it.
std::string missingFeatures(const format::CodeImage &image);

/// "x86-64-v3,+avx512f": what an image is for.
std::string levelText(const format::CodeImage &image);

} // namespace frit
