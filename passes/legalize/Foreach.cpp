// `_foreach_` arithmetic: one elementwise rule over each tensor of the list. Fusion
// puts the results of equal types into one kernel again.
#include "passes/legalize/AtenCall.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
using Unary = std::function<Tensor(TensorBuilder &, Tensor)>;
using Binary = std::function<Tensor(TensorBuilder &, Tensor, Tensor)>;

/// The second operand of element i of a list, in the dtype the element computes in.
enum class Second { Scalar, ScalarList, List, Tensor };
} // namespace

/// Element i of result i's dtype, in the dtype it computes in.
static DType mathDtype(AtenCall &call, unsigned i) { return getMathDtype(call.resultDtype(i)); }

static Tensor second(AtenCall &call, Second kind, unsigned argument, unsigned i, DType dtype) {
  TensorBuilder &b = call.build();
  switch (kind) {
  case Second::Scalar:
    return b.scalar(call.scalar(argument), dtype);
  case Second::ScalarList: {
    auto scalars = call.scalarList(argument);
    if (i >= scalars.size()) {
      call.refuse("list of scalars is shorter than the list of tensors");
      return b.constant(dtype, 0);
    }
    return b.scalar(scalars[i], dtype);
  }
  case Second::List: {
    auto tensors = call.tensorList(argument);
    if (i >= tensors.size()) {
      call.refuse("lists of tensors differ in length");
      return b.constant(dtype, 0);
    }
    return b.cast(tensors[i], dtype);
  }
  case Second::Tensor:
    return b.cast(call.tensor(argument), dtype);
  }
  llvm_unreachable("kind of second operand");
}

/// `make` gives element i of the result from self[i].
static Values each(AtenCall &call, unsigned listArgument,
                   llvm::function_ref<Tensor(TensorBuilder &, Tensor, unsigned, DType)> make) {
  TensorBuilder &b = call.build();
  SmallVector<Tensor> self = call.tensorList(listArgument), results;
  if (call.refused() || self.size() != call.getNumResults()) {
    return call.refuse("number of results is not that of the tensors");
  }
  for (auto [i, x] : llvm::enumerate(self)) {
    DType dtype = mathDtype(call, i);
    Tensor result = make(b, b.cast(x, dtype), i, dtype);
    if (call.refused()) {
      return std::nullopt;
    }
    results.push_back(call.finish(result, i));
  }
  return results;
}

static void addUnary(RuleTable &table, StringRef name, Unary rule) {
  table.add({("aten._foreach_" + name + ".default").str()}, [rule](AtenCall &call) {
    return each(call, 0, [&](TensorBuilder &b, Tensor x, unsigned, DType) { return rule(b, x); });
  });
}

/// The overloads Scalar, ScalarList, List and, with `alpha` after the second operand
/// where the operator has one, Tensor.
static void addBinary(RuleTable &table, StringRef name, Binary rule, bool hasAlpha = false) {
  std::pair<StringRef, Second> overloads[] = {{"Scalar", Second::Scalar},
                                              {"ScalarList", Second::ScalarList},
                                              {"List", Second::List},
                                              {"Tensor", Second::Tensor}};
  for (auto [overload, kind] : overloads) {
    bool scaled = hasAlpha && (kind == Second::List || kind == Second::Tensor);
    table.add({("aten._foreach_" + name + "." + overload).str()},
              [rule, kind = kind, scaled](AtenCall &call) {
                return each(call, 0, [&](TensorBuilder &b, Tensor x, unsigned i, DType dtype) {
                  Tensor other = second(call, kind, 1, i, dtype);
                  if (scaled && call.getNumArguments() > 2 && !call.scalar(2).isLiteral(1)) {
                    other = b.mul(other, b.scalar(call.scalar(2), dtype));
                  }
                  return rule(b, x, other);
                });
              });
  }
}

