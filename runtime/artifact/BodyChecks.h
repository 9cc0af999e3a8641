// Checks of a file's body beyond FlatBuffers' verifier: enums are known, entries lie inside of
// their code, digests have the right length, and text is UTF-8. Plans have their own checks
// (runtime/plan/PlanChecks). docs/Artifact.md numbers all of them.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"

namespace frit {

/// Lengths of names and texts are limited, because errors repeat them.
inline constexpr size_t kMaxNameBytes = 4096;
inline constexpr size_t kMaxRank = 64;

/// Whether a list is aligned for its elements; the verifier checks only the alignment of its
/// length.
template <typename T, typename L> bool isAligned(const L *list) {
  return !list || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % alignof(T) == 0;
}

bool isUtf8(std::string_view text);

/// What is wrong with a name (too long, or not UTF-8); empty if nothing is.
std::string badName(const flatbuffers::String *name);

/// Checks that the weights are in one place, and that a separate file of them has a name.
/// `sectionBytes` is the length of the weights section.
Status checkWeightsPlace(const format::Artifact &body, uint64_t sectionBytes);

/// Checks all of a verified body but its plans. `weightBytes` is the length of the weights section
/// or file.
Status checkBody(const format::Artifact &body, uint64_t weightBytes);

} // namespace frit
