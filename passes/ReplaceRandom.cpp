// Replaces random operators by formulas of random bits, which kernels compute from each element's
// index.
#include "ir/FritAttributes.h"
#include "passes/Passes.h"
#include "passes/legalize/RewriteCall.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

namespace mlir::frit {
#define GEN_PASS_DEF_REPLACERANDOMPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// The draws of one graph: they share a seed, which is drawn before the first of them, and are
/// numbered.
class Draws {
public:
  explicit Draws(GraphOp graph) : graph(graph) {
    auto device = graph.getDeviceAttr();
    deviceName = device ? device.getValue() : "cpu";
  }
  ~Draws() {
    if (seed && seed->use_empty()) {
      seed->erase();
    }
  }

  bool isOnCuda() const { return deviceName.starts_with("cuda"); }
  bool areMade() const { return seed && !seed->use_empty(); }

  /// Random bits for elements of these sizes: 32 (I32) or 64 (I64) per element.
  Tensor bits(AtenCall &call, ArrayRef<SizeExpr> sizes, DType dtype) {
    TensorBuilder &b = call.build();
    if (!seed) {
      drawSeed(call.getOp());
    }
    OpBuilder &builder = b.getBuilder();
    Value number =
        arith::ConstantOp::create(builder, b.getLoc(), builder.getI64IntegerAttr(next++));
    auto type = getTensorType(sizes, getElementType(b.getContext(), dtype));
    return {RandomOp::create(builder, b.getLoc(), type, seed->getResult(0), number), dtype};
  }

private:
  /// Draws the seed, any 64-bit number but the largest, from torch's generator of the device: so
  /// `manual_seed`, the order of the program's draws and the capture of CUDA graphs apply to it as
  /// to any other draw.
  void drawSeed(AtenOp before) {
    MLIRContext *context = graph.getContext();
    OpBuilder builder(before);
    Attribute none = builder.getUnitAttr(), dtype = DTypeAttr::get(context, DType::I64);
    Attribute arguments[] = {builder.getI64IntegerAttr(std::numeric_limits<int64_t>::min()),
                             builder.getI64IntegerAttr(std::numeric_limits<int64_t>::max()),
                             builder.getArrayAttr({}),
                             dtype,
                             none,
                             TorchEnumAttr::get(context, "device", 0, deviceName),
                             builder.getBoolAttr(false)};
    ArrayAttr nothing = builder.getArrayAttr({});
    Attribute layout =
                  LayoutAttr::get(context, ArrayRef<SizeAttr>(), SizeExpr::constant(context, 0)),
              storage = StorageAttr::get(context, StorageKind::Fresh, 0);
    seed = AtenOp::create(
        builder, before.getLoc(), TypeRange(RankedTensorType::get({}, builder.getI64Type())),
        builder.getStringAttr("aten.randint.low"), ValueRange(), builder.getArrayAttr(arguments),
        ArrayAttr(), nothing, builder.getArrayAttr(dtype), nothing, builder.getArrayAttr(layout),
        builder.getArrayAttr(storage),
        builder.getStringAttr("the seed of the graph's random numbers, from torch's generator"));
  }

