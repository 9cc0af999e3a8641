// Which compiler this is. Whatever it writes may differ from what another build writes, so the identity is part of every cache key.
// The linker's build id is a digest of the library itself: no number that somebody has to remember to change.

#include "codegen/Codegen.h"
#include "compiler/Compiler.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

#include <elf.h>
#include <link.h>

namespace frit {

namespace {
struct BuildId {
  uintptr_t address;
  std::string hex;
};
} // namespace

/// Reads the NT_GNU_BUILD_ID note of the loaded object that holds `address`.
static int findBuildId(dl_phdr_info *object, size_t, void *data) {
  auto &found = *static_cast<BuildId *>(data);
  auto at = [&](const ElfW(Phdr) & header) { return object->dlpi_addr + header.p_vaddr; };
  bool mine = false;
  for (unsigned i = 0; i != object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = object->dlpi_phdr[i];
    mine |= header.p_type == PT_LOAD && found.address - at(header) < header.p_memsz;
  }
  if (!mine) {
    return 0;
  }
  for (unsigned i = 0; i != object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) {
      continue;
    }
    uintptr_t end = at(header) + header.p_memsz;
    for (uintptr_t place = at(header); place + sizeof(ElfW(Nhdr)) <= end;) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(place);
      const auto *name = reinterpret_cast<const char *>(note + 1);
      const char *content = name + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID && llvm::StringRef(name, note->n_namesz) == llvm::StringRef("GNU", 4)) {
        found.hex = llvm::toHex(llvm::StringRef(content, note->n_descsz), /*LowerCase=*/true);
        return 1;
      }
      place = reinterpret_cast<uintptr_t>(content) + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

static std::string findIdentity() {
  BuildId mine = {reinterpret_cast<uintptr_t>(&findIdentity), ""};
  dl_iterate_phdr(findBuildId, &mine);
  if (mine.hex.empty()) {
    return "";
  }
  return "build " + mine.hex + ", llvm " LLVM_VERSION_STRING ", host " + mlir::frit::CpuTarget::host().text();
}

std::string compilerIdentity() {
  // Walking all loaded objects takes as long as a hundred nodes of a graph's key.
  static const std::string identity = findIdentity();
  return identity;
}

} // namespace frit
