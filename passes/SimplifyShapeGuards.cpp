// Removes guards that the symbol table or another guard makes superfluous.
#include "passes/Passes.h"
#include "passes/ShapeGuards.h"

#include "mlir/IR/Builders.h"

namespace mlir::frit {
#define GEN_PASS_DEF_SIMPLIFYSHAPEGUARDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct SimplifyShapeGuardsPass : frit::impl::SimplifyShapeGuardsPassBase<SimplifyShapeGuardsPass> {
  void runOnOperation() override {
    GraphOp graph = getOperation();
    GuardFacts facts(graph);
    kept.clear();
    if (failed(simplifyGuards(graph, facts))) {
      return signalPassFailure();
    }
    for (RegionOp region : graph.getBody().front().getOps<RegionOp>()) {
      simplifyVariants(region, facts);
    }
  }

private:
  LogicalResult simplifyGuards(GraphOp graph, GuardFacts &facts) {
    llvm::DenseSet<Attribute> seen;
    for (GuardOp guard : llvm::make_early_inc_range(graph.getBody().front().getOps<GuardOp>())) {
      AssumptionAttr plain = facts.simplify(guard.getAssumption());
      if (plain.getKind() != guard.getAssumption().getKind()) {
        ++rewritten;
      }
      guard.setAssumptionAttr(plain);
      std::optional<bool> decided = facts.decide(plain);
      if (decided && !*decided) {
        std::string text = describe(
            plain, [&](int64_t argument) { return "argument " + std::to_string(argument); });
        return guard.emitError() << "can never run: " << text
                                 << ", which the graph's sizes rule out; assumed by "
                                 << plain.getOrigin();
      }
      if (decided) {
        ++impliedByFacts;
        guard.erase();
        continue;
      }
      // Guards that differ only in their origins are the same.
      if (!seen.insert(withOrigin(plain, "any")).second || isImplied(facts, plain)) {
        ++impliedByGuards;
        guard.erase();
        continue;
      }
      // A stronger later guard replaces an earlier one, unless it uses symbols that are not known
      // there.
      if (!facts.isUnbacked(plain)) {
        auto &same = kept[static_cast<unsigned>(plain.getKind())];
        llvm::erase_if(same, [&](GuardOp other) {
          bool weaker = comparable(plain) && facts.implies(plain, other.getAssumption());
          if (weaker) {
            ++impliedByGuards;
            other.erase();
          }
          return weaker;
        });
      }
      kept[static_cast<unsigned>(plain.getKind())].push_back(guard);
      facts.learn(plain);
    }
    return success();
  }

  /// Kinds of guards that may imply a different guard of the same kind. There may be one guard of
  /// each other kind per argument.
  static bool comparable(AssumptionAttr assumption) {
    return assumption.getKind() != GuardKind::Strides &&
           assumption.getKind() != GuardKind::Disjoint;
  }

  bool isImplied(const GuardFacts &facts, AssumptionAttr assumption) {
    return comparable(assumption) &&
           llvm::any_of(kept[static_cast<unsigned>(assumption.getKind())], [&](GuardOp other) {
             return facts.implies(other.getAssumption(), assumption);
           });
  }

  void simplifyVariants(RegionOp region, const GuardFacts &facts) {
    ArrayAttr proposed = region.getVariantsAttr();
    if (!proposed) {
      return;
    }
    SmallVector<Attribute> left;
    for (auto variant : proposed.getAsRange<VariantAttr>()) {
      SmallVector<AssumptionAttr> open;
      bool possible = true;
      for (AssumptionAttr assumption : variant.getAssumptions()) {
        AssumptionAttr plain = facts.simplify(assumption);
        std::optional<bool> decided = facts.decide(plain);
        possible &= !decided || *decided;
        if (decided) {
          ++impliedByFacts;
        } else if (isImplied(facts, plain) || llvm::any_of(open, [&](AssumptionAttr other) {
                     return facts.implies(other, plain);
                   })) {
          ++impliedByGuards;
        } else {
          llvm::erase_if(open, [&](AssumptionAttr other) {
            bool weaker = facts.implies(plain, other);
            impliedByGuards += weaker;
            return weaker;
          });
          open.push_back(plain);
        }
      }
      // A variant whose assumptions imply those of an earlier one is never reached.
      bool reached = llvm::none_of(left, [&](Attribute earlier) {
        return llvm::all_of(cast<VariantAttr>(earlier).getAssumptions(),
                            [&](AssumptionAttr needed) {
                              return llvm::any_of(open, [&](AssumptionAttr other) {
                                return facts.implies(other, needed);
                              });
                            });
      });
      if (!possible || !reached) {
        ++variantsDropped;
      } else if (open.empty()) {
        // It always holds: it is the generic code of the region, and nothing comes after it.
        ++variantsDecided;
        break;
      } else {
        left.push_back(VariantAttr::get(&getContext(), open));
      }
    }
    region.setVariantsAttr(left.empty() ? ArrayAttr() : ArrayAttr::get(&getContext(), left));
  }

  /// By kind.
  llvm::DenseMap<unsigned, SmallVector<GuardOp>> kept;
};
} // namespace
