// Machine code of an artifact, made callable: an anonymous mapping is filled while it is writable
// and then turned executable, so no page is ever both. Images are position-independent with nothing
// left to relocate, so a copy is all it takes.

#pragma once

#include "runtime/artifact/Artifact.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace frit {

class CodeMapping {
public:
  /// Maps image number `number`, or with kNoRegister the first of `kind` (format::ImageKind) that
  /// this machine can run and what is of the same level. Refused when the artifact is not trusted
  /// with host code, when the machine cannot run it, and when an entry lies outside of its image.
  static Result<CodeMapping> map(const Artifact &artifact, int kind, uint32_t number = kNoRegister);

  CodeMapping(CodeMapping &&other) noexcept;
  CodeMapping &operator=(CodeMapping &&other) noexcept;
  ~CodeMapping();

  /// Address of an entry, null when there is none of this name.
  const void *find(std::string_view name) const;
  /// "x86-64-v4", with what the code may use beyond it: "x86-64-v3,+avx512f"; empty where there is
  /// none.
  std::string_view level() const { return chosenLevel; }

private:
  CodeMapping() = default;

  struct Mapping {
    void *address;
    size_t bytes;
  };
  std::vector<Mapping> mappings;
  std::unordered_map<std::string_view, const void *> entries;
  std::string chosenLevel;
};

} // namespace frit
