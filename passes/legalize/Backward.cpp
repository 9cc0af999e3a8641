// Backward forms of functions of one tensor, in the math dtype throughout.
#include "ir/Planted.h"
#include "passes/legalize/Operands.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;

/// Whether the result has the dtype that eager's kernel computes in. The fake kernels of these
/// operators return the gradient's dtype, the real ones promote.
static bool isPromoted(AtenCall &call, Tensor gradient, Tensor saved) {
  Promotion promotion;
  promotion.addTensor(gradient.dtype, gradient.rank());
  promotion.addTensor(saved.dtype, saved.rank());
  if (promotion.get() == call.resultDtype()) {
    return true;
  }
  call.refuse("its kernel computes in " + stringifyDType(promotion.get()) +
              ", the graph was traced with " + stringifyDType(call.resultDtype()));
  return false;
}

/// A rule on (gradient, saved value), both in the math dtype of the result.
static void addBackward(RuleTable &table, StringRef name,
                        std::function<Tensor(AtenCall &, TensorBuilder &, Tensor, Tensor)> rule) {
  table.addSingle({name}, [rule = std::move(rule)](AtenCall &call, TensorBuilder &b) {
    DType math = getMathDtype(call.resultDtype());
    if (!isPromoted(call, call.tensor("grad_output"), call.tensor(1))) {
      return call.tensor("grad_output");
    }
    Tensor gradient = b.cast(call.tensor("grad_output"), math),
           saved = b.cast(call.tensor(1), math);
    b.unify(gradient, saved);
    return rule(call, b, gradient, saved);
  });
}

// gelu_backward(grad, self, approximate)
static Tensor geluBackward(AtenCall &call, TensorBuilder &b, Tensor gradient, Tensor x) {
  if (call.string("approximate") == "tanh") {
    double beta = M_SQRT2 * M_2_SQRTPI * 0.5, kappa = 0.044715;
    Tensor square = b.square(x);
    Tensor inner = b.mul(b.add(x, b.mul(b.mul(square, x), kappa)), beta);
    Tensor bent = b.math<math::TanhOp>(inner);
    Tensor left = b.mul(b.add(bent, 1), 0.5);
    Tensor slope = b.mul(b.add(b.mul(square, 3 * kappa), 1), beta);
    Tensor bend = b.sub(b.constant(x.dtype, 1), b.square(bent));
    Tensor right = b.mul(b.mul(b.mul(x, 0.5), bend), slope);
    return b.mul(gradient, b.add(left, right));
  }
  Tensor cdf = b.mul(b.add(b.math<math::ErfOp>(b.mul(x, M_SQRT1_2)), 1), 0.5);
  Tensor pdf = b.mul(b.math<math::ExpOp>(b.mul(b.square(x), -0.5)), M_2_SQRTPI * M_SQRT1_2 * 0.5);
  return b.mul(gradient, b.add(cdf, b.mul(x, pdf)));
}

void mlir::frit::addBackwardRules(RuleTable &table) {
  addBackward(table, "aten.gelu_backward.default", geluBackward);
  addBackward(table, "aten.tanh_backward.default",
              [](AtenCall &, TensorBuilder &b, Tensor gradient, Tensor y) {
                return b.mul(gradient, b.sub(b.constant(y.dtype, 1), b.square(y)));
              });
  addBackward(table, "aten.sigmoid_backward.default",
              [](AtenCall &, TensorBuilder &b, Tensor gradient, Tensor y) {
                return b.mul(gradient, b.mul(b.sub(b.constant(y.dtype, 1), y), y));
              });
  // threshold_backward(grad, self, threshold)
  addBackward(table, "aten.threshold_backward.default",
              [](AtenCall &call, TensorBuilder &b, Tensor gradient, Tensor x) {
                Compare below = isPlanted(Mistake::GradientAtTie) ? Compare::LT : Compare::LE;
                Tensor dead = b.compare(below, x, b.scalar(call.scalar("threshold"), x.dtype));
                return b.select(dead, b.constant(x.dtype, 0), gradient);
              });
  addBackward(table, "aten.silu_backward.default",
              [](AtenCall &, TensorBuilder &b, Tensor gradient, Tensor x) {
                Tensor one = b.constant(x.dtype, 1);
                Tensor s = b.div(one, b.add(b.math<math::ExpOp>(b.neg(x)), 1));
                Tensor bend = b.add(b.mul(x, b.sub(one, s)), 1);
                return b.mul(gradient, b.mul(s, bend));
              });
  // leaky_relu_backward(grad, self, slope, self_is_result)
  addBackward(table, "aten.leaky_relu_backward.default",
              [](AtenCall &call, TensorBuilder &b, Tensor gradient, Tensor x) {
                Tensor scaled = b.mul(gradient, b.scalar(call.scalar("negative_slope"), x.dtype));
                return b.select(b.compare(Compare::GT, x, 0), gradient, scaled);
              });
  // hardtanh_backward(grad, self, min, max)
  addBackward(table, "aten.hardtanh_backward.default",
              [](AtenCall &call, TensorBuilder &b, Tensor gradient, Tensor x) {
                Tensor low = b.compare(Compare::LE, x, b.scalar(call.scalar("min_val"), x.dtype));
                Tensor high = b.compare(Compare::GE, x, b.scalar(call.scalar("max_val"), x.dtype));
                return b.select(b.bitOr(low, high), b.constant(x.dtype, 0), gradient);
              });
  // softplus_backward(grad, self, beta, threshold)
  addBackward(table, "aten.softplus_backward.default",
              [](AtenCall &call, TensorBuilder &b, Tensor gradient, Tensor x) {
                Tensor scaled = b.mul(x, b.scalar(call.scalar("beta"), x.dtype));
                Tensor z = b.math<math::ExpOp>(scaled);
                Tensor soft = b.div(b.mul(gradient, z), b.add(z, 1));
                Tensor linear =
                    b.compare(Compare::GT, scaled, b.scalar(call.scalar("threshold"), x.dtype));
                return b.select(linear, gradient, soft);
              });
  // elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)
  table.addSingle({"aten.elu_backward.default"}, [](AtenCall &call, TensorBuilder &b) {
    DType math = getMathDtype(call.resultDtype());
    if (!isPromoted(call, call.tensor("grad_output"), call.tensor("self_or_result"))) {
      return call.tensor("grad_output");
    }
    Tensor gradient = b.cast(call.tensor("grad_output"), math),
           x = b.cast(call.tensor("self_or_result"), math);
    Tensor scale = b.scalar(call.scalar("scale"), math),
           inputScale = b.scalar(call.scalar("input_scale"), math);
    Tensor alpha = b.mul(b.scalar(call.scalar("alpha"), math), scale);
    Tensor negative;
    if (call.boolean("is_result")) {
      negative = b.mul(b.mul(gradient, inputScale), b.add(x, alpha));
    } else {
      Tensor power = b.math<math::ExpOp>(b.mul(x, inputScale));
      negative = b.mul(b.mul(gradient, b.mul(inputScale, alpha)), power);
    }
    return b.select(b.compare(Compare::LE, x, 0), negative, b.mul(gradient, scale));
  });
}
