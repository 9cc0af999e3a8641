#include "passes/AtenAliases.h"

#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "passes/Layouts.h"

using namespace mlir;
using namespace mlir::frit;

Value mlir::frit::copiesStorageOf(AtenOp op) {
  StringRef name = op.getOpName();
  bool copies = name == "aten.copy.default" || name == "aten.slice_scatter.default" ||
                name == "aten.select_scatter.default" || name == "aten.diagonal_scatter.default" ||
                name == "aten.as_strided_scatter.default";
  return copies ? op.getOperand(0) : Value();
}

bool mlir::frit::isLazyView(AtenOp op) {
  return (op.getOpName().contains("conj") && !isPlanted(Mistake::ConjugateBit)) ||
         op.getOpName().contains("_neg_view");
}

TracedPlaces::TracedPlaces(GraphOp graph) {
  for (BlockArgument argument : graph.getBody().getArguments()) {
    auto dtype = kArgumentDtypeAttr.get(graph, argument.getArgNumber());
    if (isa<RankedTensorType>(argument.getType()) && dtype) {
      places[argument] = {argument, getArgumentLayout(graph, argument.getArgNumber()), dtype};
    }
  }
}

void TracedPlaces::add(AtenOp op) {
  ArrayAttr layouts = op.getResultLayoutsAttr(), storage = op.getResultStorageAttr();
  if (!layouts || !storage) {
    return;
  }
  Access access = getAccess(op);
  std::optional<Place> viewed = access.views ? find(op.getOperand(*access.views)) : std::nullopt;
  bool isView = viewed && access.writes.empty() && !isLazyView(op) &&
                getSharing(op, *access.views) == Sharing::Always;
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    auto layout = dyn_cast<LayoutAttr>(layouts[number]);
    if (!layout || !isa<RankedTensorType>(result.getType())) {
      continue;
    }
    auto dtype = cast<DTypeAttr>(op.getResultDtypes()[number]);
    auto known = dyn_cast<StorageAttr>(storage[number]);
    if (isView) {
      places[result] = {viewed->root, layout, dtype};
    } else if (!access.views && known && known.getKind() == StorageKind::Fresh &&
               known.getIndex() == number) {
      places[result] = {result, layout, dtype};
    }
  }
}

std::optional<Place> TracedPlaces::find(Value value) const {
  auto known = places.find(value);
  return known == places.end() ? std::nullopt : std::optional(known->second);
}

Value mlir::frit::createAlias(OpBuilder &builder, Location loc, const Place &root,
                              const Place &place, RankedTensorType type) {
  SizeExpr start = root.layout.getOffset(), offset = place.layout.getOffset();
  if (root.dtype != place.dtype && !start.isConstant(0)) {
    return {};
  }
  auto layout = LayoutAttr::get(builder.getContext(), place.layout.getStrides(), offset - start);
  return AliasOp::create(builder, loc, type, root.root, root.layout, layout, place.dtype);
}

bool mlir::frit::readAsAlias(AtenOp op) {
  if (op.getOpName() != "aten.as_strided.default" || !op.getPlaced()) {
    return false;
  }
  OpBuilder builder(op);
  auto dtype = cast<DTypeAttr>(op.getResultDtypes()[0]);
  Place root{op.getOperand(0), cast<LayoutAttr>((*op.getOperandLayouts())[0]), dtype};
  Place place{root.root, cast<LayoutAttr>((*op.getResultLayouts())[0]), dtype};
  Value alias = createAlias(builder, op.getLoc(), root, place,
                            cast<RankedTensorType>(op.getResult(0).getType()));
  op.getResult(0).replaceAllUsesWith(alias);
  op.erase();
  return true;
}
