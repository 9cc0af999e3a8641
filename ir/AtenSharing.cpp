#include "ir/AtenSharing.h"

#include "ir/AtenSchemas.h"
#include "ir/SizeExpr.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

static LayoutAttr layoutIn(std::optional<ArrayAttr> layouts, unsigned number) {
  return layouts && number < layouts->size() ? dyn_cast<LayoutAttr>((*layouts)[number])
                                             : LayoutAttr();
}

LayoutAttr mlir::frit::getTracedOperandLayout(AtenOp op, unsigned operand) {
  return layoutIn(op.getOperandLayouts(), operand);
}

LayoutAttr mlir::frit::getTracedResultLayout(AtenOp op, unsigned result) {
  return layoutIn(op.getResultLayouts(), result);
}

/// Operators that may return their first operand, or a view of it, although their schema does not
/// say so. tests/python/trust/test_hidden_views.py looks for more in torch.
static bool isHiddenView(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"aten.type_as.default", "aten.sum_to_size.default", "aten.conj_physical.default"},
             true)
      .Case("aten._unsafe_view.default", true)
      .Cases({"aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default",
              "aten.feature_alpha_dropout.default"},
             true)
      .Cases({"aten.atleast_1d.default", "aten.atleast_2d.default", "aten.atleast_3d.default"},
             true)
      .Default(false);
}

bool mlir::frit::mayReturnOperands(AtenOp op) {
  return op.getOpName().starts_with("aten.histogramdd.") ||
         op.getOpName().starts_with("aten.unsafe_") ||
         llvm::StringSwitch<bool>(op.getOpName())
             .Cases({"aten.einsum.default", "aten.broadcast_tensors.default",
                     "aten.cartesian_prod.default", "aten.meshgrid.default",
                     "aten.meshgrid.indexing"},
                    true)
             .Cases({"aten.atleast_1d.Sequence", "aten.atleast_2d.Sequence",
                     "aten.atleast_3d.Sequence"},
                    true)
             .Default(false);
}

Access mlir::frit::getAccess(AtenOp op) {
  Access access;
  if (isHiddenView(op.getOpName())) {
    access.views = cast<OperandAttr>(op.getArguments()[0]).getIndex();
    return access;
  }
  AtenEffects effects = AtenSchema::lookupEffects(op.getOpName());
  if (!effects.mutates && !effects.view) {
    return access;
  }
  std::optional<AtenSchema> schema = AtenSchema::lookup(op.getOpName());
  if (!schema) {
    return access;
  }
  for (auto [argument, attr] : llvm::zip(schema->arguments, op.getArguments())) {
    if (auto list = dyn_cast<ArrayAttr>(attr); list && argument.isWrite) {
      for (auto operand : list.getAsRange<OperandAttr>()) {
        access.writes.push_back(operand.getIndex());
      }
      access.writesList = true;
    }
    auto operand = dyn_cast<OperandAttr>(attr);
    if (!operand || argument.alias.empty()) {
      continue;
    }
    if (argument.isWrite) {
      access.writes.push_back(operand.getIndex());
    } else if (effects.view) {
      access.views = operand.getIndex();
    }
  }
  return access;
}

//===----------------------------------------------------------------------===//
// Views that may be copies
//===----------------------------------------------------------------------===//

static bool isFalse(Attribute attr) {
  auto flag = dyn_cast<BoolAttr>(attr);
  return flag && !flag.getValue();
}

static std::optional<SmallVector<int64_t>> constants(ArrayRef<SizeExpr> sizes) {
  SmallVector<int64_t> values;
  for (SizeExpr size : sizes) {
    if (!size.getConstant()) {
      return std::nullopt;
    }
    values.push_back(*size.getConstant());
  }
  return values;
}

/// Whether a tensor of these sizes and strides has a view with other sizes. Its dims form runs, in
/// which each stride is the product of the next one and its size; new dims must lie inside of runs.
static bool canBeViewed(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, ArrayRef<int64_t> to) {
  SmallVector<std::pair<int64_t, int64_t>> runs; // elements, stride of the last one
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    if (size == 1) {
      continue;
    }
    if (!runs.empty() && runs.back().second == size * stride) {
      runs.back() = {runs.back().first * size, stride};
    } else {
      runs.emplace_back(size, stride);
    }
  }
  size_t run = 0;
  int64_t left = runs.empty() ? 1 : runs[0].first;
  for (int64_t size : to) {
    if (left == 1 && size != 1 && ++run < runs.size()) {
      left = runs[run].first;
    }
    if (left % size != 0) {
      return false;
    }
    left /= size;
  }
  return true;
}

