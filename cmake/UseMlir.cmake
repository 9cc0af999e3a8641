# LLVM and MLIR as static archives, with one precompiled header for every room that speaks MLIR.
# Debian's imported targets also name the LLVM dylib; linking both would register every option twice, so it gives way to the
# archives that MLIR's own core needs. A room names what else of LLVM it uses.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
find_library(FRIT_ZSTD NAMES libzstd.a zstd REQUIRED)
find_library(FRIT_ZLIB NAMES libz.a z REQUIRED)
find_library(FRIT_MINIZIP NAMES libminizip.a minizip REQUIRED)
get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(lib IN LISTS MLIR_ALL_LIBS imported)
  if(TARGET ${lib})
    get_target_property(links ${lib} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(TRANSFORM links REPLACE "^LLVM$" "LLVMRemarks;LLVMSupport")
      # What LLVM compresses with travels inside; Z3 (the static analyzer's) is not used and must not be asked for.
      list(TRANSFORM links REPLACE "^zstd::libzstd_shared$" "${FRIT_ZSTD}")
      list(TRANSFORM links REPLACE "^ZLIB::ZLIB$" "${FRIT_ZLIB}")
      list(FILTER links EXCLUDE REGEX "libz3")
      set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
    endif()
  endif()
endforeach()
list(GET MLIR_INCLUDE_DIRS 0 FRIT_MLIR_INCLUDE)
find_program(FRIT_MLIR_TBLGEN mlir-tblgen PATHS ${LLVM_TOOLS_BINARY_DIR} REQUIRED NO_DEFAULT_PATH)

file(WRITE ${PROJECT_BINARY_DIR}/cmake/FritMlirPch.cpp "")
add_library(frit_mlir_pch OBJECT ${PROJECT_BINARY_DIR}/cmake/FritMlirPch.cpp)

# frit_use_mlir(<target>): headers, flags and the precompiled header. Exceptions are off as in LLVM itself.
function(frit_use_mlir target)
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  # CMake compiles programs as PIE, which the precompiled header of position-independent code refuses; the last word wins.
  target_compile_options(${target} PRIVATE -fno-exceptions -fPIC)
  if(NOT target STREQUAL frit_mlir_pch)
    target_precompile_headers(${target} REUSE_FROM frit_mlir_pch)
  endif()
endfunction()
frit_use_mlir(frit_mlir_pch)
# Code generation speaks more dialects; their headers are most of what its files would read. The fuzz targets have no code generation.
if(NOT FRIT_FUZZ)
  set(FRIT_CODEGEN_DIALECTS
    <mlir/Dialect/ControlFlow/IR/ControlFlow.h> <mlir/Dialect/GPU/IR/GPUDialect.h> <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Vector/IR/VectorOps.h>)
endif()
target_precompile_headers(frit_mlir_pch PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/PatternMatch.h>
  <mlir/IR/OpImplementation.h> <mlir/IR/DialectImplementation.h> <mlir/IR/SymbolTable.h> <mlir/IR/IRMapping.h>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Parser/Parser.h> <mlir/Pass/Pass.h>
  <llvm/ADT/DenseMap.h> <llvm/ADT/StringMap.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/Debug.h> <llvm/Support/DebugLog.h> <llvm/Support/JSON.h>
  <llvm/Support/raw_ostream.h> ${FRIT_CODEGEN_DIALECTS})
