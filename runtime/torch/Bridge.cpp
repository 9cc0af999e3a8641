#include "runtime/torch/Bridge.h"

#include <array>

namespace frit {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::ScalarType;
using format::Dtype;

namespace {

constexpr std::array<ScalarType, 20> kScalarTypes = {ScalarType::Bool,
                                                     ScalarType::Byte,
                                                     ScalarType::Char,
                                                     ScalarType::Short,
                                                     ScalarType::Int,
                                                     ScalarType::Long,
                                                     ScalarType::UInt16,
                                                     ScalarType::UInt32,
                                                     ScalarType::UInt64,
                                                     ScalarType::Half,
                                                     ScalarType::BFloat16,
                                                     ScalarType::Float,
                                                     ScalarType::Double,
                                                     ScalarType::ComplexHalf,
                                                     ScalarType::ComplexFloat,
                                                     ScalarType::ComplexDouble,
                                                     ScalarType::Float8_e4m3fn,
                                                     ScalarType::Float8_e5m2,
                                                     ScalarType::Float8_e4m3fnuz,
                                                     ScalarType::Float8_e5m2fnuz};
static_assert(kScalarTypes.size() == static_cast<size_t>(Dtype::MAX) + 1);

constexpr auto kDtypes = [] {
  std::array<int8_t, 128> table = {};
  table.fill(-1);
  for (size_t dtype = 0; dtype < kScalarTypes.size(); ++dtype) {
    table[static_cast<size_t>(kScalarTypes[dtype])] = static_cast<int8_t>(dtype);
  }
  return table;
}();

} // namespace

Dtype dtypeOf(ScalarType type) {
  // A dtype that the format lacks matches no compiled input; unfitReason names it.
  int8_t dtype = kDtypes[static_cast<size_t>(type)];
  return dtype < 0 ? static_cast<Dtype>(0xff) : static_cast<Dtype>(dtype);
}

ScalarType scalarTypeOf(Dtype dtype) { return kScalarTypes[static_cast<size_t>(dtype)]; }

c10::Device deviceOf(format::Device device, int64_t index) {
  return device == format::Device::Cpu
             ? c10::Device(c10::DeviceType::CPU)
             : c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
}

TensorView makeView(const c10::TensorImpl &impl, void *data, LazyBits lazy) {
  return {data,
          impl.sizes().data(),
          impl.strides().data(),
          impl.dim(),
          impl.storage_offset(),
          dtypeOf(c10::typeMetaToScalarType(impl.dtype())),
          impl.is_cpu() ? format::Device::Cpu : format::Device::Cuda,
          impl.is_cpu() ? 0 : impl.device().index(),
          lazy};
}

std::optional<std::string> unfitReason(const c10::TensorImpl &impl) {
  constexpr DispatchKeySet odd({DispatchKey::Python, DispatchKey::ZeroTensor, DispatchKey::Batched,
                                DispatchKey::FuncTorchBatched, DispatchKey::FuncTorchGradWrapper,
                                DispatchKey::Functionalize});
  if (!impl.key_set().has_any(odd) && impl.layout() == c10::Layout::Strided && impl.has_storage() &&
      (impl.is_cpu() || impl.is_cuda()) &&
      kDtypes[static_cast<size_t>(c10::typeMetaToScalarType(impl.dtype()))] >= 0) {
    return std::nullopt;
  }
  if (impl.layout() != c10::Layout::Strided) {
    return "its layout is not strided; convert it with to_dense()";
  }
  if (impl.key_set().has(DispatchKey::Python)) {
    return "it is a tensor subclass; compiled graphs take plain tensors";
  }
  if (impl.key_set().has_any(odd)) {
    return "it is a zero that torch has made no memory for, or wrapped by a transform; pass a copy "
           "of it (clone())";
  }
  return "its device or dtype is not one frit runs on";
}

} // namespace frit
