// One call through the dispatcher, prepared: the operator is looked up, literals and defaults lie
// in a stack that is copied for each call, and only what comes from registers is filled in. Values
// are converted by the schema's types, as torch's own argument parser does: a number where a tensor
// is wanted becomes a wrapped number, an int where a float is wanted becomes one.

#pragma once

#include "runtime/plan/PlanExecutor.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <stdexcept>

namespace frit {

class AtenCall {
public:
  static Result<AtenCall> prepare(const DecodedPlan &plan, const format::Aten &source);

  AtenCall(AtenCall &&other) noexcept
      : source(other.source), handle(other.handle), stack(std::move(other.stack)),
        dynamic(std::move(other.dynamic)), written(std::move(other.written)),
        resultsAlias(std::move(other.resultsAlias)), asksLayout(other.asksLayout) {}

  /// A result is not what the graph was traced with.
  struct Disagreement : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  /// May throw what the operator throws, and Disagreement.
  Status run(const DecodedPlan &plan, RunState &state) const;

  CallTraits traits() const { return traitsOf(handle); }
  static CallTraits traitsOf(const c10::OperatorHandle &handle);

  const std::string &name() const { return handle.operator_name().name; }
  const std::string &overload() const { return handle.operator_name().overload_name; }

  mutable std::atomic<uint64_t> count{0};
  /// Results that were copied because their strides were not those the graph was traced with.
  mutable std::atomic<uint64_t> strideCopies{0};

private:
  AtenCall(const format::Aten &source, c10::OperatorHandle handle)
      : source(&source), handle(std::move(handle)) {}

  struct Dynamic {
    uint32_t position;
    const format::Value *value;
    c10::TypePtr type;
    int32_t length;
  };

  const format::Aten *source;
  c10::OperatorHandle handle;
  std::vector<c10::IValue> stack;
  std::vector<Dynamic> dynamic;
  /// Arguments the operator writes to: their version counters are bumped, because autograd's own
  /// layer is not entered.
  std::vector<uint32_t> written;
  /// Results that are, or look at, an argument.
  std::vector<bool> resultsAlias;
  /// The operator asks where a tensor lies: its size, stride or storage offset.
  bool asksLayout = false;
};

} // namespace frit
