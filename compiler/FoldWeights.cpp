#include "compiler/FoldWeights.h"

#include "ir/FritAttributes.h"
#include "passes/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <cstring>

namespace frit {
using namespace mlir;
using namespace mlir::frit;

namespace {

/// The most elements of a folded value, which bounds the compile time.
constexpr int64_t kMostElements = int64_t(1) << 16;

/// The sizes of a small static f32 tensor; nullopt for other values.
std::optional<SmallVector<int64_t>> sizesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isF32()) {
    return std::nullopt;
  }
  SmallVector<int64_t> sizes;
  int64_t elements = 1;
  for (SizeExpr size : getSizes(type)) {
    std::optional<int64_t> known = size.getConstant();
    if (!known || *known > kMostElements || (elements *= *known) > kMostElements) {
      return std::nullopt;
    }
    sizes.push_back(*known);
  }
  return sizes;
}

int64_t elementsOf(ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes) {
    elements *= size;
  }
  return elements;
}

/// Whether nothing can write to the memory of a value: each reader is known to make new values, or
/// values of its own order that are read likewise.
bool isOnlyRead(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<ReindexOp, ReshapeOp>(user)) {
      return isOnlyRead(user->getResult(0));
    }
    if (auto call = dyn_cast<AtenOp>(user)) {
      return call.getOpName() == "aten.convolution.default" ||
             call.getOpName() == "frit.convolution.default";
    }
    return isa<arith::ArithDialect, math::MathDialect>(user->getDialect());
  });
}

class Folder {
public:
  Folder(GraphOp graph, Weights &weights, const FoldOptions &options)
      : graph(graph), weights(weights), options(options) {}

  void fold() {
    for (BlockArgument argument : graph.getBody().getArguments()) {
      addWeight(argument);
    }
    SmallVector<Value> wanted;
    for (Operation &op : graph.getBody().front()) {
      addOperation(op);
    }
    for (Operation &op : graph.getBody().front()) {
      bool isOurs = op.getNumResults() == 1 && known.count(op.getResult(0));
      if (isOurs && known[op.getResult(0)].isComputed &&
          llvm::any_of(op.getUsers(), [&](Operation *user) {
            return user->getNumResults() != 1 || !known.count(user->getResult(0));
          })) {
        wanted.push_back(op.getResult(0));
      }
    }
    // All of them before any use changes: one may be computed from another.
    llvm::for_each(wanted, [&](Value value) { valuesOf(value); });
    llvm::for_each(wanted, [&](Value value) { replace(value); });
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(graph.getBody().front()))) {
      if (op.use_empty() && op.getNumResults() == 1 && known.count(op.getResult(0))) {
        op.erase();
      }
    }
    if (!wanted.empty()) {
      kFoldedWeightsAttr.set(graph, Builder(graph->getContext()).getI64IntegerAttr(wanted.size()));
    }
  }

