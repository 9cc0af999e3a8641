// Spans of torch's profilers for what frit computes itself. If no profiler runs, a span is one test
// of a thread-local variable. Where a profiler records shapes, a span has those of the operands and
// results, and the user's source lines as the keyword `source`.

#pragma once

#include "runtime/plan/PlanExecutor.h"

#include <ATen/record_function.h>

#include <memory>
#include <span>

namespace frit {

/// Null if no profiler runs. The span ends when it is destroyed.
std::unique_ptr<at::RecordFunction> beginKernelSpan(const DecodedPlan &plan,
                                                    const KernelArguments &arguments);

/// The same for a call of ATen that a kernel of the runtime computes; `operands` are registers,
/// some of them kNoRegister.
std::unique_ptr<at::RecordFunction> beginCallSpan(const char *name, const DecodedPlan &plan,
                                                  const format::Aten &call, const RunState &state,
                                                  std::span<const uint32_t> operands);

} // namespace frit
