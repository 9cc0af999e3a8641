// Pads the operands of library calls that gain from it to larger sizes, and takes a view of the
// logical part of the result. The analysis runs in both directions at once. Backward, a call
// demands zeros along the dimension that it sums over. Forward, the padded lanes of each operand
// are known: the result of a padded call has padded lanes already, elementwise operations on it run
// on them too, and permutations and broadcasts carry them along. An operand that is not padded yet,
// or holds junk where zeros are demanded, is filled by a `frit.pad`.
#include "ir/FritAttributes.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/PaddingRules.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/DebugLog.h"

#include <numeric>

#define DEBUG_TYPE "frit-materialize-padding"

namespace mlir::frit {
#define GEN_PASS_DEF_MATERIALIZEPADDINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;
using Sizes = SmallVector<SizeExpr>;

namespace {
enum class Mode { Off, Auto, Force };

/// Sizes for which libraries are fast: multiples, and the buckets of symbols that have them.
class PaddedSizes {
public:
  explicit PaddedSizes(GraphOp graph) {
    for (Attribute attribute : graph.getSymbols()) {
      auto symbol = cast<SymbolAttr>(attribute);
      divisors[symbol.getName()] = symbol.getDivisor();
      hints[symbol.getName()] = symbol.getHint().value_or(128);
      if (!symbol.getBucketOf().empty()) {
        buckets[symbol.getBucketOf()] = SizeExpr::symbol(graph.getContext(), symbol.getName());
      }
    }
    for (Attribute attribute : graph.getSymbols()) {
      auto symbol = cast<SymbolAttr>(attribute);
      auto bucket = buckets.find(symbol.getName());
      if (bucket != buckets.end()) {
        const int64_t *end = symbol.getBuckets().end(),
                      *fits = std::lower_bound(symbol.getBuckets().begin(), end,
                                               hints[symbol.getName()]);
        hints[*bucket->second.getSymbol()] = fits == end ? hints[symbol.getName()] : *fits;
      }
    }
  }

  /// A size with symbols at their hints, for the report.
  double atHints(SizeExpr size) const {
    auto value = size.evaluate([&](StringRef name) -> std::optional<int64_t> {
      auto known = hints.find(name);
      return known == hints.end() ? 128 : known->second;
    });
    return std::max<double>(1, value.value_or(1));
  }

  SizeExpr toBucket(SizeExpr size) const {
    // The bucket's value covers the logical size only if the size grows with its symbols.
    for (auto [coefficient, monomial] :
         llvm::zip(size.getAttr().getCoefficients(), size.getAttr().getMonomials())) {
      bool symbols =
          llvm::all_of(monomial, [](Attribute atom) { return isa<SizeSymbolAttr>(atom); });
      if (!symbols || (coefficient < 0 && !monomial.empty())) {
        return size;
      }
    }
    return size.substitute(buckets);
  }

  SizeExpr toMultiple(SizeExpr size, int64_t multiple) const {
    if (getDivisor(size) % multiple == 0) {
      return size;
    }
    SizeExpr unit = SizeExpr::constant(size.getContext(), multiple);
    return (size + (multiple - 1)).floorDiv(unit) * unit;
  }

private:
  /// A number that divides the size whatever its symbols are.
  int64_t getDivisor(SizeExpr size) const {
    int64_t divisor = 0;
    for (auto [coefficient, monomial] :
         llvm::zip(size.getAttr().getCoefficients(), size.getAttr().getMonomials())) {
      int64_t term = coefficient;
      for (Attribute atom : monomial) {
        if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
          auto known = divisors.find(symbol.getName());
          term *= known == divisors.end() ? 1 : known->second;
        }
      }
      divisor = std::gcd(divisor, term);
    }
    return divisor;
  }

