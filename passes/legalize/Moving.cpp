// Views and other movements of elements. Result sizes come from the result type, where torch has
// already worked out -1, negative and out-of-range bounds.
#include "passes/AtenAliases.h"
#include "passes/Layouts.h"
#include "passes/legalize/AtenCall.h"

using namespace mlir;
using namespace mlir::frit;
using Sizes = SmallVector<SizeExpr>;

static Tensor toResultShape(AtenCall &call, TensorBuilder &b) {
  return b.reshape(call.tensor("self"), call.resultSizes());
}

static Tensor permuteDims(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  SmallVector<int64_t> order = call.integers("dims");
  for (int64_t &dim : order) {
    dim += dim < 0 ? x.rank() : 0;
  }
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  for (auto [i, dim] : llvm::enumerate(sorted)) {
    if (dim != static_cast<int64_t>(i) || sorted.size() != static_cast<size_t>(x.rank())) {
      call.refuse("the dims are not a permutation");
      return x;
    }
  }
  return b.permute(x, order);
}

static Tensor transpose(Tensor x, int64_t first, int64_t second, TensorBuilder &b) {
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < x.rank(); ++i) {
    order.push_back(i == first ? second : i == second ? first : i);
  }
  return b.permute(x, order);
}

/// Where a slice begins: a negative start counts from the end and is clamped to 0. Beyond the end
/// there is nothing to read, so no upper clamp is needed.
static SizeExpr normalizeStart(AtenCall &call, TensorBuilder &b, unsigned place, SizeExpr extent) {
  if (call.isNone(place)) {
    return b.size(0);
  }
  SizeExpr start = call.size(place);
  std::optional<int64_t> literal = start.getConstant();
  if (literal ? *literal < 0 : !b.getFacts().provablyNonNegative(start)) {
    if (!literal && !b.getFacts().provablyLess(start, b.size(0))) {
      call.refuse("the start " + Twine(start.str()) + " may be of either sign");
      return b.size(0);
    }
    start = b.getFacts().simplify((start + extent).max(b.size(0)));
  }
  return start;
}

// slice(self, dim, start, end, step)
static Tensor slice(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  int64_t dim = call.dim("dim", x.rank());
  SizeExpr start = normalizeStart(call, b, 2, x.sizes()[dim]);
  int64_t step = call.integer("step");
  if (call.refused()) {
    return x;
  }
  return b.slice(x, dim, start, call.resultSizes()[dim], step);
}

static Tensor selectOne(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  int64_t dim = call.dim("dim", x.rank());
  SizeExpr index = call.size("index"), extent = x.sizes()[dim];
  if (b.getFacts().provablyLess(index, b.size(0))) {
    index = index + extent;
  } else if (!b.getFacts().provablyNonNegative(index)) {
    call.refuse("the index " + Twine(index.str()) + " may be of either sign");
  }
  if (extent.getConstant() && index.getConstant() &&
      (*index.getConstant() < 0 || *index.getConstant() >= *extent.getConstant())) {
    call.refuse("index " + Twine(*index.getConstant()) + " is out of range");
  }
  if (call.refused()) {
    return x;
  }
  Tensor piece = b.slice(x, dim, index, b.size(1));
  Sizes sizes = x.sizes();
  sizes.erase(sizes.begin() + dim);
  Sizes results;
  for (unsigned i = 0; i < x.rank(); ++i) {
    results.push_back(i == dim ? b.size(0) : b.dim(i < dim ? i : i - 1));
  }
  return b.reindex(piece, results, sizes);
}

/// Consecutive pieces along a dim; their lengths come from the results.
static Values split(AtenCall &call, int64_t dimPlace) {
  TensorBuilder &b = call.build();
  Tensor x = call.tensor("self");
  int64_t dim = call.dim(dimPlace, x.rank());
  SmallVector<Tensor> pieces;
  SizeExpr start = b.size(0);
  for (unsigned i = 0; i < call.getNumResults(); ++i) {
    SizeExpr length = call.resultSizes(i)[dim];
    pieces.push_back(b.slice(x, dim, start, length));
    start = start + length;
  }
  return pieces;
}

