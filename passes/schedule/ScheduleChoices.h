#pragma once

#include "mlir/IR/Operation.h"

#include <map>

/// `2=1;5=1`, or `list`: which candidate each region or kernel takes, by number; others take the
/// first.
namespace mlir::frit {

class ScheduleChoices {
public:
  /// An error at `place` where the text is no such list.
  static FailureOr<ScheduleChoices> parse(Operation *place, llvm::StringRef text);

  /// Whether somebody wants to know how many candidates there are.
  bool areCounted() const { return counted; }
  unsigned of(unsigned number) const {
    auto own = chosen.find(number);
    return own == chosen.end() ? 0 : own->second;
  }
  /// An error at `place` where something was chosen for a number that is not there.
  LogicalResult checkCount(Operation *place, llvm::StringRef what, unsigned count) const;

private:
  std::map<unsigned, unsigned> chosen;
  bool counted = false;
};

} // namespace mlir::frit
