#include "runtime/torch/ProfilerSpan.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/torch/Bridge.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

namespace frit {

using c10::IValue;
using Keywords = std::unordered_map<std::string, IValue>;

/// A tensor with the form of a register. Bare memory of the plan has none, and a profiler may not
/// keep it: it is shown as a tensor without memory.
static at::Tensor formOf(const DecodedPlan &plan, uint32_t reg, const TensorSlot &slot,
                         const int64_t *ints) {
  if (slot.handle) {
    return at::Tensor(tensorOf(slot.handle));
  }
  const TensorType &type = plan.tensors[reg];
  std::vector<int64_t> sizes, strides;
  for (uint32_t size : type.sizes) {
    sizes.push_back(ints[size]);
  }
  for (uint32_t stride : type.strides) {
    strides.push_back(ints[stride]);
  }
  c10::ScalarType dtype = scalarTypeOf(type.dtype);
  return at::Tensor(strides.size() == sizes.size()
                        ? at::detail::empty_strided_meta(sizes, strides, dtype)
                        : at::detail::empty_meta(sizes, dtype));
}

/// Appends a source line. Profilers write it as JSON without escaping it.
static void addLine(std::string &lines, const DecodedPlan &plan, uint32_t number) {
  const auto *known = plan.artifact->root().sources();
  if (!known || number >= known->size()) {
    return;
  }
  if (!lines.empty()) {
    lines += " | ";
  }
  for (char letter : known->Get(number)->string_view()) {
    lines += letter == '"' ? '\'' : static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
}

static void begin(at::RecordFunction &span, std::string_view name, const std::vector<IValue> &forms,
                  const std::string &lines) {
  Keywords keywords;
  if (!lines.empty()) {
    keywords.emplace("source", lines);
  }
  span.before(name, &forms, &keywords);
}

std::unique_ptr<at::RecordFunction> beginKernelSpan(const DecodedPlan &plan,
                                                    const KernelArguments &arguments) {
  auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
  if (!callbacks) {
    return nullptr;
  }
  const LaunchSite &site = *arguments.site;
  const format::Kernel &kernel = *plan.source->kernels()->Get(site.kernel);
  std::string_view name = kernel.name() ? kernel.name()->string_view() : "kernel";
  auto span = std::make_unique<at::RecordFunction>(std::move(*callbacks));
  if (!span->needsInputs()) {
    span->before(name);
    return span;
  }
  std::vector<IValue> forms;
  for (uint32_t reg : site.tensors) {
    forms.emplace_back(formOf(plan, reg, arguments.tensors[reg], arguments.registers));
  }
  std::string lines;
  for (uint32_t at = 0; kernel.sources() && at < kernel.sources()->size(); ++at) {
    addLine(lines, plan, kernel.sources()->Get(at));
  }
  begin(*span, name, forms, lines);
  return span;
}

std::unique_ptr<at::RecordFunction> beginCallSpan(const char *name, const DecodedPlan &plan,
                                                  const format::Aten &call, const RunState &state,
                                                  std::span<const uint32_t> operands) {
  auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
  if (!callbacks) {
    return nullptr;
  }
  auto span = std::make_unique<at::RecordFunction>(std::move(*callbacks));
  if (!span->needsInputs()) {
    span->before(name);
    return span;
  }
  std::vector<IValue> forms;
  for (uint32_t reg : operands) {
    if (reg != kNoRegister) {
      forms.emplace_back(formOf(plan, reg, state.tensors[reg], state.ints.data()));
    }
  }
  std::string lines;
  addLine(lines, plan, call.source());
  begin(*span, name, forms, lines);
  return span;
}

} // namespace frit
