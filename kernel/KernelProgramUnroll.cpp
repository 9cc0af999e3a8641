// Unrolls a small dim: nodes are copied for each of its values, for which bounds are decided and
// selects between pieces disappear. Also splits a dim in two, one of which may be small.
#include "kernel/KernelProgram.h"

#include <map>

using namespace mlir;
using namespace mlir::frit;

/// Domains of so many dims are not split further.
static constexpr size_t kMostSplitDims = 8;
/// The fewest elements that are worth a loop of their own.
static constexpr int64_t kLine = 32;

namespace {

/// Nodes with equal keys are one node, whatever value of the dim they were copied for.
using NodeKey =
    std::tuple<NodeKind, const void *, const void *, const void *, unsigned, unsigned,
               std::vector<unsigned>, std::vector<const void *>, std::pair<unsigned, unsigned>>;

NodeKey keyOf(const Node &node) {
  std::vector<const void *> bounds;
  for (const Bound &bound : node.bounds) {
    for (SizeExpr part : {bound.expr, bound.low, bound.high}) {
      bounds.push_back(part.getAttr().getAsOpaquePointer());
    }
  }
  return {node.kind,
          node.op,
          node.value ? node.value.getAsOpaquePointer() : nullptr,
          node.expr ? node.expr.getAttr().getAsOpaquePointer() : nullptr,
          node.argument,
          node.dimension,
          std::vector<unsigned>(node.operands.begin(), node.operands.end()),
          std::move(bounds),
          node.body ? std::pair(node.body->position, node.body->value) : std::pair(0u, 0u)};
}

} // namespace

bool KernelProgram::splitDim(unsigned dim, SizeExpr inner) {
  MLIRContext *context = getContext();
  auto outer = domain[dim].divideExactly(inner);
  if (!outer) {
    return false;
  }
  SizeExpr both = SizeExpr::dim(context, dim) * inner + SizeExpr::dim(context, dim + 1);
  auto split = [&](SizeSymbolAttr symbol) {
    if (!symbol.isDim() || symbol.getPosition() < dim) {
      return SizeExpr();
    }
    return symbol.isDim(dim) ? both : SizeExpr::dim(context, symbol.getPosition() + 1);
  };
  reducedRank += dim >= numParallel();
  domain[dim] = *outer;
  domain.insert(domain.begin() + dim + 1, inner);
  facts.setExtents(domain);
  forEachExpr([&](SizeExpr &expr) { expr = facts.simplify(expr.replaceSymbols(split)); });
  computeDims();
  return true;
}

void KernelProgram::splitDims() {
  constexpr int64_t kLargestDivisor = 4;
  while (domain.size() < kMostSplitDims) {
    // The smallest divisor first.
    std::optional<std::pair<unsigned, int64_t>> found;
    forEachQuotient([&](SizeExpr, SizeExpr left, SizeExpr right) {
      auto dim = left.getDim();
      auto divisor = right.getConstant();
      if (dim && *dim < numParallel() && divisor && *divisor > 1 &&
          (!found || *divisor < found->second)) {
        found = {*dim, *divisor};
      }
    });
    if (!found || found->second > kLargestDivisor ||
        !splitDim(found->first, SizeExpr::constant(getContext(), found->second))) {
      return;
    }
  }
}

/// How many accesses cover whole lines: they are contiguous along the lane dim or, where nothing is
/// reduced and a tile can be transposed, vary along it and are contiguous along another one.
static unsigned countLines(const KernelProgram &program) {
  auto lane = program.getLaneDim();
  if (!lane) {
    return 0;
  }
  auto comesInLines = [&](SizeExpr address) {
    auto along = program.getStride(address, *lane);
    if (!along || along->isConstant(0)) {
      return false;
    }
    return along->isConstant(1) ||
           (!program.numReduced() && llvm::any_of(llvm::seq(program.getRank()), [&](unsigned dim) {
             auto stride = program.getStride(address, dim);
             return stride && stride->isConstant(1);
           }));
  };
  unsigned count = 0;
  for (const Node &node : program.getNodes()) {
    count += node.kind == NodeKind::Load && comesInLines(node.expr);
  }
  for (const Store &store : program.getStores()) {
    count += comesInLines(store.address);
  }
  return count;
}

void KernelProgram::splitUnknownDims() {
  // Dims and what they are divided by. Of two divisors, the one that is a multiple of the other:
  // its parts can then be split by the other.
  SmallVector<std::pair<unsigned, SizeExpr>> wanted;
  auto collect = [&] {
    wanted.clear();
    forEachQuotient([&](SizeExpr, SizeExpr left, SizeExpr right) {
      auto dim = left.getDim();
      bool isSize = !right.getConstant() &&
                    !right.anySymbol([](SizeSymbolAttr symbol) { return !symbol.isParameter(); });
      if (dim && isSize && domain[*dim] != right &&
          !llvm::is_contained(wanted, std::pair(*dim, right))) {
        wanted.emplace_back(*dim, right);
      }
    });
    llvm::erase_if(wanted, [&, all = wanted](auto one) {
      return llvm::any_of(all, [&](auto other) {
        return other.first == one.first && other.second != one.second &&
               other.second.divideExactly(one.second);
      });
    });
  };
  for (collect(); domain.size() < kMostSplitDims && !wanted.empty();) {
    bool isSplit = false;
    for (auto [dim, inner] : wanted) {
      KernelProgram split = *this;
      if (!split.splitDim(dim, inner)) {
        continue;
      }
      split.collapseDims();
      split.computeDims();
      // Vectors along the lane dim must end where the inner dim does. That pays if more accesses
      // cover whole lines and the inner dim is not short.
      if (getLaneDim() != dim || (guess(inner) >= kLine && countLines(split) > countLines(*this))) {
        *this = std::move(split);
        isSplit = true;
        break;
      }
    }
    if (!isSplit) {
      return;
    }
    collect();
  }
}

