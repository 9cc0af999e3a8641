// Reads at positions that depend on data.
#include "passes/legalize/AtenCall.h"

using namespace mlir;
using namespace mlir::frit;
using Sizes = SmallVector<SizeExpr>;

static Tensor makeGather(TensorBuilder &b, Tensor source, ArrayRef<Tensor> indices,
                         ArrayRef<SizeExpr> results, ArrayRef<SizeExpr> sizes, IndexCheck check,
                         std::optional<IndexError> raises = std::nullopt) {
  SmallVector<SizeAttr> attrs(results.begin(), results.end());
  SmallVector<Value> values;
  for (Tensor index : indices) {
    values.push_back(index.value);
  }
  auto map = MapAttr::get(b.getContext(), sizes.size(), indices.size(), attrs, {}, {}, {});
  RankedTensorType type = getTensorType(sizes, source.type().getElementType());
  auto gather =
      GatherOp::create(b.getBuilder(), b.getLoc(), type, source.value, values, map, check);
  gather.setRaises(raises);
  return {gather, source.dtype};
}

/// Broadcasts `index` to the sizes of the result; its dims are the result's from `at` on.
static Tensor spread(TensorBuilder &b, Tensor index, unsigned at, ArrayRef<SizeExpr> sizes) {
  Sizes results;
  for (unsigned i = 0; i < index.rank(); ++i) {
    results.push_back(b.dim(at + i));
  }
  return b.reindex(b.cast(index, DType::I64), results, sizes);
}

/// Replaces one dim of the source by the dims of an index tensor.
static Tensor takeAlong(AtenCall &call, TensorBuilder &b, Tensor source, int64_t dim, Tensor index,
                        IndexError raises) {
  Sizes sizes = call.resultSizes(), results;
  if (!isInteger(index.dtype)) {
    call.refuse("the index is not an integer");
    return source;
  }
  for (int64_t i = 0; i < source.rank(); ++i) {
    if (i == dim) {
      results.push_back(SizeExpr::value(b.getContext(), 0));
    } else {
      results.push_back(b.dim(i < dim ? i : i - 1 + index.rank()));
    }
  }
  return makeGather(b, source, {spread(b, index, dim, sizes)}, results, sizes,
                    IndexCheck::NonNegative, raises);
}

// gather(self, dim, index)
static Tensor gather(AtenCall &call, TensorBuilder &b) {
  Tensor source = call.tensor("self"), index = b.cast(call.tensor("index"), DType::I64);
  if (source.rank() == 0 || index.rank() != source.rank()) {
    call.refuse("a gather of a scalar");
    return source;
  }
  int64_t dim = call.dim("dim", source.rank());
  Sizes results;
  for (int64_t i = 0; i < source.rank(); ++i) {
    results.push_back(i == dim ? SizeExpr::value(b.getContext(), 0) : b.dim(i));
  }
  return makeGather(b, source, {index}, results, index.sizes(), IndexCheck::NonNegative,
                    IndexError::Gather);
}

// index(self, indices): index tensors are broadcast together and take the place of the first of
// them, or come first if another dim is between them.
static Tensor indexByTensors(AtenCall &call, TensorBuilder &b) {
  Tensor source = call.tensor("self");
  SmallVector<Tensor> indices = call.tensorList("indices"), present;
  SmallVector<int64_t> places;
  Sizes common;
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (!index.value) {
      continue;
    }
    if (index.dtype == DType::Bool || index.dtype == DType::U8) {
      call.refuse("a mask as an index: its result's size depends on data");
      return source;
    }
    places.push_back(i);
    present.push_back(index);
    common = present.size() == 1 ? index.sizes() : b.broadcastSizes(common, index.sizes());
  }
  if (call.refused() || present.empty()) {
    call.refuse("no index");
    return source;
  }
  bool adjacent = places.back() - places.front() + 1 == static_cast<int64_t>(places.size());
  unsigned at = adjacent ? places.front() : 0;
  Sizes sizes = call.resultSizes(), results;
  unsigned value = 0, next = 0;
  for (int64_t i = 0; i < source.rank(); ++i) {
    if (llvm::is_contained(places, i)) {
      results.push_back(SizeExpr::value(b.getContext(), value++));
    } else {
      if (next == at) {
        next += common.size();
      }
      results.push_back(b.dim(next++));
    }
  }
  SmallVector<Tensor> spreads;
  for (Tensor index : present) {
    spreads.push_back(spread(b, b.broadcast(index, common), at, sizes));
  }
  return makeGather(b, source, spreads, results, sizes, IndexCheck::Wrap);
}

void mlir::frit::addIndexingRules(RuleTable &table) {
  // embedding(weight, indices, padding_idx, ...)
  table.addSingle({"aten.embedding.default"}, [](AtenCall &call, TensorBuilder &b) {
    return takeAlong(call, b, call.tensor("weight"), 0, call.tensor("indices"),
                     IndexError::Embedding);
  });
  // index_select(self, dim, index)
  table.addSingle({"aten.index_select.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor source = call.tensor("self"), index = call.tensor("index");
    if (source.rank() == 0) {
      call.refuse("a selection from a scalar");
      return source;
    }
    if (index.rank() == 0) {
      index = b.unsqueeze(index, 0);
    }
    // Along dimension 1 eager has a loop of its own, with an error of its own.
    int64_t dim = call.dim("dim", source.rank());
    return takeAlong(call, b, source, dim, index,
                     dim == 1 ? IndexError::IndexSelect : IndexError::Embedding);
  });
  table.addSingle({"aten.gather.default"}, gather);
  table.addSingle({"aten.index.Tensor"}, indexByTensors);
}