/// self + value * (tensor1 op tensor2), as `(value * tensor1) op tensor2`.
static void addFused(RuleTable &table, StringRef name, Binary rule) {
  std::pair<StringRef, Second> overloads[] = {{"Scalar", Second::Scalar},
                                              {"ScalarList", Second::ScalarList}};
  for (auto [overload, kind] : overloads) {
    table.add({("aten._foreach_" + name + "." + overload).str()},
              [rule, kind = kind](AtenCall &call) {
                return each(call, 0, [&](TensorBuilder &b, Tensor x, unsigned i, DType dtype) {
                  Tensor first = second(call, Second::List, 1, i, dtype);
                  Tensor other = second(call, Second::List, 2, i, dtype);
                  Tensor value = second(call, kind, 3, i, dtype);
                  return b.add(x, rule(b, b.mul(value, first), other));
                });
              });
  }
}

static Tensor lerp(TensorBuilder &b, Tensor start, Tensor end, Tensor weight) {
  // The end that is nearer is the one that is moved: both ends are then exact.
  Tensor difference = b.sub(end, start);
  Tensor one = b.constant(start.dtype, 1);
  Tensor fromStart = b.add(start, b.mul(weight, difference));
  Tensor fromEnd = b.sub(end, b.mul(difference, b.sub(one, weight)));
  return b.select(b.compare(TensorBuilder::Compare::LT, b.abs(weight), 0.5), fromStart, fromEnd);
}

void mlir::frit::addForeachRules(RuleTable &table) {
  addUnary(table, "neg", [](TensorBuilder &b, Tensor x) { return b.neg(x); });
  addUnary(table, "abs", [](TensorBuilder &b, Tensor x) { return b.abs(x); });
  addUnary(table, "sqrt", [](TensorBuilder &b, Tensor x) { return b.math<math::SqrtOp>(x); });
  addUnary(table, "rsqrt", [](TensorBuilder &b, Tensor x) { return b.math<math::RsqrtOp>(x); });
  addUnary(table, "exp", [](TensorBuilder &b, Tensor x) { return b.math<math::ExpOp>(x); });
  addUnary(table, "log", [](TensorBuilder &b, Tensor x) { return b.math<math::LogOp>(x); });
  addUnary(table, "reciprocal", [](TensorBuilder &b, Tensor x) {
    return b.div(b.constant(x.dtype, 1), x);
  });
  addBinary(table, "add", [](TensorBuilder &b, Tensor x, Tensor y) { return b.add(x, y); }, true);
  addBinary(table, "sub", [](TensorBuilder &b, Tensor x, Tensor y) { return b.sub(x, y); }, true);
  addBinary(table, "mul", [](TensorBuilder &b, Tensor x, Tensor y) { return b.mul(x, y); });
  addBinary(table, "div", [](TensorBuilder &b, Tensor x, Tensor y) { return b.div(x, y); });
  Binary larger = [](TensorBuilder &b, Tensor x, Tensor y) { return b.maximum(x, y); };
  Binary smaller = [](TensorBuilder &b, Tensor x, Tensor y) { return b.minimum(x, y); };
  addBinary(table, "maximum", larger);
  addBinary(table, "minimum", smaller);
  addBinary(table, "clamp_min", larger);
  addBinary(table, "clamp_max", smaller);
  addFused(table, "addcmul", [](TensorBuilder &b, Tensor x, Tensor y) { return b.mul(x, y); });
  addFused(table, "addcdiv", [](TensorBuilder &b, Tensor x, Tensor y) { return b.div(x, y); });

  std::pair<StringRef, Second> weights[] = {{"Scalar", Second::Scalar},
                                            {"ScalarList", Second::ScalarList},
                                            {"List", Second::List}};
  for (auto [overload, kind] : weights) {
    table.add({("aten._foreach_lerp." + overload).str()}, [kind = kind](AtenCall &call) {
      return each(call, 0, [&](TensorBuilder &b, Tensor x, unsigned i, DType dtype) {
        return lerp(b, x, second(call, Second::List, 1, i, dtype),
                    second(call, kind, 2, i, dtype));
      });
    });
  }
  table.add({"aten._foreach_pow.ScalarAndTensor"}, [](AtenCall &call) {
    return each(call, 1, [&](TensorBuilder &b, Tensor x, unsigned, DType dtype) {
      if (!isFloating(dtype)) {
        call.refuse("power of integers");
        return x;
      }
      return b.math<math::PowFOp>(b.scalar(call.scalar(0), dtype), x);
    });
  });
}
