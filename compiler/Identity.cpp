// Identifies this build of the compiler. Other builds may write other artifacts, so the identity is
// part of every cache key. It is the linker's build id, a digest of the library; a version number
// could be left unchanged by mistake.

#include "codegen/Codegen.h"
#include "compiler/Compiler.h"
#include "ir/Planted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

#include <elf.h>
#include <link.h>

namespace frit {

/// The ELF header of the library or program that this function is linked into, as loaded in memory.
/// Defined by the linker.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

/// The NT_GNU_BUILD_ID note, in hexadecimal; empty without one.
static std::string findBuildId() {
  const auto *file = reinterpret_cast<const char *>(&__ehdr_start);
  llvm::ArrayRef headers(reinterpret_cast<const ElfW(Phdr) *>(file + __ehdr_start.e_phoff),
                         __ehdr_start.e_phnum);
  const auto *first = llvm::find_if(headers, [](const ElfW(Phdr) & header) {
    return header.p_type == PT_LOAD && header.p_offset == 0;
  });
  if (first == headers.end()) {
    return "";
  }
  const char *base = file - first->p_vaddr;
  for (const ElfW(Phdr) &header : headers) {
    const char *end = base + header.p_vaddr + header.p_memsz;
    for (const char *place = base + header.p_vaddr;
         header.p_type == PT_NOTE && place + sizeof(ElfW(Nhdr)) <= end;) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(place);
      const char *name = place + sizeof(*note);
      const char *content = name + llvm::alignTo(note->n_namesz, 4);
      if (note->n_type == NT_GNU_BUILD_ID &&
          llvm::StringRef(name, note->n_namesz) == llvm::StringRef("GNU", 4)) {
        return llvm::toHex(llvm::StringRef(content, note->n_descsz), /*LowerCase=*/true);
      }
      place = content + llvm::alignTo(note->n_descsz, 4);
    }
  }
  return "";
}

static std::string findIdentity() {
  std::string build = findBuildId();
  if (build.empty()) {
    return "";
  }
  std::string planted =
      mlir::frit::plantedClass() ? ", planted " + std::to_string(mlir::frit::plantedClass()) : "";
  return "build " + build + ", llvm " LLVM_VERSION_STRING ", host " +
         mlir::frit::CpuTarget::host().text() + planted;
}

std::string compilerIdentity() {
  static const std::string identity = findIdentity();
  return identity;
}

} // namespace frit