  llvm::StringMap<SizeExpr> buckets;
  llvm::StringMap<int64_t> divisors, hints;
};

/// An operand with its padded sizes, made on demand.
class PaddedValues {
public:
  /// `zeros[d]`: the lanes of dimension d must hold zeros.
  Value obtain(Value value, ArrayRef<SizeExpr> sizes, ArrayRef<bool> zeros, Operation *before) {
    auto type = cast<RankedTensorType>(value.getType());
    Sizes logical = getSizes(type);
    if (ArrayRef<SizeExpr>(logical) == sizes) {
      return value;
    }
    RankedTensorType wanted = getTensorType(sizes, type.getElementType());
    if (auto unpad = value.getDefiningOp<UnpadOp>();
        unpad && unpad.getOperand().getType() == wanted) {
      if (holds(getLanes(unpad.getOperand(), logical), zeros)) {
        ++reused;
        return unpad.getOperand();
      }
    }
    OpBuilder builder(before);
    if (auto view = value.getDefiningOp<ReindexOp>()) {
      if (auto order = getPermutation(view)) {
        return permute(builder, view, *order, sizes, zeros, wanted, before);
      }
    }
    if (Value kept = keepPadded(value, sizes, zeros, before)) {
      ++reused;
      return kept;
    }
    return pad(builder, value, wanted, zeros);
  }

  /// The lanes of a value that was made here, by dimension; junk where nothing is known.
  SmallVector<PadLanes> getLanes(Value value, ArrayRef<SizeExpr> logical) const {
    if (auto pad = value.getDefiningOp<PadOp>()) {
      auto fill = dyn_cast_or_null<TypedAttr>(pad.getFillAttr());
      return SmallVector<PadLanes>(logical.size(), PadLanes{fill});
    }
    auto known = lanes.find(value);
    return known == lanes.end() ? SmallVector<PadLanes>(logical.size()) : known->second;
  }

  unsigned reused = 0, pads = 0;

private:
  static bool holds(ArrayRef<PadLanes> lanes, ArrayRef<bool> zeros) {
    return llvm::all_of(llvm::zip_equal(lanes, zeros), [](auto pair) {
      auto &[lane, zero] = pair;
      return !zero || lane.isZero();
    });
  }

  Value pad(OpBuilder &builder, Value value, RankedTensorType type, ArrayRef<bool> zeros) {
    PadOp &made = known[{value, type}];
    if (!made) {
      made = PadOp::create(builder, value.getLoc(), type, value, TypedAttr());
      ++pads;
    }
    if (llvm::is_contained(zeros, true) && !made.getFillAttr()) {
      made.setFillAttr(builder.getZeroAttr(type.getElementType()));
    }
    return made.getResult();
  }

  Value permute(OpBuilder &builder, ReindexOp view, ArrayRef<unsigned> order,
                ArrayRef<SizeExpr> sizes, ArrayRef<bool> zeros, RankedTensorType wanted,
                Operation *before) {
    Sizes inner;
    SmallVector<bool> innerZeros;
    for (unsigned dim : order) {
      inner.push_back(sizes[dim]);
      innerZeros.push_back(zeros[dim]);
    }
    Value operand = obtain(view.getOperand(), inner, innerZeros, before);
    return ReindexOp::create(builder, view.getLoc(), wanted, operand, view.getMap(), TypedAttr());
  }

  /// Runs a tree of elementwise operations, each read once, over results of padded calls on the
  /// padded sizes.
  Value keepPadded(Value value, ArrayRef<SizeExpr> sizes, ArrayRef<bool> zeros, Operation *before) {
    SmallVector<Operation *> tree;
    bool hasPaddedLeaf = false;
    if (!collect(value, sizes, tree, hasPaddedLeaf) || !hasPaddedLeaf) {
      return {};
    }
    OpBuilder builder(before);
    llvm::DenseMap<Value, Value> padded;
    llvm::DenseMap<Value, SmallVector<PadLanes>> states;
    for (Operation *op : llvm::reverse(tree)) {
      SmallVector<Value> operands;
      SmallVector<SmallVector<PadLanes>> held;
      for (Value operand : op->getOperands()) {
        Value made = padded.lookup(operand);
        if (!made) {
          std::tie(made, states[operand]) = leaf(builder, operand, sizes, before);
          padded[operand] = made;
        }
        operands.push_back(made);
        held.push_back(states[operand]);
      }
      OperationState state(op->getLoc(), op->getName());
      state.addOperands(operands);
      state.addAttributes(op->getAttrs());
      state.addTypes(getTensorType(
          sizes, cast<RankedTensorType>(op->getResult(0).getType()).getElementType()));
      Operation *made = builder.create(state);
      padded[op->getResult(0)] = made->getResult(0);
      SmallVector<PadLanes> &result = states[op->getResult(0)];
      for (size_t dim = 0; dim < sizes.size(); ++dim) {
        SmallVector<PadLanes> at;
        for (ArrayRef<PadLanes> each : held) {
          at.push_back(each[dim]);
        }
        result.push_back(foldPadLanes(made, at));
      }
    }
    Value made = padded.lookup(value);
    if (!holds(states.lookup(value), zeros)) {
      return {};
    }
    lanes[made] = states.lookup(value);
    return made;
  }

