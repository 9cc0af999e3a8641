// Sizes and host scalars of a plan. Sizes that depend on symbols alone are computed once per call,
// in the size program, before any step. Those that depend on a scalar argument or on a size that
// only an operator knows are computed at their place among the steps.

#include "compiler/PlanWriter.h"

#include "ir/FritAttributes.h"
#include "passes/Copies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::Op;

bool PlanWriter::isUnbacked(SizeExpr size) {
  return size.anySymbol([&](StringRef name) {
    return unbackedSymbols.contains(StringAttr::get(size.getContext(), name));
  });
}

uint32_t PlanWriter::openProgram() {
  auto &steps = builder.plan.steps;
  if (!steps.empty()) {
    if (auto *eval = steps.back()->action.AsEval()) {
      return eval->program;
    }
  }
  uint32_t program = builder.newProgram();
  builder.step<format::EvalT>().program = program;
  return program;
}

uint32_t PlanWriter::openSizeProgram() {
  if (sizeProgram == kNoRegister) {
    sizeProgram = builder.newProgram();
    builder.plan.size_program = sizeProgram;
  }
  return sizeProgram;
}

uint32_t PlanWriter::sizeRegister(SizeExpr size) {
  if (auto constant = size.getConstant()) {
    return builder.intConstant(*constant);
  }
  if (auto symbol = size.getSymbol()) {
    auto known = symbolRegisters.find(*symbol);
    if (known == symbolRegisters.end()) {
      if (std::optional<uint32_t> bucket = useBucket(*symbol)) {
        return *bucket;
      }
      unknownSymbol = symbol->str();
      return builder.intConstant(0);
    }
    return known->second;
  }
  if (auto known = sizeRegisters.find(size.getAttr()); known != sizeRegisters.end()) {
    return known->second;
  }
  uint32_t program;
  if (isUnbacked(size)) {
    program = openProgram();
  } else {
    program = openSizeProgram();
  }
  uint32_t reg = emitPolynomial(size, program);
  sizeRegisters[size.getAttr()] = reg;
  return reg;
}

namespace {
/// count * mod(left, right) + rest.
struct Remainder {
  int64_t count;
  SizeExpr left, right, rest;
};
} // namespace

/// The coefficient of the first monomial with this factor, and that of the same in another size.
static std::pair<int64_t, int64_t> coefficientsAt(Attribute atom, SizeExpr size, SizeExpr other) {
  for (auto [count, monomial] :
       llvm::zip(size.getAttr().getCoefficients(), size.getAttr().getMonomials())) {
    if (!llvm::is_contained(monomial, atom)) {
      continue;
    }
    for (auto [otherCount, same] :
         llvm::zip(other.getAttr().getCoefficients(), other.getAttr().getMonomials())) {
      if (same == monomial) {
        return {count, otherCount};
      }
    }
    break;
  }
  return {0, 0};
}

static bool hasFactor(SizeExpr size, Attribute atom) {
  return llvm::any_of(size.getAttr().getMonomials(),
                      [&](auto monomial) { return llvm::is_contained(monomial, atom); });
}

/// A remainder by a divisor that may be zero, which SizeExpr stores as a difference: an error has
/// to name the operator that the program has.
static std::optional<Remainder> findRemainder(SizeExpr size) {
  for (auto monomial : size.getAttr().getMonomials()) {
    for (Attribute atom : monomial) {
      auto call = dyn_cast<SizeCallAttr>(atom);
      if (!call || call.getFunction() != SizeFunction::FloorDiv) {
        continue;
      }
      SizeExpr left = call.getLhs(), right = call.getRhs();
      SizeExpr one = left.mod(right);
      auto [ofOne, ofAll] = coefficientsAt(atom, one, size);
      if (right.getConstant() || ofOne == 0 || ofAll % ofOne != 0 || ofAll / ofOne < 1) {
        continue;
      }
      SizeExpr rest = size - one * (ofAll / ofOne);
      if (!hasFactor(rest, atom) &&
          rest.getAttr().getMonomials().size() < size.getAttr().getMonomials().size()) {
        return Remainder{ofAll / ofOne, left, right, rest};
      }
    }
  }
  return std::nullopt;
}

