#include "ir/SourceLines.h"

#include "ir/FritOps.h"

using namespace mlir;
using namespace mlir::frit;

void mlir::frit::collectSourceLines(Location location, SmallVectorImpl<std::string> &lines) {
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

std::string mlir::frit::originOf(Operation *op) {
  if (auto region = dyn_cast<RegionOp>(op)) {
    for (Operation &inner : region.getBody().front()) {
      if (!isView(&inner) && !isa<YieldOp>(inner) && !inner.hasTrait<OpTrait::ConstantLike>()) {
        return originOf(&inner);
      }
    }
  }
  auto call = dyn_cast<AtenOp>(op);
  std::string name = call ? call.getOpName().str() : op->getName().getStringRef().str();
  SmallVector<std::string> lines;
  collectSourceLines(op->getLoc(), lines);
  return lines.empty() ? name : name + " (" + lines.front() + ")";
}
