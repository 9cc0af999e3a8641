// Operators that torch.compile decomposes or drops before frit gets the graph, but that an exported
// program contains. Each is written like torch's own decomposition.
#include "ir/FritAttributes.h"
#include "passes/legalize/Operands.h"
#include "passes/legalize/Statistics.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;
using Dims = SmallVector<int64_t>;

// layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable)
static Tensor composeLayerNorm(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("input"));
  int64_t count = call.sizes("normalized_shape").size();
  Dims dims;
  for (int64_t i = x.rank() - count; i < x.rank(); ++i) {
    dims.push_back(i);
  }
  Moments moments = Moments::get(call, x, dims);
  Tensor y =
      b.mul(moments.centered, b.math<math::RsqrtOp>(b.add(moments.variance, call.number("eps"))));
  if (!call.isNone("weight")) {
    y = b.mul(y, b.toMath(call.tensor("weight")));
  }
  return call.isNone("bias") ? y : b.add(y, b.toMath(call.tensor("bias")));
}

// rms_norm(input, normalized_shape, weight, eps)
static Tensor rmsNorm(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("input"));
  int64_t count = call.sizes("normalized_shape").size();
  Dims dims;
  for (int64_t i = x.rank() - count; i < x.rank(); ++i) {
    dims.push_back(i);
  }
  if (call.isNone("eps") && isHalf(call.tensor("input").dtype)) {
    call.refuse("the default epsilon of a half type");
    return x;
  }
  double epsilon = !call.isNone("eps")     ? call.number("eps")
                   : x.dtype == DType::F64 ? 0x1p-52
                                           : 0x1p-23;
  Tensor mean = meanOver(b, b.square(x), dims, /*keep=*/true);
  Tensor y = b.mul(x, b.math<math::RsqrtOp>(b.add(mean, epsilon)));
  return call.isNone("weight") ? y : b.mul(y, b.toMath(call.tensor("weight")));
}

// group_norm(input, num_groups, weight, bias, eps, cudnn_enabled)
static Tensor composeGroupNorm(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("input"));
  SmallVector<SizeExpr> sizes = x.sizes();
  SizeExpr groups = b.size(call.integer("num_groups"));
  auto channels =
      groups.isConstant(0) || sizes.size() < 2 ? std::nullopt : sizes[1].divideExactly(groups);
  if (!channels) {
    call.refuse("channels are not provably divisible by the groups");
    return x;
  }
  SizeExpr pixels = product(b.getContext(), ArrayRef(sizes).drop_front(2));
  Tensor grouped = b.reshape(x, {sizes[0], groups, *channels, pixels});
  Moments moments = Moments::get(call, grouped, {2, 3});
  Tensor y =
      b.mul(moments.centered, b.math<math::RsqrtOp>(b.add(moments.variance, call.number("eps"))));
  SmallVector<SizeExpr> perChannel = {groups, *channels, b.size(1)};
  if (!call.isNone("weight")) {
    y = b.mul(y, b.reshape(b.toMath(call.tensor("weight")), perChannel));
  }
  if (!call.isNone("bias")) {
    y = b.add(y, b.reshape(b.toMath(call.tensor("bias")), perChannel));
  }
  return b.reshape(y, sizes);
}

// batch_norm(input, weight, bias, mean, var, training, momentum, eps, cudnn), in eval only.
static Tensor composeBatchNorm(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("input"));
  if (call.boolean("training") || call.isNone("running_mean") || call.isNone("running_var") ||
      x.rank() < 2) {
    call.refuse("batch normalisation in training outside of autograd");
    return x;
  }
  SmallVector<SizeExpr> sizes(x.rank() - 1, b.size(1));
  sizes[0] = x.sizes()[1];
  auto channels = [&](ArgumentRef i) { return b.reshape(b.toMath(call.tensor(i)), sizes); };
  Tensor invstd = b.math<math::RsqrtOp>(b.add(channels("running_var"), call.number("eps")));
  Tensor y = b.mul(b.sub(x, channels("running_mean")), invstd);
  y = call.isNone("weight") ? y : b.mul(y, channels("weight"));
  return call.isNone("bias") ? y : b.add(y, channels("bias"));
}

