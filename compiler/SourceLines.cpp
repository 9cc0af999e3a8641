// Numbers the user's source lines in an artifact, each once.

#include "compiler/PlanWriter.h"

#include "ir/SourceLines.h"

namespace frit {
using namespace mlir;
using mlir::frit::collectSourceLines;

uint32_t SourceTable::intern(Location location) {
  SmallVector<std::string> found;
  collectSourceLines(location, found);
  if (found.empty()) {
    return kNoRegister;
  }
  auto [entry, isNew] = numbers.try_emplace(found.front(), lines.size());
  if (isNew) {
    lines.push_back(found.front());
  }
  return entry->second;
}

} // namespace frit
