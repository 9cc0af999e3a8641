// A write to a part of an argument is functional until here: the argument's new value is a
// concatenation of its old parts and the new one. Only the new parts need to be written.
#include "passes/Passes.h"

namespace mlir::frit {
#define GEN_PASS_DEF_NARROWSTORESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// A part of an argument: `argument[d + offsets]`.
struct Part {
  Value argument;
  SmallVector<SizeExpr> offsets;

  SmallVector<SizeExpr> getMapResults() const {
    SmallVector<SizeExpr> results;
    for (auto [i, offset] : llvm::enumerate(offsets)) {
      results.push_back(SizeExpr::dim(argument.getContext(), i) + offset);
    }
    return results;
  }

  bool isWhole(Value value) const {
    return getSizes(cast<RankedTensorType>(argument.getType())) ==
               getSizes(cast<RankedTensorType>(value.getType())) &&
           llvm::all_of(offsets, [](SizeExpr offset) { return offset.isConstant(0); });
  }

  /// Whether the value is what this part of the argument held when the graph began.
  bool holds(Value value) const {
    if (value == argument) {
      return isWhole(value);
    }
    auto slice = value.getDefiningOp<ReindexOp>();
    if (!slice || slice.getOperand() != argument || slice.getMap().hasBounds()) {
      return false;
    }
    return llvm::all_of(llvm::zip_equal(slice.getMap().getResults(), getMapResults()),
                        [](auto pair) { return SizeExpr(std::get<0>(pair)) == std::get<1>(pair); });
  }
};

struct NarrowStoresPass : frit::impl::NarrowStoresPassBase<NarrowStoresPass> {
  void runOnOperation() override {
    for (StoreOp store :
         llvm::make_early_inc_range(getOperation().getBody().front().getOps<StoreOp>())) {
      auto rank = cast<RankedTensorType>(store.getTarget().getType()).getRank();
      Part whole{store.getTarget(),
                 SmallVector<SizeExpr>(rank, SizeExpr::constant(&getContext(), 0))};
      if (store.getInPlace() || !isa<BlockArgument>(whole.argument) ||
          !isNarrower(whole, store.getValue())) {
        continue;
      }
      OpBuilder builder(store);
      storeParts(builder, store.getLoc(), whole, store.getValue());
      store.erase();
      ++numNarrowed;
    }
  }

private:
  /// Calls `body` with each piece of a concatenation, and the part of the argument where it lies.
  static void forEachPiece(const Part &part, ConcatOp concat,
                           llvm::function_ref<void(const Part &, Value)> body) {
    Part at = part;
    for (Value piece : concat.getOperands()) {
      body(at, piece);
      at.offsets[concat.getDim()] =
          at.offsets[concat.getDim()] +
          getSizes(cast<RankedTensorType>(piece.getType()))[concat.getDim()];
    }
  }

  /// Whether a piece of the value, or a piece of a piece, is what the argument holds there.
  static bool isNarrower(const Part &part, Value value) {
    auto concat = value.getDefiningOp<ConcatOp>();
    bool isFound = false;
    if (concat) {
      forEachPiece(part, concat, [&](const Part &at, Value piece) {
        isFound |= at.holds(piece) || isNarrower(at, piece);
      });
    }
    return isFound;
  }

  static void storeParts(OpBuilder &builder, Location loc, const Part &part, Value value) {
    if (part.holds(value)) {
      return;
    }
    if (isNarrower(part, value)) {
      forEachPiece(part, value.getDefiningOp<ConcatOp>(),
                   [&](const Part &at, Value piece) { storeParts(builder, loc, at, piece); });
      return;
    }
    Value target = part.argument;
    if (!part.isWhole(value)) {
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<SizeAttr> results;
      for (SizeExpr result : part.getMapResults()) {
        results.push_back(result.getAttr());
      }
      auto map = MapAttr::get(builder.getContext(), type.getRank(), results);
      target = ReindexOp::create(builder, loc, type, target, map, TypedAttr());
    }
    StoreOp::create(builder, loc, value, target);
  }
};
} // namespace
