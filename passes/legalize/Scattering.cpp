// Writes at positions that are computed: to a slice of a copy, or to one index per row.
#include "passes/legalize/Operands.h"

#include <limits>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;
using Sizes = SmallVector<SizeExpr>;

/// `self` with `length` elements of `dim` from `start` replaced by `source`.
static Tensor replaceSlice(TensorBuilder &b, Tensor self, Tensor source, int64_t dim,
                           SizeExpr start, int64_t step) {
  Sizes sizes = self.sizes();
  SizeExpr length = source.sizes()[dim], extent = sizes[dim];
  if (length.isConstant(0)) {
    return self;
  }
  if (step == 1) {
    SizeExpr end = start + length;
    Tensor pieces[] = {b.slice(self, dim, b.size(0), start), source,
                       b.slice(self, dim, end, extent - end)};
    return b.concat(pieces, dim, sizes);
  }
  // Every step-th element: read the source where the position is on the grid.
  Sizes position;
  for (unsigned i = 0; i < sizes.size(); ++i) {
    position.push_back(b.dim(i));
  }
  SizeExpr relative = b.dim(dim) - start;
  position[dim] = relative.floorDiv(b.size(step));
  SmallVector<SizeAttr> results(position.begin(), position.end());
  SmallVector<SizeAttr> exprs = {position[dim]}, lows = {b.size(0)}, highs = {length};
  auto map = MapAttr::get(b.getContext(), sizes.size(), 0, results, exprs, lows, highs);
  Tensor spread = b.reindex(source, map, sizes, b.elementAttr(source.dtype, Scalar{int64_t(0)}));
  Tensor offset = b.iota(relative.mod(b.size(step)), sizes);
  Tensor index = b.iota(position[dim], sizes);
  Tensor inside =
      b.bitAnd(b.compare(Compare::EQ, offset, b.constantInt(DType::I64, 0)),
               b.bitAnd(b.compare(Compare::GE, index, b.constantInt(DType::I64, 0)),
                        b.compare(Compare::LT, index, b.sizeValue(length, DType::I64))));
  return b.select(inside, spread, self);
}

/// A bound of a slice, counted from the front and clamped into [0, extent].
static SizeExpr normalizeBound(AtenCall &call, TensorBuilder &b, unsigned place, SizeExpr extent,
                               SizeExpr ifNone) {
  if (call.isNone(place)) {
    return ifNone;
  }
  SizeExpr bound = call.size(place);
  if (b.getFacts().provablyLess(bound, b.size(0))) {
    bound = (bound + extent).max(b.size(0));
  } else if (!b.getFacts().provablyNonNegative(bound)) {
    call.refuse("the bound " + Twine(bound.str()) + " may be of either sign");
  }
  return b.getFacts().simplify(bound.min(extent));
}

// slice_scatter(self, src, dim, start, end, step)
static Tensor sliceScatter(AtenCall &call, TensorBuilder &b) {
  Tensor self = call.tensor("self"), source = call.tensor("src");
  int64_t dim = call.dim("dim", self.rank());
  SizeExpr extent = self.sizes()[dim];
  SizeExpr start = normalizeBound(call, b, 3, extent, b.size(0));
  SizeExpr end = call.isNone("end") ? extent : call.size("end");
  bool isToTheEnd = end.getConstant() == std::numeric_limits<int64_t>::max();
  // The end of the slice as given, and clamped to the tensor.
  SizeExpr asked = isToTheEnd ? extent : end,
           clamped = isToTheEnd ? extent : normalizeBound(call, b, 4, extent, extent);
  int64_t step = call.integer("step");
  if (call.refused() || step <= 0 || source.rank() != self.rank()) {
    call.refuse("the step is not positive, or the source has another rank");
    return self;
  }
  auto isLength = [&](SizeExpr to) {
    SizeExpr length = (to - start + (step - 1)).floorDiv(b.size(step)).max(b.size(0));
    return b.getFacts().simplify(length) == source.sizes()[dim];
  };
  // A symbolic end may also match unclamped: torch has checked what it needed to know about it.
  bool fits = isLength(clamped) || (!clamped.getConstant() && isLength(asked));
  for (int64_t i = 0; i < self.rank(); ++i) {
    fits &= i == dim || source.sizes()[i] == self.sizes()[i];
  }
  if (!fits) {
    call.refuse("the source is not known to have the sizes of the slice");
    return self;
  }
  return replaceSlice(b, self, b.cast(source, self.dtype), dim, start, step);
}

// select_scatter(self, src, dim, index)
static Tensor selectScatter(AtenCall &call, TensorBuilder &b) {
  Tensor self = call.tensor("self");
  int64_t dim = call.dim("dim", self.rank());
  SizeExpr index = call.size("index"), extent = self.sizes()[dim];
  if (b.getFacts().provablyLess(index, b.size(0))) {
    index = index + extent;
  } else if (!b.getFacts().provablyNonNegative(index)) {
    call.refuse("the index " + Twine(index.str()) + " may be of either sign");
  }
  if (b.getFacts().provablyNonNegative(index - extent) ||
      b.getFacts().provablyLess(index, b.size(0))) {
    call.refuse("the index is out of range");
  }
  Sizes others = self.sizes();
  others.erase(others.begin() + dim);
  if (call.tensor("src").sizes() != others) {
    call.refuse("the source is not known to have the sizes of the slice");
  }
  if (call.refused()) {
    return self;
  }
  Tensor source = b.unsqueeze(b.cast(call.tensor("src"), self.dtype), dim);
  return replaceSlice(b, self, source, dim, index, 1);
}

// scatter(self, dim, index, value or src) with one index per row is a select.
static Tensor scatterValue(AtenCall &call, TensorBuilder &b) {
  Tensor self = call.tensor("self"), index = call.tensor("index");
  if (self.rank() == 0 || index.rank() != self.rank()) {
    call.refuse("a scatter into a scalar");
    return self;
  }
  int64_t dim = call.dim("dim", self.rank());
  Sizes sizes = self.sizes(), indexSizes = index.sizes();
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (i == dim ? !indexSizes[i].isConstant(1) : indexSizes[i] != sizes[i]) {
      call.refuse("more than one index a row, or fewer rows than the destination");
      return self;
    }
  }
  index = b.checkedIndex(b.cast(index, DType::I64), sizes[dim], IndexError::Gather, dim);
  Tensor hit = b.compare(Compare::EQ, b.iota(b.dim(dim), sizes), index);
  Tensor value = Operand::get(call, 3).as(b, self.dtype);
  if (value.rank() == self.rank()) {
    // Of a larger source only the part under the index is read.
    for (int64_t i = 0; i < self.rank(); ++i) {
      if (value.sizes()[i] != indexSizes[i]) {
        value = b.slice(value, i, b.size(0), indexSizes[i]);
      }
    }
  }
  return b.select(hit, value, self);
}

void mlir::frit::addScatteringRules(RuleTable &table) {
  table.addSingle({"aten.slice_scatter.default"}, sliceScatter);
  table.addSingle({"aten.select_scatter.default"}, selectScatter);
  table.addSingle({"aten.scatter.value", "aten.scatter.src"}, scatterValue);
}
