// Operators of exported programs that torch.compile has decomposed before frit gets the graph, down
// to a call of a library: matrix products, convolutions and attention. Written like torch's own
// decompositions, they become the calls for which the runtime has kernels, and which padding and
// fusion know. Where eager chooses another algorithm, the operator is left to it.
#include "passes/legalize/LibraryCalls.h"

#include "passes/Layouts.h"
#include "passes/legalize/InPlaceWrites.h"
#include "passes/legalize/Reasons.h"

#include <limits>

using namespace mlir;
using namespace mlir::frit;

SmallVector<Tensor> mlir::frit::callLibrary(TensorBuilder &b, StringRef name,
                                            ArrayRef<Passed> operands,
                                            ArrayRef<Attribute> arguments, ArrayRef<Made> results) {
  OpBuilder &builder = b.getBuilder();
  MLIRContext *context = b.getContext();
  SmallVector<Attribute> all, operandTypes, operandLayouts, resultTypes, layouts, storage;
  SmallVector<Value> values;
  for (Attribute argument : arguments) {
    if (argument) {
      all.push_back(argument);
      continue;
    }
    const auto &[tensor, layout] = operands[values.size()];
    all.push_back(OperandAttr::get(context, values.size()));
    values.push_back(tensor.value);
    operandTypes.push_back(DTypeAttr::get(context, tensor.dtype));
    operandLayouts.push_back(layout ? layout : getContiguousLayout(tensor.type()));
  }
  SmallVector<Type> types;
  for (const auto &[number, made] : llvm::enumerate(results)) {
    auto type = getTensorType(made.sizes, getElementType(context, made.dtype));
    types.push_back(type);
    resultTypes.push_back(DTypeAttr::get(context, made.dtype));
    layouts.push_back(made.layout ? made.layout : getContiguousLayout(type));
    storage.push_back(StorageAttr::get(context, StorageKind::Fresh, number));
  }
  auto call =
      AtenOp::create(builder, b.getLoc(), types, builder.getStringAttr(name), values,
                     builder.getArrayAttr(all), ArrayAttr(), builder.getArrayAttr(operandTypes),
                     builder.getArrayAttr(resultTypes), builder.getArrayAttr(operandLayouts),
                     builder.getArrayAttr(layouts), builder.getArrayAttr(storage), StringAttr());
  call.setReason(reasonWithoutRule(call));
  SmallVector<Tensor> tensors;
  for (auto [value, made] : llvm::zip(call->getResults(), results)) {
    tensors.push_back({value, made.dtype});
  }
  return tensors;
}

/// A matrix product of tensors of rank 2 (mm, or addmm with a bias) or 3 (bmm).
static Tensor multiply(TensorBuilder &b, Tensor x, Tensor y, Tensor bias = {}) {
  SmallVector<SizeExpr> sizes = x.sizes();
  sizes.back() = y.sizes().back();
  Made made{sizes, x.dtype, {}};
  if (bias.value) {
    Attribute one = b.getBuilder().getI64IntegerAttr(1);
    return callLibrary(b, "aten.addmm.default", {{bias, {}}, {x, {}}, {y, {}}},
                       {{}, {}, {}, one, one}, made)[0];
  }
  return callLibrary(b, x.rank() == 2 ? "aten.mm.default" : "aten.bmm.default", {{x, {}}, {y, {}}},
                     {{}, {}}, made)[0];
}

/// Whether the call is the last to read a value that has memory of its own.
static bool isLastReader(AtenOp call, Value value) {
  Operation *def = value.getDefiningOp();
  return def && !isLook(def) && llvm::all_of(value.getUsers(), [&](Operation *user) {
           return user == call || (user->getBlock() == call->getBlock() &&
                                   user->isBeforeInBlock(call) && !isLook(user));
         });
}

Tensor mlir::frit::addProductInPlace(AtenCall &call, TensorBuilder &b) {
  if (!call.isForGpu() || b.isExact() || !call.isTensor(0) || !call.isTensor(1)) {
    return {};
  }
  for (unsigned i = 0; i < 2; ++i) {
    Tensor product = call.tensor(i), other = call.tensor(1 - i);
    auto op = product.value.getDefiningOp<AtenOp>();
    RankedTensorType type = product.type();
    // Products of sizes that vary may be padded, which has no form in place.
    if (!op || op.getOpName() != "aten.mm.default" || !op->hasOneUse() || op.getDevicesAttr() ||
        other.type() != type || other.dtype != product.dtype || !type.hasStaticShape() ||
        !isFloating(product.dtype) || call.resultDtype() != product.dtype ||
        !isLastReader(call.getOp(), other.value)) {
      continue;
    }
    Passed passed[] = {{other, {}}, {}, {}};
    for (unsigned k = 0; k < 2; ++k) {
      auto layouts = op.getOperandLayouts();
      passed[k + 1] = {{op.getOperand(k), product.dtype},
                       layouts && k < layouts->size() ? dyn_cast<LayoutAttr>((*layouts)[k])
                                                      : LayoutAttr()};
    }
    Attribute one = b.getBuilder().getI64IntegerAttr(1);
    Tensor sum = callLibrary(b, "aten.addmm.default", passed, {{}, {}, {}, one, one},
                             Made{product.sizes(), product.dtype, {}})[0];
    bool isInPlace = makeInPlace(sum.value.getDefiningOp<AtenOp>());
    assert(isInPlace && "addmm has a form in place");
    (void)isInPlace;
    return sum;
  }
  return {};
}

