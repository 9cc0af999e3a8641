#include "runtime/cpu/CodeMapping.h"

#include "runtime/artifact/Artifact_generated.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace frit {

Result<CodeMapping> CodeMapping::map(const Artifact &artifact, int kind, uint32_t number) {
  CodeMapping mapping;
  std::vector<const format::CodeImage *> chosen;
  std::string offered;
  for (uint32_t at = 0; artifact.root().images() && at < artifact.root().images()->size(); ++at) {
    const format::CodeImage *image = artifact.root().images()->Get(at);
    if (static_cast<int>(image->kind()) != kind) {
      continue;
    }
    std::string missing = missingFeatures(*image), level = levelText(*image);
    offered +=
        (offered.empty() ? "" : "; ") + level + (missing.empty() ? "" : ": it lacks " + missing);
    bool isSought = number == kNoRegister
                        ? mapping.chosenLevel.empty() || mapping.chosenLevel == level
                        : number == at;
    if (isSought && missing.empty()) {
      mapping.chosenLevel = level;
      chosen.push_back(image);
    }
  }
  if (offered.empty()) {
    return mapping;
  }
  FRIT_RETURN_IF_ERROR(artifact.hostCodeTrusted());
  if (chosen.empty()) {
    return Status::error(
        ErrorKind::Unsupported,
        "this machine cannot run the artifact's code (" + offered +
            "); compile it again with --target=cpu:x86-64-v3 too, or on this machine");
  }
  for (const format::CodeImage *image : chosen) {
    if (!image->bytes() || image->bytes()->size() == 0) {
      continue;
    }
    auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    size_t bytes = (image->bytes()->size() + page - 1) / page * page;
    void *address =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
      return Status::error(ErrorKind::OutOfMemory,
                           std::string("cannot map code: ") + std::strerror(errno));
    }
    mapping.mappings.push_back({address, bytes});
    std::memcpy(address, image->bytes()->data(), image->bytes()->size());
    if (::mprotect(address, bytes, PROT_READ | PROT_EXEC) != 0) {
      return Status::error(ErrorKind::Unsupported,
                           std::string("this system does not let code be mapped executable: ") +
                               std::strerror(errno));
    }
    if (!image->entries()) {
      continue;
    }
    for (const format::Entry *entry : *image->entries()) {
      if (!entry->name() || entry->offset() >= image->bytes()->size()) {
        return Status::error(ErrorKind::BadArtifact,
                             "an entry lies outside of its code image; compile it again");
      }
      mapping.entries.emplace(entry->name()->string_view(),
                              static_cast<const char *>(address) + entry->offset());
    }
  }
  return mapping;
}

CodeMapping::CodeMapping(CodeMapping &&other) noexcept { *this = std::move(other); }

CodeMapping &CodeMapping::operator=(CodeMapping &&other) noexcept {
  std::swap(mappings, other.mappings);
  std::swap(entries, other.entries);
  std::swap(chosenLevel, other.chosenLevel);
  return *this;
}

CodeMapping::~CodeMapping() {
  for (const Mapping &mapping : mappings) {
    ::munmap(mapping.address, mapping.bytes);
  }
}

const void *CodeMapping::find(std::string_view name) const {
  auto found = entries.find(name);
  return found == entries.end() ? nullptr : found->second;
}

} // namespace frit
