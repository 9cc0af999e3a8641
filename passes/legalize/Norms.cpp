// Layer, group and batch normalisation, forward and backward. Statistics are two-pass (the mean,
// then the mean square about it), accumulated in f32 or wider. Where a row stays in registers the
// second pass reads no memory.
#include "passes/Layouts.h"
#include "passes/legalize/Statistics.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

static Tensor inverseDeviation(TensorBuilder &b, Tensor variance, double eps) {
  return b.math<math::RsqrtOp>(b.add(variance, eps));
}

/// Whether eager accepts weight and bias, and running statistics, `count` arguments from `first`:
/// of the input's type, or f32 beside a half type. Refuses the call if not.
static bool takesParameters(AtenCall &call, unsigned first, unsigned count = 2) {
  DType input = call.tensor("input").dtype;
  for (unsigned i = first; i < first + count; ++i) {
    Tensor parameter = call.optionalTensor(i);
    if (parameter.value && parameter.dtype != input &&
        !(isHalf(input) && parameter.dtype == DType::F32)) {
      call.refuse("eager refuses parameters of this type");
    }
  }
  return !call.refused();
}

/// y * weight + bias where they are given.
static Tensor affine(TensorBuilder &b, Tensor y, Tensor weight, Tensor bias) {
  if (weight.value) {
    y = b.mul(y, b.toMath(weight));
  }
  if (bias.value) {
    y = b.add(y, b.toMath(bias));
  }
  return y;
}

static SmallVector<int64_t> range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}

static SmallVector<Tensor> finishAll(AtenCall &call, ArrayRef<Tensor> results) {
  SmallVector<Tensor> finished;
  for (auto [i, result] : llvm::enumerate(results)) {
    finished.push_back(result.value ? call.finish(result, i) : Tensor{});
  }
  return finished;
}

static bool isEmptyRow(Tensor x, ArrayRef<int64_t> dims) {
  auto sizes = x.sizes();
  return llvm::any_of(dims, [&](int64_t dim) { return sizes[dim].isConstant(0); });
}

//===----------------------------------------------------------------------===//
// Layer normalisation
//===----------------------------------------------------------------------===//

static Values layerNorm(AtenCall &call) {
  if (!takesParameters(call, 2)) {
    return std::nullopt;
  }
  TensorBuilder &b = call.build();
  Tensor x = b.toMath(call.tensor("input"));
  int64_t normalised = call.sizes("normalized_shape").size();
  if (call.refused() || normalised > x.rank()) {
    return call.refuse("normalized_shape has more dimensions than the input");
  }
  SmallVector<int64_t> dims = range(x.rank() - normalised, x.rank());
  if (isEmptyRow(x, dims)) {
    return call.refuse("statistics over no elements");
  }
  Moments m = Moments::get(call, x, dims);
  Tensor rstd = inverseDeviation(b, m.variance, call.number("eps"));
  Tensor y = affine(b, b.mul(m.centered, rstd), call.optionalTensor("weight"),
                    call.optionalTensor("bias"));
  return finishAll(call, {y, m.mean, rstd});
}

static Values layerNormBackward(AtenCall &call) {
  TensorBuilder &b = call.build();
  Tensor grad = b.toMath(call.tensor("grad_out")), x = b.toMath(call.tensor("input"));
  int64_t normalised = call.sizes("normalized_shape").size();
  Tensor mean = b.toMath(call.tensor("mean")), rstd = b.toMath(call.tensor("rstd"));
  Tensor weight = call.optionalTensor("weight");
  if (call.refused() || normalised > x.rank()) {
    return call.refuse("normalized_shape has more dimensions than the input");
  }
  SmallVector<int64_t> inner = range(x.rank() - normalised, x.rank());
  SmallVector<int64_t> outer = range(0, x.rank() - normalised);
  if (isEmptyRow(x, inner)) {
    return call.refuse("statistics over no elements");
  }
  Tensor hat = b.mul(b.sub(x, mean), rstd);
  Tensor scaled = weight.value ? b.mul(grad, b.toMath(weight)) : grad;
  Tensor count = b.sizeValue(b.extent(x, inner), x.dtype);
  Tensor meanScaled = b.div(b.reduce(ReduceKind::Sum, scaled, inner, true), count);
  Tensor meanProduct = b.div(b.reduce(ReduceKind::Sum, b.mul(scaled, hat), inner, true), count);
  Tensor dx = b.mul(rstd, b.sub(b.sub(scaled, meanScaled), b.mul(hat, meanProduct)));
  auto overRows = [&](Tensor value) {
    return outer.empty() ? value : b.reduce(ReduceKind::Sum, value, outer, false);
  };
  auto wanted = [&](unsigned i) {
    return call.resultDtype(i), call.getOp().getResult(i).getType();
  };
  SmallVector<Tensor> results(3);
  if (isa<RankedTensorType>(wanted(0))) {
    results[0] = dx;
  }
  if (isa<RankedTensorType>(wanted(1))) {
    results[1] = overRows(b.mul(grad, hat));
  }
  if (isa<RankedTensorType>(wanted(2))) {
    results[2] = overRows(grad);
  }
  return finishAll(call, results);
}

