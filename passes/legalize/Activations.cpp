// Activation functions, with the operations and in the order of eager's kernels.
#include "passes/legalize/Operands.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;

static Tensor gelu(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("self"));
  Tensor half = b.mul(x, 0.5);
  if (call.string("approximate") == "tanh") {
    Tensor cube = b.mul(b.square(x), x);
    Tensor inner = b.mul(b.add(x, b.mul(cube, 0.044715)), M_SQRT2 * M_2_SQRTPI * 0.5);
    return b.mul(half, b.add(b.math<math::TanhOp>(inner), 1));
  }
  return b.mul(half, b.add(b.math<math::ErfOp>(b.mul(x, M_SQRT1_2)), 1));
}

static Tensor sigmoid(TensorBuilder &b, Tensor x) {
  return b.div(b.constant(x.dtype, 1), b.add(b.math<math::ExpOp>(b.neg(x)), 1));
}

void mlir::frit::addActivationRules(RuleTable &table) {
  table.addSingle({"aten.relu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return clampLow(b, x, b.constantInt(x.dtype, 0));
  });
  table.addSingle({"aten.gelu.default"}, gelu);
  table.addSingle({"aten.silu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return b.div(x, b.add(b.math<math::ExpOp>(b.neg(x)), 1));
  });
  table.addSingle({"aten.leaky_relu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor scaled = b.mul(x, b.scalar(call.scalar("negative_slope"), x.dtype));
    return b.select(b.compare(Compare::GT, x, 0), x, scaled);
  });
  // elu(x, alpha, scale, input_scale)
  table.addSingle({"aten.elu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor scale = b.scalar(call.scalar("scale"), x.dtype);
    Tensor negative = b.mul(b.scalar(call.scalar("alpha"), x.dtype), scale);
    Tensor inner = b.math<math::ExpM1Op>(b.mul(x, b.scalar(call.scalar("input_scale"), x.dtype)));
    return b.select(b.compare(Compare::LT, x, 0), b.mul(inner, negative), b.mul(x, scale));
  });
  table.addSingle({"aten.selu.default"}, [](AtenCall &call, TensorBuilder &b) {
    double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    Tensor x = b.toMath(call.tensor("self"));
    Tensor negative = b.mul(b.math<math::ExpM1Op>(x), b.mul(b.constant(x.dtype, alpha), scale));
    return b.select(b.compare(Compare::LT, x, 0), negative, b.mul(x, scale));
  });
  // celu(x, alpha)
  table.addSingle({"aten.celu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor alpha = b.scalar(call.scalar("alpha"), x.dtype);
    Tensor inner = b.math<math::ExpM1Op>(b.mul(x, b.div(b.constant(x.dtype, 1), alpha)));
    return b.select(b.compare(Compare::LT, x, 0), b.mul(inner, alpha), x);
  });
  // hardshrink(x, lambd) and softshrink(x, lambd): NaN stays.
  table.addSingle({"aten.hardshrink.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor inside = b.compare(Compare::LE, b.abs(x), b.scalar(call.scalar("lambd"), x.dtype));
    return b.select(inside, b.constant(x.dtype, 0), x);
  });
  table.addSingle({"aten.softshrink.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self")), limit = b.scalar(call.scalar("lambd"), x.dtype);
    Tensor low = b.compare(Compare::LT, x, b.neg(limit));
    Tensor inner = b.select(low, b.add(x, limit), b.mul(x, 0.0));
    return b.select(b.compare(Compare::GT, x, limit), b.sub(x, limit), inner);
  });
  // prelu(x, weight): one slope, or one per channel.
  table.addSingle({"aten.prelu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self")), weight = b.toMath(call.tensor("weight"));
    SmallVector<SizeExpr> sizes(std::max<int64_t>(x.rank(), 1), b.size(1));
    if (weight.rank() == 1 && !weight.sizes()[0].isConstant(1) && x.rank() > 1) {
      sizes[1] = weight.sizes()[0];
    }
    if (x.rank() == 0) {
      sizes.clear();
    }
    return b.select(b.compare(Compare::GT, x, 0), x, b.mul(b.reshape(weight, sizes), x));
  });
  // softplus(x, beta, threshold)
  table.addSingle({"aten.softplus.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor beta = b.scalar(call.scalar("beta"), x.dtype);
    Tensor scaled = b.mul(x, beta);
    Tensor soft = b.div(b.math<math::Log1pOp>(b.math<math::ExpOp>(scaled)), beta);
    Tensor linear = b.compare(Compare::GT, scaled, b.scalar(call.scalar("threshold"), x.dtype));
    return b.select(linear, x, soft);
  });
  auto relu6 = [](TensorBuilder &b, Tensor x) {
    return clampHigh(b, clampLow(b, x, b.constant(x.dtype, 0)), b.constant(x.dtype, 6));
  };
  table.addSingle({"aten.hardsigmoid.default"}, [=](AtenCall &call, TensorBuilder &b) {
    return b.div(relu6(b, b.add(b.toMath(call.tensor("self")), 3)), 6);
  });
  table.addSingle({"aten.hardswish.default"}, [=](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    return b.div(b.mul(x, relu6(b, b.add(x, 3))), 6);
  });
  table.addSingle({"aten.relu6.default"}, [=](AtenCall &call, TensorBuilder &b) {
    return relu6(b, b.toMath(call.tensor("self")));
  });
  table.addSingle({"aten.mish.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor soft = b.math<math::Log1pOp>(b.math<math::ExpOp>(x));
    return b.mul(x, b.math<math::TanhOp>(soft));
  });
  table.addSingle({"aten.log_sigmoid.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor low = b.minimum(x, b.constant(x.dtype, 0));
    Tensor rest = b.math<math::Log1pOp>(b.math<math::ExpOp>(b.neg(b.abs(x))));
    return b.sub(low, rest);
  });
  // threshold(x, threshold, value): NaN is kept, as x <= threshold fails.
  table.addSingle({"aten.threshold.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    Tensor beyond = b.compare(Compare::LE, x, b.scalar(call.scalar("threshold"), x.dtype));
    return b.select(beyond, b.scalar(call.scalar("value"), x.dtype), x);
  });
  table.addSingle({"aten.glu.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = b.toMath(call.tensor("self"));
    int64_t dim = call.dim("dim", x.rank());
    SizeExpr half = call.resultSizes()[dim];
    Tensor gate = b.slice(x, dim, half, half);
    return b.mul(b.slice(x, dim, b.size(0), half), sigmoid(b, gate));
  });
}