  /// Collects the tree, users before operands; false if it ends at a value that cannot be padded.
  bool collect(Value value, ArrayRef<SizeExpr> sizes, SmallVectorImpl<Operation *> &tree,
               bool &hasPaddedLeaf) {
    constexpr size_t limit = 64;
    SmallVector<Value> open{value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty()) {
      Value next = open.pop_back_val();
      Operation *def = next.getDefiningOp();
      if (auto unpad = dyn_cast_or_null<UnpadOp>(def)) {
        Sizes held = getSizes(cast<RankedTensorType>(unpad.getOperand().getType()));
        hasPaddedLeaf |= ArrayRef<SizeExpr>(held) == sizes;
        continue;
      }
      if (!def || !mayRunOnJunk(def) || getBroadcastScalar(next) ||
          (!next.hasOneUse() && next != value)) {
        continue;
      }
      // Every operand has the shape of the result.
      for (Value operand : def->getOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.getType());
        if (!type || getSizes(type) != getSizes(cast<RankedTensorType>(next.getType()))) {
          return false;
        }
      }
      if (!seen.insert(def).second) {
        continue;
      }
      tree.push_back(def);
      if (tree.size() > limit) {
        return false;
      }
      open.append(def->operand_begin(), def->operand_end());
    }
    // Sorted by position, users stand before their operands.
    llvm::sort(tree, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
    return !tree.empty() && value.hasOneUse();
  }

  /// The rank-0 constant that a value repeats.
  static TypedAttr getBroadcastScalar(Value value) {
    auto view = value.getDefiningOp<ReindexOp>();
    DenseElementsAttr elements;
    if (!view || view.getMap().hasBounds() ||
        !matchPattern(view.getOperand(), m_Constant(&elements)) || !elements.isSplat() ||
        cast<RankedTensorType>(view.getOperand().getType()).getRank() != 0) {
      return {};
    }
    return elements.getSplatValue<TypedAttr>();
  }

  std::pair<Value, SmallVector<PadLanes>> leaf(OpBuilder &builder, Value value,
                                               ArrayRef<SizeExpr> sizes, Operation *before) {
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType wanted = getTensorType(sizes, type.getElementType());
    SmallVector<bool> anything(sizes.size(), false);
    if (TypedAttr scalar = getBroadcastScalar(value)) {
      auto view = value.getDefiningOp<ReindexOp>();
      Value made = ReindexOp::create(builder, value.getLoc(), wanted, view.getOperand(),
                                     view.getMap(), TypedAttr());
      return {made, SmallVector<PadLanes>(sizes.size(), PadLanes{scalar})};
    }
    if (auto view = value.getDefiningOp<ReindexOp>(); view && !view.getMap().hasBounds()) {
      if (Value made = broadcastLeaf(builder, view, sizes, wanted, before)) {
        return {made, SmallVector<PadLanes>(sizes.size())};
      }
    }
    Value made = obtain(value, sizes, anything, before);
    return {made, getLanes(made, sizes)};
  }

  /// Rebuilds a broadcast along padded dimensions at their padded sizes.
  Value broadcastLeaf(OpBuilder &builder, ReindexOp view, ArrayRef<SizeExpr> sizes,
                      RankedTensorType wanted, Operation *before) {
    auto source = cast<RankedTensorType>(view.getOperand().getType());
    Sizes logical = getSizes(cast<RankedTensorType>(view.getType())), inner = getSizes(source);
    for (auto [at, index] : llvm::enumerate(view.getMap().getResults())) {
      std::optional<unsigned> dim = SizeExpr(index).getDim();
      if (!dim && !SizeExpr(index).isConstant(0)) {
        return {};
      }
      if (dim) {
        if (inner[at] != logical[*dim]) {
          return {};
        }
        inner[at] = sizes[*dim];
      }
    }
    Value operand =
        obtain(view.getOperand(), inner, SmallVector<bool>(inner.size(), false), before);
    return ReindexOp::create(builder, view.getLoc(), wanted, operand, view.getMap(), TypedAttr());
  }