uint32_t PlanWriter::emitPolynomial(SizeExpr size, uint32_t program) {
  std::optional<uint32_t> sum;
  if (std::optional<Remainder> found = findRemainder(size)) {
    sum = builder.emit(program, Op::Mod, sizeRegister(found->left), sizeRegister(found->right));
    if (found->count != 1) {
      sum = builder.emit(program, Op::Mul, *sum, builder.intConstant(found->count));
    }
    size = found->rest;
  }
  for (auto [coefficient, monomial] :
       llvm::zip(size.getAttr().getCoefficients(), size.getAttr().getMonomials())) {
    std::optional<uint32_t> product;
    if (coefficient != 1 || monomial.empty()) {
      product = builder.intConstant(coefficient);
    }
    for (Attribute atom : monomial) {
      uint32_t factor;
      if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
        factor = sizeRegister(SizeExpr::symbol(symbol));
      } else {
        auto call = cast<SizeCallAttr>(atom);
        Op op = call.getFunction() == SizeFunction::FloorDiv ? Op::FloorDiv
                : call.getFunction() == SizeFunction::Max    ? Op::Max
                                                             : Op::Min;
        uint32_t left = sizeRegister(call.getLhs());
        uint32_t right = sizeRegister(call.getRhs());
        factor = builder.emit(program, op, left, right);
      }
      product = product ? builder.emit(program, Op::Mul, *product, factor) : factor;
    }
    sum = sum ? builder.emit(program, Op::Add, *sum, *product) : *product;
  }
  return sum ? *sum : builder.intConstant(0);
}

namespace {
/// The instruction for an operation on host scalars, and whether its result is a float register
/// (Artifact.fbs).
struct ScalarForm {
  Op op;
  bool floatResult;
};
} // namespace

static std::optional<ScalarForm> comparison(arith::CmpIOp op) {
  switch (op.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return ScalarForm{Op::Eq, false};
  case arith::CmpIPredicate::ne:
    return ScalarForm{Op::Ne, false};
  case arith::CmpIPredicate::slt:
    return ScalarForm{Op::Lt, false};
  case arith::CmpIPredicate::sle:
    return ScalarForm{Op::Le, false};
  case arith::CmpIPredicate::sgt:
    return ScalarForm{Op::Gt, false};
  case arith::CmpIPredicate::sge:
    return ScalarForm{Op::Ge, false};
  default:
    return std::nullopt;
  }
}

static std::optional<ScalarForm> comparison(arith::CmpFOp op) {
  switch (op.getPredicate()) {
  case arith::CmpFPredicate::OEQ:
    return ScalarForm{Op::FEq, false};
  case arith::CmpFPredicate::UNE:
    return ScalarForm{Op::FNe, false};
  case arith::CmpFPredicate::OLT:
    return ScalarForm{Op::FLt, false};
  case arith::CmpFPredicate::OLE:
    return ScalarForm{Op::FLe, false};
  case arith::CmpFPredicate::OGT:
    return ScalarForm{Op::FGt, false};
  case arith::CmpFPredicate::OGE:
    return ScalarForm{Op::FGe, false};
  default:
    return std::nullopt;
  }
}

