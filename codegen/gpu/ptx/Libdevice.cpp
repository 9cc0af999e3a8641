// The device math library is embedded in the compiler, so that compiling for a GPU needs no
// toolkit. The assembler copies the file in; FRIT_LIBDEVICE_FILE comes from CMake and is undefined
// if neither a toolkit nor a wheel was found.

#include "codegen/gpu/ptx/Libdevice.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

#include <mutex>

#ifdef FRIT_LIBDEVICE_FILE
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global frit_libdevice_begin\n"
        ".hidden frit_libdevice_begin\n"
        "frit_libdevice_begin:\n"
        ".incbin \"" FRIT_LIBDEVICE_FILE "\"\n"
        ".global frit_libdevice_end\n"
        ".hidden frit_libdevice_end\n"
        "frit_libdevice_end:\n"
        ".byte 0\n"
        ".previous\n");
extern "C" const char frit_libdevice_begin[], frit_libdevice_end[];
#endif

llvm::StringRef mlir::frit::getLibdevice() {
#ifdef FRIT_LIBDEVICE_FILE
  return llvm::StringRef(frit_libdevice_begin, frit_libdevice_end - frit_libdevice_begin);
#else
  return {};
#endif
}

static llvm::Expected<std::string> extract(llvm::ArrayRef<llvm::StringRef> functions) {
  llvm::LLVMContext context;
  auto library = llvm::getLazyBitcodeModule(
      llvm::MemoryBufferRef(mlir::frit::getLibdevice(), "libdevice"), context);
  if (!library) {
    return library.takeError();
  }
  llvm::Module part("libdevice", context);
  part.setTargetTriple((*library)->getTargetTriple());
  part.setDataLayout((*library)->getDataLayout());
  for (llvm::StringRef name : functions) {
    llvm::Function *function = (*library)->getFunction(name);
    if (!function) {
      return llvm::createStringError("there is no '" + name + "'");
    }
    part.getOrInsertFunction(name, function->getFunctionType());
  }
  if (llvm::Linker::linkModules(part, std::move(*library), llvm::Linker::LinkOnlyNeeded)) {
    return llvm::createStringError("its functions do not link");
  }
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(part, stream);
  return bytes;
}

llvm::Expected<std::shared_ptr<const std::string>>
mlir::frit::takeFromLibdevice(llvm::ArrayRef<llvm::StringRef> functions) {
  // Kernels call few functions. If a program uses very many combinations the cache is cleared.
  constexpr unsigned mostKept = 128;
  static std::mutex mutex;
  // Lives until the process ends: a thread may compile while statics are destroyed.
  static auto *kept = new llvm::StringMap<std::shared_ptr<const std::string>>;
  std::string key = llvm::join(functions, " ");
  {
    std::lock_guard lock(mutex);
    if (auto known = kept->find(key); known != kept->end()) {
      return known->second;
    }
  }
  auto bytes = extract(functions);
  if (!bytes) {
    return bytes.takeError();
  }
  auto made = std::make_shared<const std::string>(std::move(*bytes));
  std::lock_guard lock(mutex);
  if (kept->size() == mostKept) {
    kept->clear();
  }
  return kept->try_emplace(key, made).first->second;
}