static Values unbind(AtenCall &call) {
  TensorBuilder &b = call.build();
  Tensor x = call.tensor("self");
  int64_t dim = call.dim("dim", x.rank());
  SmallVector<Tensor> pieces;
  for (unsigned i = 0; i < call.getNumResults(); ++i) {
    Sizes results;
    for (unsigned d = 0; d < x.rank(); ++d) {
      results.push_back(d == dim ? b.size(i) : b.dim(d < dim ? d : d - 1));
    }
    pieces.push_back(b.reindex(x, results, call.resultSizes(i)));
  }
  return pieces;
}

/// Any strides over an operand whose elements fill their storage; the elements are read in the
/// order in which they lie.
static Tensor asStrided(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  Sizes sizes = call.sizes("size"), strides = call.sizes("stride"), from = x.sizes();
  LayoutAttr layout = call.operandLayout("self");
  if (call.refused() || !layout) {
    call.refuse("the operand's strides are not known");
    return x;
  }
  if (isa<BlockArgument>(x.value) && !call.getOp().getPlaced()) {
    call.refuse("it counts from the start of the caller's storage");
    return x;
  }
  SizeExpr offset =
      call.isNone("storage_offset") ? SizeExpr(layout.getOffset()) : call.size("storage_offset");
  SizeExpr origin = layout.getOffset();
  std::optional<SmallVector<int64_t>> order = getDenseOrder(layout, x.type());
  if (!order) {
    call.refuse("a strided view of an operand with gaps or repeated elements");
    return x;
  }
  if (!llvm::is_sorted(*order)) {
    x = b.permute(x, *order);
  }
  SizeExpr index = offset - origin, last = index;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(sizes, strides))) {
    auto [size, stride] = pair;
    index = index + b.dim(i) * stride;
    last = last + (size - 1) * stride;
  }
  SizeExpr count = getNumElements(x.type());
  if (!b.getFacts().provablyLess(last, count) ||
      !b.getFacts().provablyNonNegative(offset - origin)) {
    call.refuse("the view may reach beyond its operand");
    return x;
  }
  // A plain view of the same elements in the same order is a reshape.
  if (offset == origin && getContiguousStrides(sizes, b.getContext()) == strides &&
      product(b.getContext(), sizes) == count) {
    return b.reshape(x, sizes);
  }
  return b.reindex(b.reshape(x, {count}), {index}, sizes);
}

static Tensor flip(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  Sizes sizes = x.sizes(), results;
  SmallVector<int64_t> dims = call.integers("dims");
  for (int64_t i = 0; i < x.rank(); ++i) {
    bool flipped = llvm::is_contained(dims, i) || llvm::is_contained(dims, i - x.rank());
    results.push_back(flipped ? sizes[i] - 1 - b.dim(i) : b.dim(i));
  }
  return b.reindex(x, results, sizes);
}

static Tensor rollAlong(TensorBuilder &b, Tensor x, int64_t dim, SizeExpr shift) {
  Sizes sizes = x.sizes();
  SizeExpr extent = sizes[dim];
  if (extent.isConstant(0)) {
    return x;
  }
  if (extent.getConstant() && shift.getConstant()) {
    SizeExpr head = shift.mod(extent);
    Tensor pieces[] = {b.slice(x, dim, extent - head, head),
                       b.slice(x, dim, b.size(0), extent - head)};
    return b.concat(pieces, dim, sizes);
  }
  Sizes results;
  for (int64_t i = 0; i < x.rank(); ++i) {
    results.push_back(i == dim ? (b.dim(i) - shift).mod(extent) : b.dim(i));
  }
  return b.reindex(x, results, sizes);
}

