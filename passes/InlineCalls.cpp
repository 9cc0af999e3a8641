// Inlines called graphs (invoke_subgraph) into their callers and replaces their symbols by the
// caller's sizes. Equal regions of repeated calls become one kernel again in outlining.
#include "passes/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::frit {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// Calls nest at most this deep: deeper ones are a cycle.
static constexpr unsigned maxDepth = 64;

namespace {
struct InlineCallsPass : frit::impl::InlineCallsPassBase<InlineCallsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable table(module);
    llvm::DenseSet<Operation *> callees;
    for (GraphOp graph : module.getOps<GraphOp>()) {
      graph.walk([&](CallOp call) { callees.insert(table.lookup(call.getCallee())); });
    }
    for (GraphOp graph : module.getOps<GraphOp>()) {
      if (callees.contains(graph)) {
        continue;
      }
      for (unsigned depth = 0;; ++depth) {
        SmallVector<CallOp> calls(graph.getBody().front().getOps<CallOp>());
        if (calls.empty()) {
          break;
        }
        if (depth == maxDepth) {
          calls.front().emitError("calls nest deeper than ")
              << maxDepth << "; a graph that calls itself cannot be inlined";
          return signalPassFailure();
        }
        for (CallOp call : calls) {
          auto callee = table.lookup<GraphOp>(call.getCallee());
          if (callee == graph) {
            call.emitError("graph '")
                << graph.getName() << "' calls itself, so it cannot be inlined";
            return signalPassFailure();
          }
          inlineCall(call, callee);
        }
      }
    }
    // The first graph is the entry; the graphs that were called are erased.
    bool entry = true;
    for (GraphOp graph : llvm::make_early_inc_range(module.getOps<GraphOp>())) {
      if (callees.contains(graph) && !entry) {
        graph.erase();
      }
      entry = false;
    }
  }

  void inlineCall(CallOp call, GraphOp callee) {
    // Express symbols of the callee by the caller's sizes at the same places in the types of
    // arguments. Unbound symbols keep their names, as torch numbers the symbols of a program only
    // once.
    llvm::StringMap<SizeExpr> renaming;
    for (auto [operand, argument] :
         llvm::zip_equal(call.getOperands(), callee.getBody().getArguments())) {
      auto from = dyn_cast<RankedTensorType>(argument.getType());
      auto to = dyn_cast<RankedTensorType>(operand.getType());
      if (!from || !to) {
        continue;
      }
      for (auto [inner, outer] : llvm::zip(getSizes(from), getSizes(to))) {
        if (auto name = inner.getSymbol()) {
          renaming.try_emplace(*name, outer);
        }
      }
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](SizeAttr size) -> std::pair<Attribute, WalkResult> {
      return {SizeExpr(size).substitute(renaming).getAttr(), WalkResult::skip()};
    });
    IRMapping mapping;
    mapping.map(callee.getBody().getArguments(), call.getOperands());
    OpBuilder builder(call);
    Operation *terminator = callee.getBody().front().getTerminator();
    for (Operation &op : callee.getBody().front().without_terminator()) {
      Operation *made = builder.clone(op, mapping);
      made->walk([&](Operation *inner) {
        replacer.replaceElementsIn(inner, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                   /*replaceTypes=*/true);
      });
    }
    for (auto [result, value] : llvm::zip_equal(call.getResults(), terminator->getOperands())) {
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    }
    call.erase();
    ++inlined;
  }
};
} // namespace