  llvm::DenseMap<std::pair<Value, Type>, PadOp> known;
  llvm::DenseMap<Value, SmallVector<PadLanes>> lanes;
};

struct MaterializePaddingPass : frit::impl::MaterializePaddingPassBase<MaterializePaddingPass> {
  using MaterializePaddingPassBase::MaterializePaddingPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    std::optional<Mode> chosen = llvm::StringSwitch<std::optional<Mode>>(mode)
                                     .Case("off", Mode::Off)
                                     .Case("auto", Mode::Auto)
                                     .Case("force", Mode::Force)
                                     .Default(std::nullopt);
    if (!chosen || multiple < 1) {
      graph.emitError(
          "materialize-padding: mode must be off, auto or force and the multiple positive, found '")
          << mode.getValue() << "' and " << multiple.getValue();
      return signalPassFailure();
    }
    if (chosen == Mode::Off || (chosen == Mode::Auto && !gpu)) {
      return;
    }
    PaddedSizes sizes(graph);
    PaddedValues values;
    SizeEstimate estimate(graph);
    SmallVector<Attribute> padded, refused;
    for (AtenOp call : llvm::make_early_inc_range(graph.getBody().front().getOps<AtenOp>())) {
      visit(call, *chosen, sizes, values, estimate, padded, refused);
    }
    Builder builder(graph.getContext());
    if (!padded.empty()) {
      kPaddingAttr.set(graph, builder.getArrayAttr(padded));
    }
    if (!refused.empty()) {
      kPaddingRefusedAttr.set(graph, builder.getArrayAttr(refused));
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(graph.getBody().front()))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
      }
    }
    numPads += values.pads;
    numReused += values.reused;
  }

