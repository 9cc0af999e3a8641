// Only matrix products have a rule. Other calls are refused by name: a convolution reads neighbours
// across the edge, attention divides by the number of keys, a sort orders the fill among the
// values.
#include "passes/PaddingRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
struct MatrixProduct {
  /// Argument numbers; -1 for none.
  int lhs = -1, rhs = -1, addend = -1;
  bool isBatched = false;
  /// The right side is [N, K] and the left may have any number of leading dimensions.
  bool isLinear = false;
};
} // namespace

static MatrixProduct lookUp(StringRef name) {
  return llvm::StringSwitch<MatrixProduct>(name)
      .Case("aten.mm.default", {0, 1, -1, false, false})
      .Case("aten.bmm.default", {0, 1, -1, true, false})
      .Case("aten.addmm.default", {1, 2, 0, false, false})
      .Case("aten.baddbmm.default", {1, 2, 0, true, false})
      .Case("aten.linear.default", {0, 1, 2, false, true})
      .Default({});
}

namespace {
class Describer {
public:
  Describer(AtenOp call, std::string &whyNot) : call(call), whyNot(whyNot) {}

  std::optional<PaddableCall> run() {
    MatrixProduct product = lookUp(call.getOpName());
    if (product.lhs < 0) {
      return refuse("no rule says what it does with padding");
    }
    auto result = call->getNumResults() == 1
                      ? dyn_cast<RankedTensorType>(call->getResult(0).getType())
                      : RankedTensorType();
    auto element = result ? result.getElementType() : Type();
    if (!element || !element.isIntOrFloat()) {
      return refuse("no fill for its element type");
    }
    // Dimension 0 is the contracted one, 1 the columns, 2 and up the leading ones.
    unsigned lead = result.getRank() - 1;
    SmallVector<unsigned> left, right;
    for (unsigned i = 0; i < lead; ++i) {
      left.push_back(2 + i);
    }
    described.result = left;
    described.result.push_back(1);
    left.push_back(PaddableCall::contracted);
    right = product.isLinear ? SmallVector<unsigned>{1, 0} : SmallVector<unsigned>{0, 1};
    if (product.isBatched) {
      right.insert(right.begin(), 2);
    }
    described.sizes.resize(2 + lead);
    described.isBatch.resize(2 + lead);
    for (unsigned i = 0; i + 1 < lead; ++i) {
      described.isBatch[2 + i] = true;
    }
    for (auto [dim, size] : llvm::zip_equal(described.result, getSizes(result))) {
      described.sizes[dim] = size;
    }
    if (!take(product.lhs, left) || !take(product.rhs, right)) {
      return std::nullopt;
    }
    if (product.addend >= 0 && !takeAddend(product.addend)) {
      return std::nullopt;
    }
    return std::move(described);
  }

private:
  std::nullopt_t refuse(const Twine &why) {
    whyNot = why.str();
    return std::nullopt;
  }

  std::optional<unsigned> operandOf(unsigned place) {
    auto operand = place < call.getArguments().size()
                       ? dyn_cast<OperandAttr>(call.getArguments()[place])
                       : OperandAttr();
    return operand ? std::optional<unsigned>(operand.getIndex()) : std::nullopt;
  }

  bool take(unsigned place, ArrayRef<unsigned> dims) {
    std::optional<unsigned> operand = operandOf(place);
    auto type = operand ? dyn_cast<RankedTensorType>(call.getOperands()[*operand].getType())
                        : RankedTensorType();
    if (!type || type.getRank() != static_cast<int64_t>(dims.size())) {
      refuse("its operands have other ranks than its rule knows");
      return false;
    }
    for (auto [dim, size] : llvm::zip_equal(dims, getSizes(type))) {
      SizeExpr &known = described.sizes[dim];
      if (known && known != size) {
        refuse("sizes " + Twine(known.str()) + " and " + size.str() + " are not provably equal");
        return false;
      }
      known = size;
    }
    described.operands.push_back({*operand, llvm::to_vector(dims)});
    return true;
  }

  /// The addend is broadcast to the result.
  bool takeAddend(unsigned place) {
    std::optional<unsigned> operand = operandOf(place);
    auto type = operand ? dyn_cast<RankedTensorType>(call.getOperands()[*operand].getType())
                        : RankedTensorType();
    if (!type) {
      return true;
    }
    size_t skipped = described.result.size() - type.getRank();
    PaddableOperand addend{*operand, {}};
    for (auto [i, size] : llvm::enumerate(getSizes(type))) {
      unsigned dim = described.result[skipped + i];
      if (size != described.sizes[dim] && !size.isConstant(1)) {
        refuse("sizes " + Twine(size.str()) + " and " + described.sizes[dim].str() +
               " are not provably equal");
        return false;
      }
      addend.dims.push_back(size == described.sizes[dim] ? dim : ~0u);
    }
    described.operands.push_back(std::move(addend));
    return true;
  }

  AtenOp call;
  std::string &whyNot;
  PaddableCall described;
};
} // namespace

std::optional<PaddableCall> mlir::frit::describePaddableCall(AtenOp call, std::string &whyNot) {
  return Describer(call, whyNot).run();
}

bool PadLanes::isZero() const {
  if (auto real = dyn_cast_or_null<FloatAttr>(known)) {
    return real.getValue().isZero();
  }
  auto integer = dyn_cast_or_null<IntegerAttr>(known);
  return integer && integer.getValue().isZero();
}

bool mlir::frit::mayRunOnJunk(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
         !isIntegerDivision(op) && isa<RankedTensorType>(op->getResult(0).getType());
}

PadLanes mlir::frit::foldPadLanes(Operation *op, ArrayRef<PadLanes> operands) {
  // Kernels approximate other functions, so the folder's value would differ from theirs.
  bool exact =
      isa<arith::ArithDialect>(op->getDialect()) ||
      isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::TruncOp, math::CopySignOp>(
          op);
  if (!exact) {
    return {};
  }
  SmallVector<Attribute> constants;
  for (const PadLanes &lanes : operands) {
    if (!lanes.known) {
      return {};
    }
    constants.push_back(DenseElementsAttr::get(RankedTensorType::get({}, lanes.known.getType()),
                                               Attribute(lanes.known)));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(constants, results)) || results.size() != 1) {
    return {};
  }
  auto elements = dyn_cast<DenseElementsAttr>(dyn_cast<Attribute>(results.front()));
  return elements && elements.isSplat() ? PadLanes{elements.getSplatValue<TypedAttr>()}
                                        : PadLanes{};
}