/// Whether strides are those of a contiguous tensor; unknown if that depends on sizes that vary.
static Sharing getSharingIfContiguous(RankedTensorType type, LayoutAttr layout) {
  SmallVector<SizeExpr> sizes = getSizes(type);
  SizeExpr expected = SizeExpr::constant(type.getContext(), 1);
  bool isContiguous = true, isKnown = true;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    SizeExpr stride = layout.getStrides()[dim];
    if (!sizes[dim].isConstant(1) && stride != expected) {
      isContiguous = false;
      isKnown &= stride.getConstant() && expected.getConstant() && sizes[dim].getConstant();
    }
    expected = expected * sizes[dim];
  }
  return isContiguous || expected.isConstant(0) ? Sharing::Always
         : isKnown                              ? Sharing::Never
                                                : Sharing::Unknown;
}

static Sharing getSharingOfReshape(AtenOp op, RankedTensorType from, LayoutAttr layout) {
  SmallVector<SizeExpr> sizes = getSizes(from),
                        to = getSizes(cast<RankedTensorType>(op.getResult(0).getType()));
  if (sizes == to || getSharingIfContiguous(from, layout) == Sharing::Always) {
    return Sharing::Always;
  }
  SmallVector<SizeExpr> strides(layout.getStrides().begin(), layout.getStrides().end());
  auto known = constants(sizes), wanted = constants(to), places = constants(strides);
  if (!known || !wanted || !places) {
    return Sharing::Unknown;
  }
  return canBeViewed(*known, *places, *wanted) ? Sharing::Always : Sharing::Never;
}

Sharing mlir::frit::getSharing(AtenOp op, unsigned viewed) {
  StringRef name = op.getOpName();
  ArrayRef<Attribute> arguments = op.getArguments().getValue();
  auto type = dyn_cast<RankedTensorType>(op.getOperand(viewed).getType());
  if (!type || op.getNumResults() == 0 || !isa<RankedTensorType>(op.getResult(0).getType())) {
    return Sharing::Always;
  }
  LayoutAttr from = getTracedOperandLayout(op, viewed), to = getTracedResultLayout(op, 0);
  // The operator returns the operand exactly if that has the layout already.
  auto ifSameLayout = [&] {
    return !from || !to                           ? Sharing::Unknown
           : from.getStrides() == to.getStrides() ? Sharing::Always
                                                  : Sharing::Never;
  };
  // Where a fake kernel says that the operand itself has other strides, it is wrong about it.
  Sharing itself =
      from && to && from.getStrides() != to.getStrides() ? Sharing::Unknown : Sharing::Always;
  bool sameDtype = op.getOperandDtypes()[viewed] == op.getResultDtypes()[0];
  bool isComplex = isa<ComplexType>(type.getElementType());
  if (name == "aten.type_as.default") {
    return !sameDtype ? Sharing::Never : op.getDevicesAttr() ? Sharing::Unknown : itself;
  }
  if (name.starts_with("aten.to.")) {
    std::optional<AtenSchema> schema = AtenSchema::lookup(name);
    bool copies = !schema, hasFormat = false;
    for (auto [argument, given] :
         llvm::zip(schema ? ArrayRef(schema->arguments) : ArrayRef<AtenArgument>(), arguments)) {
      copies |= argument.name == "copy" && !isFalse(given);
      auto format =
          argument.name == "memory_format" ? dyn_cast<TorchEnumAttr>(given) : TorchEnumAttr();
      hasFormat |= format && format.getText() != "preserve_format";
    }
    return copies || !sameDtype  ? Sharing::Never
           : op.getDevicesAttr() ? Sharing::Unknown
           : hasFormat           ? ifSameLayout()
                                 : itself;
  }
  if (name.contains("dropout")) {
    auto probability = dyn_cast<FloatAttr>(arguments[1]);
    bool isNothing = probability && probability.getValue().isZero();
    return isNothing || isFalse(arguments[2]) ? itself : Sharing::Never;
  }
  if (name == "aten.sum_to_size.default") {
    SmallVector<SizeExpr> sizes = getSizes(type),
                          sums = getSizes(cast<RankedTensorType>(op.getResult(0).getType()));
    return sizes == sums                         ? itself
           : constants(sizes) && constants(sums) ? Sharing::Never
                                                 : Sharing::Unknown;
  }
  if (name == "aten.conj_physical.default") {
    return isComplex ? Sharing::Never : itself;
  }
  if (name == "aten.resolve_conj.default" || name == "aten.resolve_neg.default") {
    return isComplex || name == "aten.resolve_neg.default" ? Sharing::Unknown : Sharing::Always;
  }
  if (name == "aten.contiguous.default") {
    return ifSameLayout();
  }
  if (name == "aten.ravel.default") {
    // It makes the operand contiguous first, which is a copy if it is not.
    return !from ? Sharing::Unknown : getSharingIfContiguous(type, from);
  }
  if (name == "aten.reshape.default" || name == "aten.reshape_as.default" ||
      name.starts_with("aten.flatten.")) {
    return from ? getSharingOfReshape(op, type, from) : Sharing::Unknown;
  }
  return Sharing::Always;
}
