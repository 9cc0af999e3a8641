#include "passes/RegionKernel.h"

#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "passes/Layouts.h"
#include "passes/ShapeGuards.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::frit;

RegionKernel::RegionKernel(GraphOp graph, RegionOp region, std::optional<SizeExpr> flat)
    : graph(graph), region(region), flat(flat), builder(region.getContext()) {
  replacer.addReplacement([&](SizeAttr size) -> std::pair<Attribute, WalkResult> {
    return {SizeExpr(size).substitute(renaming).getAttr(), WalkResult::skip()};
  });
}

KernelOp RegionKernel::build() {
  collectSymbols();
  readFacts();
  nameParameters();
  SmallVector<Type> inputs, outputs;
  SmallVector<Attribute> inputAttrs, outputAttrs;
  Block &body = region.getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), region.getOperands())) {
    inputs.push_back(replacer.replace(argument.getType()));
    inputAttrs.push_back(describe(operand));
  }
  for (auto [value, result] :
       llvm::zip_equal(body.getTerminator()->getOperands(), region.getResults())) {
    outputs.push_back(replacer.replace(value.getType()));
    outputAttrs.push_back(describe(result));
  }
  OpBuilder kernelBuilder(builder.getContext());
  auto kernel = KernelOp::create(kernelBuilder, region.getLoc(), "kernel",
                                 builder.getFunctionType(inputs, outputs), parameters);
  // The builder of a kernel makes an empty body; the region's body replaces it.
  kernel.getBody().getBlocks().clear();
  kernel.getBody().takeBody(region.getBody());
  renameSymbols(kernel);
  annotate(kernel, inputAttrs, outputAttrs);
  return kernel;
}

/// Strides that are not row-major are part of the kernel; offsets are not. Null if there are none.
LayoutAttr RegionKernel::getKernelLayout(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type) {
    return {};
  }
  MLIRContext *context = builder.getContext();
  LayoutAttr layout = LayoutAttr::get(context, getAssignedLayout(value).getStrides(),
                                      SizeExpr::constant(context, 0));
  return layout == getContiguousLayout(type) ? LayoutAttr() : layout;
}

void RegionKernel::collectSymbols() {
  llvm::StringSet<> known;
  AttrTypeWalker walker;
  walker.addWalk([&](SizeAttr size) {
    SizeExpr(size).forEachSymbol([&](SizeSymbolAttr symbol) {
      // Index variables of maps (d0.., v0..) are not parameters.
      StringRef name = symbol.getName();
      if (symbol.isUniform() && known.insert(name).second) {
        names.push_back(name.str());
      }
    });
    return WalkResult::skip();
  });
  auto visit = [&](auto element) {
    if (element) {
      walker.walk(element);
    }
  };
  Block &body = region.getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), region.getOperands())) {
    visit(argument.getType());
    visit(Attribute(getKernelLayout(operand)));
  }
  region.getBody().walk([&](Operation *op) {
    visit(Attribute(op->getAttrDictionary()));
    llvm::for_each(op->getResultTypes(), visit);
  });
  for (Value result : region.getResults()) {
    visit(Attribute(getKernelLayout(result)));
  }
  visit(Attribute(region.getScheduleAttr()));
}

void RegionKernel::readFacts() {
  for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
    facts[symbol.getName()] = symbol;
  }
  ArrayAttr wider = kWiderSymbolsAttr.get(graph);
  if (!wider) {
    return;
  }
  MLIRContext *context = builder.getContext();
  for (auto symbol : wider.getAsRange<SymbolAttr>()) {
    // The kernel is made for the wider range; the narrower one is an assumption.
    SymbolAttr narrow = std::exchange(facts[symbol.getName()], symbol);
    SizeAttr range[] = {SizeExpr::symbol(context, symbol.getName()),
                        SizeExpr::constant(context, narrow.getMin()),
                        SizeExpr::constant(context, *narrow.getMax())};
    if (llvm::is_contained(names, symbol.getName())) {
      ranges.push_back(AssumptionAttr::get(context, GuardKind::Range, {}, range, "bucket"));
    }
  }
}