//===----------------------------------------------------------------------===//
// Group normalisation
//===----------------------------------------------------------------------===//

static Values groupNorm(AtenCall &call) {
  if (!takesParameters(call, 1)) {
    return std::nullopt;
  }
  TensorBuilder &b = call.build();
  Tensor input = call.tensor("input");
  SizeExpr samples = call.size("N"), channels = call.size("C"), pixels = call.size("HxW");
  SizeExpr groups = b.size(call.integer("group"));
  if (call.refused()) {
    return std::nullopt;
  }
  auto perGroup = channels.divideExactly(groups);
  if (!perGroup) {
    return call.refuse("channels are not provably divisible by the groups");
  }
  LayoutAttr layout = call.operandLayout("input");
  auto lies = [&](LayoutAttr as) {
    return satisfies(layout, input.type(), {DemandKind::Exact, as});
  };
  bool isImage = input.type().getRank() == 4;
  if (layout && !lies(getContiguousLayout(input.type())) &&
      !(isImage && lies(getChannelsLastLayout(input.type())))) {
    return call.refuse("eager refuses an operand that is not contiguous");
  }
  if (pixels.isConstant(0) || perGroup->isConstant(0) || samples.isConstant(0)) {
    return call.refuse("statistics over no elements");
  }
  Tensor x = b.reshape(b.toMath(input), {samples, groups, *perGroup, pixels});
  Moments m = Moments::get(call, x, {2, 3});
  Tensor rstd = inverseDeviation(b, m.variance, call.number("eps"));
  auto perChannel = [&](Tensor value) {
    return value.value ? b.reshape(value, {groups, *perGroup, b.size(1)}) : value;
  };
  Tensor y = affine(b, b.mul(m.centered, rstd), perChannel(call.optionalTensor("weight")),
                    perChannel(call.optionalTensor("bias")));
  return finishAll(call, {b.reshape(y, call.resultSizes(0)), b.reshape(m.mean, call.resultSizes(1)),
                          b.reshape(rstd, call.resultSizes(2))});
}

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

/// [C] as [1, C, 1, ...] in front of a tensor of this rank.
static Tensor asChannels(TensorBuilder &b, Tensor x, int64_t rank) {
  if (!x.value) {
    return x;
  }
  SmallVector<SizeExpr> sizes(rank, b.size(1));
  sizes[1] = x.sizes()[0];
  return b.reshape(x, sizes);
}

static Tensor asVector(TensorBuilder &b, Tensor x) { return b.reshape(x, {x.sizes()[1]}); }

static Tensor normaliseBy(AtenCall &call, Tensor x, Tensor mean, Tensor invstd) {
  TensorBuilder &b = call.build();
  Tensor y = b.mul(b.sub(x, asChannels(b, mean, x.rank())), asChannels(b, invstd, x.rank()));
  return affine(b, y, asChannels(b, call.optionalTensor("weight"), x.rank()),
                asChannels(b, call.optionalTensor("bias"), x.rank()));
}

static Values batchNormInference(AtenCall &call) {
  if (!takesParameters(call, 1, 4)) {
    return std::nullopt;
  }
  TensorBuilder &b = call.build();
  Tensor x = b.toMath(call.tensor("input"));
  Tensor mean = b.toMath(call.tensor("running_mean")),
         variance = b.toMath(call.tensor("running_var"));
  if (call.refused() || x.rank() < 2) {
    return call.refuse("input of batch normalisation has less than two dimensions");
  }
  Tensor y = normaliseBy(call, x, mean, inverseDeviation(b, variance, call.number("eps")));
  // Saved statistics are empty tensors: any value broadcast to no elements.
  Tensor none = b.constant(DType::F32, 0);
  return finishAll(call, {y, none, none});
}

