// Functions of one tensor.
#include "passes/legalize/AtenCall.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;

/// The operand in the dtype a floating function computes in: integers promote to
/// the result's dtype.
static Tensor floatingOperand(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  return isFloating(x.dtype) ? b.toMath(x) : b.cast(x, getMathDtype(call.resultDtype()));
}

template <typename OpTy> static void addMath(RuleTable &table, StringRef name) {
  table.addSingle({name}, [](AtenCall &call, TensorBuilder &b) {
    return b.math<OpTy>(floatingOperand(call, b));
  });
}

/// Roundings leave integers as they are.
template <typename OpTy> static void addRounding(RuleTable &table, StringRef name) {
  table.addSingle({name}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return isFloating(x.dtype) ? b.math<OpTy>(x) : x;
  });
}

static Tensor sign(TensorBuilder &b, Tensor x) {
  if (isUnsigned(x.dtype)) {
    return b.cast(b.compare(Compare::NE, x, 0), x.dtype);
  }
  // (0 < x) - (x < 0): zero for both zeros and for NaN.
  Tensor positive = b.cast(b.compare(Compare::GT, x, 0), x.dtype);
  return b.sub(positive, b.cast(b.compare(Compare::LT, x, 0), x.dtype));
}

void mlir::frit::addElementwiseRules(RuleTable &table) {
  addMath<math::SqrtOp>(table, "aten.sqrt.default");
  addMath<math::RsqrtOp>(table, "aten.rsqrt.default");
  addMath<math::ExpOp>(table, "aten.exp.default");
  addMath<math::Exp2Op>(table, "aten.exp2.default");
  addMath<math::ExpM1Op>(table, "aten.expm1.default");
  addMath<math::LogOp>(table, "aten.log.default");
  addMath<math::Log2Op>(table, "aten.log2.default");
  addMath<math::Log1pOp>(table, "aten.log1p.default");
  addMath<math::Log10Op>(table, "aten.log10.default");
  addMath<math::SinOp>(table, "aten.sin.default");
  addMath<math::CosOp>(table, "aten.cos.default");
  addMath<math::TanOp>(table, "aten.tan.default");
  addMath<math::TanhOp>(table, "aten.tanh.default");
  addMath<math::SinhOp>(table, "aten.sinh.default");
  addMath<math::CoshOp>(table, "aten.cosh.default");
  addMath<math::AsinOp>(table, "aten.asin.default");
  addMath<math::AcosOp>(table, "aten.acos.default");
  addMath<math::AtanOp>(table, "aten.atan.default");
  addMath<math::AsinhOp>(table, "aten.asinh.default");
  addMath<math::AcoshOp>(table, "aten.acosh.default");
  addMath<math::AtanhOp>(table, "aten.atanh.default");
  addMath<math::ErfOp>(table, "aten.erf.default");
  addMath<math::ErfcOp>(table, "aten.erfc.default");
  addMath<LgammaOp>(table, "aten.lgamma.default");
  addRounding<math::FloorOp>(table, "aten.floor.default");
  addRounding<math::CeilOp>(table, "aten.ceil.default");
  addRounding<math::TruncOp>(table, "aten.trunc.default");
  addRounding<math::TruncOp>(table, "aten.fix.default");
  addRounding<math::RoundEvenOp>(table, "aten.round.default");

  // round(self, decimals)
  table.addSingle({"aten.round.decimals"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    int64_t decimals = call.integer("decimals");
    if (!isFloating(x.dtype) || decimals == 0) {
      return isFloating(x.dtype) ? b.math<math::RoundEvenOp>(x) : x;
    }
    double scale = std::pow(10.0, std::abs(decimals));
    return decimals < 0 ? b.mul(b.math<math::RoundEvenOp>(b.div(x, scale)), scale)
                        : b.div(b.math<math::RoundEvenOp>(b.mul(x, scale)), scale);
  });
  // nan_to_num(self, nan, posinf, neginf)
  table.addSingle({"aten.nan_to_num.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    if (!isFloating(x.dtype)) {
      return x;
    }
    auto semantics = [&]() -> const llvm::fltSemantics & {
      return cast<FloatType>(getElementType(b.getContext(), x.dtype)).getFloatSemantics();
    };
    double largest = APFloat::getLargest(semantics()).convertToDouble();
    auto given = [&](unsigned place, double otherwise) {
      return b.constant(x.dtype, call.isNone(place) ? otherwise : call.number(place));
    };
    Tensor wide = b.toMath(x);
    Tensor result = b.select(b.compare(Compare::EQ, wide, INFINITY), given(2, largest), x);
    result = b.select(b.compare(Compare::EQ, wide, -INFINITY), given(3, -largest), result);
    return b.select(b.isNan(wide), given(1, 0), result);
  });
  table.addSingle({"aten.frac.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return isFloating(x.dtype) ? b.sub(x, b.math<math::TruncOp>(x)) : b.constantInt(x.dtype, 0);
  });
  table.addSingle({"aten.abs.default"}, [](AtenCall &call, TensorBuilder &b) {
    return b.abs(b.toMath(call.tensor("self")));
  });
  table.addSingle({"aten.neg.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    if (x.dtype == DType::Bool) {
      call.refuse("eager refuses to negate bool");
    }
    return b.neg(b.toMath(x));
  });
  table.addSingle({"aten.sign.default", "aten.sgn.default"}, [](AtenCall &call, TensorBuilder &b) {
    return sign(b, b.toMath(call.tensor("self")));
  });
  table.addSingle({"aten.reciprocal.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = floatingOperand(call, b);
    return b.div(b.constant(x.dtype, 1), x);
  });
  table.addSingle({"aten.square.default"}, [](AtenCall &call, TensorBuilder &b) {
    return b.square(b.toMath(call.tensor("self")));
  });
  table.addSingle({"aten.sigmoid.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = floatingOperand(call, b);
    return b.div(b.constant(x.dtype, 1), b.add(b.math<math::ExpOp>(b.neg(x)), 1));
  });
  table.addSingle({"aten.logical_not.default"}, [](AtenCall &call, TensorBuilder &b) {
    return b.logicalNot(b.cast(call.tensor("self"), DType::Bool));
  });
  table.addSingle({"aten.bitwise_not.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    return b.bitXor(x, b.constantInt(x.dtype, x.dtype == DType::Bool ? 1 : -1));
  });
  table.addSingle({"aten.isnan.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return isFloating(x.dtype) ? b.isNan(x) : b.constantInt(DType::Bool, 0);
  });
  table.addSingle({"aten.isinf.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return isFloating(x.dtype) ? b.compare(Compare::EQ, b.abs(x), INFINITY)
                               : b.constantInt(DType::Bool, 0);
  });
  table.addSingle({"aten.isfinite.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return isFloating(x.dtype) ? b.compare(Compare::LT, b.abs(x), INFINITY)
                               : b.constantInt(DType::Bool, 1);
  });
}