void RegionKernel::nameParameters() {
  MLIRContext *context = builder.getContext();
  for (auto [i, name] : llvm::enumerate(names)) {
    SizeSymbolAttr parameter = SizeSymbolAttr::parameter(context, i);
    renaming[name] = SizeExpr::symbol(parameter);
    SymbolAttr fact = facts.lookup(name);
    parameters.push_back(
        fact ? SymbolAttr::get(context, parameter, fact.getMin(), fact.getMax(), std::nullopt,
                               fact.getDivisor(), false)
             : SymbolAttr::get(context, parameter, 0, std::nullopt, std::nullopt, 1, false));
    if (fact && fact.getHint() && isPlanted(Mistake::StaleSizes)) {
      sizes.push_back(SizeExpr::constant(context, *fact.getHint()).getAttr());
      continue;
    }
    sizes.push_back(flat ? flat->getAttr() : SizeExpr::symbol(context, name).getAttr());
  }
}

Attribute RegionKernel::describe(Value value) {
  LayoutAttr layout = getKernelLayout(value);
  return layout ? builder.getDictionaryAttr(builder.getNamedAttr(
                      kArgumentLayoutAttr.getName(), replacer.replace(Attribute(layout))))
                : builder.getDictionaryAttr({});
}

void RegionKernel::renameSymbols(KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    argument.setType(replacer.replace(argument.getType()));
  }
  kernel.getBody().walk([&](Operation *op) {
    replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                               /*replaceTypes=*/true);
  });
}

void RegionKernel::annotate(KernelOp kernel, ArrayRef<Attribute> inputs,
                            ArrayRef<Attribute> outputs) {
  if (ScheduleAttr schedule = region.getScheduleAttr()) {
    kernel.setScheduleAttr(cast<ScheduleAttr>(replacer.replace(Attribute(schedule))));
  }
  if (ArrayAttr variants = getVariants()) {
    kernel.setVariantsAttr(cast<ArrayAttr>(replacer.replace(Attribute(variants))));
  }
  if (!ranges.empty() && !flat) {
    kernel.setRangesAttr(
        cast<ArrayAttr>(replacer.replace(Attribute(builder.getArrayAttr(ranges)))));
  }
  auto isDescribed = [](Attribute attr) { return !cast<DictionaryAttr>(attr).empty(); };
  if (llvm::any_of(inputs, isDescribed)) {
    kernel.setArgAttrsAttr(builder.getArrayAttr(inputs));
  }
  if (llvm::any_of(outputs, isDescribed)) {
    kernel.setResAttrsAttr(builder.getArrayAttr(outputs));
  }
}

/// The variants of the region for its kernel, without origins, which would make equal kernels
/// differ. A flattened region keeps variants that assume nothing but 32-bit indices, restated for
/// its number of elements.
ArrayAttr RegionKernel::getVariants() {
  ArrayAttr proposed = region.getVariantsAttr();
  if (!proposed) {
    return {};
  }
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> variants;
  for (auto variant : proposed.getAsRange<VariantAttr>()) {
    SmallVector<AssumptionAttr> assumptions;
    for (AssumptionAttr assumption : variant.getAssumptions()) {
      assumptions.push_back(withOrigin(assumption, "schedule"));
    }
    if (flat) {
      if (llvm::any_of(assumptions,
                       [](AssumptionAttr one) { return one.getKind() != GuardKind::Index32; })) {
        continue;
      }
      DimsAttr domain = region.getScheduleAttr().getDomain();
      SizeAttr doubled = SizeExpr(domain.getSizes()[0]) * 2;
      assumptions = {AssumptionAttr::get(context, GuardKind::Index32, {}, doubled, "schedule")};
    }
    variants.push_back(VariantAttr::get(context, assumptions));
  }
  return variants.empty() ? ArrayAttr() : ArrayAttr::get(context, variants);
}
