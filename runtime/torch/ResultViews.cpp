#include "runtime/torch/ResultViews.h"

#include "runtime/torch/Bridge.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>

namespace frit {

ResultViews::ResultViews(const format::Plan &plan) {
  std::map<uint32_t, Group> known;
  for (uint32_t number = 0; plan.outputs() && number < plan.outputs()->size(); ++number) {
    const format::Output &output = *plan.outputs()->Get(number);
    if (output.view_of() != kNoRegister) {
      views.push_back({number, output.view_of(), output.kept()});
    }
    if (output.shares_with() != kNoRegister) {
      Group &group = known.try_emplace(output.shares_with(), Group{{output.shares_with()}, 0}).first->second;
      group.outputs.push_back(number);
    }
  }
  for (auto &[first, group] : known) {
    group.kept = std::count_if(group.outputs.begin(), group.outputs.end(),
                               [&](uint32_t number) { return !plan.outputs()->Get(number)->kept(); });
    groups.push_back(std::move(group));
  }
}

std::vector<at::TensorBase> ResultViews::hold(std::span<const InputValue> inputs) const {
  std::vector<at::TensorBase> held;
  for (const View &one : views) {
    void *handle = inputs[one.input].handle;
    held.push_back(handle ? tensorOf(handle) : at::TensorBase());
  }
  return held;
}

static bool liesIn(const at::TensorBase &made, const at::TensorBase &base) {
  return made.has_storage() && base.has_storage() && made.storage().is_alias_of(base.storage());
}

/// `made`, which lies in the storage of `base`, as a view of it.
static at::Tensor viewOf(const at::TensorBase &base, at::Tensor made) {
  at::Tensor view(base);
  if (view.is_complex() && !made.is_complex()) {
    view = at::view_as_real(view.is_conj() ? view.conj() : view);
  }
  if (view.scalar_type() != made.scalar_type()) {
    return made;
  }
  view = view.as_strided(made.sizes(), made.strides(), made.storage_offset());
  view = view.is_conj() != made.is_conj() ? view.conj() : view;
  return view.is_neg() != made.is_neg() ? at::_neg_view(view) : view;
}

static void shareVersions(const at::TensorBase &base, const at::TensorBase &made) {
  if (!base.is_inference() && !made.is_inference()) {
    made.unsafeGetTensorImpl()->set_version_counter(base.unsafeGetTensorImpl()->version_counter());
  }
}

/// All of a storage, as the tensor that results are views of and that is no result.
static at::TensorBase wholeOf(const at::TensorBase &part) {
  c10::DispatchKeySet keys = part.key_set() - c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  auto whole = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(part.storage()), keys, part.dtype());
  whole.unsafeGetTensorImpl()->set_sizes_contiguous(
      {static_cast<int64_t>(part.storage().nbytes()) / static_cast<int64_t>(part.dtype().itemsize())});
  return whole;
}

void ResultViews::tellGroup(const Group &group, std::span<OutputValue> outputs) const {
  auto isTensor = [&](uint32_t number) { return outputs[number].kind == OutputValue::Kind::Tensor && outputs[number].handle; };
  auto isWhole = [&](uint32_t number) {
    at::TensorBase made = tensorOf(outputs[number].handle);
    return made.numel() * made.itemsize() == made.storage().nbytes() && made.is_non_overlapping_and_dense() && !made.is_conj() && !made.is_neg();
  };
  if (!std::all_of(group.outputs.begin(), group.outputs.end(), isTensor)) {
    return;
  }
  auto end = group.outputs.begin() + static_cast<ptrdiff_t>(group.kept);
  auto whole = std::find_if(group.outputs.begin(), group.kept ? end : group.outputs.end(), isWhole);
  at::TensorBase first = tensorOf(outputs[group.outputs.front()].handle);
  at::TensorBase base = whole != group.outputs.end() && isWhole(*whole) ? tensorOf(outputs[*whole].handle)
                        : group.kept                                      ? wholeOf(first)
                                                                          : first;
  // Equal results are one tensor, and stay one.
  std::map<void *, at::TensorBase> made;
  for (auto number = group.outputs.begin(); number != group.outputs.end(); ++number) {
    OutputValue &output = outputs[*number];
    at::TensorBase old = tensorOf(output.handle);
    if (old.is_same(base) || !liesIn(old, base)) {
      continue;
    }
    auto [known, isNew] = made.try_emplace(output.handle);
    if (isNew && number < end) {
      known->second = viewOf(base, at::Tensor(old));
    } else if (isNew) {
      shareVersions(base, old);
      known->second = old;
    }
    takeTensor(output.handle);
    output.handle = at::TensorBase(known->second).unsafeReleaseTensorImpl();
  }
}

void ResultViews::tell(std::span<const at::TensorBase> arguments, std::span<OutputValue> outputs) const {
  c10::AutoGradMode noGrad(false);
  for (size_t at = 0; at != views.size(); ++at) {
    OutputValue &output = outputs[views[at].output];
    if (!arguments[at].defined() || output.kind != OutputValue::Kind::Tensor || !liesIn(tensorOf(output.handle), arguments[at])) {
      continue;
    }
    if (views[at].kept) {
      shareVersions(arguments[at], tensorOf(output.handle));
    } else {
      output.handle = viewOf(arguments[at], at::Tensor(takeTensor(output.handle))).unsafeReleaseTensorImpl();
    }
  }
  for (const Group &group : groups) {
    tellGroup(group, outputs);
  }
}

} // namespace frit
