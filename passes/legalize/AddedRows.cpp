// Rows added at positions that data decide, on GPUs: index_add, index_put that accumulates,
// scatter_add of whole rows, and the gradient of an embedding. ATen adds by atomic operations, in
// an order that changes from call to call, and waits where many rows meet.
//
// Here torch sorts the positions (a stable sort), and the rows that belong to one row of the result
// become neighbours: a segment of the sorted order. `frit.segment_sum` adds them up in the order of
// the operands, for each element of the result, so every call gives the same bits. Long segments
// are shared: kChunk neighbours that belong to one row are summed up by a kernel before, and a
// segment takes those sums between the rows at its ends.
#include "passes/LoopNests.h"
#include "passes/legalize/LibraryCalls.h"

#include <limits>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;
using Sizes = SmallVector<SizeExpr>;

static constexpr int64_t kChunk = 512;
/// Below, the atomic additions of ATen cost less than a sort (on an H200).
static constexpr double kFewestElements = 1 << 24, kShortestRow = 32;

namespace {

/// `values[k]` is to be added to row `index[k]` of `count` rows.
struct AddedRows {
  Tensor index, values;
  SizeExpr count;
};

/// Segments of the sorted order, as rank-1 tensors of i64.
struct Segments {
  Tensor begin, end;
};

} // namespace

static Tensor sumSegments(TensorBuilder &b, Tensor source, Tensor order, Segments segments) {
  Sizes sizes = source.sizes();
  sizes.front() = segments.begin.sizes().front();
  auto spread = [&](Tensor bound) { return b.reindex(bound, {b.dim(0)}, sizes).value; };
  auto type = getTensorType(sizes, source.type().getElementType());
  return {SegmentSumOp::create(b.getBuilder(), b.getLoc(), type, source.value, order.value,
                               spread(segments.begin), spread(segments.end)),
          source.dtype};
}

/// What is added to each row, in the accumulator's dtype; -0.0 for nothing.
static Tensor sumRows(TensorBuilder &b, AddedRows rows) {
  Tensor index = rows.index, values = b.cast(rows.values, getAccumulatorDtype(rows.values.dtype));
  // Half the bits take half the time to sort. The number behind the last row is a key too.
  auto most = b.getFacts().upperBound(rows.count);
  DType dtype = !most || *most >= std::numeric_limits<int32_t>::max() ? DType::I64
                : *most >= std::numeric_limits<int16_t>::max()        ? DType::I32
                                                                      : DType::I16;
  SizeExpr added = index.sizes().front();
  Builder &builder = b.getBuilder();
  Attribute none = builder.getUnitAttr(), no = builder.getBoolAttr(false);
  SmallVector<Tensor> sorted =
      callLibrary(b, "aten.sort.stable", {{b.cast(index, dtype), {}}},
                  {{}, builder.getBoolAttr(true), builder.getI64IntegerAttr(-1), no},
                  {Made{{added}, dtype, {}}, Made{{added}, DType::I64, {}}});
  Tensor keys = sorted[0], order = sorted[1];
  Tensor numbers = b.cast(b.iota(b.dim(0), {rows.count + 1}), dtype);
  Tensor begins =
      callLibrary(b, "aten.searchsorted.Tensor", {{keys, {}}, {numbers, {}}},
                  {{}, {}, no, no, none, none}, Made{{rows.count + 1}, DType::I64, {}})[0];
  Segments whole{b.slice(begins, 0, b.size(0), rows.count),
                 b.slice(begins, 0, b.size(1), rows.count)};
  auto bound = b.getFacts().upperBound(added);
  if (bound && *bound < 2 * kChunk) {
    return sumSegments(b, values, order, whole);
  }
  // Sums of chunks whose rows all belong to one row.
  SizeExpr chunks = added.floorDiv(b.size(kChunk));
  Tensor first = b.slice(keys, 0, b.size(0), chunks, kChunk),
         last = b.slice(keys, 0, b.size(kChunk - 1), chunks, kChunk);
  Tensor chunk = b.iota(b.dim(0) * kChunk, {chunks});
  Tensor next = b.iota(b.dim(0) * kChunk + kChunk, {chunks});
  Segments full{chunk, b.select(b.compare(Compare::EQ, first, last), next, chunk)};
  Tensor sums = sumSegments(b, values, order, full);
  // Rows before the first whole chunk, whole chunks, rows after the last.
  Tensor size = b.constantInt(DType::I64, kChunk);
  Tensor firstChunk = b.div(b.add(whole.begin, b.constantInt(DType::I64, kChunk - 1)), size);
  Tensor head = b.minimum(whole.end, b.mul(firstChunk, size));
  Tensor lastChunk = b.div(whole.end, size);
  Tensor tail = b.maximum(head, b.mul(lastChunk, size));
  Tensor total = sumSegments(b, values, order, {whole.begin, head});
  total = b.add(total, sumSegments(b, sums, Tensor(), {firstChunk, lastChunk}));
  return b.add(total, sumSegments(b, values, order, {tail, whole.end}));
}

