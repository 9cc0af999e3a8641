// Fuses convolutions on a CPU with their epilogue: a batch norm by running statistics, a residual,
// a relu. The runtime's kernel (runtime/cpu/Convolution.h) applies it to sums that are still in
// registers, where a separate kernel would read and write the whole image again.
//
// The epilogue is recognised by its arithmetic, not by its operators: factors and summands that are
// the same for a whole channel, one summand of the result's shape, limits. Factors and summands of
// channels are computed by small kernels in each call, so nothing that is derived from a weight
// outlives a call.
//
// Zeros around the image that the program writes itself, as models with TensorFlow's padding do,
// become padding of the convolution.
#include "ir/FritAttributes.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"

#include <cmath>

#define DEBUG_TYPE "frit-fuse-convolutions"

namespace mlir::frit {
#define GEN_PASS_DEF_FUSECONVOLUTIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// The fewest outputs of a group that fill a vector of the runtime's kernel.
constexpr int64_t kFewestOutputs = 8;

/// Why the runtime's kernel cannot compute a convolution; empty if it can.
static StringRef refusalOf(AtenOp call) {
  auto type = call.getNumResults() == 1 ? dyn_cast<RankedTensorType>(call.getResult(0).getType())
                                        : RankedTensorType();
  if (!type || type.getRank() != 4 || !type.getElementType().isF32()) {
    return "not of f32 images";
  }
  if (call.getNumOperands() > 3 || call.getArguments().size() != 9 || call.getDevicesAttr()) {
    return "its numbers are known only at the call, or it is on another device";
  }
  for (Value operand : call.getOperands()) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    if (!tensor || !tensor.getElementType().isF32()) {
      return "operands of other types";
    }
  }
  auto transposed = dyn_cast<BoolAttr>(call.getArguments()[6]);
  auto groups = dyn_cast<IntegerAttr>(call.getArguments()[8]);
  if (!transposed || transposed.getValue() || !groups) {
    return "transposed";
  }
  auto weight = cast<RankedTensorType>(call.getOperand(1).getType());
  std::optional<int64_t> outputs = getSizes(weight)[0].getConstant();
  // If each channel has a filter, lanes are channels.
  bool isDepthwise = outputs && groups.getInt() == *outputs && getSizes(weight)[1].isConstant(1) &&
                     getSizes(type)[1].isConstant(*outputs);
  if (!outputs || *outputs < kFewestOutputs * (isDepthwise ? 1 : groups.getInt())) {
    return "too few outputs of a group";
  }
  return "";
}

static bool mayWrite(Operation *op) {
  auto call = dyn_cast<AtenOp>(op);
  return !isMemoryEffectFree(op) || isa<StoreOp>(op) || (call && call.getMutatedOperands());
}

namespace {
/// A convolution and its epilogue: limits((sum + bias) * scale + shift + added).
struct Chain {
  AtenOp call;
  /// The last value of the chain.
  Value end;
  Value bias, scale, shift, added;
  std::optional<double> low, high;
  /// The image in front of the convolution without the zeros around it, and their number in rows
  /// and columns before it and behind it; null if there are none.
  Value image;
  int64_t before[2] = {0, 0}, behind[2] = {0, 0};
};

struct FuseConvolutionsPass : frit::impl::FuseConvolutionsPassBase<FuseConvolutionsPass> {
  void runOnOperation() override {
    SmallVector<AtenOp> calls;
    for (AtenOp call : getOperation().getBody().front().getOps<AtenOp>()) {
      if (call.getOpName() == "aten.convolution.default") {
        calls.push_back(call);
      }
    }
    for (AtenOp call : calls) {
      if (StringRef why = refusalOf(call); !why.empty()) {
        LDBG() << call.getLoc() << " stays ATen's: " << why;
        ++left;
        continue;
      }
      fuse(call);
    }
  }

