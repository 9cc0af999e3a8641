#include "runtime/artifact/Artifact_generated.h"
#include "runtime/plan/ScalarProgram.h"
#include "tests/fuzz/Targets.h"

#include <cstring>
#include <vector>

namespace frit {

void fuzzProgram(std::span<const uint8_t> bytes) {
  constexpr size_t kRegisters = 16;
  int64_t ints[kRegisters] = {};
  double floats[kRegisters] = {};
  auto take = [&](void *to, size_t size) {
    size = std::min(size, bytes.size());
    if (size != 0) {
      std::memcpy(to, bytes.data(), size);
      bytes = bytes.subspan(size);
    }
  };
  take(ints, sizeof(ints));
  take(floats, sizeof(floats));
  std::vector<format::Instruction> code(bytes.size() / sizeof(format::Instruction));
  take(code.data(), code.size() * sizeof(format::Instruction));
  if (verifyProgram(code, kRegisters, kRegisters).isOk() &&
      runProgram(code, ints, floats) == ScalarError::None) {
    (void)allHold(ints);
  }
}

} // namespace frit
