// Registration of the dialect, and tensor types with sizes.
#include "ir/FritOps.h"
#include "ir/SizeConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::frit;

#include "ir/FritDialect.cpp.inc"

void FritDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "ir/FritOps.cpp.inc"
      >();
  addInterfaces<SizeConstants>();
}

Operation *FritDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  // Constants are scalars or rank-0 tensors: an arith.constant of dynamic shape does not parse.
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && !tensor.hasStaticShape()) {
    return nullptr;
  }
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

SmallVector<SizeExpr> mlir::frit::getSizes(RankedTensorType type) {
  SmallVector<SizeExpr> sizes;
  if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding())) {
    for (SizeAttr size : dims.getSizes()) {
      sizes.push_back(size);
    }
    return sizes;
  }
  for (int64_t size : type.getShape()) {
    sizes.push_back(SizeExpr::constant(type.getContext(), size));
  }
  return sizes;
}

RankedTensorType mlir::frit::getTensorType(ArrayRef<SizeExpr> sizes, Type elementType) {
  SmallVector<int64_t> shape;
  SmallVector<SizeAttr> attrs;
  bool dynamic = false;
  for (SizeExpr size : sizes) {
    // A negative constant cannot be a shape; it stays symbolic and fails at run time.
    auto constant = size.getConstant();
    bool known = constant && *constant >= 0;
    shape.push_back(known ? *constant : ShapedType::kDynamic);
    attrs.push_back(size);
    dynamic |= !known;
  }
  Attribute encoding;
  if (dynamic) {
    encoding = DimsAttr::get(elementType.getContext(), attrs);
  }
  return RankedTensorType::get(shape, elementType, encoding);
}

SizeExpr mlir::frit::getNumElements(RankedTensorType type) {
  return product(type.getContext(), getSizes(type));
}

SmallVector<SizeExpr> mlir::frit::getContiguousStrides(ArrayRef<SizeExpr> sizes,
                                                       MLIRContext *context) {
  SmallVector<SizeExpr> strides(sizes.size());
  SizeExpr stride = SizeExpr::constant(context, 1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (!sizes[i].isConstant(0)) {
      stride = stride * sizes[i];
    }
  }
  return strides;
}