  void fuse(AtenOp call) {
    Chain chain;
    chain.call = call;
    chain.end = call.getResult(0);
    takePadding(chain);
    if (call.getNumOperands() == 3) {
      chain.bias = call.getOperand(2);
    }
    // Behind an operation that writes, operands may have other values.
    Operation *limit = call->getNextNode();
    while (limit && !mayWrite(limit)) {
      limit = limit->getNextNode();
    }
    while (Operation *last = step(chain, limit)) {
      LDBG() << call.getLoc() << " takes " << last->getName();
      ++taken;
    }
    replace(chain);
    ++convolutions;
  }

  /// Adds the next operation to the chain; null if it cannot be added.
  Operation *step(Chain &chain, Operation *limit) {
    Operation *next = nullptr;
    auto comesBefore = [&](Operation *op) { return !limit || op->isBeforeInBlock(limit); };
    if (chain.end.hasOneUse()) {
      next = chain.end.getUses().begin()->getOwner();
      return comesBefore(next) && takeArithmetic(chain, next) ? next : nullptr;
    }
    // select(x < low, low, x) reads x twice.
    for (Operation *user : chain.end.getUsers()) {
      if (auto select = dyn_cast<arith::SelectOp>(user)) {
        return comesBefore(select) && takeLimit(chain, select) ? select : nullptr;
      }
    }
    return nullptr;
  }

  /// Finds zeros around the image.
  void takePadding(Chain &chain) {
    auto pad = chain.call.getOperand(0).getDefiningOp<ReindexOp>();
    auto padding = dyn_cast<ArrayAttr>(chain.call.getArguments()[4]);
    if (!pad || !pad->hasOneUse() || !pad.getFill() || !padding || padding.size() != 2) {
      return;
    }
    auto fill = dyn_cast<FloatAttr>(*pad.getFill());
    MapAttr map = pad.getMap();
    auto from = cast<RankedTensorType>(pad.getOperand().getType());
    if (!fill || !fill.getValue().isPosZero() || from.getRank() != 4 || map.getNumValues() != 0) {
      return;
    }
    SmallVector<SizeExpr> fromSizes = getSizes(from);
    SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(pad.getType()));
    int64_t before[2], behind[2];
    for (unsigned dim = 0; dim < 4; ++dim) {
      SizeExpr place = map.getResults()[dim];
      SizeExpr index = SizeExpr::dim(&getContext(), dim);
      std::optional<int64_t> first = (index - place).getConstant();
      std::optional<int64_t> last =
          first ? (sizes[dim] - fromSizes[dim] - *first).getConstant() : std::nullopt;
      if (!first || !last || *first < 0 || *last < 0 || (dim < 2 && (*first || *last))) {
        return;
      }
      if (dim < 2) {
        continue;
      }
      auto given = dyn_cast<IntegerAttr>(padding[dim - 2]);
      if (!given || given.getInt() < 0) {
        return;
      }
      before[dim - 2] = *first + given.getInt();
      behind[dim - 2] = *last + given.getInt();
    }
    // Each bound must be that of the image's own rows and columns.
    for (auto [expr, low, high] :
         llvm::zip(map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs())) {
      bool isOfImage = false;
      for (unsigned dim : {2u, 3u}) {
        isOfImage |= expr == map.getResults()[dim] && SizeExpr(low).isConstant(0) &&
                     SizeExpr(high) == fromSizes[dim];
      }
      if (!isOfImage) {
        return;
      }
    }
    // The convolution will read the image later than the pad did.
    for (Operation *op = pad->getNextNode(); op != chain.call; op = op->getNextNode()) {
      if (mayWrite(op)) {
        return;
      }
    }
    chain.image = pad.getOperand();
    llvm::copy(before, chain.before);
    llvm::copy(behind, chain.behind);
    ++padded;
  }

