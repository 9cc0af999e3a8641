// The proof of a plan.
//
// A plan says where values lie and when storage is reused, which is where a compiler is wrong
// without failing. The validator replays a finished plan beside the outlined graph that it was
// written from: each step reads and writes places of storages that hold named values, and at each
// read the value that the graph passes there must still be in the storage, at the place where the
// register looks. At the end every argument holds what the graph stored last, every result has its
// class of storage, its offset and its strides. It reads the graph and the plan alone and shares no
// code with the passes that planned buffers and layouts or with PlanWriter. Linear in steps.

#pragma once

#include "ir/FritOps.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include <optional>
#include <string>

namespace frit {

/// What is wrong with a plan of an outlined graph: one line that names the step and the value.
/// nullopt for a plan that is right. `firstKept` is the first result that only a backward graph
/// sees, -1 for none: whether such results share memory is nobody's business.
std::optional<std::string> validatePlan(mlir::frit::GraphOp graph, const format::PlanT &plan,
                                        int64_t firstKept = -1);

} // namespace frit