private:
  void visit(AtenOp call, Mode mode, const PaddedSizes &sizes, PaddedValues &values,
             const SizeEstimate &estimate, SmallVectorImpl<Attribute> &padded,
             SmallVectorImpl<Attribute> &refused) {
    std::string whyNot;
    std::optional<PaddableCall> rule = describePaddableCall(call, whyNot);
    bool isHalf = llvm::any_of(call->getResultTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && (tensor.getElementType().isF16() || tensor.getElementType().isBF16());
    });
    bool isAligned = mode == Mode::Force || isHalf;
    bool isBucketed = mode == Mode::Force || fixedSizes;
    if (!isAligned && !isBucketed) {
      return;
    }
    Sizes wanted;
    if (rule) {
      SmallVector<bool> gains = mode == Mode::Force ? SmallVector<bool>(rule->sizes.size(), true)
                                                    : unitStrides(call, *rule);
      for (auto [dim, size] : llvm::enumerate(rule->sizes)) {
        SizeExpr next = isBucketed ? sizes.toBucket(size) : size;
        bool rounds = isAligned && gains[dim] && !rule->isBatch[dim];
        wanted.push_back(rounds ? sizes.toMultiple(next, multiple) : next);
      }
      if (wanted == rule->sizes) {
        return;
      }
      if (mode == Mode::Auto && !fixedSizes && !pays(call, *rule, wanted, estimate)) {
        whyNot = "copies cost more than aligned sizes gain";
        rule.reset();
      }
    }
    Builder builder(call.getContext());
    if (!rule) {
      LDBG() << call.getOpName() << " is not padded: " << whyNot;
      ++numRefused;
      refused.push_back(
          builder.getDictionaryAttr({builder.getNamedAttr("op", call.getOpNameAttr()),
                                     builder.getNamedAttr("why", builder.getStringAttr(whyNot))}));
      return;
    }
    padded.push_back(describe(call, *rule, wanted, sizes));
    LDBG() << call.getOpName() << " is padded: " << padded.back();
    replace(call, *rule, wanted, values);
    ++numPadded;
  }

  /// Dimensions with unit stride in one of the matrices: their sizes decide how a library can load
  /// rows.
  static SmallVector<bool> unitStrides(AtenOp call, const PaddableCall &rule) {
    SmallVector<bool> found(rule.sizes.size());
    found[rule.result.back()] = true;
    for (const PaddableOperand &operand : rule.operands) {
      auto layouts = call.getOperandLayoutsAttr();
      auto layout = layouts && operand.operand < layouts.size()
                        ? dyn_cast<LayoutAttr>(layouts[operand.operand])
                        : LayoutAttr();
      for (size_t i = 0; i < operand.dims.size(); ++i) {
        bool isUnit =
            layout ? SizeExpr(layout.getStrides()[i]).isConstant(1) : i + 1 == operand.dims.size();
        if (isUnit && operand.dims[i] != ~0u) {
          found[operand.dims[i]] = true;
        }
      }
    }
    return found;
  }

  /// Weighs the copies of operands against faster arithmetic: half types run at about a third of
  /// their speed on rows that are not aligned, and moving a byte takes the time of some hundred
  /// operations.
  static bool pays(AtenOp call, const PaddableCall &rule, ArrayRef<SizeExpr> wanted,
                   const SizeEstimate &estimate) {
    constexpr double operationsPerByte = 100;
    double operations = 2, bytes = 0;
    for (SizeExpr size : rule.sizes) {
      operations *= estimate.of(size);
    }
    for (const PaddableOperand &operand : rule.operands) {
      bool grows = llvm::any_of(
          operand.dims, [&](unsigned dim) { return dim != ~0u && wanted[dim] != rule.sizes[dim]; });
      Value value = call.getOperands()[operand.operand];
      bytes += grows ? 2 * estimate.ofElements(value.getType()) * getStoredBytes(value) : 0;
    }
    return operations >= operationsPerByte * bytes;
  }

  static Attribute describe(AtenOp call, const PaddableCall &rule, ArrayRef<SizeExpr> wanted,
                            const PaddedSizes &sizes) {
    Builder builder(call.getContext());
    std::string from, to;
    double logical = 1, larger = 1;
    bool bucketed = false;
    for (auto [size, next] : llvm::zip_equal(rule.sizes, wanted)) {
      from += (from.empty() ? "" : " x ") + size.str();
      to += (to.empty() ? "" : " x ") + next.str();
      logical *= sizes.atHints(size);
      larger *= sizes.atHints(next);
      bucketed |= sizes.toBucket(size) != size && next != size;
    }
    auto text = [&](StringRef name, const Twine &value) {
      return builder.getNamedAttr(name, builder.getStringAttr(value));
    };
    return builder.getDictionaryAttr(
        {text("op", call.getOpName()), text("sizes", from), text("padded", to),
         text("why", bucketed ? "bucket" : "multiples"),
         builder.getNamedAttr("waste", builder.getF64FloatAttr(100 * (larger / logical - 1)))});
  }

  static void replace(AtenOp call, const PaddableCall &rule, ArrayRef<SizeExpr> wanted,
                      PaddedValues &values) {
    SmallVector<Value> operands(call.getOperands());
    for (const PaddableOperand &operand : rule.operands) {
      Value &value = operands[operand.operand];
      Sizes sizes = getSizes(cast<RankedTensorType>(value.getType()));
      SmallVector<bool> zeros;
      for (auto [i, dim] : llvm::enumerate(operand.dims)) {
        sizes[i] = dim == ~0u ? sizes[i] : wanted[dim];
        zeros.push_back(dim == PaddableCall::contracted && wanted[dim] != rule.sizes[dim]);
      }
      value = values.obtain(value, sizes, zeros, call);
    }
    Sizes sizes;
    for (unsigned dim : rule.result) {
      sizes.push_back(wanted[dim]);
    }
    auto type = cast<RankedTensorType>(call->getResult(0).getType());
    OpBuilder builder(call);
    // The recorded layouts are of the logical sizes and are left out: a product takes operands in
    // any layout and returns rows.
    auto made = AtenOp::create(
        builder, call.getLoc(), TypeRange{getTensorType(sizes, type.getElementType())},
        call.getOpNameAttr(), operands, call.getArgumentsAttr(), call.getArgumentNamesAttr(),
        call.getOperandDtypesAttr(), call.getResultDtypesAttr(), ArrayAttr(), ArrayAttr(),
        call.getResultStorageAttr(), call.getReasonAttr());
    made->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    made.setDevicesAttr(call.getDevicesAttr());
    made.setPadded(true);
    Value cut = UnpadOp::create(builder, call.getLoc(), type, made->getResult(0));
    call->getResult(0).replaceAllUsesWith(cut);
    call.erase();
  }
};
} // namespace
