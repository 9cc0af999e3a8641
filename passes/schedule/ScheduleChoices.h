#pragma once

#include "mlir/IR/Operation.h"

#include <map>

/// `2=1;5=1`, or `list`: the candidate that each region or kernel takes, by number; others take the
/// first.
namespace mlir::frit {

class ScheduleChoices {
public:
  /// An error at `place` if the text is not such a list.
  static FailureOr<ScheduleChoices> parse(Operation *place, llvm::StringRef text);

  unsigned of(unsigned number) const {
    auto own = chosen.find(number);
    return own == chosen.end() ? 0 : own->second;
  }
  /// Where somebody asked, notes on every graph in `place` how many candidates each region or
  /// kernel
  /// (`what`) has. An error where something was chosen for a number that is not there.
  LogicalResult finish(Operation *place, llvm::StringRef what,
                       llvm::ArrayRef<int64_t> candidates) const;

private:
  std::map<unsigned, unsigned> chosen;
  bool counted = false;
};

} // namespace mlir::frit
