#include "runtime/torch/TorchValues.h"

#include "runtime/torch/Bridge.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

namespace frit {

c10::IValue toTorch(const Value &value, bool onGpu) {
  if (const auto *tensor = std::get_if<Tensor>(&value)) {
    at::TensorOptions options(scalarTypeOf(static_cast<format::Dtype>(tensor->dtype)));
    auto keep = [kept = tensor->owner](void *) {};
    at::Tensor on =
        tensor->strides.empty()
            ? at::from_blob(tensor->data, tensor->sizes, keep, options)
            : at::from_blob(tensor->data, tensor->sizes, tensor->strides, keep, options);
    return on.to(onGpu ? c10::DeviceType::CUDA : c10::DeviceType::CPU);
  }
  if (const auto *integer = std::get_if<int64_t>(&value)) {
    return *integer;
  }
  if (const auto *real = std::get_if<double>(&value)) {
    return *real;
  }
  const auto *flag = std::get_if<bool>(&value);
  return flag ? c10::IValue(*flag) : c10::IValue();
}

Value fromTorch(const c10::IValue &value) {
  if (value.isTensor()) {
    auto kept = std::make_shared<at::Tensor>(value.toTensor().cpu().resolve_conj().resolve_neg());
    return Tensor{static_cast<DataType>(dtypeOf(kept->scalar_type())), kept->sizes().vec(),
                  kept->strides().vec(), kept->data_ptr(), kept};
  }
  return value.isInt()      ? Value(value.toInt())
         : value.isDouble() ? Value(value.toDouble())
         : value.isBool()   ? Value(value.toBool())
                            : Value();
}

bool torchHasGpu() { return at::hasCUDA(); }

} // namespace frit
