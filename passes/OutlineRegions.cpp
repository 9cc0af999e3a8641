// Turns regions into kernels in terms of their own parameters (RegionKernel), so that equal
// regions, from one graph or from several, are one kernel.
#include "ir/FritAttributes.h"
#include "passes/FlatRegions.h"
#include "passes/Layouts.h"
#include "passes/ListLaunches.h"
#include "passes/Passes.h"
#include "passes/RegionKernel.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/xxhash.h"

namespace mlir::frit {
#define GEN_PASS_DEF_OUTLINEREGIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// The text of a kernel without its name: equal kernels have equal texts.
static std::string textOf(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto name = kernel.getSymNameAttr();
  kernel.setSymNameAttr(StringAttr::get(kernel.getContext(), "kernel"));
  // Printing would verify it first, which takes a third of the time.
  kernel->print(os, OpPrintingFlags().useLocalScope().assumeVerified());
  kernel.setSymNameAttr(name);
  return text;
}

/// A name for the kernel: its first few distinct operations, without views and casts.
static std::string stemOf(KernelOp kernel) {
  SmallVector<std::string> names;
  for (Operation &op : kernel.getBody().front()) {
    if (isView(&op) || isa<YieldOp, SizeOp>(op) || op.hasTrait<OpTrait::ConstantLike>()) {
      continue;
    }
    StringRef name = op.getName().stripDialect();
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      name = stringifyReduceKind(reduce.getKind());
    }
    if (name == "extf" || name == "truncf" || name == "from_elements") {
      continue;
    }
    if (name.size() > 3 && (name.ends_with("f") || name.ends_with("i")) &&
        isa_and_nonnull<arith::ArithDialect>(op.getDialect())) {
      name = name.drop_back();
    }
    if (!llvm::is_contained(names, name)) {
      names.push_back(name.str());
    }
  }
  std::string stem = kernel.getList() ? "frit_foreach" : "frit";
  for (const std::string &name : ArrayRef(names).take_front(5)) {
    stem += "_" + name;
  }
  return names.empty() ? stem + "_copy" : stem;
}

namespace {
struct OutlineRegionsPass : frit::impl::OutlineRegionsPassBase<OutlineRegionsPass> {
  using OutlineRegionsPassBase::OutlineRegionsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable table(module);
    SmallVector<GraphOp> graphs(module.getOps<GraphOp>());
    kernels.clear();
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      kernels[textOf(kernel)] = kernel;
    }
    FlatRegions flat;
    ListLaunches lists;
    for (GraphOp graph : graphs) {
      llvm::for_each(graph.getBody().front().getOps<RegionOp>(),
                     [&](RegionOp region) { flat.add(region); });
      lists.measure(graph);
    }
    for (GraphOp graph : graphs) {
      for (RegionOp region :
           llvm::make_early_inc_range(graph.getBody().front().getOps<RegionOp>())) {
        std::optional<ListLaunches::List> list = lists.lookup(region);
        std::optional<SizeExpr> size = flat.getSize(region);
        if (size) {
          FlatRegions::flatten(region);
          ++flattened;
        }
        RegionKernel made(graph, region, size);
        KernelOp kernel = made.build();
        if (list) {
          ListLaunches::annotate(kernel, *list);
        }
        if (batchInvariant) {
          kBatchInvariantAttr.mark(kernel);
        }
        launch(region, share(kernel, graph, table), made.getSizes(), lists);
      }
      joinedLists += lists.join(graph);
    }
  }

private:
  /// Names a new kernel and adds it to the module, unless there is an equal one.
  KernelOp share(KernelOp kernel, GraphOp graph, SymbolTable &table) {
    std::string text = textOf(kernel);
    KernelOp &known = kernels[text];
    if (known) {
      kernel->destroy();
      ++shared;
      return known;
    }
    uint64_t hash = llvm::xxh3_64bits(text);
    kernel.setSymName(stemOf(kernel) + "_" +
                      llvm::utohexstr(hash >> 32, /*LowerCase=*/true, /*Width=*/8));
    table.insert(kernel, graph->getIterator());
    ++outlined;
    return known = kernel;
  }

  /// Replaces a region by a launch.
  static void launch(RegionOp region, KernelOp kernel, ArrayAttr sizes, ListLaunches &lists) {
    OpBuilder builder(region);
    auto launch = LaunchOp::create(builder, region.getLoc(), region.getResultTypes(),
                                   FlatSymbolRefAttr::get(kernel), region.getOperands(), sizes,
                                   region.getResultLayoutsAttr());
    launch->setDiscardableAttrs(region->getDiscardableAttrDictionary());
    launch.setVariantsAttr(region.getVariantsAttr());
    launch.setBuffersAttr(region.getBuffersAttr());
    launch.setWritesAttr(region.getWritesAttr());
    if (std::optional<uint64_t> group = region.getGroup()) {
      lists.addLaunch(launch, *group);
    }
    region->replaceAllUsesWith(launch);
    region->erase();
  }

  /// By text.
  llvm::StringMap<KernelOp> kernels;
};
} // namespace
