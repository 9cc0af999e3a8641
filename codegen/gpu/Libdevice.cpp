// The device math library travels inside the compiler, so that compiling for a GPU needs no toolkit. The assembler copies
// the file in as it is; FRIT_LIBDEVICE_FILE comes from CMake and is not defined where no toolkit and no wheel was found.

#include "codegen/gpu/Libdevice.h"

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