// roll(self, shifts, dims): without dims over the flat tensor.
static Tensor roll(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  Sizes shifts = call.sizes("shifts");
  SmallVector<int64_t> dims = call.integers("dims");
  if (call.refused() || x.rank() == 0) {
    return x;
  }
  if (dims.empty() && shifts.size() == 1) {
    Tensor flat = b.reshape(x, {getNumElements(x.type())});
    return b.reshape(rollAlong(b, flat, 0, shifts[0]), x.sizes());
  }
  if (dims.size() != shifts.size()) {
    call.refuse("as many shifts as dims are needed");
    return x;
  }
  for (auto [dim, shift] : llvm::zip(dims, shifts)) {
    x = rollAlong(b, x, dim < 0 ? dim + x.rank() : dim, shift);
  }
  return x;
}

static Tensor cat(AtenCall &call, TensorBuilder &b) {
  Sizes sizes = call.resultSizes();
  int64_t dim = call.dim("dim", sizes.size());
  SmallVector<Tensor> pieces;
  for (Tensor piece : call.tensorList("tensors")) {
    // torch skips the legacy empty tensor, whose shape is (0).
    if (piece.rank() == static_cast<int64_t>(sizes.size())) {
      pieces.push_back(b.cast(piece, call.resultDtype()));
    } else if (piece.rank() != 1 || !piece.sizes()[0].isConstant(0)) {
      call.refuse("the pieces have different ranks");
    }
  }
  if (pieces.empty() || call.refused()) {
    call.refuse("nothing to join");
    return b.constantInt(call.resultDtype(), 0);
  }
  return b.concat(pieces, dim, sizes);
}

static Tensor stack(AtenCall &call, TensorBuilder &b) {
  Sizes sizes = call.resultSizes();
  int64_t dim = call.dim("dim", sizes.size());
  SmallVector<Tensor> pieces;
  for (Tensor piece : call.tensorList("tensors")) {
    pieces.push_back(b.unsqueeze(b.cast(piece, call.resultDtype()), dim));
  }
  if (pieces.empty()) {
    call.refuse("nothing to stack");
    return b.constantInt(call.resultDtype(), 0);
  }
  return b.concat(pieces, dim, sizes);
}

static Tensor repeatDims(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  Sizes from = x.sizes(), sizes = call.resultSizes(), results;
  size_t lead = sizes.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    SizeExpr index = b.dim(lead + i);
    if (sizes[lead + i] != from[i]) {
      index = from[i].isConstant(1) || from[i].isConstant(0) ? b.size(0) : index.mod(from[i]);
    }
    results.push_back(index);
  }
  return b.reindex(x, results, sizes);
}

// constant_pad_nd(self, pad, value): pairs from the last dim on, negative ones cut.
static Tensor constantPad(AtenCall &call, TensorBuilder &b, unsigned fillPlace) {
  Tensor x = call.tensor("self");
  Sizes pad = call.sizes("pad"), from = x.sizes();
  auto isNatural = [&](SizeExpr size) { return b.getFacts().provablyNonNegative(size); };
  for (size_t place = 0; place + 1 < std::min<size_t>(pad.size(), 2 * x.rank()); place += 2) {
    // Eager cuts first, at the front and then at the back. What it cuts must exist, whatever is
    // added at the other end.
    SizeExpr size = from[x.rank() - 1 - place / 2], front = pad[place], back = pad[place + 1];
    bool fits = isNatural(front) || isNatural(size + front);
    fits &= isNatural(back) ||
            (isNatural(size + back) && (isNatural(front) || isNatural(size + front + back)));
    if (!fits) {
      call.refuse("more may be cut than there is");
    }
  }
  Scalar fill = call.isNone(fillPlace) ? Scalar{int64_t(0)} : call.scalar(fillPlace);
  if (!fill.literal() || call.refused()) {
    call.refuse("the fill is known at run time only");
    return x;
  }
  SmallVector<SizeAttr> results, exprs, lows, highs;
  for (int64_t i = 0; i < x.rank(); ++i) {
    size_t place = 2 * (x.rank() - 1 - i);
    SizeExpr index = b.dim(i);
    if (place + 1 < pad.size()) {
      index = index - pad[place];
      bool cuts = pad[place].getConstant().value_or(1) <= 0 &&
                  pad[place + 1].getConstant().value_or(1) <= 0;
      if (!cuts) {
        exprs.push_back(index);
        lows.push_back(b.size(0));
        highs.push_back(from[i]);
      }
    }
    results.push_back(index);
  }
  auto map = MapAttr::get(b.getContext(), x.rank(), 0, results, exprs, lows, highs);
  TypedAttr attr = exprs.empty() ? TypedAttr() : b.elementAttr(x.dtype, fill);
  return b.reindex(x, map, call.resultSizes(), attr);
}