static Tensor softmaxInto(AtenCall &call, TensorBuilder &b, bool isLog) {
  Tensor x = b.toMath(b.cast(call.tensor("self"), call.resultDtype()));
  Dims dims = x.rank() == 0 ? Dims() : Dims{call.dim("dim", x.rank())};
  x = b.sub(x, b.reduce(ReduceKind::Max, x, dims, /*keep=*/true));
  Tensor powers = b.math<math::ExpOp>(x);
  Tensor sum = sumOver(b, powers, dims, /*keep=*/true);
  return isLog ? b.sub(x, b.math<math::LogOp>(sum)) : b.div(powers, sum);
}

/// Reduces a loss with one value per element: 0 is none, 1 mean, 2 sum.
static Tensor reduceLoss(AtenCall &call, TensorBuilder &b, Tensor loss, unsigned place) {
  int64_t reduction = call.integer(place);
  Dims all = call.dims(~0u, loss.rank());
  return reduction == 1   ? meanOver(b, loss, all, false)
         : reduction == 2 ? sumOver(b, loss, all, false)
                          : loss;
}

static std::pair<Tensor, Tensor> lossSides(AtenCall &call, TensorBuilder &b) {
  DType math = getMathDtype(call.resultDtype());
  Tensor x = call.tensor(0), y = call.tensor(1);
  if (isFloating(math) && !(isFloating(x.dtype) && isFloating(y.dtype))) {
    call.refuse("eager computes with integers before it converts");
  }
  std::pair<Tensor, Tensor> sides(b.cast(x, math), b.cast(y, math));
  b.unify(sides.first, sides.second);
  return sides;
}

static Tensor movedDim(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  Dims from = call.integers("source"), to = call.integers("destination"), order(x.rank(), -1);
  for (auto [source, target] : llvm::zip(from, to)) {
    int64_t place = target < 0 ? target + x.rank() : target;
    if (place < 0 || place >= x.rank()) {
      call.refuse("a dimension is out of range");
      return x;
    }
    order[place] = source < 0 ? source + x.rank() : source;
  }
  int64_t next = 0;
  for (int64_t &dim : order) {
    while (dim < 0 && llvm::is_contained(order, next)) {
      ++next;
    }
    dim = dim < 0 ? next : dim;
  }
  return b.permute(x, order);
}

// diff(self, n, dim, prepend, append)
static Tensor difference(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  if (call.integer("n") != 1 || x.rank() == 0) {
    call.refuse("a difference of another order than 1");
    return x;
  }
  int64_t dim = call.dim("dim", x.rank());
  SmallVector<Tensor> pieces;
  SmallVector<SizeExpr> sizes = x.sizes();
  sizes[dim] = b.size(0);
  for (Tensor piece : {call.optionalTensor("prepend"), x, call.optionalTensor("append")}) {
    if (!piece.value) {
      continue;
    }
    if (piece.dtype != x.dtype || piece.rank() != x.rank()) {
      call.refuse("it joins tensors of several dtypes or ranks");
      return x;
    }
    sizes[dim] = sizes[dim] + piece.sizes()[dim];
    pieces.push_back(piece);
  }
  Tensor joined = pieces.size() == 1 ? x : b.concat(pieces, dim, sizes);
  SizeExpr length = call.resultSizes()[dim];
  Tensor later = b.slice(joined, dim, b.size(1), length),
         earlier = b.slice(joined, dim, b.size(0), length);
  return x.dtype == DType::Bool ? b.bitXor(later, earlier)
                                : b.sub(b.toMath(later), b.toMath(earlier));
}

// adaptive_avg_pool2d(self, output_size): to one pixel, as at the end of networks, it is a mean.
static Tensor averageOfAll(AtenCall &call, TensorBuilder &b, int64_t rank) {
  Tensor x = call.tensor("self");
  Dims dims;
  for (auto [i, size] : llvm::enumerate(call.sizes("output_size"))) {
    dims.push_back(x.rank() - rank + i);
    if (!size.isConstant(1) || dims.back() < 0) {
      call.refuse("a pooling: a library has the kernel");
      return x;
    }
  }
  if (!isFloating(x.dtype) || static_cast<int64_t>(dims.size()) != rank) {
    call.refuse("a pooling: a library has the kernel");
    return x;
  }
  return meanOver(b, b.toMath(x), dims, /*keep=*/true);
}

