// Digits of a loop counter: how views permute, split and merge them.
#include "kernel/LoopSpace.h"

using namespace mlir;
using namespace mlir::frit;

Signature mlir::frit::mergeDigits(ArrayRef<Digit> digits) {
  Signature merged;
  for (const Digit &digit : digits) {
    if (digit.extent.isConstant(1)) {
      continue;
    }
    if (!merged.empty() && merged.back().stride == digit.stride * digit.extent) {
      merged.back() = {digit.stride, merged.back().extent * digit.extent};
      continue;
    }
    merged.push_back(digit);
  }
  return merged;
}

SizeExpr mlir::frit::countOf(ArrayRef<Digit> digits, MLIRContext *context) {
  SizeExpr count = SizeExpr::constant(context, 1);
  for (const Digit &digit : digits) {
    count = count * digit.extent;
  }
  return count;
}

/// Appends digits of a row-major block of `sizes` whose innermost has `stride`.
static void appendRowMajor(ArrayRef<SizeExpr> sizes, SizeExpr stride,
                           SmallVectorImpl<Digit> &digits) {
  size_t first = digits.size();
  for (SizeExpr size : llvm::reverse(sizes)) {
    digits.push_back({stride, size});
    stride = stride * size;
  }
  std::reverse(digits.begin() + first, digits.end());
}

ReadPlace ReadPlace::rowMajor(ArrayRef<SizeExpr> sizes, MLIRContext *context) {
  ReadPlace place;
  place.known = true;
  appendRowMajor(sizes, SizeExpr::constant(context, 1), place.digits);
  return place;
}

ReadPlace ReadPlace::through(ReindexOp view) const {
  MapAttr map = view.getMap();
  if (!known || map.hasBounds()) {
    return elsewhere();
  }
  SmallVector<SizeExpr> from = getSizes(cast<RankedTensorType>(view.getOperand().getType()));
  ReadPlace place;
  place.known = true;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (from[i].isConstant(1)) {
      place.digits.push_back({SizeExpr::constant(view.getContext(), 0), from[i]});
      continue;
    }
    std::optional<unsigned> dim = SizeExpr(expr).getDim();
    if (!dim || digits[*dim].extent != from[i]) {
      return elsewhere();
    }
    place.digits.push_back(digits[*dim]);
  }
  return place;
}

namespace {
/// Walks two shapes from the innermost dim out and cuts them into the shortest
/// groups of equal product.
class GroupCutter {
public:
  GroupCutter(ArrayRef<SizeExpr> a, ArrayRef<SizeExpr> b)
      : a(a), b(b), endA(a.size()), endB(b.size()) {}

  bool done() const { return endA == 0 && endB == 0; }
  /// The next group as [beginA, endA) and [beginB, endB) in `groupA`, `groupB`.
  /// False if what is left has no common cut.
  bool next(std::pair<size_t, size_t> &groupA, std::pair<size_t, size_t> &groupB) {
    size_t i = endA, j = endB;
    SizeExpr productA, productB;
    auto takeA = [&] {
      --i;
      productA = productA ? productA * a[i] : a[i];
    };
    auto takeB = [&] {
      --j;
      productB = productB ? productB * b[j] : b[j];
    };
    if (i) {
      takeA();
    }
    if (j) {
      takeB();
    }
    while (!productA || !productB || productA != productB) {
      if (i && (!productA || (productB && divides(productA, productB)))) {
        takeA();
      } else if (j && (!productB || (productA && divides(productB, productA)))) {
        takeB();
      } else if (!productA || !productB) {
        // One side is used up: the rest of the other must be 1.
        SizeExpr left = productA ? productA : productB;
        if (!left.isConstant(1)) {
          return false;
        }
        break;
      } else {
        return false;
      }
    }
    groupA = {i, endA};
    groupB = {j, endB};
    endA = i;
    endB = j;
    return true;
  }

private:
  static bool divides(SizeExpr small, SizeExpr large) {
    if (small.isConstant(0) || large.isConstant(0)) {
      return false;
    }
    return large.divideExactly(small).has_value();
  }

  ArrayRef<SizeExpr> a, b;
  size_t endA, endB;
};
} // namespace

FailureOr<SmallVector<Digit>>
mlir::frit::splitDigits(ArrayRef<Digit> digits, ArrayRef<SizeExpr> sizes, MLIRContext *context) {
  SizeExpr one = SizeExpr::constant(context, 1);
  SmallVector<Digit> result;
  Signature whole = mergeDigits(digits);
  if (whole.size() <= 1) {
    appendRowMajor(sizes, whole.empty() ? one : whole[0].stride, result);
    return result;
  }
  SmallVector<SizeExpr> from;
  for (const Digit &digit : digits) {
    from.push_back(digit.extent);
  }
  GroupCutter cutter(sizes, from);
  SmallVector<Digit> reversed;
  while (!cutter.done()) {
    std::pair<size_t, size_t> to, group;
    if (!cutter.next(to, group)) {
      return failure();
    }
    Signature run = mergeDigits(digits.slice(group.first, group.second - group.first));
    if (run.size() > 1) {
      return failure();
    }
    SmallVector<Digit> block;
    appendRowMajor(sizes.slice(to.first, to.second - to.first), run.empty() ? one : run[0].stride,
                   block);
    reversed.append(block.rbegin(), block.rend());
  }
  return SmallVector<Digit>(reversed.rbegin(), reversed.rend());
}

ReadPlace ReadPlace::through(ReshapeOp view) const {
  if (!known) {
    return elsewhere();
  }
  auto split = splitDigits(digits, getSizes(cast<RankedTensorType>(view.getOperand().getType())),
                           view.getContext());
  if (failed(split)) {
    return elsewhere();
  }
  ReadPlace place;
  place.known = true;
  place.digits.assign(split->begin(), split->end());
  return place;
}

ReadPlace ReadPlace::through(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  switch (getElementRead(operand)) {
  case ElementRead::Here:
    return *this;
  case ElementRead::Mapped:
    if (auto view = dyn_cast<ReindexOp>(op)) {
      return through(view);
    }
    return through(cast<ReshapeOp>(op));
  case ElementRead::Once:
    return rowMajor({}, op->getContext());
  case ElementRead::Piece:
  case ElementRead::Chosen:
    return elsewhere();
  }
  llvm_unreachable("every read has a place");
}

FailureOr<SmallVector<SizeExpr>> mlir::frit::refineSizes(ArrayRef<SizeExpr> a, ArrayRef<SizeExpr> b,
                                                         MLIRContext *context) {
  SmallVector<SizeExpr> reversed;
  size_t i = a.size(), j = b.size();
  SizeExpr one = SizeExpr::constant(context, 1), left = one, right = one;
  while (true) {
    while (left.isConstant(1) && i) {
      left = a[--i];
    }
    while (right.isConstant(1) && j) {
      right = b[--j];
    }
    if (left.isConstant(1) && right.isConstant(1)) {
      break;
    }
    if (left == right) {
      reversed.push_back(left);
      left = right = one;
      continue;
    }
    if (left.isConstant(0) || right.isConstant(0)) {
      return failure();
    }
    if (auto rest = left.divideExactly(right); rest && !right.isConstant(1)) {
      reversed.push_back(right);
      left = *rest;
      right = one;
    } else if (auto rest = right.divideExactly(left); rest && !left.isConstant(1)) {
      reversed.push_back(left);
      right = *rest;
      left = one;
    } else {
      return failure();
    }
  }
  return SmallVector<SizeExpr>(reversed.rbegin(), reversed.rend());
}
