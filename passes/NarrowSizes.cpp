// Narrows the ranges of sizes to one bucket for all passes after the schedules are chosen.
#include "ir/FritAttributes.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::frit {
#define GEN_PASS_DEF_NARROWSIZESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct NarrowSizesPass : frit::impl::NarrowSizesPassBase<NarrowSizesPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    SmallVector<Attribute> symbols(graph.getSymbols().begin(), graph.getSymbols().end()), wider;
    SmallVector<StringRef> each;
    StringRef(ranges).split(each, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef text : each) {
      if (failed(narrow(graph, text, symbols, wider))) {
        return signalPassFailure();
      }
    }
    if (!wider.empty()) {
      Builder builder(&getContext());
      graph.setSymbolsAttr(builder.getArrayAttr(symbols));
      kWiderSymbolsAttr.set(graph, builder.getArrayAttr(wider));
      numNarrowed += wider.size();
    }
  }

private:
  /// Reads "s0=9:16".
  LogicalResult narrow(GraphOp graph, StringRef text, SmallVectorImpl<Attribute> &symbols,
                       SmallVectorImpl<Attribute> &wider) {
    auto [name, range] = text.split('=');
    auto [from, to] = range.split(':');
    int64_t low, high;
    if (name.empty() || from.getAsInteger(10, low) || to.getAsInteger(10, high) || low > high) {
      return graph.emitError() << "range '" << text << "' is not of the form s0=9:16";
    }
    auto *found = llvm::find_if(symbols, [&](Attribute attribute) {
      auto symbol = cast<SymbolAttr>(attribute);
      return symbol.getName() == name && symbol.getBucketOf().empty();
    });
    if (found == symbols.end()) {
      return graph.emitError() << "range of '" << name << "', which is no size of the graph";
    }
    auto symbol = cast<SymbolAttr>(*found);
    int64_t min = std::max(low, symbol.getMin()),
            max = std::min(high, symbol.getMax().value_or(high));
    if (min > max) {
      return graph.emitError() << "range '" << text << "' holds no size that '" << name
                               << "' may have";
    }
    wider.push_back(symbol);
    *found = SymbolAttr::get(&getContext(), symbol.getName(), min, max, symbol.getHint(),
                             symbol.getDivisor(), symbol.getUnbacked(), symbol.getBuckets(),
                             symbol.getBucketOf());
    return success();
  }
};
} // namespace