/// Whether sorting pays, by what is known and otherwise by the sizes that were traced.
static bool areMany(AtenCall &call, SizeEstimate &estimate, const AddedRows &rows) {
  if (call.isDeterministic()) {
    return true;
  }
  double elements = estimate.ofElements(rows.values.value.getType()),
         added = estimate.of(rows.values.sizes().front());
  return elements >= kFewestElements && elements >= kShortestRow * added;
}

static bool isOfNumbers(DType dtype) { return isFloating(dtype) || isInteger(dtype); }

/// `self` with rows added.
static Tensor addTo(AtenCall &call, TensorBuilder &b, Tensor self, AddedRows rows) {
  // Where few rows are added, a write in place touches no others.
  SizeEstimate estimate(call.getOp()->getParentOfType<GraphOp>());
  bool isPart = 4 * estimate.of(rows.values.sizes().front()) < estimate.of(rows.count);
  if (!areMany(call, estimate, rows) || (isPart && !call.isDeterministic())) {
    leave(call);
    return self;
  }
  Tensor sum = sumRows(b, rows);
  return b.cast(b.add(b.cast(self, sum.dtype), sum), self.dtype);
}

// index_add(self, dim, index, source, alpha)
static Tensor indexAdd(AtenCall &call, TensorBuilder &b) {
  Tensor self = call.tensor("self");
  if (!call.isForGpu() || b.isExact()) {
    leave(call);
    return self;
  }
  Tensor index = call.tensor("index"), source = call.tensor("source");
  Scalar alpha = call.scalar("alpha");
  Sizes sizes = self.sizes(), others = source.sizes();
  if (call.refused() || self.rank() < 2 || source.rank() != self.rank() || index.rank() != 1 ||
      call.dim("dim", self.rank()) != 0 || source.dtype != self.dtype || !isOfNumbers(self.dtype) ||
      !isInteger(index.dtype) || index.sizes().front() != others.front() ||
      ArrayRef(sizes).drop_front() != ArrayRef(others).drop_front()) {
    leave(call);
    return self;
  }
  if (!alpha.isLiteral(1)) {
    source = b.toMath(source);
    source = b.mul(source, b.scalar(alpha, source.dtype));
  }
  index = b.checkedIndex(b.cast(index, DType::I64), sizes.front(), IndexError::Gather, 0);
  return addTo(call, b, self, {index, source, sizes.front()});
}

// index_put(self, indices, values, accumulate)
static Tensor indexPut(AtenCall &call, TensorBuilder &b) {
  Tensor self = call.tensor("self");
  if (!call.isForGpu() || b.isExact() || !call.boolean("accumulate")) {
    leave(call);
    return self;
  }
  SmallVector<Tensor> indices = call.tensorList("indices");
  Tensor values = call.tensor("values");
  Sizes sizes = self.sizes();
  if (call.refused() || self.rank() < 2 || indices.size() != 1 || !indices[0].value ||
      indices[0].rank() == 0 || !isInteger(indices[0].dtype) || !isOfNumbers(self.dtype) ||
      values.dtype != self.dtype) {
    leave(call);
    return self;
  }
  Sizes at = indices[0].sizes(), added = at, rows = {product(b.getContext(), at)};
  added.append(sizes.begin() + 1, sizes.end());
  rows.append(sizes.begin() + 1, sizes.end());
  if (b.broadcastSizes(values.sizes(), added) != added) {
    leave(call);
    return self;
  }
  values = b.reshape(b.broadcast(values, added), rows);
  // Negative indices count from the end, as in indexing by tensors.
  Tensor index = b.reshape(b.cast(indices[0], DType::I64), {rows.front()});
  index = b.checkedIndex(index, sizes.front());
  return addTo(call, b, self, {index, values, sizes.front()});
}

// embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
static Tensor embeddingBackward(AtenCall &call, TensorBuilder &b) {
  Tensor gradient = call.tensor("grad_output");
  if (!call.isForGpu() || b.isExact() || call.boolean("scale_grad_by_freq")) {
    leave(call);
    return gradient;
  }
  Tensor index = call.tensor("indices");
  SizeExpr count = call.size("num_weights");
  auto padding = call.size("padding_idx").getConstant();
  if (call.refused() || !padding || !isInteger(index.dtype) || !isFloating(gradient.dtype) ||
      gradient.rank() != index.rank() + 1) {
    leave(call);
    return gradient;
  }
  SizeExpr rows = product(b.getContext(), index.sizes());
  AddedRows added{b.reshape(b.cast(index, DType::I64), {rows}),
                  b.reshape(gradient, {rows, gradient.sizes().back()}), count};
  SizeEstimate estimate(call.getOp()->getParentOfType<GraphOp>());
  if (!areMany(call, estimate, added)) {
    leave(call);
    return gradient;
  }
  // The forward has checked the index.
  if (*padding >= 0) {
    // Behind the last row.
    Tensor isPadding = b.compare(Compare::EQ, added.index, b.constantInt(DType::I64, *padding));
    added.index = b.select(isPadding, b.sizeValue(count, DType::I64), added.index);
  }
  Tensor sum = sumRows(b, added);
  return b.add(sum, b.constant(sum.dtype, 0));
}

/// The index of each row, if an index of elements repeats one number along each row.
static Tensor getRowIndex(TensorBuilder &b, Tensor index) {
  auto repeat = index.value.getDefiningOp<ReindexOp>();
  if (!repeat || repeat.getMap().hasBounds()) {
    return {};
  }
  Sizes results;
  for (SizeAttr expr : repeat.getMap().getResults()) {
    results.push_back(expr);
    if (results.back().anySymbol(
            [](SizeSymbolAttr symbol) { return symbol.isDim() && !symbol.isDim(0); })) {
      return {};
    }
  }
  return b.reindex({repeat.getOperand(), index.dtype}, results, {index.sizes().front()});
}

// scatter_add(self, dim, index, src), and scatter_reduce with reduce="sum" and include_self
static Tensor scatterAdd(AtenCall &call, TensorBuilder &b) {
  Tensor self = call.tensor("self");
  bool isReduce = call.getNumArguments() > 4;
  if (!call.isForGpu() || b.isExact() ||
      (isReduce && (call.string(4) != "sum" || !call.boolean(5)))) {
    leave(call);
    return self;
  }
  Tensor index = call.tensor("index"), source = call.tensor("src");
  Sizes sizes = self.sizes(), others = source.sizes();
  if (call.refused() || self.rank() < 2 || index.rank() != self.rank() ||
      source.rank() != self.rank() || call.dim("dim", self.rank()) != 0 ||
      source.dtype != self.dtype || !isOfNumbers(self.dtype) || index.sizes() != others ||
      ArrayRef(sizes).drop_front() != ArrayRef(others).drop_front()) {
    leave(call);
    return self;
  }
  Tensor rows = getRowIndex(b, index);
  if (!rows.value) {
    leave(call);
    return self;
  }
  rows = b.checkedIndex(b.cast(rows, DType::I64), sizes.front(), IndexError::Gather, 0);
  return addTo(call, b, self, {rows, source, sizes.front()});
}

void mlir::frit::addAddedRowsRules(RuleTable &table) {
  table.addSingle({"aten.scatter_add.default", "aten.scatter_reduce.two"}, scatterAdd);
  table.addSingle({"aten.index_add.default"}, indexAdd);
  table.addSingle({"aten.index_put.default", "aten._unsafe_index_put.default"}, indexPut);
  table.addSingle({"aten.embedding_dense_backward.default"}, embeddingBackward);
}
