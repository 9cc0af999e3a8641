#include "runtime/plan/FrozenWeights.h"

#include <algorithm>
#include <string_view>

namespace frit {

namespace {

/// The operators of the runtime's own kernels; others might return or write what they read.
bool onlyReads(const format::Aten &call) {
  return call.own_product() || call.own_attention() ||
         (call.name() && call.name()->string_view() == "frit::convolution");
}

class Finder {
public:
  explicit Finder(const DecodedPlan &plan) : plan(plan), rootOf(plan.tensors.size(), kNoRegister) {}

  std::vector<bool> find() {
    const auto *constants = plan.source->constants();
    const auto *weights = plan.artifact->root().weights();
    for (uint32_t at = 0; constants && at < constants->size(); ++at) {
      int32_t weight = constants->Get(at)->weight();
      bool isOwn = weight >= 0 && weights && static_cast<uint32_t>(weight) < weights->size() &&
                   !weights->Get(static_cast<uint32_t>(weight))->given();
      if (isOwn && constants->Get(at)->tensor() < rootOf.size()) {
        rootOf[constants->Get(at)->tensor()] = constants->Get(at)->tensor();
      }
    }
    if (std::all_of(rootOf.begin(), rootOf.end(),
                    [](uint32_t root) { return root == kNoRegister; })) {
      return {}; // as for all graphs of torch.compile
    }
    isThawed.resize(rootOf.size());
    isThawedBeside.resize(rootOf.size());
    if (const auto *steps = plan.source->steps()) {
      for (const format::Step *step : *steps) {
        visit(*step);
      }
    }
    if (const auto *outputs = plan.source->outputs()) {
      for (const format::Output *output : *outputs) {
        if (output->kind() == format::OutputKind::Tensor) {
          thaw(output->reg());
        }
      }
    }
    thawNeighbours();
    std::vector<bool> frozen(rootOf.size());
    for (size_t reg = 0; reg < rootOf.size(); ++reg) {
      frozen[reg] = rootOf[reg] != kNoRegister && !isThawed[rootOf[reg]];
    }
    return frozen;
  }

private:
  void thaw(uint32_t reg) {
    if (reg < rootOf.size() && rootOf[reg] != kNoRegister) {
      isThawed[rootOf[reg]] = true;
    }
  }

  /// Weights may share bytes, so what is written through one of them changes the others.
  void thawNeighbours() {
    const auto &constants = *plan.source->constants();
    const auto &weights = *plan.artifact->root().weights();
    auto visit = [&](auto body) {
      for (const format::Constant *constant : constants) {
        uint32_t reg = constant->tensor();
        if (reg < rootOf.size() && rootOf[reg] == reg) {
          body(reg, *weights.Get(static_cast<uint32_t>(constant->weight())));
        }
      }
    };
    visit([&](uint32_t thawed, const format::Weight &one) {
      if (!isThawed[thawed]) {
        return;
      }
      visit([&](uint32_t reg, const format::Weight &other) {
        // The reader has checked that no sum overflows.
        if (one.offset() < other.offset() + other.bytes() &&
            other.offset() < one.offset() + one.bytes() && !isThawed[reg]) {
          isThawedBeside[reg] = true;
        }
      });
    });
    for (size_t reg = 0; reg < isThawed.size(); ++reg) {
      isThawed[reg] = isThawed[reg] || isThawedBeside[reg];
    }
  }

  void thawAll(const format::Value &value) {
    if (value.kind() == format::ValueKind::Tensor) {
      thaw(value.reg());
    }
    if (const auto *items = value.items()) {
      for (const format::Value *item : *items) {
        thawAll(*item);
      }
    }
  }

  void visit(const format::Step &step) {
    switch (step.action_type()) {
    case format::Action::View: {
      const auto &view = *step.action_as_View();
      if (view.tensor() < rootOf.size() && view.source() < rootOf.size()) {
        rootOf[view.tensor()] = rootOf[view.source()];
      }
      break;
    }
    case format::Action::Launch: {
      const auto &launch = *step.action_as_Launch();
      const auto *kernels = plan.source->kernels();
      const auto *access = kernels && launch.kernel() < kernels->size()
                               ? kernels->Get(launch.kernel())->access()
                               : nullptr;
      for (uint32_t at = 0; launch.tensors() && at < launch.tensors()->size(); ++at) {
        if (!access || access->size() == 0 || access->Get(at % access->size()) != 'r') {
          thaw(launch.tensors()->Get(at));
        }
      }
      break;
    }
    case format::Action::Aten: {
      const auto &call = *step.action_as_Aten();
      if (!onlyReads(call) && call.arguments()) {
        for (const format::Value *argument : *call.arguments()) {
          thawAll(*argument);
        }
      }
      break;
    }
    case format::Action::CopyInto:
      thaw(step.action_as_CopyInto()->tensor());
      break;
    case format::Action::Touch:
      thaw(step.action_as_Touch()->tensor());
      break;
    case format::Action::Reuse:
      thaw(step.action_as_Reuse()->from());
      break;
    default:
      break;
    }
  }

  const DecodedPlan &plan;
  /// The register of the weight that a tensor lies in; kNoRegister for other tensors.
  std::vector<uint32_t> rootOf;
  std::vector<bool> isThawed;
  /// It shares bytes with a thawed one.
  std::vector<bool> isThawedBeside;
};

} // namespace

std::vector<bool> frozenTensors(const DecodedPlan &plan) { return Finder(plan).find(); }

} // namespace frit
