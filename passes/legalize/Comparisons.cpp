// Comparisons, logic on bools, bit operations and shifts, selects.
#include "passes/legalize/Operands.h"

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;

static void addComparison(RuleTable &table, const char *name, Compare predicate) {
  std::string base = std::string("aten.") + name;
  SingleRule rule = [=](AtenCall &call, TensorBuilder &b) {
    Operand left = Operand::get(call, 0), right = Operand::get(call, 1);
    DType dtype = promoted({left, right});
    if (!left.fits(dtype) || !right.fits(dtype)) {
      call.refuse("the scalar is beyond the range of the tensor's dtype");
    }
    // A half type rounds the scalar before it compares.
    DType math = getMathDtype(dtype);
    return b.compare(predicate, b.cast(left.as(b, dtype), math), b.cast(right.as(b, dtype), math));
  };
  table.addSingle({base + ".Tensor", base + ".Scalar"}, rule);
}

using BitFunction = Tensor (TensorBuilder::*)(Tensor, Tensor);

static void addLogical(RuleTable &table, StringRef name, BitFunction function) {
  table.addSingle({name}, [=](AtenCall &call, TensorBuilder &b) {
    Tensor left = b.cast(call.tensor("self"), DType::Bool),
           right = b.cast(call.tensor("other"), DType::Bool);
    return (b.*function)(left, right);
  });
}

static void addBitwise(RuleTable &table, const char *name, BitFunction function) {
  std::string base = std::string("aten.bitwise_") + name;
  std::string written = std::string("aten.__") + name + "__";
  table.addSingle({base + ".Tensor", base + ".Scalar", base + ".Scalar_Tensor", written + ".Tensor",
                   written + ".Scalar"},
                  [=](AtenCall &call, TensorBuilder &b) {
                    Sides sides = Sides::get(call);
                    return (b.*function)(sides.lhs, sides.rhs);
                  });
}

/// As eager: a shift by the width or more, or by a negative amount, gives 0 to the
/// left and the sign to the right.
static Tensor shift(AtenCall &call, TensorBuilder &b, bool left) {
  Sides sides = Sides::get(call);
  DType dtype = sides.lhs.dtype;
  if (!isInteger(dtype)) {
    call.refuse("a shift of a dtype that is not an integer");
    return sides.lhs;
  }
  b.unify(sides.lhs, sides.rhs);
  Tensor width = b.constantInt(dtype, getBits(dtype)), zero = b.constantInt(dtype, 0);
  Tensor outside = b.compare(Compare::GE, sides.rhs, width);
  if (!isUnsigned(dtype)) {
    outside = b.bitOr(outside, b.compare(Compare::LT, sides.rhs, zero));
  }
  OpBuilder &builder = b.getBuilder();
  auto apply = [&](Tensor amount) -> Tensor {
    Value x = sides.lhs.value, y = amount.value;
    if (left) {
      return {arith::ShLIOp::create(builder, b.getLoc(), x, y), dtype};
    }
    return isUnsigned(dtype) ? Tensor{arith::ShRUIOp::create(builder, b.getLoc(), x, y), dtype}
                             : Tensor{arith::ShRSIOp::create(builder, b.getLoc(), x, y), dtype};
  };
  if (left || isUnsigned(dtype)) {
    return b.select(outside, zero, apply(b.select(outside, zero, sides.rhs)));
  }
  return apply(b.select(outside, b.constantInt(dtype, getBits(dtype) - 1), sides.rhs));
}

static Tensor where(AtenCall &call, TensorBuilder &b) {
  Operand left = Operand::get(call, 1), right = Operand::get(call, 2);
  DType dtype = promoted({left, right});
  Tensor condition = b.cast(call.tensor("condition"), DType::Bool);
  return b.select(condition, left.as(b, dtype), right.as(b, dtype));
}

void mlir::frit::addComparisonRules(RuleTable &table) {
  addComparison(table, "eq", Compare::EQ);
  addComparison(table, "ne", Compare::NE);
  addComparison(table, "lt", Compare::LT);
  addComparison(table, "le", Compare::LE);
  addComparison(table, "gt", Compare::GT);
  addComparison(table, "ge", Compare::GE);
  addLogical(table, "aten.logical_and.default", &TensorBuilder::bitAnd);
  addLogical(table, "aten.logical_or.default", &TensorBuilder::bitOr);
  addLogical(table, "aten.logical_xor.default", &TensorBuilder::bitXor);
  addBitwise(table, "and", &TensorBuilder::bitAnd);
  addBitwise(table, "or", &TensorBuilder::bitOr);
  addBitwise(table, "xor", &TensorBuilder::bitXor);
  table.addSingle({"aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar",
                   "aten.bitwise_left_shift.Scalar_Tensor", "aten.__lshift__.Tensor",
                   "aten.__lshift__.Scalar"},
                  [](AtenCall &call, TensorBuilder &b) { return shift(call, b, true); });
  table.addSingle({"aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar",
                   "aten.bitwise_right_shift.Scalar_Tensor", "aten.__rshift__.Tensor",
                   "aten.__rshift__.Scalar"},
                  [](AtenCall &call, TensorBuilder &b) { return shift(call, b, false); });
  table.addSingle(
      {"aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar"},
      where);
  table.addSingle(
      {"aten.masked_fill.Scalar", "aten.masked_fill.Tensor"}, [](AtenCall &call, TensorBuilder &b) {
        Tensor self = call.tensor("self");
        Operand value = Operand::get(call, 2);
        if (!value.converts(call, self.dtype)) {
          call.refuse("eager refuses a value that the type does not hold");
        }
        return b.select(b.cast(call.tensor("mask"), DType::Bool), value.as(b, self.dtype), self);
      });
}
