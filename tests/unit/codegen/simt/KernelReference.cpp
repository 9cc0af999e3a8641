#include "tests/unit/codegen/simt/KernelReference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::test;

int64_t ReferenceTensor::numElements() const {
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  return count;
}

double mlir::frit::test::roundToType(double value, Type type) {
  if (type.isF64() || std::isnan(value) || std::isinf(value)) {
    return value;
  }
  llvm::APFloat exact(value);
  bool lost;
  exact.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &lost);
  exact.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return exact.convertToDouble();
}

std::vector<int64_t> mlir::frit::test::evaluateSizes(RankedTensorType type,
                                                     const Lookup &parameters) {
  std::vector<int64_t> sizes;
  for (SizeExpr size : getSizes(type)) {
    sizes.push_back(*size.evaluate(parameters));
  }
  return sizes;
}

namespace {

using Index = std::vector<int64_t>;

class Interpreter {
public:
  explicit Interpreter(const Lookup &parameters) : parameters(parameters) {}

  std::vector<ReferenceTensor> run(KernelOp kernel, std::vector<ReferenceTensor> &arguments) {
    Block &body = kernel.getBody().front();
    for (auto [argument, tensor] : llvm::zip(body.getArguments(), arguments)) {
      values[argument] = tensor;
    }
    for (Operation &op : body.without_terminator()) {
      values[op.getResult(0)] = evaluate(&op);
    }
    std::vector<ReferenceTensor> results;
    for (Value value : body.getTerminator()->getOperands()) {
      results.push_back(values[value]);
    }
    return results;
  }

private:
  ReferenceTensor make(Type type) {
    ReferenceTensor result;
    auto tensor = dyn_cast<RankedTensorType>(type);
    result.element = tensor ? tensor.getElementType() : type;
    if (tensor) {
      result.sizes = evaluateSizes(tensor, parameters);
    }
    if (result.isFloat()) {
      result.reals.resize(result.numElements());
    } else {
      result.integers.resize(result.numElements());
    }
    return result;
  }
  static Index unravel(int64_t linear, const std::vector<int64_t> &sizes) {
    Index index(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
      index[d] = linear % sizes[d];
      linear /= sizes[d];
    }
    return index;
  }
  static int64_t ravel(const Index &index, const std::vector<int64_t> &sizes) {
    int64_t linear = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      EXPECT_TRUE(index[d] >= 0 && index[d] < sizes[d]);
      linear = linear * sizes[d] + index[d];
    }
    return linear;
  }
  int64_t evaluate(SizeExpr expr, const Index &dims, const Index &loaded = {}) {
    return *expr.evaluate([&](SizeSymbolAttr symbol) -> std::optional<int64_t> {
      return symbol.isDim()     ? dims[symbol.getPosition()]
             : symbol.isValue() ? loaded[symbol.getPosition()]
                                : parameters(symbol);
    });
  }
  static void copy(ReferenceTensor &to, int64_t at, const ReferenceTensor &from, int64_t source) {
    if (to.isFloat()) {
      to.reals[at] = from.reals[source];
    } else {
      to.integers[at] = from.integers[source];
    }
  }
  static void set(ReferenceTensor &to, int64_t at, TypedAttr value) {
    if (to.isFloat()) {
      to.reals[at] = cast<FloatAttr>(value).getValueAsDouble();
    } else {
      auto integer = cast<IntegerAttr>(value).getValue();
      to.integers[at] =
          integer.getBitWidth() == 1 ? integer.getZExtValue() : integer.getSExtValue();
    }
  }

