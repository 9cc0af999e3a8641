// Maps the machine code of an artifact. An anonymous mapping is filled while it is writable and
// then made executable, so no page is ever both. Images are position-independent without
// relocations, so they only need to be copied.

#pragma once

#include "runtime/artifact/Artifact.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace frit {

class CodeMapping {
public:
  /// Maps image number `number` or, with kNoRegister, the first of `kind` (format::ImageKind) that
  /// this machine can run and all others of the same level. Fails if host code of the artifact is
  /// not trusted, if the machine cannot run it, or if an entry lies outside of its image.
  static Result<CodeMapping> map(const Artifact &artifact, int kind, uint32_t number = kNoRegister);

  CodeMapping(CodeMapping &&other) noexcept;
  CodeMapping &operator=(CodeMapping &&other) noexcept;
  ~CodeMapping();

  /// The address of an entry; null if there is none of this name.
  const void *find(std::string_view name) const;
  /// "x86-64-v4", or a level and features beyond it: "x86-64-v3,+avx512f"; empty if nothing is
  /// mapped.
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
