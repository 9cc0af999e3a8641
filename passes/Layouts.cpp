// Strides of views, and the layouts that readers demand of their operands.
#include "passes/Layouts.h"

#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "kernel/LoopSpace.h"
#include "passes/AtenAliases.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

LayoutAttr mlir::frit::getContiguousLayout(RankedTensorType type) {
  MLIRContext *context = type.getContext();
  SmallVector<SizeAttr> strides;
  for (SizeExpr stride : getContiguousStrides(getSizes(type), context)) {
    strides.push_back(stride);
  }
  return LayoutAttr::get(context, strides, SizeExpr::constant(context, 0));
}

LayoutAttr mlir::frit::getChannelsLastLayout(RankedTensorType type) {
  SmallVector<SizeExpr> sizes = getSizes(type);
  SizeExpr line = sizes[3] * sizes[1];
  SmallVector<SizeAttr> strides{line * sizes[2], SizeExpr::constant(type.getContext(), 1), line,
                                sizes[1]};
  return LayoutAttr::get(type.getContext(), strides, SizeExpr::constant(type.getContext(), 0));
}

/// Whether the operand is one of the two matrices of a product, which BLAS also takes transposed.
static bool isMatrixOperand(StringRef name, unsigned operand) {
  unsigned first = llvm::StringSwitch<unsigned>(name)
                       .Cases({"aten.mm.default", "aten.bmm.default"}, 0)
                       .Cases({"aten.addmm.default", "aten.addmm_.default"}, 1)
                       .Case("aten.baddbmm.default", 1)
                       .Default(~0u);
  return first != ~0u && (operand == first || operand == first + 1);
}

LayoutDemand mlir::frit::getLayoutDemand(OpOperand &use) {
  auto type = dyn_cast<RankedTensorType>(use.get().getType());
  Operation *user = use.getOwner();
  if (!type || isa<RegionOp, LaunchOp, StoreOp, RequireOp, BindOp>(user) || isView(user)) {
    return {};
  }
  unsigned number = use.getOperandNumber();
  if (auto call = dyn_cast<AtenOp>(user)) {
    if (isMatrixOperand(call.getOpName(), number)) {
      return {DemandKind::Matrix, {}};
    }
    // The runtime's kernel reads any strides, but a kernel had better write channels-last.
    bool isGiven = isa<BlockArgument>(use.get()) || isView(use.get().getDefiningOp());
    if (number == 0 && isGiven && call.getOpName() == "frit.convolution.default") {
      return {};
    }
    if (ArrayAttr layouts = call.getOperandLayoutsAttr(); layouts && number < layouts.size()) {
      if (auto layout = dyn_cast<LayoutAttr>(layouts[number]);
          layout && !(isPlanted(Mistake::PlacesOfOthers) && call.getPlaced())) {
        return {DemandKind::Exact, layout};
      }
    }
    return {DemandKind::Exact, getContiguousLayout(type)};
  }
  if (isa<ReturnOp>(user)) {
    auto graph = cast<GraphOp>(user->getParentOp());
    if (kResultKeptAttr.isOn(graph, number)) {
      return {};
    }
    if (auto layout = kResultLayoutAttr.get(graph, number);
        layout && !isPlanted(Mistake::ResultStrides)) {
      return {DemandKind::Exact, layout};
    }
    return {DemandKind::Exact, getContiguousLayout(type)};
  }
  if (auto alias = dyn_cast<AliasOp>(user); alias && !isPlanted(Mistake::PlacesOfOthers)) {
    return {DemandKind::Exact, alias.getBaseLayout()};
  }
  if (isa<CallOp>(user)) {
    return {DemandKind::Exact, getContiguousLayout(type)};
  }
  return {};
}

bool mlir::frit::satisfies(LayoutAttr layout, RankedTensorType type, const LayoutDemand &demand) {
  if (demand.kind == DemandKind::Any) {
    return true;
  }
  SmallVector<SizeExpr> sizes = getSizes(type);
  if (layout.getStrides().size() != sizes.size()) {
    return false;
  }
  if (demand.kind == DemandKind::Exact) {
    if (demand.layout.getStrides().size() != sizes.size()) {
      return false;
    }
    for (auto [have, want, size] :
         llvm::zip_equal(layout.getStrides(), demand.layout.getStrides(), sizes)) {
      if (have != want && !size.isConstant(1)) {
        return false;
      }
    }
    return true;
  }
  size_t rank = sizes.size();
  if (rank < 2) {
    return layout == getContiguousLayout(type);
  }
  // One matrix dim with stride 1, the other with a stride that BLAS can take:
  // at least the other's size.
  auto fits = [&](size_t unit, size_t other) {
    SizeExpr unitStride = layout.getStrides()[unit], otherStride = layout.getStrides()[other];
    if (!unitStride.isConstant(1) && !sizes[unit].isConstant(1)) {
      return false;
    }
    if (sizes[other].isConstant(1)) {
      return true;
    }
    if (otherStride.isConstant(0)) {
      return false;
    }
    return otherStride == sizes[unit] || otherStride.divideExactly(sizes[unit]).has_value() ||
           (otherStride.getConstant() && sizes[unit].getConstant() &&
            *otherStride.getConstant() >= *sizes[unit].getConstant());
  };
  return fits(rank - 1, rank - 2) || fits(rank - 2, rank - 1);
}