void KernelProgram::unrollDim(unsigned dim) {
  MLIRContext *context = getContext();
  int64_t count = *domain[dim].getConstant();
  std::vector<Node> old = std::move(nodes);
  SmallVector<Store> oldStores = std::move(stores);
  nodes.clear();
  stores.clear();
  std::map<NodeKey, unsigned> known;
  std::vector<SmallVector<unsigned, 4>> copies(old.size());
  auto copyOf = [&](unsigned id, int64_t k) {
    return copies[id].size() == 1 ? copies[id][0] : copies[id][k];
  };
  // Dims behind the unrolled one move up; v<k> follow their nodes.
  auto rewrite = [&](SizeExpr expr, int64_t k) {
    return expr.replaceSymbols([&](SizeSymbolAttr symbol) {
      if (symbol.isValue()) {
        return SizeExpr::value(context, copyOf(symbol.getPosition(), k));
      }
      if (!symbol.isDim() || symbol.getPosition() < dim) {
        return SizeExpr();
      }
      return symbol.isDim(dim) ? SizeExpr::constant(context, k)
                               : SizeExpr::dim(context, symbol.getPosition() - 1);
    });
  };
  for (unsigned i = 0, next = 0; i < domain.size(); ++i) {
    if (i != dim) {
      facts.setExtent(SizeSymbolAttr::dim(context, next++), domain[i]);
    }
  }
  auto copyNode = [&](unsigned id, int64_t k) -> unsigned {
    Node node = old[id];
    for (unsigned &operand : node.operands) {
      operand = copyOf(operand, k);
    }
    if (node.body) {
      node.body = {copyOf(node.body->position, k), copyOf(node.body->value, k)};
    }
    if (node.expr) {
      node.expr = facts.simplify(rewrite(node.expr, k));
    }
    bool possible = true;
    llvm::erase_if(node.bounds, [&](Bound &bound) {
      bound = {facts.simplify(rewrite(bound.expr, k)), facts.simplify(rewrite(bound.low, k)),
               facts.simplify(rewrite(bound.high, k))};
      possible &= !facts.provablyLess(bound.expr, bound.low) &&
                  !facts.provablyNonNegative(bound.expr - bound.high);
      return facts.provablyNonNegative(bound.expr - bound.low) &&
             facts.provablyLess(bound.expr, bound.high);
    });
    if (node.kind == NodeKind::Select && (!possible || node.bounds.empty())) {
      return node.operands[possible ? 0 : 1];
    }
    auto [entry, isNew] = known.try_emplace(keyOf(node), nodes.size());
    if (isNew) {
      if (node.kind == NodeKind::Check || node.kind == NodeKind::Position) {
        facts.setExtent(SizeSymbolAttr::value(context, nodes.size()), node.expr);
      }
      nodes.push_back(std::move(node));
    }
    return entry->second;
  };
  for (unsigned id = 0; id < old.size(); ++id) {
    unsigned needed = old[id].dims >> dim & 1 ? count : 1;
    for (unsigned k = 0; k < needed; ++k) {
      copies[id].push_back(copyNode(id, k));
    }
  }
  for (const Store &store : oldStores) {
    for (int64_t k = 0; k < (store.dims >> dim & 1 ? count : 1); ++k) {
      stores.push_back(
          {store.result, copyOf(store.node, k), facts.simplify(rewrite(store.address, k)), 0});
    }
  }
  domain.erase(domain.begin() + dim);
  dropDeadNodes();
  collapseDims();
  computeDims();
}

/// Drops nodes that no store needs any more, such as the sides of selects that were decided.
void KernelProgram::dropDeadNodes() {
  std::vector<bool> live(nodes.size());
  for (const Store &store : stores) {
    live[store.node] = true;
  }
  for (unsigned id = nodes.size(); id-- > 0;) {
    if (live[id]) {
      nodes[id].forEachNode([&](unsigned input) { live[input] = true; });
    }
  }
  std::vector<unsigned> moved(nodes.size());
  std::vector<Node> kept;
  MLIRContext *context = getContext();
  auto rename = [&](SizeExpr expr) {
    return expr.replaceSymbols([&](SizeSymbolAttr symbol) {
      return symbol.isValue() ? SizeExpr::value(context, moved[symbol.getPosition()]) : SizeExpr();
    });
  };
  for (unsigned id = 0; id < nodes.size(); ++id) {
    if (!live[id]) {
      continue;
    }
    moved[id] = kept.size();
    Node node = std::move(nodes[id]);
    for (unsigned &operand : node.operands) {
      operand = moved[operand];
    }
    if (node.body) {
      node.body = {moved[node.body->position], moved[node.body->value]};
    }
    if (node.expr) {
      node.expr = rename(node.expr);
    }
    for (Bound &bound : node.bounds) {
      bound = {rename(bound.expr), rename(bound.low), rename(bound.high)};
    }
    if (node.kind == NodeKind::Check || node.kind == NodeKind::Position) {
      facts.setExtent(SizeSymbolAttr::value(context, kept.size()), node.expr);
    }
    kept.push_back(std::move(node));
  }
  nodes = std::move(kept);
  for (Store &store : stores) {
    store.node = moved[store.node];
  }
}
