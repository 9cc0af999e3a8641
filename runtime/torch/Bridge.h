// Converts between at::Tensor and the handles of the runtime. A handle is a c10::TensorImpl with
// one reference, which its holder owns.

#pragma once

#include "runtime/plan/Host.h"

#include <ATen/core/TensorBase.h>

#include <optional>

namespace frit {

format::Dtype dtypeOf(c10::ScalarType type);
c10::ScalarType scalarTypeOf(format::Dtype dtype);
/// `index` is the number of a GPU, -1 for the current one.
c10::Device deviceOf(format::Device device, int64_t index = -1);

inline c10::TensorImpl *implOf(void *handle) { return static_cast<c10::TensorImpl *>(handle); }

/// Transfers the reference to the handle.
inline void *handleOf(at::TensorBase &&tensor) { return tensor.unsafeReleaseTensorImpl(); }

/// Takes another reference.
inline at::TensorBase tensorOf(void *handle) {
  return at::TensorBase(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(implOf(handle)));
}

/// Takes over the handle's reference.
inline at::TensorBase takeTensor(void *handle) {
  return at::TensorBase(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(implOf(handle)));
}

/// The first element of a strided tensor.
inline void *dataOf(const c10::TensorImpl *impl) {
  return static_cast<char *>(impl->storage().mutable_data()) +
         static_cast<int64_t>(impl->itemsize()) * impl->storage_offset();
}

/// The values of a tensor of type `T`. It replaces the typed const_data_ptr, which torch 2.11
/// exports under the name that GCC gives it; clang 22 mangles its constraint and looks for another
/// one.
template <typename T> const T *valuesOf(const at::TensorBase &tensor) {
  return static_cast<const T *>(tensor.const_data_ptr());
}

/// Whether the installed torch can give the driver stream of a c10::Stream; load() refuses GPU
/// plans if it cannot.
template <typename Stream> constexpr bool hasNativeHandle() {
  return requires(const Stream &stream) { stream.native_handle(); };
}

template <typename Stream> void *nativeHandle(const Stream &stream) {
  if constexpr (hasNativeHandle<Stream>()) {
    return stream.native_handle();
  } else {
    return nullptr;
  }
}

/// Whether the tensor's values are the conjugate or negative of its memory.
inline LazyBits lazyBitsOf(const c10::TensorImpl &impl) {
  constexpr c10::DispatchKeySet keys({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  if (!impl.key_set().has_any(keys)) {
    return kPlain;
  }
  return static_cast<LazyBits>((impl.is_conj() ? kConjugated : kPlain) |
                               (impl.is_neg() ? kNegated : kPlain));
}

/// The runtime's metadata of a tensor with this first element and these bits.
TensorView makeView(const c10::TensorImpl &impl, void *data, LazyBits lazy);

/// Sets bits only if they differ, because torch has no conjugates of real tensors.
inline void setLazyBits(c10::TensorImpl &impl, LazyBits bits) {
  if (lazyBitsOf(impl) != bits) {
    impl._set_conj((bits & kConjugated) != 0);
    impl._set_neg((bits & kNegated) != 0);
  }
}

/// Why compiled code cannot take this tensor (subclasses, sparse and quantised tensors); nullopt if
/// it can.
std::optional<std::string> unfitReason(const c10::TensorImpl &impl);

/// Sets `slot` to a tensor of the host and its first element. All tensors from torch (registers,
/// arguments, constants) go through this function.
inline void setSlot(TensorSlot &slot, at::TensorBase &&tensor) {
  slot.lazy = tensor.defined() ? lazyBitsOf(*tensor.unsafeGetTensorImpl()) : kPlain;
  slot.data =
      tensor.has_storage() && slot.lazy == kPlain ? dataOf(tensor.unsafeGetTensorImpl()) : nullptr;
  slot.handle = handleOf(std::move(tensor));
  slot.owner = TensorSlot::Owner::Handle;
}

} // namespace frit