  bool takeArithmetic(Chain &chain, Operation *op) {
    if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) || chain.low || chain.high ||
        chain.added) {
      return false;
    }
    bool isFirst = op->getOperand(0) == chain.end;
    Value other = op->getOperand(isFirst ? 1 : 0);
    if (isa<arith::SubFOp>(op) && !isFirst) {
      return false;
    }
    OpBuilder builder(op);
    if (Value each = ofChannels(builder, other)) {
      if (!mayTake(chain, op, each)) {
        return false;
      }
      Location loc = op->getLoc();
      if (isa<arith::MulFOp>(op)) {
        chain.scale = chain.scale ? arith::MulFOp::create(builder, loc, chain.scale, each) : each;
      } else {
        Value &sum = chain.scale ? chain.shift : chain.bias;
        bool isSum = isa<arith::AddFOp>(op);
        if (!sum) {
          sum = isSum ? each : arith::NegFOp::create(builder, loc, each);
        } else {
          sum = isSum ? Value(arith::AddFOp::create(builder, loc, sum, each))
                      : Value(arith::SubFOp::create(builder, loc, sum, each));
        }
      }
    } else if (isa<arith::AddFOp>(op) && other.getType() == chain.end.getType()) {
      chain.added = other;
    } else {
      return false;
    }
    chain.end = op->getResult(0);
    return true;
  }

  /// Whether a factor or summand of channels may be combined with those before it, ahead of the
  /// sums. Arbitrary ones may overflow or vanish together where their parts, one after the other,
  /// do not. A batch norm combines a mean with the bias, and a weight with a reciprocal deviation.
  static bool mayTake(Chain &chain, Operation *op, Value each) {
    if (chain.shift) {
      return false;
    }
    if (isa<arith::MulFOp>(op)) {
      return !chain.scale || isReciprocalRoot(chain.scale) || isReciprocalRoot(each);
    }
    bool hasOwnBias = chain.call.getNumOperands() == 3 && chain.bias == chain.call.getOperand(2);
    return chain.scale || !chain.bias || (hasOwnBias && isa<arith::SubFOp>(op));
  }

  static bool isReciprocalRoot(Value value) {
    auto source = [](Value value) {
      while (auto reindex = value.getDefiningOp<ReindexOp>()) {
        value = reindex.getOperand();
      }
      return value.getDefiningOp();
    };
    Operation *op = source(value);
    auto divide = dyn_cast_or_null<arith::DivFOp>(op);
    return isa_and_nonnull<math::RsqrtOp>(op) ||
           (divide && isa_and_nonnull<math::SqrtOp>(source(divide.getRhs())));
  }

  static bool takeLimit(Chain &chain, arith::SelectOp select) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare || !compare->hasOneUse() || llvm::range_size(chain.end.getUses()) != 2 ||
        compare.getLhs() != chain.end || select.getFalseValue() != chain.end) {
      return false;
    }
    std::optional<double> value = numberOf(select.getTrueValue());
    std::optional<double> compared = numberOf(compare.getRhs());
    bool isLow = compare.getPredicate() == arith::CmpFPredicate::OLT && !chain.low && !chain.high;
    bool isHigh = compare.getPredicate() == arith::CmpFPredicate::OGT && !chain.high;
    // Zeros of both signs compare equal, but only one of them is the limit.
    if (!value || !compared || *value != *compared ||
        std::signbit(*value) != std::signbit(*compared) || (!isLow && !isHigh)) {
      return false;
    }
    (isLow ? chain.low : chain.high) = value;
    chain.end = select.getResult();
    return true;
  }

  /// The number that a value repeats.
  static std::optional<double> numberOf(Value value) {
    if (auto reindex = value.getDefiningOp<ReindexOp>(); reindex && !reindex.getMap().hasBounds()) {
      value = reindex.getOperand();
    }
    DenseFPElementsAttr elements;
    if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
        elements.getSplatValue<APFloat>().isNaN()) {
      return std::nullopt;
    }
    return elements.getSplatValue<APFloat>().convertToFloat();
  }

  /// A value that is the same in a whole channel, as one number for each channel; null if it is
  /// not.
  static Value ofChannels(OpBuilder &builder, Value value) {
    auto reindex = value.getDefiningOp<ReindexOp>();
    if (!reindex || reindex.getMap().hasBounds()) {
      return {};
    }
    MLIRContext *context = builder.getContext();
    SmallVector<SizeAttr> places;
    for (SizeAttr result : reindex.getMap().getResults()) {
      SizeExpr place = result;
      if (place.getDim() == 1u) {
        places.push_back(SizeExpr::dim(context, 0));
      } else if (place.getConstant()) {
        places.push_back(place);
      } else {
        return {};
      }
    }
    auto from = cast<RankedTensorType>(reindex.getOperand().getType());
    SizeExpr channels = getSizes(cast<RankedTensorType>(value.getType()))[1];
    RankedTensorType type = getTensorType({channels}, from.getElementType());
    if (from == type && SizeExpr(places.front()).getDim() == 0u) {
      return reindex.getOperand();
    }
    return ReindexOp::create(builder, value.getLoc(), type, reindex.getOperand(),
                             MapAttr::get(context, 1, places), TypedAttr());
  }

  void replace(Chain chain) {
    AtenOp call = chain.call;
    MLIRContext *context = &getContext();
    OpBuilder builder(chain.end.getDefiningOp());
    SmallVector<Value> operands(call.getOperands().take_front(2));
    SmallVector<Attribute> arguments(call.getArguments().begin(), call.getArguments().end());
    SmallVector<Attribute> dtypes = {call.getOperandDtypes()[0], call.getOperandDtypes()[1]};
    SmallVector<Attribute> layouts;
    if (ArrayAttr known = call.getOperandLayoutsAttr()) {
      layouts = {known[0], known[1]};
    }
    Attribute behind = UnitAttr::get(context);
    if (chain.image) {
      operands[0] = chain.image;
      if (!layouts.empty()) {
        layouts[0] = getContiguousLayout(cast<RankedTensorType>(chain.image.getType()));
      }
      arguments[4] = builder.getI64ArrayAttr(chain.before);
      behind = builder.getI64ArrayAttr(chain.behind);
    }
    auto pass = [&](Value value) -> Attribute {
      if (!value) {
        return UnitAttr::get(context);
      }
      auto type = cast<RankedTensorType>(value.getType());
      operands.push_back(value);
      dtypes.push_back(DTypeAttr::get(context, DType::F32));
      layouts.push_back(getContiguousLayout(type));
      return OperandAttr::get(context, operands.size() - 1);
    };
    auto number = [&](std::optional<double> value) -> Attribute {
      return value ? Attribute(builder.getF64FloatAttr(*value)) : UnitAttr::get(context);
    };
    arguments[2] = pass(chain.bias);
    for (Value value : {chain.scale, chain.shift, chain.added}) {
      arguments.push_back(pass(value));
    }
    arguments.push_back(number(chain.low));
    arguments.push_back(number(chain.high));
    arguments.push_back(behind);
    auto made =
        AtenOp::create(builder, call.getLoc(), TypeRange(chain.end.getType()),
                       builder.getStringAttr("frit.convolution.default"), operands,
                       builder.getArrayAttr(arguments), ArrayAttr(), builder.getArrayAttr(dtypes),
                       call.getResultDtypes(),
                       call.getOperandLayoutsAttr() ? builder.getArrayAttr(layouts) : ArrayAttr(),
                       call.getResultLayoutsAttr(), call.getResultStorageAttr(),
                       builder.getStringAttr(reasonOf(chain)));
    chain.end.replaceAllUsesWith(made.getResult(0));
    // The operations of the epilogue, from the last one.
    SmallVector<Operation *> open = {chain.end.getDefiningOp()};
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (op == made || !op->use_empty()) {
        continue;
      }
      for (Value operand : op->getOperands()) {
        if (Operation *def = operand.getDefiningOp();
            def && (def == call || isMemoryEffectFree(def)) && !llvm::is_contained(open, def)) {
          open.push_back(def);
        }
      }
      op->erase();
    }
  }

  static std::string reasonOf(const Chain &chain) {
    SmallVector<StringRef> parts;
    if (chain.image) {
      parts.push_back("padding");
    }
    if (chain.scale || chain.shift) {
      parts.push_back("a factor and a summand of channels");
    }
    if (chain.added) {
      parts.push_back("a residual");
    }
    if (chain.low || chain.high) {
      parts.push_back("limits");
    }
    std::string text = "a convolution: a library has the kernel; frit's own where it is faster";
    return parts.empty() ? text : text + ", with " + llvm::join(parts, ", ");
  }
};
} // namespace
