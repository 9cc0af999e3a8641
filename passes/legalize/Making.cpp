// Tensors without operands: filled, counted, uninitialised (which are zeros here).
#include "passes/legalize/Operands.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

static Tensor zeroOfResult(AtenCall &call, TensorBuilder &b) {
  return b.constantInt(call.resultDtype(), 0);
}

static SingleRule fillWith(unsigned place) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Operand value = Operand::get(call, place);
    if (!value.converts(call, call.resultDtype())) {
      call.refuse("eager refuses a value that the type does not hold");
    }
    return value.as(b, call.resultDtype());
  };
}

/// start + step * i. Integers are exact; floats are computed in f64 as eager's
/// accumulator does and rounded once.
static Tensor arange(AtenCall &call, TensorBuilder &b, Scalar start, Scalar step) {
  SmallVector<SizeExpr> sizes = call.resultSizes();
  DType dtype = call.resultDtype();
  auto asSize = [&](const Scalar &scalar) -> SizeExpr {
    if (auto *literal = std::get_if<int64_t>(&scalar.value)) {
      return b.size(*literal);
    }
    auto *host = std::get_if<Value>(&scalar.value);
    return host && host->getType().isInteger(64) ? getSizeExpr(*host) : SizeExpr();
  };
  SizeExpr first = asSize(start), stride = asSize(step);
  if (first && stride) {
    return b.cast(b.iota(b.dim(0) * stride + first, sizes), dtype);
  }
  DType math = isFloating(dtype) ? DType::F64 : DType::I64;
  Tensor index = b.cast(b.iota(b.dim(0), sizes), math);
  Tensor value = b.add(b.scalar(start, math), b.mul(b.scalar(step, math), index));
  return b.cast(value, dtype);
}

void mlir::frit::addMakingRules(RuleTable &table) {
  table.addSingle(
      {"aten.full.default", "aten.full_like.default", "aten.fill.Scalar", "aten.fill.Tensor"},
      fillWith(1));
  table.addSingle({"aten.new_full.default"}, fillWith(2));
  table.addSingle({"aten.scalar_tensor.default"}, fillWith(0));
  table.addSingle({"aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default",
                   "aten.zero.default"},
                  zeroOfResult);
  table.addSingle(
      {"aten.ones.default", "aten.ones_like.default", "aten.new_ones.default"},
      [](AtenCall &call, TensorBuilder &b) { return b.constantInt(call.resultDtype(), 1); });
  table.addSingle({"aten.empty.memory_format", "aten.empty_like.default",
                   "aten.empty_strided.default", "aten.empty_permuted.default",
                   "aten.new_empty.default", "aten.new_empty_strided.default"},
                  zeroOfResult);
  Scalar zero{int64_t(0)}, one{int64_t(1)};
  table.addSingle({"aten.arange.start_step"}, [](AtenCall &call, TensorBuilder &b) {
    return arange(call, b, call.scalar("start"), call.scalar("step"));
  });
  table.addSingle({"aten.arange.start"}, [=](AtenCall &call, TensorBuilder &b) {
    return arange(call, b, call.scalar("start"), one);
  });
  table.addSingle({"aten.arange.default"},
                  [=](AtenCall &call, TensorBuilder &b) { return arange(call, b, zero, one); });
  // prims.iota(length, start, step)
  table.addSingle({"prims.iota.default"}, [](AtenCall &call, TensorBuilder &b) {
    return arange(call, b, call.scalar("start"), call.scalar("step"));
  });
}
