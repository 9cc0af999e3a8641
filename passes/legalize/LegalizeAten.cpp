// Walks the graph: an operator with a rule is rewritten to the vocabulary; any other gets the
// reason why not.
#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "passes/AtenAliases.h"
#include "passes/Passes.h"
#include "passes/legalize/AtenCall.h"
#include "passes/legalize/Foreach.h"
#include "passes/legalize/InPlaceWrites.h"
#include "passes/legalize/Mutants.h"
#include "passes/legalize/Reasons.h"
#include "passes/legalize/RewriteCall.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

namespace mlir::frit {
#define GEN_PASS_DEF_LEGALIZEATENPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct LegalizeAtenPass : frit::impl::LegalizeAtenPassBase<LegalizeAtenPass> {
  using LegalizeAtenPassBase::LegalizeAtenPassBase;

  void runOnOperation() override {
    if (listRules) {
      for (const std::string &name : getRules().getNames()) {
        llvm::outs() << name << "\n";
      }
    }
    for (GraphOp graph : getOperation().getOps<GraphOp>()) {
      OperatorCounts legalized;
      SizeFacts facts = graph.getSizeFacts();
      SmallVector<AtenOp> elements;
      for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
        auto aten = dyn_cast<AtenOp>(op);
        if (!aten) {
          continue;
        }
        elements.clear();
        if (!expandForeach(aten, elements)) {
          elements.push_back(aten);
        }
        for (AtenOp element : elements) {
          visit(element, facts, legalized);
        }
      }
      writeCounts(graph, kLegalizedAttr, legalized);
      writeCounts(graph, kMutantsAttr, mutants);
    }
  }

  void visit(AtenOp op, const SizeFacts &facts, OperatorCounts &legalized) {
    ++visited;
    if (isPlanted(Mistake::Quadratic)) {
      (void)verify(op->getParentOp());
    }
    std::string reason = legalize(op, facts);
    if (reason.empty()) {
      ++numLegalized;
      ++legalized[op.getOpName().str()];
      op.erase();
    } else {
      if (readAsAlias(op)) {
        return;
      }
      ++numKept;
      op.setReason(reason);
      writeInPlace(op);
    }
  }

  /// Whether the operator takes parts of a tensor that has no dimensions, which is an error of the
  /// program at the call. torch's exports have such calls where it drops the expansion of a write.
  static bool takesPartsOfScalar(AtenOp op) {
    StringRef name = op.getOpName();
    name.consume_front("aten.");
    bool takesParts = llvm::any_of(
        ArrayRef<StringRef>{"select", "slice", "narrow", "split", "chunk", "unbind", "diagonal"},
        [&](StringRef part) { return name.starts_with(part); });
    auto type = op.getNumOperands() == 0 ? RankedTensorType()
                                         : dyn_cast<RankedTensorType>(op.getOperand(0).getType());
    return takesParts && type && type.getRank() == 0;
  }

  /// Returns the reason why the operator stays a call; empty once all uses are replaced.
  std::string legalize(AtenOp op, const SizeFacts &facts) {
    if (op.getReason()) {
      return op.getReason()->str(); // decided before
    }
    const Rule *rule = getRules().find(op.getOpName());
    if (!rule) {
      return reasonWithoutRule(op);
    }
    if (takesPartsOfScalar(op)) {
      return "a tensor without dimensions has no parts";
    }
    for (Operation *user : op->getUsers()) {
      auto bind = dyn_cast<BindOp>(user);
      if (bind && isa<RankedTensorType>(bind.getSource().getType())) {
        return ("its result defines the size " + bind.getSymbol()).str();
      }
    }
    RewriteOptions options{.contract = !eagerNumerics,
                           .number = markOperators ? visited : 0,
                           .gpu = gpu,
                           .deterministic = deterministic};
    auto [wanted, place] = StringRef(mutant).split(':');
    if (wanted != "*" && wanted != op.getOpName()) {
      return rewriteCall(op, facts, options, *rule);
    }
    Mutant changed(place);
    options.mutant = &changed;
    std::string reason = rewriteCall(op, facts, options, *rule);
    for (const std::string &one : changed.getPlaces()) {
      mutants[(op.getOpName() + ":" + one).str()] += reason.empty();
    }
    if (wanted == "*" && changed.getPlaces().empty()) {
      mutants[(op.getOpName() + ":").str()] += reason.empty(); // no place, but the rule ran
    }
    return reason;
  }

  /// The number of the current operator, as statistics may be compiled out.
  int64_t visited = 0;
  /// The mistakes that were planted, or with `list` all that are possible.
  OperatorCounts mutants;
};
} // namespace