  GraphOp graph;
  StringRef deviceName;
  AtenOp seed;
  int64_t next = 0;
};

/// The upper `kept` bits of each element, as a number of the same type.
Tensor upperBits(TensorBuilder &b, Tensor bits, unsigned kept) {
  Tensor distance =
      b.broadcast(b.constantInt(bits.dtype, getBits(bits.dtype) - kept), bits.sizes());
  return {arith::ShRUIOp::create(b.getBuilder(), b.getLoc(), bits.value, distance.value),
          bits.dtype};
}

/// Uniform in [0, 1), in a math dtype with the precision of `dtype`: a multiple of 2^-p for a
/// significand of p bits, so that nothing rounds up to 1.
Tensor uniform(AtenCall &call, Draws &draws, ArrayRef<SizeExpr> sizes, DType dtype) {
  TensorBuilder &b = call.build();
  unsigned precision = dtype == DType::F64   ? 53
                       : dtype == DType::F32 ? 24
                       : dtype == DType::F16 ? 11
                                             : 8;
  Tensor bits = draws.bits(call, sizes, dtype == DType::F64 ? DType::I64 : DType::I32);
  return b.mul(b.cast(upperBits(b, bits, precision), getMathDtype(dtype)),
               std::ldexp(1.0, -static_cast<int>(precision)));
}

/// True with probability p in [0, 1]: u < p for the u of `uniform` in f32, decided in integers.
Tensor isBelow(AtenCall &call, Draws &draws, ArrayRef<SizeExpr> sizes, double p) {
  TensorBuilder &b = call.build();
  if (p == 0 || p == 1) {
    return b.broadcast(b.constantInt(DType::Bool, p == 1), sizes);
  }
  Tensor bits = upperBits(b, draws.bits(call, sizes, DType::I32), 24);
  Tensor limit = b.broadcast(
      b.constantInt(DType::I32, static_cast<int64_t>(std::ceil(std::ldexp(p, 24)))), sizes);
  return b.compare(TensorBuilder::Compare::LT, bits, limit);
}

bool isProbability(double p) { return p >= 0 && p <= 1; }

Values asResult(AtenCall &call, Tensor value) {
  if (call.refused()) {
    return std::nullopt;
  }
  return SmallVector<Tensor>{call.finish(value)};
}

/// native_dropout(input, p, train), dropout(input, p, train): x * mask * scale, where NaN and
/// infinities that are dropped give NaN.
Values dropout(AtenCall &call, Draws &draws) {
  TensorBuilder &b = call.build();
  Tensor x = call.tensor("input");
  double p = call.number("p");
  if (!call.isNone("train") && !call.boolean("train")) {
    return call.refuse("dropout in evaluation draws nothing");
  }
  if (call.refused() || !isFloating(x.dtype) || !isProbability(p)) {
    return call.refuse("dropout of integers, or by a probability outside of [0, 1]");
  }
  DType math = getMathDtype(x.dtype);
  double keep = 1 - p, scale = keep == 0 ? 0 : 1 / keep;
  if (draws.isOnCuda() && math == DType::F32) {
    scale =
        keep == 0 ? 0 : 1 / static_cast<double>(static_cast<float>(keep)); // as ATen's kernel does
  }
  Tensor mask = isBelow(call, draws, x.sizes(), keep);
  Tensor factor = b.select(mask, b.constant(math, scale), b.constant(math, 0)), y;
  if (p == 1 && draws.isOnCuda()) {
    y = b.broadcast(b.constant(math, 0), x.sizes()); // whatever x is
  } else {
    y = b.mul(b.cast(x, math), factor);
  }
  SmallVector<Tensor> results{call.finish(y)};
  if (call.getNumResults() == 2) {
    results.push_back(call.finish(mask, 1));
  }
  return results;
}

/// rand(size, ...), rand_like(self, ...)
Values rand(AtenCall &call, Draws &draws) {
  return isFloating(call.resultDtype())
             ? asResult(call, uniform(call, draws, call.resultSizes(), call.resultDtype()))
             : call.refuse("random numbers of integers");
}

/// bernoulli(self), self holding probabilities
Values bernoulliOfSelf(AtenCall &call, Draws &draws) {
  TensorBuilder &b = call.build();
  Tensor p = call.tensor("self");
  if (!isFloating(p.dtype)) {
    return call.refuse("probabilities that are integers");
  }
  DType math = getMathDtype(p.dtype);
  return asResult(call, b.compare(TensorBuilder::Compare::LT, uniform(call, draws, p.sizes(), math),
                                  b.cast(p, math)));
}

/// bernoulli(self, p)
Values bernoulli(AtenCall &call, Draws &draws) {
  double p = call.number("p");
  return call.refused() || !isProbability(p)
             ? call.refuse("a probability outside of [0, 1]")
             : asResult(call, isBelow(call, draws, call.resultSizes(), p));
}

/// uniform(self, from, to): a value that rounds to `to` becomes `from`, as in eager.
Values uniformBetween(AtenCall &call, Draws &draws) {
  TensorBuilder &b = call.build();
  double from = call.number("from"), to = call.number("to");
  DType dtype = call.resultDtype();
  if (call.refused() || !isFloating(dtype) || !(from <= to) || !std::isfinite(to - from)) {
    return call.refuse("bounds that eager refuses");
  }
  DType math = getMathDtype(dtype);
  Tensor u = uniform(call, draws, call.resultSizes(), math);
  Tensor value = b.cast(b.cast(b.add(b.mul(u, to - from), from), dtype), math);
  Tensor isTo = b.compare(TensorBuilder::Compare::EQ, value, b.cast(b.constant(dtype, to), math));
  return asResult(call, b.select(isTo, b.cast(b.constant(dtype, from), math), value));
}

/// Standard normal by Box and Muller: sqrt(-2 ln u) cos(2 pi v) with u in (0, 1], which reaches 6.7
/// in f32. u and v are the two halves of an element's 64 bits; in f64, the bits of two draws.
Tensor standardNormal(AtenCall &call, Draws &draws, ArrayRef<SizeExpr> sizes, DType math) {
  TensorBuilder &b = call.build();
  constexpr double twoPi = 6.283185307179586;
  Tensor first, second, bits = draws.bits(call, sizes, DType::I64);
  if (math == DType::F64) {
    first = b.add(b.mul(b.cast(upperBits(b, bits, 53), math), std::ldexp(1.0, -53)),
                  std::ldexp(1.0, -53));
    second = b.mul(uniform(call, draws, sizes, math), twoPi);
  } else {
    Tensor low = b.bitAnd(bits, b.broadcast(b.constantInt(DType::I64, 0xFFFFFFFF), sizes));
    first = b.add(b.mul(b.cast(low, math), std::ldexp(1.0, -32)), std::ldexp(1.0, -33));
    second = b.mul(b.cast(upperBits(b, bits, 24), math), twoPi * std::ldexp(1.0, -24));
  }
  Tensor radius = b.math<math::SqrtOp>(b.mul(b.math<math::LogOp>(first), -2.0));
  return b.mul(radius, b.math<math::CosOp>(second));
}

/// randn(size, ...), randn_like(self, ...)
Values randn(AtenCall &call, Draws &draws) {
  DType dtype = call.resultDtype();
  return isFloating(dtype)
             ? asResult(call, standardNormal(call, draws, call.resultSizes(), getMathDtype(dtype)))
             : call.refuse("random numbers of integers");
}

/// normal_functional(self, mean, std)
Values normal(AtenCall &call, Draws &draws) {
  TensorBuilder &b = call.build();
  double mean = call.number("mean"), deviation = call.number("std");
  DType dtype = call.resultDtype();
  if (call.refused() || !isFloating(dtype) || !(deviation >= 0)) {
    return call.refuse("a deviation that eager refuses");
  }
  return asResult(
      call,
      b.add(b.mul(standardNormal(call, draws, call.resultSizes(), getMathDtype(dtype)), deviation),
            mean));
}

using RandomRule = Values (*)(AtenCall &, Draws &);

struct RandomOperator {
  StringRef name;
  RandomRule rule;
  /// The number of its generator argument, if it has one. A call with a generator of its own cannot
  /// use the graph's seed.
  int generator = -1;
};

constexpr RandomOperator kOperators[] = {
    {"aten.native_dropout.default", dropout},
    {"aten.dropout.default", dropout},
    {"aten.rand.default", rand},
    {"aten.rand_like.default", rand},
    {"aten.bernoulli.default", bernoulliOfSelf, 1},
    {"aten.bernoulli.p", bernoulli, 2},
    {"aten.uniform.default", uniformBetween, 3},
    {"aten.randn.default", randn},
    {"aten.randn_like.default", randn},
    {"aten.normal_functional.default", normal, 3},
};

struct ReplaceRandomPass : frit::impl::ReplaceRandomPassBase<ReplaceRandomPass> {
  using ReplaceRandomPassBase::ReplaceRandomPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    SizeFacts facts = graph.getSizeFacts();
    OperatorCounts counts;
    int64_t number = 0;
    Draws draws(graph);
    for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
      auto call = dyn_cast<AtenOp>(op);
      const auto *known = call && !call.getReason()
                              ? llvm::find_if(kOperators,
                                              [&](const RandomOperator &one) {
                                                return one.name == call.getOpName();
                                              })
                              : std::end(kOperators);
      if (known == std::end(kOperators)) {
        continue;
      }
      // Negative, to be distinct from the numbers that legalize-aten gives.
      RewriteOptions options{.contract = !eagerNumerics, .number = markOperators ? --number : 0};
      std::string reason = rewriteCall(call, facts, options, [&](AtenCall &parts) -> Values {
        if (known->generator >= 0 && !parts.isNone(known->generator)) {
          return parts.refuse("a generator of its own");
        }
        return known->rule(parts, draws);
      });
      if (reason.empty()) {
        ++numReplaced;
        ++counts[call.getOpName().str()];
        call.erase();
      } else {
        ++numKept;
      }
    }
    numSeeds += draws.areMade();
    writeCounts(graph, kRandomAttr, counts);
  }
};
} // namespace
