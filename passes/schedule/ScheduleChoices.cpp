#include "passes/schedule/ScheduleChoices.h"

#include "ir/FritAttributes.h"
#include "ir/FritOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::frit;

FailureOr<ScheduleChoices> ScheduleChoices::parse(Operation *place, StringRef text) {
  ScheduleChoices choices;
  choices.counted = !text.empty();
  SmallVector<StringRef> entries;
  if (text != "list") {
    text.split(entries, ';', -1, /*KeepEmpty=*/false);
  }
  for (StringRef entry : entries) {
    auto [number, candidate] = entry.split('=');
    unsigned first, second;
    if (number.getAsInteger(10, first) || candidate.getAsInteger(10, second)) {
      return place->emitError("schedule choice '") << entry << "': expected number=candidate";
    }
    choices.chosen[first] = second;
  }
  return choices;
}

LogicalResult ScheduleChoices::finish(Operation *place, StringRef what,
                                      ArrayRef<int64_t> candidates) const {
  if (!chosen.empty() && chosen.rbegin()->first >= candidates.size()) {
    return place->emitError("a schedule was chosen for ")
           << what << " " << chosen.rbegin()->first << ", there are " << candidates.size();
  }
  if (counted) {
    auto counts = DenseI64ArrayAttr::get(place->getContext(), candidates);
    place->walk([&](GraphOp graph) { kScheduleCandidatesAttr.set(graph, counts); });
  }
  return success();
}
