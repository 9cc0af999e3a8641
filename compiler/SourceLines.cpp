// Locations back to the user's lines. The importer names a location after the line ("file.py:12 in fn: code"); IR read from a file
// has positions instead.

#include "compiler/PlanWriter.h"

namespace frit {
using namespace mlir;

void collectSourceLines(Location location, SmallVectorImpl<std::string> &lines) {
  auto add = [&](std::string line) {
    if (!line.empty() && !llvm::is_contained(lines, line)) {
      lines.push_back(std::move(line));
    }
  };
  SmallVector<Location> open = {location};
  while (!open.empty()) {
    Location next = open.pop_back_val();
    if (auto name = dyn_cast<NameLoc>(next)) {
      add(name.getName().str());
    } else if (auto position = dyn_cast<FileLineColLoc>(next)) {
      add(position.getFilename().str() + ":" + std::to_string(position.getLine()));
    } else if (auto fused = dyn_cast<FusedLoc>(next)) {
      open.append(fused.getLocations().rbegin(), fused.getLocations().rend());
    } else if (auto call = dyn_cast<CallSiteLoc>(next)) {
      open.push_back(call.getCallee());
    }
  }
}

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