private:
  struct Known {
    SmallVector<int64_t> sizes;
    /// The elements of the largest weight that it depends on; 0 for a constant.
    int64_t most = 0;
    /// Of those weights; null for a constant.
    StringAttr device;
    /// It is more than a weight in another order.
    bool isComputed = false;
    /// Empty until it is needed.
    std::vector<float> values;
    bool hasValues = false;
  };

  void addWeight(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    auto index = kArgumentWeightAttr.get(graph, number);
    if (!index || !index.getValue().ult(weights.entries.size()) ||
        !kArgumentOwnBytesAttr.isOn(graph, number)) {
      return;
    }
    const format::WeightT &weight = *weights.entries[index.getInt()];
    std::optional<SmallVector<int64_t>> sizes = sizesOf(argument);
    if (!sizes || weight.given || weight.dtype != format::Dtype::F32 || !isOnlyRead(argument)) {
      return;
    }
    Known &made = known[argument];
    made.sizes = *sizes;
    made.most = elementsOf(*sizes);
    made.device = kArgumentDeviceAttr.get(graph, number);
    made.values.resize(made.most);
    made.hasValues = true;
    // Own bytes are row-major.
    std::memcpy(made.values.data(), weights.bytes.data() + weight.offset,
                made.most * sizeof(float));
  }

  bool isFoldable(Operation &op) const {
    if (auto reindex = dyn_cast<ReindexOp>(op)) {
      return !reindex.getMap().hasBounds();
    }
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
               math::SqrtOp>(op) ||
           (!options.onlyExact && isa<math::RsqrtOp>(op));
  }

  void addOperation(Operation &op) {
    std::optional<SmallVector<int64_t>> sizes =
        op.getNumResults() == 1 ? sizesOf(op.getResult(0)) : std::nullopt;
    if (!sizes) {
      return;
    }
    DenseFPElementsAttr elements;
    if (matchPattern(&op, m_Constant(&elements))) {
      known[op.getResult(0)].sizes = *sizes;
      return;
    }
    if (!isFoldable(op)) {
      return;
    }
    Known made;
    made.sizes = *sizes;
    made.isComputed = !isa<ReindexOp>(op);
    for (Value operand : op.getOperands()) {
      auto found = known.find(operand);
      if (found == known.end()) {
        return;
      }
      if (found->second.most && made.most && found->second.device != made.device) {
        return;
      }
      made.device = found->second.most ? found->second.device : made.device;
      made.most = std::max(made.most, found->second.most);
      made.isComputed |= found->second.isComputed;
    }
    // What only repeats a weight is cheaper to read from the weight. Constants have no weight to
    // compare with; what they become part of has.
    if (made.most && elementsOf(*sizes) > made.most) {
      return;
    }
    made.isComputed &= made.most != 0;
    known[op.getResult(0)] = std::move(made);
  }

  /// The values of a known value.
  const std::vector<float> &valuesOf(Value value) {
    if (!known[value].hasValues) {
      std::vector<float> values = compute(*value.getDefiningOp(), known[value].sizes);
      known[value].values = std::move(values);
      known[value].hasValues = true;
    }
    return known[value].values;
  }

  std::vector<float> compute(Operation &op, ArrayRef<int64_t> sizes) {
    std::vector<float> values(elementsOf(sizes));
    DenseFPElementsAttr elements;
    if (matchPattern(&op, m_Constant(&elements))) {
      llvm::transform(elements.getValues<float>(), values.begin(), [](float one) { return one; });
      return values;
    }
    const std::vector<float> first = valuesOf(op.getOperand(0));
    if (auto reindex = dyn_cast<ReindexOp>(op)) {
      return moved(reindex, first, sizes);
    }
    const std::vector<float> second =
        op.getNumOperands() == 2 ? valuesOf(op.getOperand(1)) : std::vector<float>();
    for (size_t at = 0; at < values.size(); ++at) {
      values[at] = apply(op, first[at], second.empty() ? 0 : second[at]);
    }
    return values;
  }

  static float apply(Operation &op, float a, float b) {
    if (isa<arith::AddFOp>(op)) {
      return a + b;
    }
    if (isa<arith::SubFOp>(op)) {
      return a - b;
    }
    if (isa<arith::MulFOp>(op)) {
      return a * b;
    }
    if (isa<arith::DivFOp>(op)) {
      return a / b;
    }
    if (isa<arith::NegFOp>(op)) {
      return -a;
    }
    return isa<math::SqrtOp>(op) ? std::sqrt(a)
                                 : static_cast<float>(1 / std::sqrt(static_cast<double>(a)));
  }

  std::vector<float> moved(ReindexOp reindex, const std::vector<float> &from,
                           ArrayRef<int64_t> sizes) {
    ArrayRef<int64_t> fromSizes = known[reindex.getOperand()].sizes;
    std::vector<float> values(elementsOf(sizes));
    std::vector<int64_t> place(sizes.size());
    for (float &value : values) {
      int64_t at = 0;
      for (auto [result, size] : llvm::zip_equal(reindex.getMap().getResults(), fromSizes)) {
        std::optional<int64_t> index =
            SizeExpr(result).evaluate([&](SizeSymbolAttr symbol) -> std::optional<int64_t> {
              return symbol.isDim() ? std::optional(place[symbol.getPosition()]) : std::nullopt;
            });
        assert(index && *index >= 0 && *index < size && "the sizes are static");
        at = at * size + *index;
      }
      value = from[at];
      for (size_t dim = place.size(); dim-- > 0 && ++place[dim] == sizes[dim];) {
        place[dim] = 0;
      }
    }
    return values;
  }

  /// Makes a weight of a value.
  void replace(Value value) {
    const std::vector<float> &values = known[value].values;
    std::string_view bytes(reinterpret_cast<const char *>(values.data()),
                           values.size() * sizeof(float));
    // No attribute of a module has such a name.
    std::string name = "<folded " + std::to_string(weights.entries.size()) + ">";
    unsigned weight = addOwnWeight(weights, name, format::Dtype::F32, known[value].sizes, bytes);
    MLIRContext *context = graph->getContext();
    Builder builder(context);
    NamedAttrList attrs;
    kArgumentConstantAttr.add(attrs, builder.getUnitAttr());
    kArgumentWeightAttr.add(attrs, builder.getI64IntegerAttr(weight));
    kArgumentOwnBytesAttr.add(attrs, builder.getUnitAttr());
    kArgumentNameAttr.add(attrs, builder.getStringAttr(name));
    if (StringAttr device = known[value].device) {
      kArgumentDeviceAttr.add(attrs, device);
    }
    kArgumentDtypeAttr.add(attrs, DTypeAttr::get(context, DType::F32));
    kArgumentLayoutAttr.add(attrs, getContiguousLayout(cast<RankedTensorType>(value.getType())));
    unsigned number = graph.getNumArguments();
    LogicalResult isInserted =
        graph.insertArgument(number, value.getType(), attrs.getDictionary(context), value.getLoc());
    assert(succeeded(isInserted) && "the type is that of a value of the graph");
    (void)isInserted;
    value.replaceAllUsesWith(graph.getArgument(number));
  }

  GraphOp graph;
  Weights &weights;
  const FoldOptions &options;
  DenseMap<Value, Known> known;
};

} // namespace

void foldWeights(GraphOp graph, Weights &weights, const FoldOptions &options) {
  Folder(graph, weights, options).fold();
}

} // namespace frit
