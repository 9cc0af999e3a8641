#include "runtime/cpu/AttentionCall.h"

#include "runtime/cpu/PlainTensor.h"

#include <cmath>

namespace frit {

using format::ValueKind;

namespace {

/// query, key, value, dropout_p, is_causal, attn_mask, scale
constexpr uint32_t kOperands = 3, kDropout = 3, kCausal = 4, kMask = 5, kScale = 6, kArguments = 7;

bool isAbsent(const format::Value &value) {
  return value.kind() == ValueKind::None || value.kind() == ValueKind::Default;
}

bool fits(uint32_t at, const format::Value &value) {
  if (at < kOperands) {
    return value.kind() == ValueKind::Tensor;
  }
  switch (at) {
  case kDropout:
    return value.kind() == ValueKind::Default ||
           (value.kind() == ValueKind::Double && value.real().value_or(0) == 0) ||
           (value.kind() == ValueKind::Int && value.integer() == 0);
  case kCausal:
    return value.kind() == ValueKind::Default || value.kind() == ValueKind::Bool;
  case kMask:
    return isAbsent(value) || value.kind() == ValueKind::Tensor;
  case kScale:
    return isAbsent(value) || value.kind() == ValueKind::Double;
  default:
    return false;
  }
}

/// A stride of a dimension of one element has no meaning.
bool areRowsContiguous(const TensorView &view) {
  return view.strides[view.rank - 1] == 1 || view.sizes[view.rank - 1] <= 1;
}

AttentionStrides stridesOf(const TensorView &view) {
  return {view.strides[0], view.strides[1], view.strides[2]};
}

} // namespace

Result<std::optional<AttentionCall>> attentionOf(const format::Aten &call) {
  if (!call.own_attention()) {
    return std::optional<AttentionCall>();
  }
  uint32_t given = call.arguments() ? call.arguments()->size() : 0;
  bool isOne = call.name()->string_view() == "aten::_scaled_dot_product_flash_attention_for_cpu" &&
               given >= kOperands && given <= kArguments && call.results() &&
               call.results()->size() == 2 && call.results()->Get(0)->kind() == ValueKind::Tensor &&
               call.results()->Get(1)->kind() == ValueKind::None;
  for (uint32_t at = 0; isOne && at < given; ++at) {
    isOne = fits(at, *call.arguments()->Get(at));
  }
  if (!isOne) {
    return Status::error(ErrorKind::BadArtifact, "a call of " + call.name()->str() +
                                                     " is marked as attention that it is not; "
                                                     "compile the artifact again");
  }
  auto argument = [&](uint32_t at) { return call.arguments()->Get(at); };
  AttentionCall result = {argument(0)->reg(),
                          argument(1)->reg(),
                          argument(2)->reg(),
                          kNoRegister,
                          given > kCausal && argument(kCausal)->kind() == ValueKind::Bool &&
                              argument(kCausal)->integer() != 0,
                          std::nullopt};
  if (given > kMask && argument(kMask)->kind() == ValueKind::Tensor) {
    result.mask = argument(kMask)->reg();
  }
  if (given > kScale && argument(kScale)->kind() == ValueKind::Double) {
    result.scale = argument(kScale)->real().value_or(0);
  }
  return std::optional(result);
}

std::optional<Attention> attentionFrom(const AttentionCall &call, const TensorView &query,
                                       const TensorView &key, const TensorView &value,
                                       const TensorView *mask) {
  for (const TensorView *view : {&query, &key, &value}) {
    if (!isPlain(*view) || view->rank != 4 || !areRowsContiguous(*view)) {
      return std::nullopt;
    }
  }
  Attention attention;
  attention.batches = query.sizes[0];
  attention.heads = query.sizes[1];
  attention.queries = query.sizes[2];
  attention.keys = key.sizes[2];
  attention.depth = query.sizes[3];
  for (const TensorView *view : {&key, &value}) {
    if (view->sizes[0] != attention.batches || view->sizes[1] != attention.heads ||
        view->sizes[2] != attention.keys || view->sizes[3] != attention.depth) {
      return std::nullopt;
    }
  }
  if (attention.keys == 0 || attention.depth == 0) {
    return std::nullopt;
  }
  attention.query = static_cast<const float *>(query.data);
  attention.key = static_cast<const float *>(key.data);
  attention.value = static_cast<const float *>(value.data);
  attention.queryStrides = stridesOf(query);
  attention.keyStrides = stridesOf(key);
  attention.valueStrides = stridesOf(value);
  attention.causal = call.causal;
  attention.scale =
      static_cast<float>(call.scale ? *call.scale : 1 / std::sqrt(double(attention.depth)));
  if (!mask) {
    return attention;
  }
  // It is broadcast to the scores; ATen refuses it together with `is_causal`, and other ranks.
  if (!isPlain(*mask) || (mask->rank != 2 && mask->rank != 4) || attention.causal) {
    return std::nullopt;
  }
  const int64_t wanted[] = {attention.batches, attention.heads, attention.queries, attention.keys};
  int64_t *strides[] = {&attention.maskStrides.batch, &attention.maskStrides.head,
                        &attention.maskStrides.row, &attention.maskColumnStride};
  for (int64_t dim = 0; dim < mask->rank; ++dim) {
    int64_t to = 4 - mask->rank + dim;
    if (mask->sizes[dim] != 1 && mask->sizes[dim] != wanted[to]) {
      return std::nullopt;
    }
    *strides[to] = mask->sizes[dim] == 1 ? 0 : mask->strides[dim];
  }
  attention.mask = static_cast<const float *>(mask->data);
  return attention;
}

} // namespace frit