  ReferenceTensor evaluate(Operation *op) {
    ReferenceTensor result = make(op->getResult(0).getType());
    auto operand = [&](unsigned i) -> ReferenceTensor & { return values[op->getOperand(i)]; };
    int64_t count = result.numElements();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      Attribute value = constant.getValue();
      if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
        value = dense.getSplatValue<Attribute>();
      }
      set(result, 0, cast<TypedAttr>(value));
      return result;
    }
    if (isa<tensor::FromElementsOp, ReshapeOp>(op)) {
      result.reals = operand(0).reals;
      result.integers = operand(0).integers;
      return result;
    }
    if (auto size = dyn_cast<SizeOp>(op)) {
      result.integers[0] = evaluate(SizeExpr(size.getSize()), {});
      return result;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      return evaluateReduce(reduce, std::move(result));
    }
    if (auto scan = dyn_cast<ScanOp>(op)) {
      return evaluateScan(scan, std::move(result));
    }
    if (auto segments = dyn_cast<SegmentSumOp>(op)) {
      return evaluateSegments(segments, std::move(result));
    }
    for (int64_t i = 0; i < count; ++i) {
      Index index = unravel(i, result.sizes);
      if (auto reindex = dyn_cast<ReindexOp>(op)) {
        MapAttr map = reindex.getMap();
        bool inside = true;
        for (auto [expr, low, high] :
             llvm::zip(map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs())) {
          int64_t at = evaluate(SizeExpr(expr), index);
          inside &= at >= evaluate(SizeExpr(low), index) && at < evaluate(SizeExpr(high), index);
        }
        if (!inside) {
          set(result, i, *reindex.getFill());
          continue;
        }
        Index source;
        for (SizeAttr expr : map.getResults()) {
          source.push_back(evaluate(SizeExpr(expr), index));
        }
        copy(result, i, operand(0), ravel(source, operand(0).sizes));
      } else if (auto iota = dyn_cast<IotaOp>(op)) {
        result.integers[i] = evaluate(SizeExpr(iota.getExpr()), index);
      } else if (auto concat = dyn_cast<ConcatOp>(op)) {
        unsigned piece = 0;
        while (index[concat.getDim()] >= operand(piece).sizes[concat.getDim()]) {
          index[concat.getDim()] -= operand(piece++).sizes[concat.getDim()];
        }
        copy(result, i, operand(piece), ravel(index, operand(piece).sizes));
      } else if (auto gather = dyn_cast<GatherOp>(op)) {
        Index loaded, source;
        for (Value value : gather.getIndices()) {
          loaded.push_back(values[value].integers[i]);
        }
        for (auto [dim, expr] : llvm::enumerate(gather.getMap().getResults())) {
          int64_t at = evaluate(SizeExpr(expr), index, loaded);
          source.push_back(
              at < 0 && gather.getCheck() == IndexCheck::Wrap ? at + operand(0).sizes[dim] : at);
        }
        copy(result, i, operand(0), ravel(source, operand(0).sizes));
      } else {
        evaluateElement(op, result, i);
      }
    }
    return result;
  }

  ReferenceTensor evaluateSegments(SegmentSumOp op, ReferenceTensor result) {
    const ReferenceTensor &source = values[op.getSource()];
    for (int64_t i = 0; i < result.numElements(); ++i) {
      Index index = unravel(i, result.sizes);
      for (int64_t k = values[op.getBegin()].integers[i]; k < values[op.getEnd()].integers[i];
           ++k) {
        index[0] = op.getOrder() ? values[op.getOrder()].integers[k] : k;
        int64_t from = ravel(index, source.sizes);
        if (source.isFloat()) {
          result.reals[i] += source.reals[from];
        } else {
          result.integers[i] += source.integers[from];
        }
      }
    }
    return result;
  }

  ReferenceTensor evaluateScan(ScanOp op, ReferenceTensor result) {
    const ReferenceTensor &source = values[op.getOperand()];
    bool isSum = op.getKind() == ReduceKind::Sum;
    for (int64_t i = 0; i < source.numElements(); ++i) {
      Index index = unravel(i, source.sizes);
      bool isFirst = index[op.getDim()] == 0;
      index[op.getDim()] -= isFirst ? 0 : 1;
      int64_t before = ravel(index, source.sizes);
      if (source.isFloat()) {
        double y = isFirst ? (isSum ? 0 : 1) : result.reals[before], x = source.reals[i];
        result.reals[i] = isSum ? y + x : y * x;
      } else {
        int64_t y = isFirst ? (isSum ? 0 : 1) : result.integers[before], x = source.integers[i];
        result.integers[i] = isSum ? y + x : y * x;
      }
    }
    return result;
  }

  ReferenceTensor evaluateReduce(ReduceOp op, ReferenceTensor result) {
    const ReferenceTensor &source = values[op.getOperand()];
    ReduceKind kind = op.getKind();
    bool arg = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
    bool isFloat = source.isFloat();
    double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> best(result.numElements(), 0);
    std::vector<bool> any(result.numElements(), false);
    std::vector<int64_t> seen(result.numElements(), 0);
    for (int64_t r = 0; r < result.numElements(); ++r) {
      if (isFloat && !arg) {
        result.reals[r] = kind == ReduceKind::Max    ? -infinity
                          : kind == ReduceKind::Min  ? infinity
                          : kind == ReduceKind::Prod ? 1
                                                     : 0;
      } else if (!arg) {
        result.integers[r] = kind == ReduceKind::Prod || kind == ReduceKind::All ? 1
                             : kind == ReduceKind::Max ? std::numeric_limits<int64_t>::min()
                             : kind == ReduceKind::Min ? std::numeric_limits<int64_t>::max()
                                                       : 0;
      }
    }
    for (int64_t i = 0; i < source.numElements(); ++i) {
      Index index = unravel(i, source.sizes), kept;
      for (size_t d = 0; d < index.size(); ++d) {
        if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(d))) {
          kept.push_back(index[d]);
        }
      }
      int64_t r = ravel(kept, result.sizes);
      double x = isFloat ? source.reals[i] : static_cast<double>(source.integers[i]);
      int64_t n = isFloat ? 0 : source.integers[i];
      if (arg) {
        bool max = kind == ReduceKind::ArgMax;
        bool better = !any[r] || (std::isnan(x) && !std::isnan(best[r])) ||
                      (!std::isnan(best[r]) && (max ? x > best[r] : x < best[r]));
        if (better) {
          best[r] = x;
          result.integers[r] = seen[r];
          any[r] = true;
        }
        ++seen[r];
        continue;
      }
      if (kind == ReduceKind::Deviations) {
        // In one sweep, in order.
        double before = x - best[r];
        best[r] += before / static_cast<double>(++seen[r]);
        result.reals[r] += before * (x - best[r]);
        continue;
      }
      if (isFloat) {
        double &y = result.reals[r];
        y = kind == ReduceKind::Sum          ? y + x
            : kind == ReduceKind::Prod       ? y * x
            : std::isnan(x) || std::isnan(y) ? std::nan("")
            : kind == ReduceKind::Max        ? std::max(x, y)
                                             : std::min(x, y);
      } else {
        int64_t &y = result.integers[r];
        y = kind == ReduceKind::Sum    ? y + n
            : kind == ReduceKind::Prod ? y * n
            : kind == ReduceKind::Max  ? std::max(n, y)
            : kind == ReduceKind::Min  ? std::min(n, y)
            : kind == ReduceKind::Any  ? (y | n)
                                       : (y & n);
      }
    }
    return result;
  }

  void evaluateElement(Operation *op, ReferenceTensor &result, int64_t i) {
    auto real = [&](unsigned k) { return values[op->getOperand(k)].reals[i]; };
    auto integer = [&](unsigned k) { return values[op->getOperand(k)].integers[i]; };
    StringRef name = op->getName().getStringRef();
    auto nan = [](double a, double b) { return std::isnan(a) || std::isnan(b); };
    if (name == "arith.select") {
      return copy(result, i, values[op->getOperand(integer(0) ? 1 : 2)], i);
    }
    if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      bool unordered = nan(real(0), real(1));
      auto code = static_cast<uint64_t>(compare.getPredicate());
      // Predicates are bits: 1 equal, 2 greater, 4 less, 8 unordered.
      uint64_t holds = unordered ? 8 : real(0) > real(1) ? 2 : real(0) < real(1) ? 4 : 1;
      result.integers[i] = (code & holds) != 0;
      return;
    }
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      result.integers[i] =
          arith::applyCmpPredicate(compare.getPredicate(), llvm::APInt(64, integer(0), true),
                                   llvm::APInt(64, integer(1), true));
      return;
    }
    if (!result.isFloat()) {
      int64_t value = name == "arith.addi"   ? integer(0) + integer(1)
                      : name == "arith.subi" ? integer(0) - integer(1)
                      : name == "arith.muli" ? integer(0) * integer(1)
                      : name == "arith.andi" ? integer(0) & integer(1)
                      : name == "arith.ori"  ? integer(0) | integer(1)
                      : name == "arith.extui" || name == "arith.extsi" || name == "arith.trunci"
                          ? integer(0)
                      : name == "arith.fptosi" ? static_cast<int64_t>(real(0))
                                               : unknown(op);
      result.integers[i] = value;
      return;
    }
    double value = name == "arith.addf"   ? real(0) + real(1)
                   : name == "arith.subf" ? real(0) - real(1)
                   : name == "arith.mulf" ? real(0) * real(1)
                   : name == "arith.divf" ? real(0) / real(1)
                   : name == "arith.remf" ? std::fmod(real(0), real(1))
                   : name == "arith.negf" ? -real(0)
                   : name == "arith.maximumf"
                       ? (nan(real(0), real(1)) ? std::nan("") : std::max(real(0), real(1)))
                   : name == "arith.minimumf"
                       ? (nan(real(0), real(1)) ? std::nan("") : std::min(real(0), real(1)))
                   : name == "arith.extf" || name == "arith.truncf" ? real(0)
                   : name == "arith.sitofp"   ? static_cast<double>(integer(0))
                   : name == "arith.uitofp"   ? static_cast<double>(integer(0))
                   : name == "math.exp"       ? std::exp(real(0))
                   : name == "math.log"       ? std::log(real(0))
                   : name == "math.log1p"     ? std::log1p(real(0))
                   : name == "math.sqrt"      ? std::sqrt(real(0))
                   : name == "math.rsqrt"     ? 1 / std::sqrt(real(0))
                   : name == "math.sin"       ? std::sin(real(0))
                   : name == "math.erf"       ? std::erf(real(0))
                   : name == "math.tanh"      ? std::tanh(real(0))
                   : name == "math.powf"      ? std::pow(real(0), real(1))
                   : name == "math.atan2"     ? std::atan2(real(0), real(1))
                   : name == "math.roundeven" ? std::nearbyint(real(0))
                   : name == "math.absf"      ? std::abs(real(0))
                   : isa<ElementFunctionOpInterface>(op)
                       ? cast<ElementFunctionOpInterface>(op).evaluate(real(0))
                       : unknown(op);
    result.reals[i] = roundToType(value, result.element);
  }

  static int64_t unknown(Operation *op) {
    ADD_FAILURE() << "the reference does not know " << op->getName().getStringRef().str();
    return 0;
  }

  const Lookup &parameters;
  llvm::DenseMap<Value, ReferenceTensor> values;
};

} // namespace

std::vector<ReferenceTensor>
mlir::frit::test::evaluateKernel(KernelOp kernel, std::vector<ReferenceTensor> arguments,
                                 const Lookup &parameters) {
  return Interpreter(parameters).run(kernel, arguments);
}