// diagonal(self, offset, dim1, dim2): the other dims, then the diagonal.
static Tensor diagonal(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  int64_t offset = call.integer("offset"), first = call.dim("dim1", x.rank()),
          second = call.dim("dim2", x.rank());
  Sizes results;
  unsigned next = 0, last = x.rank() - 2;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == first) {
      results.push_back(b.dim(last) + std::max<int64_t>(-offset, 0));
    } else if (i == second) {
      results.push_back(b.dim(last) + std::max<int64_t>(offset, 0));
    } else {
      results.push_back(b.dim(next++));
    }
  }
  return b.reindex(x, results, call.resultSizes());
}

// unfold(self, dimension, size, step): windows along a dim, their elements last.
static Tensor unfold(AtenCall &call, TensorBuilder &b) {
  Tensor x = call.tensor("self");
  if (x.rank() == 0) {
    call.refuse("windows of a scalar");
    return x;
  }
  int64_t dim = call.dim("dimension", x.rank()), step = call.integer("step");
  Sizes results;
  for (int64_t i = 0; i < x.rank(); ++i) {
    results.push_back(i == dim ? b.dim(i) * step + b.dim(x.rank()) : b.dim(i));
  }
  return b.reindex(x, results, call.resultSizes());
}

/// fliplr (dim 1) and flipud (dim 0).
static SingleRule flipOf(int64_t dim) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    Sizes sizes = x.sizes(), results;
    for (int64_t i = 0; i < x.rank(); ++i) {
      results.push_back(i == dim ? sizes[i] - 1 - b.dim(i) : b.dim(i));
    }
    return b.reindex(x, results, sizes);
  };
}

/// hstack (dim 1, of vectors 0) and vstack (dim 0, of vectors as rows).
static SingleRule stackOf(bool horizontal) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Sizes sizes = call.resultSizes();
    SmallVector<Tensor> pieces;
    for (Tensor piece : call.tensorList("tensors")) {
      piece = b.cast(piece, call.resultDtype());
      while (piece.rank() < (horizontal ? 1 : 2)) {
        piece = b.unsqueeze(piece, 0);
      }
      pieces.push_back(piece);
    }
    if (pieces.empty()) {
      call.refuse("nothing to stack");
      return b.constantInt(call.resultDtype(), 0);
    }
    return b.concat(pieces, horizontal && sizes.size() > 1 ? 1 : 0, sizes);
  };
}

static SingleRule triangle(bool lower) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    int64_t rank = x.rank();
    Tensor distance = b.iota(b.dim(rank - 1) - b.dim(rank - 2), x.sizes());
    Tensor diagonal = b.sizeValue(call.size("diagonal"), DType::I64);
    using Compare = TensorBuilder::Compare;
    Tensor kept = b.compare(lower ? Compare::LE : Compare::GE, distance, diagonal);
    return b.select(kept, x, b.constantInt(x.dtype, 0));
  };
}

