// Turns regions into kernels in terms of their own parameters, so that equal regions, from one
// graph or from several, are one kernel.
#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "passes/FlatRegions.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"
#include "passes/ShapeGuards.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/xxhash.h"

namespace mlir::frit {
#define GEN_PASS_DEF_OUTLINEREGIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Symbols of a region in the order of their first occurrence.
class ParameterCollector {
public:
  ParameterCollector() {
    walker.addWalk([this](SizeAttr size) {
      SizeExpr(size).forEachSymbol([this](SizeSymbolAttr symbol) {
        // Index variables of maps (d0.., v0..) are not parameters.
        StringRef name = symbol.getName();
        if (symbol.isUniform() && !numbers.contains(name)) {
          numbers[name] = names.size();
          names.push_back(name.str());
        }
      });
      return WalkResult::skip();
    });
  }

  template <typename T> void visit(T element) {
    if (element) {
      walker.walk(element);
    }
  }

  SmallVector<std::string> names;

private:
  AttrTypeWalker walker;
  llvm::StringMap<unsigned> numbers;
};

struct OutlineRegionsPass : frit::impl::OutlineRegionsPassBase<OutlineRegionsPass> {
  llvm::StringMap<KernelOp> kernels;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    kernels.clear();
    SymbolTable table(module);
    SmallVector<GraphOp> graphs(module.getOps<GraphOp>());
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      kernels[textOf(kernel)] = kernel;
    }
    FlatRegions flat;
    lists.clear();
    for (GraphOp graph : graphs) {
      llvm::for_each(graph.getBody().front().getOps<RegionOp>(),
                     [&](RegionOp region) { flat.add(region); });
      measureLists(graph);
    }
    for (GraphOp graph : graphs) {
      for (RegionOp region :
           llvm::make_early_inc_range(graph.getBody().front().getOps<RegionOp>())) {
        std::optional<SizeExpr> size = flat.getSize(region);
        std::optional<List> list;
        if (region.getGroup()) {
          list = lists.lookup(FlatRegions::getFormula(region)->text);
        }
        if (size) {
          FlatRegions::flatten(region);
          ++flattened;
        }
        outline(graph, region, size, list, table);
      }
      joinLaunches(graph);
    }
  }

  /// The largest capacity and the fewest elements of all groups of a formula: one kernel over lists
  /// serves them all.
  struct List {
    int64_t capacity = 0;
    double elements = 0;
  };
  llvm::StringMap<List> lists;

  void measureLists(GraphOp graph) {
    SizeEstimate estimate(graph);
    llvm::MapVector<uint64_t, std::pair<std::string, List>> groups;
    for (RegionOp region : graph.getBody().front().getOps<RegionOp>()) {
      if (std::optional<uint64_t> group = region.getGroup()) {
        auto &[formula, list] = groups[*group];
        formula = FlatRegions::getFormula(region)->text;
        ++list.capacity;
        list.elements += estimate.ofElements(region.getResult(0).getType());
      }
    }
    for (auto &[group, described] : groups) {
      auto &[formula, list] = described;
      List &known = lists[formula];
      known.elements = known.capacity ? std::min(known.elements, list.elements) : list.elements;
      known.capacity = std::max(known.capacity, list.capacity);
    }
  }

  /// How often a GPU block repeats its sweep, so that about a thousand blocks remain; at most 16.
  static int64_t getSweeps(const List &list) {
    constexpr double elementsOfThousandBlocks = 1 << 20;
    return llvm::bit_floor(
        static_cast<uint64_t>(std::clamp(list.elements / elementsOfThousandBlocks, 1.0, 16.0)));
  }

  /// The groups of the regions that launches were made from.
  llvm::DenseMap<Operation *, uint64_t> groupOf;

  /// Joins the launches of each group into one.
  void joinLaunches(GraphOp graph) {
    SmallVector<SmallVector<LaunchOp>> groups;
    std::optional<uint64_t> last;
    for (LaunchOp launch : graph.getBody().front().getOps<LaunchOp>()) {
      auto known = groupOf.find(launch);
      std::optional<uint64_t> group;
      if (known != groupOf.end()) {
        group = known->second;
      }
      Operation *before = launch->getPrevNode();
      bool joins = group && group == last && before == groups.back().back() &&
                   launch.getKernel() == groups.back().back().getKernel();
      if (group && !joins) {
        groups.emplace_back();
      }
      if (group) {
        groups.back().push_back(launch);
      }
      last = group;
    }
    for (ArrayRef<LaunchOp> group : groups) {
      join(group);
    }
    groupOf.clear();
  }

  void join(ArrayRef<LaunchOp> group) {
    SmallVector<Type> types;
    SmallVector<Value> operands;
    SmallVector<Attribute> sizes, layouts, assigned, buffers;
    for (LaunchOp launch : group) {
      llvm::append_range(types, launch.getResultTypes());
      llvm::append_range(operands, launch.getOperands());
      llvm::append_range(sizes, launch.getSizes());
      if (ArrayAttr given = launch.getResultLayoutsAttr()) {
        llvm::append_range(layouts, given);
      }
      if (ArrayAttr given = kLayoutsAttr.get(launch)) {
        llvm::append_range(assigned, given);
      }
      if (ArrayAttr given = launch.getBuffersAttr()) {
        llvm::append_range(buffers, given);
      }
    }
    OpBuilder builder(group.back());
    LaunchOp first = group.front();
    auto joined = LaunchOp::create(builder, first.getLoc(), types, first.getKernelAttr(), operands,
                                   builder.getArrayAttr(sizes),
                                   layouts.size() == types.size() ? builder.getArrayAttr(layouts)
                                                                  : ArrayAttr());
    joined.setItems(group.size());
    if (!assigned.empty()) {
      kLayoutsAttr.set(joined, builder.getArrayAttr(assigned));
    }
    if (!buffers.empty()) {
      joined.setBuffersAttr(builder.getArrayAttr(buffers));
    }
    unsigned next = 0;
    for (LaunchOp launch : group) {
      for (OpResult result : launch->getResults()) {
        result.replaceAllUsesWith(joined->getResult(next++));
      }
      launch->erase();
    }
    ++joinedLists;
  }

  static std::string textOf(KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream os(text);
    auto name = kernel.getSymNameAttr();
    kernel.setSymNameAttr(StringAttr::get(kernel.getContext(), "kernel"));
    kernel->print(os, OpPrintingFlags().useLocalScope());
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

  /// The variants of a region for its kernel, without origins, which would make equal kernels
  /// differ. A flattened region keeps variants that assume nothing but 32-bit indices, restated for
  /// its number of elements.
  static ArrayAttr variantsOf(RegionOp region, bool isFlat) {
    ArrayAttr proposed = region.getVariantsAttr();
    if (!proposed) {
      return {};
    }
    MLIRContext *context = region.getContext();
    SmallVector<Attribute> variants;
    for (auto variant : proposed.getAsRange<VariantAttr>()) {
      SmallVector<AssumptionAttr> assumptions;
      for (AssumptionAttr assumption : variant.getAssumptions()) {
        assumptions.push_back(withOrigin(assumption, "schedule"));
      }
      if (isFlat) {
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

  /// Turns a region into a kernel and a launch. `flat` is the number of elements if the region runs
  /// over one dim, `list` what its launch shares with others.
  void outline(GraphOp graph, RegionOp region, std::optional<SizeExpr> flat,
               const std::optional<List> &list, SymbolTable &table) {
    MLIRContext *context = &getContext();
    Builder builder(context);
    SizeExpr zero = SizeExpr::constant(context, 0);
    // Strides that are not row-major are part of the kernel; offsets are not.
    auto strided = [&](Value value) -> LayoutAttr {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type) {
        return {};
      }
      LayoutAttr layout = LayoutAttr::get(context, getAssignedLayout(value).getStrides(), zero);
      return layout == getContiguousLayout(type) ? LayoutAttr() : layout;
    };
    ParameterCollector collector;
    Block &body = region.getBody().front();
    for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), region.getOperands())) {
      collector.visit(argument.getType());
      collector.visit(Attribute(strided(operand)));
    }
    region.getBody().walk([&](Operation *op) {
      collector.visit(Attribute(op->getAttrDictionary()));
      for (Type type : op->getResultTypes()) {
        collector.visit(type);
      }
    });
    for (Value result : region.getResults()) {
      collector.visit(Attribute(strided(result)));
    }
    collector.visit(Attribute(region.getScheduleAttr()));

    llvm::StringMap<SizeExpr> renaming;
    SmallVector<Attribute> symbols, sizes;
    llvm::StringMap<SymbolAttr> facts;
    for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
      facts[symbol.getName()] = symbol;
    }
    SmallVector<Attribute> ranges;
    auto wider = kWiderSymbolsAttr.get(graph);
    for (auto symbol : wider ? wider.getAsRange<SymbolAttr>()
                             : builder.getArrayAttr({}).getAsRange<SymbolAttr>()) {
      // The kernel is made for the wider range; the narrower one is an assumption.
      SymbolAttr narrow = std::exchange(facts[symbol.getName()], symbol);
      SizeAttr range[] = {SizeExpr::symbol(context, symbol.getName()),
                          SizeExpr::constant(context, narrow.getMin()),
                          SizeExpr::constant(context, *narrow.getMax())};
      if (llvm::is_contained(collector.names, symbol.getName())) {
        ranges.push_back(AssumptionAttr::get(context, GuardKind::Range, {}, range, "bucket"));
      }
    }
    for (auto [i, name] : llvm::enumerate(collector.names)) {
      SizeSymbolAttr parameter = SizeSymbolAttr::parameter(context, i);
      renaming[name] = SizeExpr::symbol(parameter);
      SymbolAttr fact = facts.lookup(name);
      symbols.push_back(
          fact ? SymbolAttr::get(context, parameter, fact.getMin(), fact.getMax(), std::nullopt,
                                 fact.getDivisor(), false)
               : SymbolAttr::get(context, parameter, 0, std::nullopt, std::nullopt, 1, false));
      if (fact && fact.getHint() && isPlanted(Mistake::StaleSizes)) {
        sizes.push_back(SizeExpr::constant(context, *fact.getHint()).getAttr());
        continue;
      }
      sizes.push_back(flat ? flat->getAttr() : SizeExpr::symbol(context, name).getAttr());
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](SizeAttr size) -> std::pair<Attribute, WalkResult> {
      return {SizeExpr(size).substitute(renaming).getAttr(), WalkResult::skip()};
    });

    SmallVector<Type> inputs, outputs;
    SmallVector<Attribute> inputAttrs, outputAttrs;
    auto describe = [&](Value value, SmallVectorImpl<Attribute> &attrs) {
      LayoutAttr layout = strided(value);
      attrs.push_back(layout
                          ? builder.getDictionaryAttr(builder.getNamedAttr(
                                kArgumentLayoutAttr.getName(), replacer.replace(Attribute(layout))))
                          : builder.getDictionaryAttr({}));
    };
    for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), region.getOperands())) {
      inputs.push_back(replacer.replace(argument.getType()));
      describe(operand, inputAttrs);
    }
    for (auto [value, result] :
         llvm::zip_equal(body.getTerminator()->getOperands(), region.getResults())) {
      outputs.push_back(replacer.replace(value.getType()));
      describe(result, outputAttrs);
    }
    OpBuilder kernelBuilder(context);
    auto kernel = KernelOp::create(kernelBuilder, region.getLoc(), "kernel",
                                   builder.getFunctionType(inputs, outputs), symbols);
    // The builder of a kernel makes an empty body; the region's takes its place.
    kernel.getBody().getBlocks().clear();
    kernel.getBody().takeBody(region.getBody());
    for (BlockArgument argument : kernel.getBody().getArguments()) {
      argument.setType(replacer.replace(argument.getType()));
    }
    kernel.getBody().walk([&](Operation *op) {
      replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                 /*replaceTypes=*/true);
    });
    if (ScheduleAttr schedule = region.getScheduleAttr()) {
      kernel.setScheduleAttr(cast<ScheduleAttr>(replacer.replace(Attribute(schedule))));
    }
    if (ArrayAttr variants = variantsOf(region, flat.has_value())) {
      kernel.setVariantsAttr(cast<ArrayAttr>(replacer.replace(Attribute(variants))));
    }
    if (list) {
      kernel.setList(list->capacity);
      kernel.setSweeps(getSweeps(*list));
    }
    if (!ranges.empty() && !flat) {
      kernel.setRangesAttr(
          cast<ArrayAttr>(replacer.replace(Attribute(builder.getArrayAttr(ranges)))));
    }
    auto nonEmpty = [](Attribute attr) { return !cast<DictionaryAttr>(attr).empty(); };
    if (llvm::any_of(inputAttrs, nonEmpty)) {
      kernel.setArgAttrsAttr(builder.getArrayAttr(inputAttrs));
    }
    if (llvm::any_of(outputAttrs, nonEmpty)) {
      kernel.setResAttrsAttr(builder.getArrayAttr(outputAttrs));
    }

    std::string text = textOf(kernel);
    KernelOp &known = kernels[text];
    if (known) {
      kernel->destroy();
      ++shared;
    } else {
      uint64_t hash = llvm::xxh3_64bits(text);
      kernel.setSymName(stemOf(kernel) + "_" +
                        llvm::utohexstr(hash >> 32, /*LowerCase=*/true, /*Width=*/8));
      table.insert(kernel, graph->getIterator());
      known = kernel;
      ++outlined;
    }
    OpBuilder launchBuilder(region);
    auto launch = LaunchOp::create(launchBuilder, region.getLoc(), region.getResultTypes(),
                                   FlatSymbolRefAttr::get(known), region.getOperands(),
                                   builder.getArrayAttr(sizes), region.getResultLayoutsAttr());
    launch->setDiscardableAttrs(region->getDiscardableAttrDictionary());
    launch.setVariantsAttr(region.getVariantsAttr());
    launch.setBuffersAttr(region.getBuffersAttr());
    launch.setWritesAttr(region.getWritesAttr());
    if (std::optional<uint64_t> group = region.getGroup()) {
      groupOf[launch] = *group;
    }
    region->replaceAllUsesWith(launch);
    region->erase();
  }
};
} // namespace
