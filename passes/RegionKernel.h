// Makes a kernel of one region: the kernel's sizes are parameters p0, p1 ... in the order in which
// the region mentions its symbols, so that equal regions become equal kernels.

#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::frit {

class RegionKernel {
public:
  /// `flat` is the number of elements if the region runs over one dim (FlatRegions).
  RegionKernel(GraphOp graph, RegionOp region, std::optional<SizeExpr> flat);

  /// Moves the body of the region into a new kernel named "kernel", which is in no module yet.
  KernelOp build();
  /// The values of the parameters at the region's place.
  ArrayAttr getSizes() { return builder.getArrayAttr(sizes); }

private:
  void collectSymbols();
  void readFacts();
  void nameParameters();
  LayoutAttr getKernelLayout(Value value);
  Attribute describe(Value value);
  void renameSymbols(KernelOp kernel);
  void annotate(KernelOp kernel, ArrayRef<Attribute> inputs, ArrayRef<Attribute> outputs);
  ArrayAttr getVariants();

  GraphOp graph;
  RegionOp region;
  std::optional<SizeExpr> flat;
  Builder builder;
  /// The region's symbols in the order of their first occurrence.
  SmallVector<std::string> names;
  /// What the kernel is made for, by symbol of the graph.
  llvm::StringMap<SymbolAttr> facts;
  /// The narrower ranges that the graph's sizes are known to stay in, as assumptions.
  SmallVector<Attribute> ranges;
  /// For each symbol: the kernel's parameter, and its value at the region's place.
  SmallVector<Attribute> parameters, sizes;
  llvm::StringMap<SizeExpr> renaming;
  /// Replaces the graph's symbols by the parameters.
  AttrTypeReplacer replacer;
};

} // namespace mlir::frit