static std::optional<ScalarForm> scalarForm(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    return comparison(compare);
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    return comparison(compare);
  }
  Type type = op.getResult(0).getType();
  if (isa<arith::SelectOp>(op)) {
    return ScalarForm{isa<FloatType>(type) ? Op::FSelect : Op::Select, isa<FloatType>(type)};
  }
  if (isa<arith::FPToSIOp>(op) && kPythonAttr.isOn(&op)) {
    return ScalarForm{Op::PythonInt, false};
  }
  if (isa<arith::TruncIOp>(op)) {
    // The only such cast of host scalars is from i64 to i1: the lowest bit.
    return ScalarForm{Op::And, false};
  }
  auto form = [](Op op, bool isFloat) { return std::optional(ScalarForm{op, isFloat}); };
  return llvm::StringSwitch<std::optional<ScalarForm>>(op.getName().getStringRef())
      .Case("arith.addi", form(Op::Add, false))
      .Case("arith.subi", form(Op::Sub, false))
      .Case("arith.muli", form(Op::Mul, false))
      .Case("arith.floordivsi", form(Op::FloorDiv, false))
      .Case("arith.divsi", form(Op::TruncDiv, false))
      .Case("arith.remsi", form(Op::TruncRem, false))
      .Case("arith.minsi", form(Op::Min, false))
      .Case("arith.maxsi", form(Op::Max, false))
      .Case("arith.andi", form(Op::And, false))
      .Case("arith.ori", form(Op::Or, false))
      .Case("arith.xori", form(Op::Xor, false))
      .Case("arith.shli", form(Op::Shl, false))
      .Case("arith.shrsi", form(Op::Shr, false))
      .Case("arith.extui", form(Op::Move, false))
      .Case("arith.extsi", form(Op::Move, false))
      .Case("math.absi", form(Op::Abs, false))
      .Case("math.ipowi", form(Op::Pow, false))
      .Case("arith.sitofp", form(Op::IntToFloat, true))
      .Case("arith.uitofp", form(Op::IntToFloat, true))
      .Case("arith.fptosi", form(Op::FloatToInt, false))
      .Case("math.isnan", form(Op::FIsNan, false))
      .Case("math.isinf", form(Op::FIsInf, false))
      .Case("arith.addf", form(Op::FAdd, true))
      .Case("arith.subf", form(Op::FSub, true))
      .Case("arith.mulf", form(Op::FMul, true))
      .Case("arith.divf", form(Op::FDiv, true))
      .Case("arith.remf", form(Op::FRem, true))
      .Case("arith.minimumf", form(Op::FMin, true))
      .Case("arith.maximumf", form(Op::FMax, true))
      .Case("arith.negf", form(Op::FNeg, true))
      .Case("arith.extf", form(Op::FMove, true))
      .Case("math.absf", form(Op::FAbs, true))
      .Case("math.powf", form(Op::FPow, true))
      .Case("math.atan2", form(Op::FAtan2, true))
      .Case("math.sqrt", form(Op::FSqrt, true))
      .Case("math.rsqrt", form(Op::FRsqrt, true))
      .Case("math.exp", form(Op::FExp, true))
      .Case("math.exp2", form(Op::FExp2, true))
      .Case("math.expm1", form(Op::FExpm1, true))
      .Case("math.log", form(Op::FLog, true))
      .Case("math.log2", form(Op::FLog2, true))
      .Case("math.log10", form(Op::FLog10, true))
      .Case("math.log1p", form(Op::FLog1p, true))
      .Case("math.sin", form(Op::FSin, true))
      .Case("math.cos", form(Op::FCos, true))
      .Case("math.tan", form(Op::FTan, true))
      .Case("math.asin", form(Op::FAsin, true))
      .Case("math.acos", form(Op::FAcos, true))
      .Case("math.atan", form(Op::FAtan, true))
      .Case("math.sinh", form(Op::FSinh, true))
      .Case("math.cosh", form(Op::FCosh, true))
      .Case("math.tanh", form(Op::FTanh, true))
      .Case("math.erf", form(Op::FErf, true))
      .Case("math.erfc", form(Op::FErfc, true))
      .Case("math.floor", form(Op::FFloor, true))
      .Case("math.ceil", form(Op::FCeil, true))
      .Case("math.trunc", form(Op::FTrunc, true))
      .Case("math.roundeven", form(Op::FRoundEven, true))
      .Default(std::nullopt);
}

/// The register of the integer that was converted to this float; nullopt if there is none.
std::optional<uint32_t> PlanWriter::integerOf(Value real) {
  Operation *def = real.getDefiningOp();
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(def)) {
    return intRegister(def->getOperand(0));
  }
  FloatAttr constant;
  if (matchPattern(real, m_Constant(&constant)) && constant.getValue().isInteger()) {
    return builder.intConstant(static_cast<int64_t>(constant.getValueAsDouble()));
  }
  return std::nullopt;
}

