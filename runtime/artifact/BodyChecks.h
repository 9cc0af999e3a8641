// What FlatBuffers' verifier cannot see in the body of a file: that enums are known, entries lie
// inside of their code, digests have the length of digests and texts are texts. The plans have
// checks of their own (runtime/plan/PlanChecks). docs/Artifact.md numbers all of them.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"

namespace frit {

/// Names and other texts are bounded, because errors repeat them.
inline constexpr size_t kMaxNameBytes = 4096;
inline constexpr size_t kMaxRank = 64;

/// Whether a list begins where its elements may: the verifier looks at the place of its length
/// only.
template <typename T, typename L> bool isAligned(const L *list) {
  return !list || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % alignof(T) == 0;
}

bool isUtf8(std::string_view text);

/// Empty, or what is wrong with a name: too long, or no UTF-8.
std::string badName(const flatbuffers::String *name);

/// Checks that the weights are in one place, and that a file of their own has a name.
/// `sectionBytes` is the length of the weights section.
Status checkWeightsPlace(const format::Artifact &body, uint64_t sectionBytes);

/// Checks everything of a verified body but its plans. `weightBytes` is the length of the weights
/// section or file.
Status checkBody(const format::Artifact &body, uint64_t weightBytes);

} // namespace frit
