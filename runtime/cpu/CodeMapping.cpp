#include "runtime/cpu/CodeMapping.h"

#include "runtime/artifact/Artifact_generated.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace frit {

Result<CodeMapping> CodeMapping::map(const Artifact &artifact, int kind, const std::vector<std::string> &levels) {
  CodeMapping mapping;
  const auto *images = artifact.root().images();
  if (!images) {
    return mapping;
  }
  std::string offered;
  bool any = false;
  for (const format::CodeImage *image : *images) {
    if (static_cast<int>(image->kind()) == kind && image->level()) {
      any = true;
      offered += (offered.empty() ? "" : ", ") + image->level()->str();
    }
  }
  if (!any) {
    return mapping;
  }
  FRIT_RETURN_IF_ERROR(artifact.hostCodeTrusted());
  for (const std::string &level : levels) {
    for (const format::CodeImage *image : *images) {
      if (static_cast<int>(image->kind()) == kind && image->level() && image->level()->string_view() == level) {
        mapping.chosenLevel = level;
      }
    }
    if (!mapping.chosenLevel.empty()) {
      break;
    }
  }
  if (mapping.chosenLevel.empty()) {
    return Status::error(ErrorKind::Unsupported, "this machine cannot run the artifact's code (" + offered +
                                                     "); compile it again on this machine");
  }
  for (const format::CodeImage *image : *images) {
    if (static_cast<int>(image->kind()) != kind || !image->level() ||
        image->level()->string_view() != mapping.chosenLevel || !image->bytes() || image->bytes()->size() == 0) {
      continue;
    }
    auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    size_t bytes = (image->bytes()->size() + page - 1) / page * page;
    void *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
      return Status::error(ErrorKind::OutOfMemory, std::string("cannot map code: ") + std::strerror(errno));
    }
    mapping.mappings.push_back({address, bytes});
    std::memcpy(address, image->bytes()->data(), image->bytes()->size());
    if (::mprotect(address, bytes, PROT_READ | PROT_EXEC) != 0) {
      return Status::error(ErrorKind::Unsupported,
                           std::string("this system does not let code be mapped executable: ") + std::strerror(errno));
    }
    if (!image->entries()) {
      continue;
    }
    for (const format::Entry *entry : *image->entries()) {
      if (!entry->name() || entry->offset() >= image->bytes()->size()) {
        return Status::error(ErrorKind::BadArtifact, "an entry lies outside of its code image; compile it again");
      }
      mapping.entries.emplace(entry->name()->string_view(), static_cast<const char *>(address) + entry->offset());
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
