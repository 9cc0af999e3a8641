// Between at::Tensor and what the rest of the runtime sees. A handle is a c10::TensorImpl with one reference that the holder owns.

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
  return at::TensorBase(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(implOf(handle)));
}

/// Takes the reference over.
inline at::TensorBase takeTensor(void *handle) {
  return at::TensorBase(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(implOf(handle)));
}

/// First element of a strided tensor.
inline void *dataOf(const c10::TensorImpl *impl) {
  return static_cast<char *>(impl->storage().mutable_data()) +
         static_cast<int64_t>(impl->itemsize()) * impl->storage_offset();
}

/// Whether the installed torch can say which driver stream a c10::Stream is; load() refuses GPU plans where it cannot.
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
inline bool isLazy(const c10::TensorImpl &impl) {
  return impl.key_set().has_any(c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}));
}

/// Why compiled code cannot take this tensor, nothing when it can: subclasses, sparse and quantised tensors, lazy conjugation.
std::optional<std::string> unfitReason(const c10::TensorImpl &impl);

/// Fills `slot` with a tensor of the host and its first element.
inline void setSlot(TensorSlot &slot, at::TensorBase &&tensor) {
  slot.data = tensor.has_storage() ? dataOf(tensor.unsafeGetTensorImpl()) : nullptr;
  slot.handle = handleOf(std::move(tensor));
  slot.owner = TensorSlot::Owner::Handle;
}

} // namespace frit
