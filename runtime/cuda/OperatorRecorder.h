// Captures calls with operators of torch. The caller has run the call itself on its own stream,
// which initialises libraries and modules on this thread. Then the plan runs again on copies of its
// arguments while torch captures. The locations of results are read from the tensors that this
// returned.

#pragma once

#include "runtime/cuda/GraphRecorder.h"

namespace frit {

class OperatorRecorder : public GraphRecorder {
public:
  OperatorRecorder(const GraphedPlan &plan, const GraphCache &cache, GraphCounts &counts);

  Status bindConstant(uint32_t number, void *handle) override;
  Status capture(GraphEntry &entry, std::span<const InputValue> inputs) override;
  /// Such a graph is for one size, so no other call fits it.
  Result<bool> update(GraphEntry &, std::span<const InputValue>) override { return false; }

private:
  /// A tensor whose storage may contain results of a captured run.
  struct Origin {
    TensorView view;
    RecordedStorage::Kind kind;
    uint32_t number;
    void *handle;
  };
  /// Results that share a storage of the graph.
  struct Group {
    struct Member {
      uint32_t number;
      TensorView view;
      void *handle;
    };
    char *base, *first, *end;
    std::vector<Member> members;
  };

  Status runCaptured(GraphEntry &entry, std::span<const InputValue> inputs);
  Status repairCapture(DriverStream stream, Status status) const;
  Status readResults(std::span<const OutputValue> outputs, std::span<const Origin> origins,
                     GraphEntry &entry) const;
  void addStorage(const Group &group, GraphEntry &entry) const;
  void keepResults(GraphEntry &entry);

  GraphCounts &counts;
  /// Runs the plan with the real host.
  PlanExecutor executor;
};

} // namespace frit