LogicalResult PlanWriter::writeScalar(Operation &op) {
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    Type to = truncation.getType();
    Op rounding = to.isF16() ? Op::FToF16 : to.isBF16() ? Op::FToBF16 : Op::FToF32;
    uint32_t result = builder.newFloat();
    floats[truncation.getResult()] =
        builder.emitTo(openProgram(), result, rounding, floatRegister(truncation.getIn()));
    return success();
  }
  if (isa<arith::DivFOp>(op) && kPythonAttr.isOn(&op)) {
    std::optional<uint32_t> left = integerOf(op.getOperand(0)), right = integerOf(op.getOperand(1));
    if (left && right) {
      floats[op.getResult(0)] =
          builder.emitTo(openProgram(), builder.newFloat(), Op::TrueDiv, *left, *right);
      return success();
    }
  }
  auto form = op.getNumResults() == 1 ? scalarForm(op) : std::nullopt;
  if (!form) {
    return error(op) << "'" << op.getName()
                     << "' has no form on host scalars; leave it inside of a region";
  }
  SmallVector<uint32_t, 3> operands;
  for (Value operand : op.getOperands()) {
    operands.push_back(isa<FloatType>(operand.getType()) ? floatRegister(operand)
                                                         : intRegister(operand));
  }
  if (isa<arith::TruncIOp>(op)) {
    operands.push_back(builder.intConstant(1));
  }
  operands.resize(3, 0);
  uint32_t program = openProgram();
  Value result = op.getResult(0);
  if (form->floatResult) {
    floats[result] = builder.emitTo(program, builder.newFloat(), form->op, operands[0], operands[1],
                                    operands[2]);
  } else {
    ints[result] = builder.emit(program, form->op, operands[0], operands[1], operands[2]);
  }
  return success();
}

LogicalResult PlanWriter::writeConstant(Operation &op, Attribute value) {
  Value result = op.getResult(0);
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    bool isBool = integer.getType().isInteger(1);
    ints[result] = builder.intConstant(isBool ? integer.getValue().getZExtValue()
                                              : integer.getValue().getSExtValue());
    return success();
  }
  if (auto real = dyn_cast<FloatAttr>(value)) {
    floats[result] = builder.floatConstant(real.getValueAsDouble());
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(value);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!elements || !type || type.getRank() != 0) {
    return error(op) << "a constant of type " << result.getType()
                     << " outside of a region; only scalars and rank 0 are";
  }
  format::Dtype dtype = dtypeOf(getTorchDtype(result).getValue());
  uint32_t reg = newTensor(
      result, dtype, LayoutAttr::get(op.getContext(), {}, SizeExpr::constant(op.getContext(), 0)),
      result);
  uint32_t scalar;
  if (isa<FloatType>(type.getElementType())) {
    llvm::APFloat number = elements.getSplatValue<llvm::APFloat>();
    bool lost;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    scalar = builder.floatConstant(number.convertToDouble());
  } else {
    llvm::APInt number = elements.getSplatValue<llvm::APInt>();
    scalar = builder.intConstant(number.getBitWidth() == 1 ? number.getZExtValue()
                                                           : number.getSExtValue());
  }
  auto &step = builder.step<format::WrapT>();
  step.tensor = reg;
  step.reg = scalar;
  return success();
}

LogicalResult PlanWriter::writeWrap(Operation &op, Value scalar) {
  Value result = op.getResult(0);
  format::Dtype dtype = dtypeOf(getTorchDtype(result).getValue());
  uint32_t reg = newTensor(
      result, dtype, LayoutAttr::get(op.getContext(), {}, SizeExpr::constant(op.getContext(), 0)),
      result);
  auto &step = builder.step<format::WrapT>();
  step.tensor = reg;
  step.reg = isa<FloatType>(scalar.getType()) ? floatRegister(scalar) : intRegister(scalar);
  return success();
}

} // namespace frit