void mlir::frit::addMovingRules(RuleTable &table) {
  table.addSingle({"aten.view.default", "aten._unsafe_view.default", "aten.reshape.default",
                   "aten.unsqueeze.default", "aten.squeeze.default", "aten.squeeze.dim",
                   "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int",
                   "aten.view_copy.default", "aten._reshape_alias.default", "aten.ravel.default",
                   "aten.view_as.default", "aten.reshape_as.default", "aten._reshape_copy.default"},
                  toResultShape);
  table.addSingle({"aten.expand.default", "aten.expand_as.default", "aten.broadcast_to.default",
                   "aten.expand_copy.default"},
                  [](AtenCall &call, TensorBuilder &) { return call.tensor("self"); });
  table.addSingle({"aten.permute.default", "aten.permute_copy.default"}, permuteDims);
  table.addSingle({"aten.transpose.int"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    return transpose(x, call.dim("dim0", x.rank()), call.dim("dim1", x.rank()), b);
  });
  table.addSingle({"aten.t.default", "aten.numpy_T.default", "aten.mT.default"},
                  [](AtenCall &call, TensorBuilder &b) {
                    Tensor x = call.tensor("self");
                    return x.rank() < 2 ? x : transpose(x, x.rank() - 2, x.rank() - 1, b);
                  });
  table.addSingle({"aten.select.int", "aten.select_copy.int"}, selectOne);
  table.addSingle({"aten.slice.Tensor", "aten.slice_copy.Tensor"}, slice);
  table.addSingle({"aten.narrow.default"}, [](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    int64_t dim = call.dim("dim", x.rank());
    SizeExpr start = normalizeStart(call, b, 2, x.sizes()[dim]);
    return b.slice(x, dim, start, call.resultSizes()[dim]);
  });
  table.add({"aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default",
             "aten.split.sizes", "aten.split_with_sizes_copy.default"},
            [](AtenCall &call) { return split(call, 2); });
  table.add({"aten.unbind.int"}, unbind);
  table.addSingle({"aten.as_strided.default"}, asStrided);
  table.addSingle({"aten.flip.default"}, flip);
  table.addSingle({"aten.flipud.default"}, flipOf(0));
  table.addSingle({"aten.fliplr.default"}, flipOf(1));
  table.addSingle({"aten.hstack.default"}, stackOf(true));
  table.addSingle({"aten.vstack.default"}, stackOf(false));
  table.add({"aten.broadcast_tensors.default"}, [](AtenCall &call) -> Values {
    // Its schema does not say that the results are views.
    if (llvm::any_of(call.getOp()->getUsers(),
                     [](Operation *user) { return isa<ReturnOp>(user); })) {
      return call.refuse("a view that the graph returns as a tensor of its own");
    }
    SmallVector<Tensor> results;
    for (auto [i, x] : llvm::enumerate(call.tensorList("tensors"))) {
      results.push_back(call.finish(x, i));
    }
    return results;
  });
  table.addSingle({"aten.roll.default"}, roll);
  table.addSingle({"aten.cat.default", "aten.concat.default"}, cat);
  table.addSingle({"aten.stack.default"}, stack);
  table.addSingle({"aten.repeat.default", "aten.tile.default"}, repeatDims);
  table.addSingle({"aten.constant_pad_nd.default"},
                  [](AtenCall &call, TensorBuilder &b) { return constantPad(call, b, 2); });
  // pad(self, pad, mode, value)
  table.addSingle({"aten.pad.default"}, [](AtenCall &call, TensorBuilder &b) {
    if (call.string("mode") != "constant") {
      call.refuse("padding by " + call.string("mode"));
    }
    return constantPad(call, b, 3);
  });
  table.addSingle({"aten.diagonal.default"}, diagonal);
  table.addSingle({"aten.unfold.default"}, unfold);
  table.addSingle({"aten.tril.default"}, triangle(true));
  table.addSingle({"aten.triu.default"}, triangle(false));
}