// _weight_norm(v, g, dim)
static Tensor weightNorm(AtenCall &call, TensorBuilder &b) {
  Tensor v = b.toMath(call.tensor("v")), g = b.toMath(call.tensor("g"));
  int64_t kept = call.integer("dim");
  Dims dims;
  for (int64_t i = 0; i < v.rank(); ++i) {
    if (i != kept) {
      dims.push_back(i);
    }
  }
  if (kept < 0 || kept >= v.rank() || dims.empty()) {
    call.refuse("a norm over all dimensions or none");
    return v;
  }
  Tensor norm = b.math<math::SqrtOp>(sumOver(b, b.square(v), dims, /*keep=*/true));
  return b.mul(v, b.div(g, norm));
}

// _assert_tensor_metadata(a, size, stride, dtype, device, layout), which export puts in front of
// each cast. What it asserts is in the types of the graph, which are checked where arguments enter.
static Values metadata(AtenCall &call) {
  Tensor x = call.tensor("a");
  if (call.refused() || !call.isNone("stride")) {
    return call.refuse("strides are asserted");
  }
  ArrayRef<Attribute> arguments = call.getOp().getArguments().getValue();
  auto dtype = dyn_cast<DTypeAttr>(arguments[3]);
  bool holds = call.isNone("dtype") || (dtype && dtype.getValue() == x.dtype);
  holds &= call.isNone("size") || call.sizes("size") == x.sizes();
  auto graph = call.getOp()->getParentOfType<GraphOp>();
  auto device = graph.getDeviceAttr();
  if (auto argument = dyn_cast<BlockArgument>(x.value)) {
    device = kArgumentDeviceAttr.get(graph, argument.getArgNumber());
  } else if (auto made = x.value.getDefiningOp<AtenOp>(); made && made.getDevicesAttr()) {
    device = {};
  }
  auto wanted = dyn_cast<TorchEnumAttr>(arguments[4]),
       layout = dyn_cast<TorchEnumAttr>(arguments[5]);
  holds &= call.isNone("device") || (wanted && device && wanted.getText() == device.getValue());
  holds &= call.isNone("layout") || (layout && layout.getText() == "strided");
  if (call.refused() || !holds) {
    return call.refuse("an assertion that the graph does not prove");
  }
  return SmallVector<Tensor>();
}

