#include "passes/Copies.h"
#include "ir/FritAttributes.h"

#include "passes/Layouts.h"

using namespace mlir;
using namespace mlir::frit;

bool mlir::frit::isKernelElement(Type element) {
  return element.isInteger() || element.isF16() || element.isBF16() || element.isF32() ||
         element.isF64();
}

DType mlir::frit::dtypeOfElement(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Type part = complex.getElementType();
    return part.isF64() ? DType::C128 : part.isF16() ? DType::C32 : DType::C64;
  }
  if (auto integer = dyn_cast<IntegerType>(element)) {
    switch (integer.getWidth()) {
    case 1:
      return DType::Bool;
    case 8:
      return DType::I8;
    case 16:
      return DType::I16;
    case 32:
      return DType::I32;
    default:
      return DType::I64;
    }
  }
  return element.isF64()                    ? DType::F64
         : element.isF16()                  ? DType::F16
         : element.isBF16()                 ? DType::BF16
         : isa<Float8E5M2Type>(element)     ? DType::F8E5M2
         : isa<Float8E4M3FNType>(element)   ? DType::F8E4M3FN
         : isa<Float8E5M2FNUZType>(element) ? DType::F8E5M2FNUZ
         : isa<Float8E4M3FNUZType>(element) ? DType::F8E4M3FNUZ
                                            : DType::F32;
}

/// The dtype that the producer of a value declares; null for regions.
static DTypeAttr dtypeOfMaker(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (auto call = dyn_cast<AtenOp>(def)) {
      return cast<DTypeAttr>(call.getResultDtypes()[cast<OpResult>(value).getResultNumber()]);
    }
    if (auto alias = dyn_cast<AliasOp>(def)) {
      return alias.getDtypeAttr();
    }
    if (!isView(def)) {
      return {};
    }
    value = def->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto graph = dyn_cast<GraphOp>(argument.getOwner()->getParentOp());
  return graph ? kArgumentDtypeAttr.get(graph, argument.getArgNumber()) : DTypeAttr();
}

bool mlir::frit::isDtypeAmbiguous(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isInteger() && !type.getElementType().isInteger(1);
}

DTypeAttr mlir::frit::getDtypeOfUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<ReturnOp>(user)) {
    return kResultDtypeAttr.get(user->getParentOfType<GraphOp>(), use.getOperandNumber());
  }
  if (auto call = dyn_cast<AtenOp>(user)) {
    return cast<DTypeAttr>(call.getOperandDtypes()[use.getOperandNumber()]);
  }
  if (auto store = dyn_cast<StoreOp>(user); store && use.getOperandNumber() == 0) {
    return dtypeOfMaker(store.getTarget());
  }
  return {};
}

DTypeAttr mlir::frit::getTorchDtype(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  // A view has the dtype of what it is a view of.
  while (Operation *def = value.getDefiningOp()) {
    if (!isView(def)) {
      break;
    }
    value = def->getOperand(0);
  }
  if (DTypeAttr known = dtypeOfMaker(value)) {
    return known;
  }
  SmallVector<Value> open{value};
  while (isa<IntegerType>(element) && !open.empty()) {
    for (OpOperand &use : open.pop_back_val().getUses()) {
      DTypeAttr dtype = getDtypeOfUse(use);
      if (auto alias = dyn_cast<AliasOp>(use.getOwner());
          alias && alias.getType().getElementType() == element) {
        dtype = alias.getDtypeAttr();
      } else if (isView(use.getOwner())) {
        open.push_back(use.getOwner()->getResult(0));
      }
      if (dtype) {
        return dtype;
      }
    }
  }
  return DTypeAttr::get(value.getContext(), dtypeOfElement(element));
}

Value mlir::frit::createCopy(OpBuilder &builder, Value value, LayoutAttr layout) {
  auto type = cast<RankedTensorType>(value.getType());
  MLIRContext *context = type.getContext();
  layout = LayoutAttr::get(context, layout.getStrides(), SizeExpr::constant(context, 0));
  ArrayAttr layouts = builder.getArrayAttr({layout});
  Operation *made;
  if (isKernelElement(type.getElementType()) && isDense(layout, type)) {
    auto region = RegionOp::create(builder, value.getLoc(), TypeRange{type}, ValueRange{value},
                                   ScheduleAttr(), layouts);
    Block &body = region.getBody().emplaceBlock();
    body.addArgument(type, value.getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(&body);
    YieldOp::create(inner, value.getLoc(), body.getArguments());
    made = region;
  } else {
    ArrayAttr dtype = builder.getArrayAttr({getTorchDtype(value)});
    Attribute arguments[] = {OperandAttr::get(context, 0), builder.getUnitAttr()};
    made = AtenOp::create(
        builder, value.getLoc(), TypeRange{type}, builder.getStringAttr("aten.clone.default"),
        ValueRange{value}, builder.getArrayAttr(arguments), ArrayAttr(), dtype, dtype,
        builder.getArrayAttr({getAssignedLayout(value)}), layouts,
        builder.getArrayAttr({StorageAttr::get(context, StorageKind::Fresh, 0)}),
        builder.getStringAttr("a copy whose elements or strides no kernel writes"));
  }
  kLayoutsAttr.set(made, layouts);
  return made->getResult(0);
}
