#include "runtime/torch/ResultViews.h"

#include "runtime/torch/Bridge.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/view_as_complex.h>
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
      views.push_back({number, output.view_of(), output.kept() || output.base() != 0});
    }
    auto member = [&](uint32_t number) {
      const format::Output &one = *plan.outputs()->Get(number);
      return Member{number, one.base(), scalarTypeOf(one.base_dtype().value_or(one.dtype())),
                    one.base_dtype().has_value(), one.kept()};
    };
    if (output.shares_with() != kNoRegister) {
      Group &group = known.try_emplace(output.shares_with(), Group{member(output.shares_with())})
                         .first->second;
      group.push_back(member(number));
    } else if (output.base_dtype().has_value() && !output.kept() &&
               output.view_of() == kNoRegister) {
      // A view whose base is no result still has one.
      known.try_emplace(number, Group{member(number)});
    }
  }
  for (auto &[first, group] : known) {
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

/// The whole storage of `real`, as complex numbers.
static at::Tensor complexOf(const at::Tensor &real) {
  int64_t numbers = static_cast<int64_t>(real.storage().nbytes() / real.itemsize()) / 2;
  return at::view_as_complex(real.as_strided({numbers, 2}, {2, 1}, 0));
}

/// Makes `made`, which lies in the storage of `base`, a view of `base`.
static at::Tensor viewOf(const at::TensorBase &base, at::Tensor made) {
  at::Tensor view(base);
  if (view.is_complex() && !made.is_complex()) {
    view = at::view_as_real(view.is_conj() ? view.conj() : view);
  } else if (!view.is_complex() && made.is_complex() && !view.is_neg() &&
             view.scalar_type() == c10::toRealValueType(made.scalar_type())) {
    view = complexOf(view);
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

/// Whether a storage of so many elements has room for the base. A damaged plan may have any
/// numbers.
static bool fits(const OutputValue &shape, int64_t elements) {
  bool isEmpty = false;
  int64_t last = 0;
  for (size_t dim = 0; dim < shape.baseSizes.size(); ++dim) {
    int64_t size = shape.baseSizes[dim], stride = shape.baseStrides[dim], step = 0;
    if (size < 0 || stride < 0 || __builtin_mul_overflow(size - (size != 0), stride, &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return false;
    }
    isEmpty |= size == 0;
  }
  return isEmpty || last < elements;
}

/// The whole storage of `part` as a tensor of the base's shape, if that is known: the base of
/// results, but not a result itself.
static at::TensorBase wholeOf(const at::TensorBase &part, c10::ScalarType dtype,
                              const OutputValue &shape) {
  c10::DispatchKeySet keys = part.key_set() - c10::DispatchKeySet({c10::DispatchKey::Conjugate,
                                                                   c10::DispatchKey::Negative});
  auto whole = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(part.storage()), keys,
                                                        c10::scalarTypeToTypeMeta(dtype));
  auto elements = static_cast<int64_t>(part.storage().nbytes() / c10::elementSize(dtype));
  // The storage may be a part of what was traced: of what a replayed graph returns, for example.
  if (!shape.baseSizes.empty() && fits(shape, elements)) {
    whole.unsafeGetTensorImpl()->set_sizes_and_strides(shape.baseSizes, shape.baseStrides);
  } else if (shape.baseSizes.empty() && elements == 1) {
    whole.unsafeGetTensorImpl()->set_sizes_contiguous({}); // a base without dims has no sizes
  } else {
    whole.unsafeGetTensorImpl()->set_sizes_contiguous({elements});
  }
  return whole;
}

void ResultViews::tellGroup(const Group &group, std::span<OutputValue> outputs) const {
  auto tensor = [&](const Member &member) { return tensorOf(outputs[member.output].handle); };
  if (!std::all_of(group.begin(), group.end(), [&](const Member &member) {
        return outputs[member.output].kind == OutputValue::Kind::Tensor &&
               outputs[member.output].handle;
      })) {
    return;
  }
  at::TensorBase first = tensor(group.front());
  std::map<uint32_t, at::TensorBase> bases;
  for (const Member &member : group) {
    if (at::TensorBase made = tensor(member); !member.kept && !member.isView &&
                                              liesIn(made, first) && !made.is_conj() &&
                                              !made.is_neg()) {
      bases.try_emplace(member.base, made);
    }
  }
  for (const Member &member : group) {
    if (!member.kept && liesIn(tensor(member), first) && !bases.contains(member.base)) {
      bases[member.base] = wholeOf(first, member.dtype, outputs[member.output]);
    }
  }
  at::TensorBase counting = bases.empty() ? first : bases.begin()->second;
  for (auto &[number, base] : bases) {
    shareVersions(counting, base);
  }
  // Equal results that are one tensor stay one.
  std::map<void *, at::TensorBase> known;
  for (const Member &member : group) {
    OutputValue &output = outputs[member.output];
    at::TensorBase made = tensor(member);
    if (!liesIn(made, first)) {
      continue;
    }
    if (member.kept) {
      shareVersions(counting, made);
      continue;
    }
    if (made.is_same(bases[member.base])) {
      continue;
    }
    auto [view, isNew] = known.try_emplace(output.handle);
    if (isNew) {
      view->second = viewOf(bases[member.base], at::Tensor(made));
    }
    takeTensor(output.handle);
    output.handle = at::TensorBase(view->second).unsafeReleaseTensorImpl();
  }
}

void ResultViews::tell(std::span<const at::TensorBase> arguments,
                       std::span<OutputValue> outputs) const {
  c10::AutoGradMode noGrad(false);
  for (size_t at = 0; at != views.size(); ++at) {
    OutputValue &output = outputs[views[at].output];
    if (!arguments[at].defined() || output.kind != OutputValue::Kind::Tensor ||
        !liesIn(tensorOf(output.handle), arguments[at])) {
      continue;
    }
    if (views[at].isSeparate) {
      shareVersions(arguments[at], tensorOf(output.handle));
    } else {
      output.handle =
          viewOf(arguments[at], at::Tensor(takeTensor(output.handle))).unsafeReleaseTensorImpl();
    }
  }
  for (const Group &group : groups) {
    tellGroup(group, outputs);
  }
}

} // namespace frit