void mlir::frit::addCompositeRules(RuleTable &table) {
  table.addSingle({"aten.layer_norm.default"}, composeLayerNorm);
  table.addSingle({"aten.rms_norm.default"}, rmsNorm);
  table.addSingle({"aten.group_norm.default"}, composeGroupNorm);
  table.addSingle({"aten.batch_norm.default"}, composeBatchNorm);
  table.add({"aten._assert_tensor_metadata.default"}, metadata);
  table.addSingle({"aten.diff.default"}, difference);
  table.addSingle({"aten._weight_norm.default"}, weightNorm);
  table.addSingle({"aten.adaptive_avg_pool1d.default"},
                  [](AtenCall &call, TensorBuilder &b) { return averageOfAll(call, b, 1); });
  table.addSingle({"aten.adaptive_avg_pool2d.default"},
                  [](AtenCall &call, TensorBuilder &b) { return averageOfAll(call, b, 2); });
  table.addSingle({"aten.adaptive_avg_pool3d.default"},
                  [](AtenCall &call, TensorBuilder &b) { return averageOfAll(call, b, 3); });
  table.addSingle({"aten.softmax.int"},
                  [](AtenCall &call, TensorBuilder &b) { return softmaxInto(call, b, false); });
  table.addSingle({"aten.log_softmax.int"},
                  [](AtenCall &call, TensorBuilder &b) { return softmaxInto(call, b, true); });
  // dropout(input, p, train)
  table.addSingle(
      {"aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default"},
      [](AtenCall &call, TensorBuilder &b) {
        Tensor x = call.tensor("input");
        if (call.boolean("train")) {
          call.refuse("dropout in training draws random numbers");
        }
        return x;
      });
  table.addSingle(
      {"aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int", "aten.moveaxis.intlist"},
      movedDim);
  table.addSingle({"aten.swapaxes.default", "aten.swapdims.default"},
                  [](AtenCall &call, TensorBuilder &b) {
                    Tensor x = call.tensor("self");
                    int64_t first = call.dim(1, x.rank()), second = call.dim(2, x.rank());
                    Dims order;
                    for (int64_t i = 0; i < x.rank(); ++i) {
                      order.push_back(i == first ? second : i == second ? first : i);
                    }
                    return b.permute(x, order);
                  });
  // cosine_similarity(x1, x2, dim, eps)
  table.addSingle({"aten.cosine_similarity.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    Dims dims = {call.dim("dim", x.rank())};
    Tensor least = b.constant(x.dtype, call.number("eps"));
    auto unit = [&](Tensor v) {
      Tensor norm = b.math<math::SqrtOp>(sumOver(b, b.square(v), dims, /*keep=*/true));
      return b.div(v, b.maximum(norm, least));
    };
    return sumOver(b, b.mul(unit(x), unit(y)), dims, /*keep=*/false);
  });
  // pairwise_distance(x1, x2, p, eps, keepdim)
  table.addSingle({"aten.pairwise_distance.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    if (call.number("p") != 2) {
      call.refuse("a distance of another order than 2");
    }
    Tensor difference = b.add(b.sub(x, y), call.number("eps"));
    Dims dims = {std::max<int64_t>(x.rank() - 1, 0)};
    return b.math<math::SqrtOp>(sumOver(b, b.square(difference), dims, call.boolean("keepdim")));
  });
  // smooth_l1_loss(self, target, reduction, beta), huber_loss(self, target, reduction, delta)
  table.addSingle({"aten.smooth_l1_loss.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    double beta = call.number("beta");
    Tensor z = b.abs(b.sub(x, y));
    if (beta == 0) {
      return reduceLoss(call, b, z, 2);
    }
    Tensor near = b.div(b.mul(b.mul(z, 0.5), z), beta);
    Tensor loss = b.select(b.compare(Compare::LT, z, beta), near, b.sub(z, 0.5 * beta));
    return reduceLoss(call, b, loss, 2);
  });
  table.addSingle({"aten.huber_loss.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    double delta = call.number("delta");
    Tensor z = b.abs(b.sub(x, y));
    Tensor near = b.mul(b.mul(z, 0.5), z), far = b.mul(b.sub(z, 0.5 * delta), delta);
    return reduceLoss(call, b, b.select(b.compare(Compare::LT, z, delta), near, far), 2);
  });
  // binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction)
  table.addSingle({"aten.binary_cross_entropy_with_logits.default"},
                  [](AtenCall &call, TensorBuilder &b) {
                    auto [x, y] = lossSides(call, b);
                    Tensor soft = b.math<math::Log1pOp>(b.math<math::ExpOp>(b.neg(b.abs(x))));
                    Tensor logSigmoid = b.sub(b.minimum(x, b.constant(x.dtype, 0)), soft);
                    Tensor missing = b.mul(b.sub(b.constant(x.dtype, 1), y), x);
                    if (!call.isNone("pos_weight")) {
                      Tensor positive = b.cast(call.tensor("pos_weight"), x.dtype);
                      Tensor factor = b.add(b.mul(b.sub(positive, 1), y), 1);
                      logSigmoid = b.mul(factor, logSigmoid);
                    }
                    Tensor loss = b.sub(missing, logSigmoid);
                    if (!call.isNone("weight")) {
                      loss = b.mul(loss, b.cast(call.tensor("weight"), x.dtype));
                    }
                    return reduceLoss(call, b, loss, 4);
                  });
  // kl_div(self, target, reduction, log_target); 0 * log(0) is 0.
  table.addSingle({"aten.kl_div.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    Tensor loss;
    if (call.boolean("log_target")) {
      loss = b.mul(b.math<math::ExpOp>(y), b.sub(y, x));
    } else {
      Tensor entropy = b.mul(y, b.math<math::LogOp>(y));
      entropy = b.select(b.compare(Compare::EQ, y, 0), b.constant(y.dtype, 0), entropy);
      loss = b.sub(entropy, b.mul(y, x));
    }
    return reduceLoss(call, b, loss, 2);
  });
  table.addSingle({"aten.mse_loss.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    return reduceLoss(call, b, b.square(b.sub(x, y)), 2);
  });
  table.addSingle({"aten.l1_loss.default"}, [](AtenCall &call, TensorBuilder &b) {
    auto [x, y] = lossSides(call, b);
    return reduceLoss(call, b, b.abs(b.sub(x, y)), 2);
  });
}
