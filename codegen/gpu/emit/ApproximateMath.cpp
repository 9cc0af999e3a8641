// Decides how exact the math of a kernel has to be. Approximate code is several times shorter,
// which saves most time in ptxas. It is used where its error disappears:
//
//   - in kernels where every float that is written is a half type, by the last rounding:
//     exponentials, reciprocal roots, erf, tanh, the quotients of a row by one number, and those
//     by 1 + e^x. Other quotients stay IEEE divisions: each would need its own reciprocal, and
//     neighbouring lanes would take more registers;
//   - in sums of e^(x - max x) over at least a thousand halves, by the roundings of the sum
//     (docs/Gpu.md has the bound).

#include "codegen/gpu/emit/GpuFunction.h"
#include "codegen/math/VectorMath.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::frit;

/// Whether an operation makes a step of a small difference: 1 - 2^-24 and 1 round to the same half
/// number, but not down to the same whole one.
static bool hasSteps(Operation *op) {
  return isa<math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp, math::RoundEvenOp,
             arith::FPToSIOp, arith::FPToUIOp, arith::RemFOp, arith::CmpFOp>(op);
}

static bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

static bool writesHalves(KernelOp kernel) {
  bool any = false;
  for (Type type : kernel.getResultTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (!isHalf(element) && !element.isInteger(1)) {
      return false;
    }
    any |= isa<FloatType>(element);
  }
  // The attribute `frit.ieee` requests eager's numerics.
  auto forbids = [](Operation *op) {
    return kIeeeAttr.isOn(op) || hasSteps(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return any && !kernel->walk(forbids).wasInterrupted();
}

using Operations = llvm::SetVector<Operation *>;

/// What a value is computed from, and what is computed from the results of an operation.
static Operations findSources(Value value) {
  Operations found;
  auto add = [&](Value source) {
    if (Operation *op = source.getDefiningOp()) {
      found.insert(op);
    }
  };
  add(value);
  for (size_t i = 0; i < found.size(); ++i) {
    llvm::for_each(found[i]->getOperands(), add);
  }
  return found;
}
static Operations findUsers(Operation *op) {
  Operations found(op->user_begin(), op->user_end());
  for (size_t i = 0; i < found.size(); ++i) {
    found.insert(found[i]->user_begin(), found[i]->user_end());
  }
  return found;
}

/// Whether the floats that a value is computed from are halves.
static bool isOfHalves(Value value) {
  bool any = false, all = true;
  for (Operation *op : findSources(value)) {
    for (Value operand : op->getOperands()) {
      Type element = getElementTypeOrSelf(operand.getType());
      if (isa<BlockArgument>(operand) && isa<FloatType>(element)) {
        any |= isHalf(element);
        all &= isHalf(element);
      }
    }
  }
  return any && all;
}

/// Whether a reduction is a sum of at least `kLeast` elements of each row.
static bool isLongSum(Operation *op) {
  constexpr int64_t kLeast = 1024;
  auto sum = dyn_cast<ReduceOp>(op);
  if (!sum || sum.getKind() != ReduceKind::Sum || kIeeeAttr.isOn(op)) {
    return false;
  }
  auto from = cast<RankedTensorType>(sum.getOperand().getType()),
       to = cast<RankedTensorType>(op->getResult(0).getType());
  return from.hasStaticShape() && to.hasStaticShape() && to.getNumElements() > 0 &&
         from.getNumElements() / to.getNumElements() >= kLeast;
}

/// Whether an exponential is one of x - max x, for halves x, of which only sums are used.
static bool isSummed(math::ExpOp exp) {
  auto difference = exp.getOperand().getDefiningOp<arith::SubFOp>();
  if (!difference || kIeeeAttr.isOn(exp) || kIeeeAttr.isOn(difference) ||
      !llvm::all_of(exp->getUsers(), isLongSum)) {
    return false;
  }
  auto isMaximum = [&](Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    return reduce && reduce.getKind() == ReduceKind::Max &&
           reduce.getOperand() == difference.getLhs();
  };
  return isOfHalves(difference.getLhs()) &&
         llvm::any_of(findSources(difference.getRhs()), isMaximum) &&
         llvm::none_of(findUsers(exp), hasSteps);
}

ApproximateMath::ApproximateMath(KernelOp kernel) : all(writesHalves(kernel)) {
  kernel->walk([&](math::ExpOp exp) {
    if (!all && isSummed(exp)) {
      summed.insert(exp);
    }
  });
}

/// The tensor that a broadcast repeats, or the value itself.
static Value skipBroadcast(Value value) {
  auto repeated = value.getDefiningOp<ReindexOp>();
  return repeated ? Value(repeated.getOperand()) : value;
}

/// Whether a tensor broadcasts a computed tensor of fewer dims. Quotients by constants are left to
/// LLVM, which simplifies them.
static bool isRepeated(Value value) {
  auto repeated = value.getDefiningOp<ReindexOp>();
  if (!repeated || repeated.getOperand().getType().getRank() >= repeated.getType().getRank()) {
    return false;
  }
  Operation *source = repeated.getOperand().getDefiningOp();
  return !source || !source->hasTrait<OpTrait::ConstantLike>();
}

/// Whether a value is 1 + e^x, as in sigmoid: never denormal, and negligible where its reciprocal
/// is.
static bool isOnePlusExponential(Value value) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  auto isExponential = [](Value part) { return part.getDefiningOp<math::ExpOp>() != nullptr; };
  auto isOne = [](Value part) { return matchPattern(skipBroadcast(part), m_OneFloat()); };
  return sum && ((isExponential(sum.getLhs()) && isOne(sum.getRhs())) ||
                 (isExponential(sum.getRhs()) && isOne(sum.getLhs())));
}

Value GpuFunction::apply(OpBuilder &b, Operation *op, ValueRange operands, Type type) {
  bool hasForm = isa<math::ExpOp, math::RsqrtOp, math::ErfOp, math::TanhOp, arith::DivFOp>(op);
  if (!hasForm || !approximateMath.allows(op) || !getElementTypeOrSelf(type).isF32()) {
    return Value();
  }
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue() |
               arith::FastMathFlags::afn;
  auto exp2 = [&](Value x) -> Value { return math::Exp2Op::create(b, op->getLoc(), x, flags); };
  auto divide = [&](Value x, Value y, arith::FastMathFlags how) -> Value {
    return arith::DivFOp::create(b, op->getLoc(), x, y, flags | how);
  };
  FloatBuilder f(b, op->getLoc(), type);
  auto reciprocal = [&](Value x) { return divide(f.constant(1.0), x, arith::FastMathFlags::arcp); };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return math::ExpOp::create(b, op->getLoc(), operands[0], flags); })
      .Case(
          [&](math::RsqrtOp) { return math::RsqrtOp::create(b, op->getLoc(), operands[0], flags); })
      .Case([&](math::ErfOp) { return vector_math::erfOfHalves(f, operands[0], exp2); })
      .Case(
          [&](math::TanhOp) { return vector_math::tanhOfHalves(f, operands[0], exp2, reciprocal); })
      .Case([&](arith::DivFOp) -> Value {
        if (isOnePlusExponential(op->getOperand(1))) {
          return divide(operands[0], operands[1], arith::FastMathFlags::arcp);
        }
        return isRepeated(op->getOperand(1))
                   ? divide(operands[0], operands[1], arith::FastMathFlags::none)
                   : Value();
      })
      .Default([](Operation *) { return Value(); });
}