std::optional<LayoutAttr> mlir::frit::getViewLayout(ReindexOp view, LayoutAttr operand) {
  MapAttr map = view.getMap();
  if (map.hasBounds()) {
    return std::nullopt;
  }
  MLIRContext *context = view.getContext();
  SizeExpr zero = SizeExpr::constant(context, 0);
  // The address is a sum of strides times indices; every dim must enter linearly.
  SizeExpr address = operand.getOffset();
  for (auto [stride, index] : llvm::zip_equal(operand.getStrides(), map.getResults())) {
    address = address + SizeExpr(stride) * SizeExpr(index);
  }
  SmallVector<SizeAttr> strides;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim) {
    SizeSymbolAttr symbol = SizeSymbolAttr::dim(context, dim);
    if (!address.contains(symbol)) {
      strides.push_back(zero);
      continue;
    }
    auto split = address.splitLinear(symbol);
    if (!split) {
      return std::nullopt;
    }
    bool product = split->first.anySymbol([](SizeSymbolAttr other) { return other.isDim(); });
    // torch has no negative strides, so a flip is not a view there.
    if (product || (split->first.getConstant() && *split->first.getConstant() < 0)) {
      return std::nullopt;
    }
    strides.push_back(split->first);
    address = split->second;
  }
  // A flip with a symbolic stride shows as a monomial with a negative coefficient.
  for (SizeAttr stride : strides) {
    if (llvm::any_of(stride.getCoefficients(), [](int64_t c) { return c < 0; })) {
      return std::nullopt;
    }
  }
  return LayoutAttr::get(context, strides, address);
}

/// Splits and merges as torch's view does: a group of result dims must come
/// from operand dims whose strides continue each other.
std::optional<LayoutAttr> mlir::frit::getViewLayout(ReshapeOp view, LayoutAttr operand) {
  MLIRContext *context = view.getContext();
  auto from = cast<RankedTensorType>(view.getOperand().getType());
  SmallVector<SizeExpr> fromSizes = getSizes(from), toSizes = getSizes(view.getType());
  SmallVector<Digit> digits;
  for (auto [stride, size] : llvm::zip_equal(operand.getStrides(), fromSizes)) {
    digits.push_back({stride, size});
  }
  auto strides = splitDigits(digits, toSizes, context);
  if (failed(strides)) {
    return std::nullopt;
  }
  SmallVector<SizeAttr> result;
  for (const Digit &digit : *strides) {
    result.push_back(digit.stride);
  }
  return LayoutAttr::get(context, result, operand.getOffset());
}

std::optional<LayoutAttr> mlir::frit::getViewLayout(Operation *view, LayoutAttr operand) {
  if (auto reindex = dyn_cast<ReindexOp>(view)) {
    return getViewLayout(reindex, operand);
  }
  if (auto reshape = dyn_cast<ReshapeOp>(view)) {
    return getViewLayout(reshape, operand);
  }
  return std::nullopt;
}

unsigned mlir::frit::getStoredBytes(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType().getIntOrFloatBitWidth() / 4
                 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

/// The stride of a tensor that is not empty. torch's strides contain max(size, 1), which matters
/// only for empty tensors.
static SizeExpr whereNotEmpty(SizeExpr stride) {
  SizeAttr attr = stride;
  MLIRContext *context = attr.getContext();
  SizeExpr sum = SizeExpr::constant(context, 0);
  for (auto [coefficient, monomial] :
       llvm::zip_equal(attr.getCoefficients(), attr.getMonomials())) {
    SizeExpr term = SizeExpr::constant(context, coefficient);
    for (Attribute atom : monomial) {
      auto call = dyn_cast<SizeCallAttr>(atom);
      bool isMax = call && call.getFunction() == SizeFunction::Max;
      if (isMax && SizeExpr(call.getLhs()).isConstant(1)) {
        term = term * call.getRhs();
      } else if (isMax && SizeExpr(call.getRhs()).isConstant(1)) {
        term = term * call.getLhs();
      } else {
        term = term * SizeExpr(SizeAttr::get(context, {1}, {ArrayAttr::get(context, {atom})}));
      }
    }
    sum = sum + term;
  }
  return sum;
}

std::optional<StorageSpan> mlir::frit::getStorageSpan(LayoutAttr layout, RankedTensorType type) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip(getSizes(type), layout.getStrides())) {
    auto length = size.getConstant(), step = SizeExpr(stride).getConstant();
    if (!length || !step) {
      return std::nullopt;
    }
    if (*length != 1) {
      dims.emplace_back(*step, *length);
    }
  }
  // In order of strides, each step has to pass over everything before it.
  llvm::sort(dims);
  StorageSpan span;
  for (auto [step, length] : dims) {
    span.overlaps |= step < span.elements;
    span.elements += step * (length - 1);
  }
  return span;
}

