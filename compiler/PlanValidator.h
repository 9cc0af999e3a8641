// Validates a plan.
//
// A plan says where values lie and when storage is reused; a mistake there gives wrong numbers
// without an error. The validator replays a finished plan beside the outlined graph that it was
// written from. Each step reads and writes places of storages that hold named values. At each read,
// the value that the graph passes must still be in the storage, at the place that the register
// describes. At the end every argument must hold what the graph stored last, and every result must
// have its storage class, offset and strides. The validator reads only the graph and the plan, and
// shares no code with the passes that planned buffers and layouts or with PlanWriter. Linear in the
// number of steps.

#pragma once

#include "ir/FritOps.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include <optional>
#include <string>

namespace frit {

/// Returns one line that names the step and the value at fault; nullopt if the plan is right.
/// `firstKept` is the first result that only a backward graph sees, -1 for none: such results may
/// share memory.
std::optional<std::string> validatePlan(mlir::frit::GraphOp graph, const format::PlanT &plan,
                                        int64_t firstKept = -1);

} // namespace frit
