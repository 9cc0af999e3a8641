#include "runtime/plan/PlanLiveness.h"

#include "runtime/plan/PlanPlace.h"

#include <algorithm>
#include <limits>

namespace frit {

using namespace format;

namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

template <typename T> size_t countOf(const T *vector) { return vector ? vector->size() : 0; }

class Liveness {
public:
  explicit Liveness(DecodedPlan &plan)
      : plan(plan), source(*plan.source), lastUse(plan.tensors.size(), 0),
        freedAt(plan.tensors.size(), kNever) {}

  Status run() {
    findUses();
    return checkLiveness();
  }

private:
  DecodedPlan &plan;
  const Plan &source;
  PlanPlace place;
  /// For each tensor register: the position of its last use, and that of the step that frees its
  /// storage.
  std::vector<size_t> lastUse, freedAt;

  Status wrong(const std::string &what) const { return place.malformed(what); }

  template <typename F> void eachTensor(const Value &value, F visit) const {
    if (value.kind() == ValueKind::Tensor) {
      visit(value.reg());
    } else if (value.kind() == ValueKind::List) {
      for (size_t at = 0; at < countOf(value.items()); ++at) {
        eachTensor(*value.items()->Get(static_cast<uint32_t>(at)), visit);
      }
    }
  }

  template <typename T, typename F> void eachOf(const T *values, F visit) const {
    for (size_t at = 0; at < countOf(values); ++at) {
      eachTensor(*values->Get(static_cast<uint32_t>(at)), visit);
    }
  }

  /// Calls read(t) and write(t) for the tensor registers of a step. A Reuse and a Free read their
  /// source.
  template <typename R, typename W> void visitStep(const DecodedStep &step, R read, W write) const {
    switch (step.kind) {
    case StepKind::Eval:
    case StepKind::Check:
      break;
    case StepKind::Alloc:
    case StepKind::Wrap:
      write(step.a);
      break;
    case StepKind::Reuse:
    case StepKind::View:
      read(step.b);
      write(step.a);
      break;
    case StepKind::CopyInto:
      read(step.b);
      read(step.a);
      break;
    case StepKind::Free:
    case StepKind::Touch:
    case StepKind::Dim:
    case StepKind::Item:
      read(step.a);
      break;
    case StepKind::Launch:
      for (uint32_t tensor : plan.sites[step.a].tensors) {
        read(tensor);
      }
      break;
    case StepKind::Aten:
      eachOf(plan.atenCalls[step.a]->arguments(), read);
      eachOf(plan.atenCalls[step.a]->results(), write);
      break;
    }
  }

  /// Walks backwards: finds last uses, the steps that free storage, and handles that views and
  /// reuses need of their sources.
  void findUses() {
    for (size_t at = 0; at < countOf(source.outputs()); ++at) {
      const Output &output = *source.outputs()->Get(static_cast<uint32_t>(at));
      if (output.kind() == OutputKind::Tensor) {
        lastUse[output.reg()] = plan.steps.size();
      }
    }
    for (size_t at = plan.steps.size(); at-- > 0;) {
      const DecodedStep &step = plan.steps[at];
      if (step.kind == StepKind::Free) {
        freedAt[step.a] = at;
        continue;
      }
      if (step.kind == StepKind::Reuse) {
        freedAt[step.b] = at;
      }
      if (step.kind == StepKind::View || step.kind == StepKind::Reuse) {
        plan.tensors[step.b].needsHandle |= plan.tensors[step.a].needsHandle;
      }
      if (step.kind == StepKind::View && !plan.tensors[step.a].needsHandle) {
        lastUse[step.b] = std::max(lastUse[step.b], lastUse[step.a]);
      }
      visitStep(
          step, [&](uint32_t tensor) { lastUse[tensor] = std::max(lastUse[tensor], at); },
          [](uint32_t) {});
    }
  }

  /// Walks forwards: checks that every read finds a tensor, and that no bare view outlives its
  /// storage. A view of a host tensor that is freed early becomes a host tensor too, which keeps
  /// the storage alive.
  Status checkLiveness() {
    std::vector<bool> live(plan.tensors.size(), false), written(plan.tensors.size(), false);
    std::vector<uint32_t> root(plan.tensors.size());
    for (uint32_t tensor = 0; tensor < root.size(); ++tensor) {
      root[tensor] = tensor;
    }
    for (size_t at = 0; at < countOf(source.inputs()); ++at) {
      const Input &input = *source.inputs()->Get(static_cast<uint32_t>(at));
      if (input.kind() == InputKind::Tensor || input.kind() == InputKind::ScalarTensor) {
        live[input.reg()] = written[input.reg()] = true;
      }
    }
    for (size_t at = 0; at < countOf(source.constants()); ++at) {
      uint32_t tensor = source.constants()->Get(static_cast<uint32_t>(at))->tensor();
      live[tensor] = written[tensor] = true;
    }
    Status status;
    for (size_t at = 0; at < plan.steps.size(); ++at) {
      const DecodedStep &step = plan.steps[at];
      place = {"step", at};
      visitStep(
          step,
          [&](uint32_t tensor) {
            if (!live[tensor] && status.isOk()) {
              status = wrong("tensor register " + std::to_string(tensor) +
                             " is read before it is written or after it was freed");
            }
          },
          [&](uint32_t tensor) {
            if (written[tensor] && status.isOk()) {
              status = wrong("tensor register " + std::to_string(tensor) + " is written twice");
            }
            live[tensor] = written[tensor] = true;
          });
      if (!status.isOk()) {
        return status;
      }
      if (step.kind == StepKind::Free) {
        live[step.a] = false;
      } else if (step.kind == StepKind::Reuse) {
        if (root[step.b] != step.b) {
          return wrong("tensor register " + std::to_string(step.b) +
                       " has no storage of its own to hand over");
        }
        live[step.b] = false;
      } else if (step.kind == StepKind::View && !plan.tensors[step.a].needsHandle) {
        root[step.a] = root[step.b];
        uint32_t owner = root[step.a];
        if (freedAt[owner] < lastUse[step.a]) {
          if (!plan.tensors[owner].needsHandle) {
            return wrong("a view outlives the storage of tensor register " + std::to_string(owner));
          }
          plan.tensors[step.a].needsHandle = true;
          root[step.a] = step.a;
        }
      }
    }
    place = {"outputs"};
    for (size_t at = 0; at < countOf(source.outputs()); ++at) {
      const Output &output = *source.outputs()->Get(static_cast<uint32_t>(at));
      if (output.kind() == OutputKind::Tensor && !live[output.reg()]) {
        return wrong("output " + std::to_string(at) + " is not there any more");
      }
    }
    return Status::ok();
  }
};

} // namespace

Status checkLiveness(DecodedPlan &plan) { return Liveness(plan).run(); }

} // namespace frit