static Values batchNormTraining(AtenCall &call) {
  if (!takesParameters(call, 1, 4)) {
    return std::nullopt;
  }
  TensorBuilder &b = call.build();
  Tensor x = b.toMath(call.tensor("input"));
  if (call.refused() || x.rank() < 2) {
    return call.refuse("input of batch normalisation has less than two dimensions");
  }
  if (!call.boolean("training")) {
    return call.refuse("batch normalisation by running statistics with results for training");
  }
  double momentum = call.number("momentum");
  SmallVector<int64_t> dims = {0};
  llvm::append_range(dims, range(2, x.rank()));
  if (isEmptyRow(x, dims)) {
    return call.refuse("statistics over no elements");
  }
  Moments m = Moments::get(call, x, dims);
  Tensor invstd = inverseDeviation(b, m.variance, call.number("eps"));
  Tensor y =
      affine(b, b.mul(m.centered, invstd), asChannels(b, call.optionalTensor("weight"), x.rank()),
             asChannels(b, call.optionalTensor("bias"), x.rank()));
  SizeExpr count = b.extent(x, dims);
  // The running variance is the unbiased one.
  Tensor unbiased = b.mul(asVector(b, m.variance),
                          b.div(b.sizeValue(count, x.dtype), b.sizeValue(count - 1, x.dtype)));
  auto blend = [&](Tensor running, Tensor fresh) {
    return b.add(b.mul(b.toMath(running), 1 - momentum), b.mul(fresh, momentum));
  };
  Tensor mean = asVector(b, m.mean);
  return finishAll(call, {y, mean, asVector(b, invstd), blend(call.tensor("running_mean"), mean),
                          blend(call.tensor("running_var"), unbiased)});
}

// _native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps)
static Values batchNormWithoutStatistics(AtenCall &call) {
  if (!takesParameters(call, 1)) {
    return std::nullopt;
  }
  TensorBuilder &b = call.build();
  Tensor x = b.toMath(call.tensor("input"));
  if (call.refused() || x.rank() < 2 || !call.boolean("training")) {
    return call.refuse("batch normalisation in eval without statistics");
  }
  SmallVector<int64_t> dims = {0};
  llvm::append_range(dims, range(2, x.rank()));
  if (isEmptyRow(x, dims)) {
    return call.refuse("statistics over no elements");
  }
  Moments m = Moments::get(call, x, dims);
  Tensor invstd = inverseDeviation(b, m.variance, call.number("eps"));
  Tensor y =
      affine(b, b.mul(m.centered, invstd), asChannels(b, call.optionalTensor("weight"), x.rank()),
             asChannels(b, call.optionalTensor("bias"), x.rank()));
  return finishAll(call, {y, asVector(b, m.mean), asVector(b, invstd)});
}

// instance_norm(input, weight, bias, mean, var, use_input_stats, momentum, eps, cudnn)
static Values instanceNorm(AtenCall &call) {
  if (!takesParameters(call, 1)) {
    return std::nullopt;
  }
  TensorBuilder &b = call.build();
  Tensor x = b.toMath(call.tensor("input"));
  if (call.refused() || x.rank() < 3 || !call.boolean("use_input_stats") ||
      !call.isNone("running_mean") || !call.isNone("running_var")) {
    return call.refuse("instance normalisation with running statistics");
  }
  SmallVector<int64_t> dims = range(2, x.rank());
  if (isEmptyRow(x, dims)) {
    return call.refuse("statistics over no elements");
  }
  Moments m = Moments::get(call, x, dims);
  Tensor y = b.mul(m.centered, inverseDeviation(b, m.variance, call.number("eps")));
  return finishAll(call, {affine(b, y, asChannels(b, call.optionalTensor("weight"), x.rank()),
                                 asChannels(b, call.optionalTensor("bias"), x.rank()))});
}

void mlir::frit::addNormRules(RuleTable &table) {
  table.add({"aten.native_layer_norm.default"}, layerNorm);
  table.add({"aten.native_layer_norm_backward.default"}, layerNormBackward);
  table.add({"aten.native_group_norm.default"}, groupNorm);
  table.add({"aten._native_batch_norm_legit_no_training.default"}, batchNormInference);
  table.add({"aten._native_batch_norm_legit_functional.default"}, batchNormTraining);
  table.add({"aten._native_batch_norm_legit.no_stats"}, batchNormWithoutStatistics);
  table.add({"aten.instance_norm.default"}, instanceNorm);
}