/// The tensor as a matrix: all dims but the last are one.
static Tensor asMatrix(TensorBuilder &b, Tensor x) {
  SmallVector<SizeExpr> sizes = x.sizes();
  return b.reshape(x, {product(b.getContext(), ArrayRef(sizes).drop_back()), sizes.back()});
}

void mlir::frit::leave(AtenCall &call) { call.refuse(reasonWithoutRule(call.getOp())); }

static bool areOfOneType(AtenCall &call, ArrayRef<Tensor> tensors) {
  DType dtype = tensors.front().dtype;
  if (!isFloating(dtype) || llvm::any_of(tensors, [&](const Tensor &tensor) {
        return tensor.value && tensor.dtype != dtype;
      })) {
    leave(call);
    return false;
  }
  return true;
}

/// Strides of dims of one element count: they decide how a library is called.
static bool isContiguous(AtenCall &call, ArgumentRef which, Tensor x) {
  LayoutAttr layout = call.operandLayout(which);
  return layout && layout.getStrides() == getContiguousLayout(x.type()).getStrides();
}

// linear(input, weight, bias)
static Tensor linear(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("input"), weight = call.tensor("weight"),
         bias = call.optionalTensor("bias");
  if (call.refused() || !areOfOneType(call, {x, weight, bias})) {
    return x;
  }
  // Of other tensors eager copies batches, adds the bias later or multiplies in another order.
  bool asEager = isContiguous(call, "input", x) && isContiguous(call, "weight", weight) &&
                 (!bias.value || (x.rank() <= 3 && isContiguous(call, "bias", bias)));
  if (x.rank() < 2 || (b.isExact() && !asEager) || weight.rank() != 2 ||
      x.sizes().back() != weight.sizes()[1] || (bias.value && bias.rank() != 1)) {
    leave(call);
    return x;
  }
  Tensor y = multiply(b, asMatrix(b, x), b.permute(weight, {1, 0}), bias);
  return b.reshape(y, call.resultSizes());
}

// matmul(self, other)
static Tensor matmul(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self"), y = call.tensor("other");
  if (call.refused() || !areOfOneType(call, {x, y})) {
    return x;
  }
  SmallVector<SizeExpr> sizes = x.sizes(), others = y.sizes();
  if (x.rank() < 2 || y.rank() < 2 || sizes.back() != others[others.size() - 2]) {
    leave(call);
    return x;
  }
  // Of other tensors eager copies batches or multiplies in another order.
  if (b.isExact() && !(isContiguous(call, "self", x) && isContiguous(call, "other", y))) {
    leave(call);
    return x;
  }
  if (y.rank() == 2) {
    return b.reshape(multiply(b, asMatrix(b, x), y), call.resultSizes());
  }
  auto batched = [&](Tensor t) {
    SmallVector<SizeExpr> result = call.resultSizes(), own = t.sizes();
    SizeExpr batches = product(b.getContext(), ArrayRef(result).drop_back(2));
    SmallVector<SizeExpr> all(ArrayRef(result).drop_back(2));
    all.append({own[own.size() - 2], own.back()});
    return b.reshape(b.broadcast(t, all), {batches, own[own.size() - 2], own.back()});
  };
  return b.reshape(multiply(b, batched(x), batched(y)), call.resultSizes());
}

// conv1d, conv2d, conv3d(input, weight, bias, stride, padding, dilation, groups)
static Tensor convolve(AtenCall &call, TensorBuilder &b, int64_t dims) {
  Tensor x = call.tensor("input"), weight = call.tensor("weight"),
         bias = call.optionalTensor("bias");
  if (call.refused() || !areOfOneType(call, {x, weight, bias})) {
    return x;
  }
  OpBuilder &builder = b.getBuilder();
  SmallVector<Attribute> lists;
  for (ArgumentRef which :
       {ArgumentRef("stride"), ArgumentRef("padding"), ArgumentRef("dilation")}) {
    SmallVector<int64_t> list = call.integers(which);
    list.resize(list.size() == 1 ? dims : list.size(), list.empty() ? 0 : list[0]);
    lists.push_back(builder.getI64ArrayAttr(list));
    if (static_cast<int64_t>(list.size()) != dims) {
      leave(call);
    }
  }
  int64_t groups = call.integer("groups");
  if (call.refused() || x.rank() != dims + 2 || (bias.value && bias.rank() != 1)) {
    leave(call);
    return x;
  }
  SmallVector<Passed> operands = {{x, call.operandLayout("input")},
                                  {weight, call.operandLayout("weight")}};
  Attribute absent = builder.getUnitAttr();
  if (bias.value) {
    operands.push_back({bias, {}});
    absent = {};
  }
  return callLibrary(b, "aten.convolution.default", operands,
                     {{},
                      {},
                      absent,
                      lists[0],
                      lists[1],
                      lists[2],
                      builder.getBoolAttr(false),
                      builder.getI64ArrayAttr(SmallVector<int64_t>(dims, 0)),
                      builder.getI64IntegerAttr(groups)},
                     Made{call.resultSizes(), x.dtype, call.resultLayout()})[0];
}

// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale,
// enable_gqa): what eager's flash attention takes on a CPU.
static Tensor attend(AtenCall &call, TensorBuilder &b) {
  Tensor query = call.tensor("query"), key = call.tensor("key"), value = call.tensor("value"),
         mask = call.optionalTensor("attn_mask");
  if (call.refused() || !areOfOneType(call, {query, key, value})) {
    return query;
  }
  auto refuse = [&] {
    leave(call);
    return query;
  };
  if (call.isForGpu() || query.rank() != 4 || key.rank() != 4 || value.rank() != 4 ||
      call.number("dropout_p") != 0) {
    return refuse();
  }
  SmallVector<SizeExpr> sizes = query.sizes(), keys = key.sizes();
  if (keys != value.sizes() || keys[0] != sizes[0] || keys[1] != sizes[1] || keys[3] != sizes[3]) {
    return refuse();
  }
  for (SizeExpr size : {sizes[0], sizes[1], sizes[2], sizes[3], keys[2]}) {
    std::optional<int64_t> least = b.getFacts().lowerBound(size);
    if (!least || *least < 1) {
      return refuse();
    }
  }
  SmallVector<Passed> operands;
  for (auto [which, tensor] :
       {std::pair<ArgumentRef, Tensor>("query", query), {"key", key}, {"value", value}}) {
    LayoutAttr layout = call.operandLayout(which);
    if (layout && !SizeExpr(layout.getStrides().back()).isConstant(1)) {
      return refuse();
    }
    operands.push_back({tensor, layout});
  }
  OpBuilder &builder = b.getBuilder();
  Attribute masked = builder.getUnitAttr(), scale = masked;
  if (mask.value) {
    bool isBoolean = mask.dtype == DType::Bool;
    if ((mask.rank() != 2 && mask.rank() != 4) || (!isBoolean && mask.dtype != query.dtype)) {
      return refuse();
    }
    SmallVector<SizeExpr> full = {sizes[0], sizes[1], sizes[2], keys[2]}, given = mask.sizes();
    for (auto [size, whole] : llvm::zip(given, ArrayRef(full).take_back(mask.rank()))) {
      if (size != whole && !size.isConstant(1)) {
        return refuse();
      }
    }
    if (isBoolean) {
      mask = b.select(mask, b.constant(query.dtype, 0),
                      b.constant(query.dtype, -std::numeric_limits<double>::infinity()));
    }
    operands.push_back({mask, isBoolean ? LayoutAttr() : call.operandLayout("attn_mask")});
    masked = {};
  }
  if (!call.isNone("scale")) {
    scale = builder.getF64FloatAttr(call.number("scale"));
  }
  Attribute isCausal = builder.getBoolAttr(call.boolean("is_causal"));
  if (call.refused()) {
    return query;
  }
  // The second result is for a backward: (batch, heads, queries), the heads innermost.
  MLIRContext *context = b.getContext();
  SizeAttr strides[] = {sizes[2] * sizes[1], SizeExpr::constant(context, 1), sizes[1]};
  Made sums{{sizes[0], sizes[1], sizes[2]},
            isHalf(query.dtype) ? DType::F32 : query.dtype,
            LayoutAttr::get(context, strides, SizeExpr::constant(context, 0))};
  return callLibrary(b, "aten._scaled_dot_product_flash_attention_for_cpu.default", operands,
                     {{}, {}, {}, builder.getF64FloatAttr(0), isCausal, masked, scale},
                     {Made{call.resultSizes(), query.dtype, call.resultLayout()}, sums})[0];
}

void mlir::frit::addLibraryRules(RuleTable &table) {
  table.addSingle({"aten.linear.default"}, linear);
  table.addSingle({"aten.matmul.default"}, matmul);
  table.addSingle({"aten.scaled_dot_product_attention.default"}, attend);
  table.addSingle({"aten.conv1d.default"},
                  [](AtenCall &call, TensorBuilder &b) { return convolve(call, b, 1); });
  table.addSingle({"aten.conv2d.default"},
                  [](AtenCall &call, TensorBuilder &b) { return convolve(call, b, 2); });
  table.addSingle({"aten.conv3d.default"},
                  [](AtenCall &call, TensorBuilder &b) { return convolve(call, b, 3); });
}