std::optional<SmallVector<int64_t>> mlir::frit::getDenseOrder(LayoutAttr layout,
                                                              RankedTensorType type) {
  SmallVector<SizeExpr> sizes = getSizes(type);
  SmallVector<int64_t> order;
  SizeExpr expected = SizeExpr::constant(type.getContext(), 1);
  for (size_t step = 0; step != sizes.size(); ++step) {
    for (int64_t i = sizes.size(); i-- > 0;) {
      SizeExpr stride = layout.getStrides()[i];
      if (!llvm::is_contained(order, i) &&
          (sizes[i].isConstant(1) || stride == expected || whereNotEmpty(stride) == expected)) {
        order.push_back(i);
        // An empty dim counts as one element, as in torch.
        expected = sizes[i].isConstant(0) ? expected : expected * sizes[i];
        break;
      }
    }
    if (order.size() == step) {
      return std::nullopt;
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

LayoutAttr mlir::frit::getArgumentLayout(GraphOp graph, unsigned argument) {
  if (auto layout = kArgumentLayoutAttr.get(graph, argument)) {
    return layout;
  }
  return getContiguousLayout(cast<RankedTensorType>(graph.getArgumentTypes()[argument]));
}

LayoutAttr mlir::frit::getCallResultLayout(Operation *call, unsigned result) {
  if (auto aten = dyn_cast<AtenOp>(call)) {
    if (ArrayAttr layouts = aten.getResultLayoutsAttr(); layouts && result < layouts.size()) {
      if (auto layout = dyn_cast<LayoutAttr>(layouts[result])) {
        return layout;
      }
    }
  }
  return getContiguousLayout(cast<RankedTensorType>(call->getResult(result).getType()));
}

LayoutAttr mlir::frit::getAssignedLayout(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    return getArgumentLayout(cast<GraphOp>(argument.getOwner()->getParentOp()),
                             argument.getArgNumber());
  }
  unsigned index = 0;
  for (Value result : value.getDefiningOp()->getResults()) {
    if (result == value) {
      break;
    }
    index += isa<RankedTensorType>(result.getType());
  }
  auto all = kLayoutsAttr.get(value.getDefiningOp());
  return all && index < all.size() ? cast<LayoutAttr>(all[index])
                                   : getContiguousLayout(cast<RankedTensorType>(value.getType()));
}

std::optional<SmallVector<unsigned>> mlir::frit::getPermutation(ReindexOp view) {
  std::optional<SmallVector<unsigned>> order = view.getMap().getPermutation();
  SmallVector<SizeExpr> from = getSizes(view.getOperand().getType()), to = getSizes(view.getType());
  for (auto [dim, size] : llvm::enumerate(from)) {
    if (order && to[(*order)[dim]] != size) {
      return std::nullopt;
    }
  }
  return order;
}

Value mlir::frit::getMutatedOperand(Value result) {
  auto call = result.getDefiningOp<AtenOp>();
  if (!call || !call.getMutatedOperands()) {
    return {};
  }
  ArrayRef<int64_t> mutated = *call.getMutatedOperands();
  size_t first = call->getNumResults() - mutated.size(),
         number = cast<OpResult>(result).getResultNumber();
  return number < first ? Value() : call->getOperand(mutated[number - first]);
}

llvm::MapVector<BlockArgument, Operation *> mlir::frit::getWrittenArguments(Block &body) {
  llvm::MapVector<BlockArgument, Operation *> written;
  for (Operation &op : body) {
    SmallVector<Value> targets;
    if (auto store = dyn_cast<StoreOp>(op)) {
      targets.push_back(store.getTarget());
    }
    for (Value result : op.getResults()) {
      targets.push_back(getMutatedOperand(result));
    }
    for (Value target : targets) {
      while (target && isView(target.getDefiningOp())) {
        target = target.getDefiningOp()->getOperand(0);
      }
      if (auto argument = dyn_cast_or_null<BlockArgument>(target)) {
        written.insert({argument, &op});
      }
    }
  }
  return written;
}

bool mlir::frit::mayAliasOperands(AtenOp call) {
  ArrayAttr storage = call.getResultStorageAttr();
  if (!storage) {
    // Nothing is known: operators outside of ATen may return their operands.
    return !call.getOpName().starts_with("aten.") && !call.getOpName().starts_with("prims.");
  }
  return llvm::any_of(call->getResults(), [&](OpResult result) {
    auto known = dyn_cast<StorageAttr>(storage[result.getResultNumber()]);
    return isa<RankedTensorType>(result.getType()) && !getMutatedOperand(result) &&
           !(known && known.getKind() == StorageKind::Fresh);
  });
}
