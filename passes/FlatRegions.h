#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

/// Regions of one formula over tensors of different shapes.
///
/// An optimizer's step is the same formula for every parameter, and a region that only traverses
/// memory in order does not depend on shapes: it runs over a number of elements. If several such
/// regions of a module differ only in their shapes, they are rewritten to run over one dim of
/// `flat` elements. The number becomes a parameter, and outlining makes one kernel of all. A region
/// whose formula occurs once keeps its sizes, which makes a better kernel, unless it shares a
/// launch with others (ir/KernelLists.h).
namespace mlir::frit {

class FlatRegions {
public:
  struct Formula {
    std::string text;
    /// The sizes up to renaming of symbols: regions that differ here would be different kernels.
    std::string shape;
    SizeExpr size;
  };
  /// The formula of a region; nullopt if it does more than traverse memory in order. A region over
  /// rank-0 tensors has a formula but no dim to run over, so it is not flattened.
  static std::optional<Formula> getFormula(RegionOp region);

  void add(RegionOp region);

  /// How many elements the region is to run over if it shares its formula with
  /// others of other shapes, or its launch with others; nullopt if it does not.
  std::optional<SizeExpr> getSize(RegionOp region) const;
  /// Rewrites the body to one dim of `flat` elements; operands and results
  /// outside keep their types.
  static void flatten(RegionOp region);

  static constexpr llvm::StringLiteral parameter = "flat";

private:
  llvm::DenseMap<Operation *, Formula> formulas;
  llvm::StringMap<llvm::StringSet<>> shapesOf;
};

} // namespace mlir::frit
