// Branches and loops as steps of a plan: `higher_order::cond`, `while_loop`, `scan`, and
// `while_loop_stack_output`, whose results are those of all iterations, for a backward. They are
// torch's operators of these names (torch._higher_order_ops). Their graphs are files inside of the
// artifact, each with plans of its own. A host loads them (LoadSubgraph) and calls run().

#pragma once

#include "runtime/plan/PlanExecutor.h"

#include <functional>

namespace frit {

/// A loaded graph.
class Subgraph {
public:
  virtual ~Subgraph() = default;
  virtual const DecodedPlan &plan() const = 0;
  virtual const Counters &counters() const = 0;
  /// Takes the arguments, whatever the outcome. Arguments that do not fit are a BadInput.
  virtual Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs) = 0;
  /// Whether a run does what no other run can undo.
  virtual bool isIrreversible() const { return false; }
};

using LoadSubgraph =
    std::function<Result<std::shared_ptr<Subgraph>>(std::shared_ptr<const Artifact>)>;

/// The graphs of a plan's control flow. Each is loaded once, however many calls it has, so memory
/// is bounded by the size of the file.
class SubgraphTable {
public:
  explicit SubgraphTable(LoadSubgraph load) : load(std::move(load)) {}
  Result<std::shared_ptr<Subgraph>> find(const Artifact &artifact, std::string_view name);

private:
  LoadSubgraph load;
  std::map<std::string, std::shared_ptr<Subgraph>, std::less<>> loaded;
};

class ControlFlow {
public:
  static bool isControlFlow(const format::Aten &call);
  /// Whether the plan has a call that is not control flow.
  static bool callsOperators(const DecodedPlan &plan);

  /// Loads the graphs of a call and checks their numbers of arguments and results.
  static Result<ControlFlow> prepare(const DecodedPlan &plan, const format::Aten &call,
                                     SubgraphTable &table);

  /// Runs the call on the registers of `state`. Results have storage of their own.
  Status run(TensorHost &host, RunState &state) const;

  const std::vector<std::shared_ptr<Subgraph>> &subgraphs() const { return graphs; }

private:
  class Values;

  enum class Kind : uint8_t { Cond, WhileLoop, WhileLoopStack, Scan };

  ControlFlow(const DecodedPlan &plan, const format::Aten &call, Kind kind)
      : plan(&plan), call(&call), kind(kind) {}

  Status load(SubgraphTable &table);
  Status checkCounts() const;
  Status runCond(TensorHost &host, RunState &state) const;
  Status runWhileLoop(TensorHost &host, RunState &state) const;
  Status runScan(TensorHost &host, RunState &state) const;
  /// `carried`: bytes that the call holds beside its registers.
  Status runGraph(size_t graph, const Values &arguments, Values &results, RunState &state,
                  uint64_t carried) const;
  /// Counts the memory of a register.
  static void hold(TensorSlot &slot, uint64_t bytes, RunState &state);
  /// Moves a value to its register, copied if it may share memory. `isStacked`: the runtime has
  /// made it.
  Status store(const format::Value &result, InputValue &value, bool isShared, TensorHost &host,
               RunState &state, bool isStacked = false) const;
  Status stack(const format::Value &result, int64_t at, int64_t count, const InputValue &value,
               TensorHost &host, RunState &state) const;

  const DecodedPlan *plan;
  const format::Aten *call;
  Kind kind;
  std::vector<std::shared_ptr<Subgraph>> graphs;
  /// By graph and result: it may share memory with an argument or another result.
  std::vector<std::vector<bool>> shares;
};

} // namespace frit
