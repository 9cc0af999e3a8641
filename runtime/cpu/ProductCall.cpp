#include "runtime/cpu/ProductCall.h"

#include "runtime/cpu/PlainTensor.h"

namespace frit {

using format::ValueKind;

Result<std::optional<ProductCall>> productOf(const format::Aten &call) {
  if (!call.own_product()) {
    return std::optional<ProductCall>();
  }
  std::string_view name = call.name()->string_view();
  uint32_t operands = name == "aten::mm" ? 2 : name == "aten::addmm" ? 3 : 0;
  uint32_t given = call.arguments() ? call.arguments()->size() : 0;
  bool fits = operands != 0 && given >= operands && call.results() && call.results()->size() == 1;
  for (uint32_t at = 0; fits && at < given; ++at) {
    const format::Value &value = *call.arguments()->Get(at);
    // The arguments after the operands are factors, which the kernel does not support.
    fits = at < operands ? value.kind() == ValueKind::Tensor
                         : value.kind() == ValueKind::Default ||
                               (value.kind() == ValueKind::Int && value.integer() == 1) ||
                               (value.kind() == ValueKind::Double && value.real() == 1.0);
  }
  if (!fits) {
    return Status::error(ErrorKind::BadArtifact, "a call of " + std::string(name) +
                                                     " is marked as a product that it is not; "
                                                     "compile the artifact again");
  }
  auto reg = [&](uint32_t at) { return call.arguments()->Get(at)->reg(); };
  return std::optional(
      ProductCall{reg(operands - 2), reg(operands - 1), operands == 3 ? reg(0) : kNoRegister});
}

std::optional<Product> productFrom(const TensorView &left, const TensorView &right,
                                   const TensorView *added) {
  // A stride of a dimension of one element has no meaning.
  auto isUnit = [](const TensorView &view, int dim) {
    return view.strides[dim] == 1 || view.sizes[dim] <= 1;
  };
  if (!isPlain(left) || !isPlain(right) || left.rank != 2 || right.rank != 2 ||
      left.sizes[1] != right.sizes[0] || !isUnit(left, 1) ||
      (!isUnit(right, 0) && !isUnit(right, 1))) {
    return std::nullopt;
  }
  Product product;
  product.rows = left.sizes[0];
  product.columns = right.sizes[1];
  product.depth = left.sizes[1];
  product.left = static_cast<const float *>(left.data);
  product.leftStride = left.strides[0];
  product.right = static_cast<const float *>(right.data);
  product.form = isUnit(right, 0) ? ProductForm::AlongDepth : ProductForm::AlongColumns;
  product.rightStride = right.strides[product.form == ProductForm::AlongDepth ? 1 : 0];
  if (!added) {
    return product;
  }
  // It is broadcast to the result.
  if (!isPlain(*added) || added->rank > 2) {
    return std::nullopt;
  }
  const int64_t wanted[] = {product.rows, product.columns};
  int64_t *strides[] = {&product.addedRowStride, &product.addedColumnStride};
  for (int64_t dim = 0; dim < added->rank; ++dim) {
    int64_t to = 2 - added->rank + dim;
    *strides[to] = added->sizes[dim] == 1 ? 0 : added->strides[dim];
    if ((added->sizes[dim] != 1 && added->sizes[dim] != wanted[to]) ||
        (to == 1 && (*strides[to] & ~1) != 0)) {
      return std::nullopt;
    }
  }
  product.added = static_cast<const float *>(added->data);
  return product;
}

} // namespace frit
