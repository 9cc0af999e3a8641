// Between at::Tensor and what the rest of the runtime sees. A handle is a c10::TensorImpl with one
// reference that the holder owns.

#pragma once

#include "runtime/plan/Host.h"

#include <ATen/core/TensorBase.h>

#include <optional>

namespace frit {

format::Dtype dtypeOf(c10::ScalarType type);
c10::ScalarType scalarTypeOf(format::Dtype dtype);
c10::Device deviceOf(format::Device device, int64_t index = -1);

inline c10::TensorImpl *implOf(void *handle) { return static_cast<c10::TensorImpl *>(handle); }

/// Gives the reference away.
inline void *handleOf(at::TensorBase &&tensor) { return tensor.unsafeReleaseTensorImpl(); }

/// Another reference.
inline at::TensorBase tensorOf(void *handle) {
  return at::TensorBase(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(implOf(handle)));
}

/// Takes the reference over.
inline at::TensorBase takeTensor(void *handle) {
  return at::TensorBase(
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(implOf(handle)));
}

/// First element of a strided tensor.
inline void *dataOf(const c10::TensorImpl *impl) {
  return static_cast<char *>(impl->storage().mutable_data()) +
         static_cast<int64_t>(impl->itemsize()) * impl->storage_offset();
}

/// Whether the installed torch can say which driver stream a c10::Stream is; load() refuses GPU
/// plans where it cannot.
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

/// Whether the tensor stands for the conjugate or negative of its memory.
inline LazyBits lazyBitsOf(const c10::TensorImpl &impl) {
  constexpr c10::DispatchKeySet keys({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  if (!impl.key_set().has_any(keys)) {
    return kPlain;
  }
  return static_cast<LazyBits>((impl.is_conj() ? kConjugated : kPlain) |
                               (impl.is_neg() ? kNegated : kPlain));
}

/// Only where they differ: torch has no conjugates of real tensors.
inline void setLazyBits(c10::TensorImpl &impl, LazyBits bits) {
  if (lazyBitsOf(impl) != bits) {
    impl._set_conj((bits & kConjugated) != 0);
    impl._set_neg((bits & kNegated) != 0);
  }
}

/// Why compiled code cannot take this tensor, nothing when it can: subclasses, sparse and quantised
/// tensors.
std::optional<std::string> unfitReason(const c10::TensorImpl &impl);

/// Fills `slot` with a tensor of the host and its first element. Every tensor of torch gets into a
/// register here or as an argument or constant.
inline void setSlot(TensorSlot &slot, at::TensorBase &&tensor) {
  slot.lazy = tensor.defined() ? lazyBitsOf(*tensor.unsafeGetTensorImpl()) : kPlain;
  slot.data =
      tensor.has_storage() && slot.lazy == kPlain ? dataOf(tensor.unsafeGetTensorImpl()) : nullptr;
  slot.handle = handleOf(std::move(tensor));
  slot.owner = TensorSlot::Owner::Handle;
}

} // namespace frit
