// Queries of a finished program, and the two steps that finish one: collapsing dims that every
// expression treats as one, and dependence masks.
#include "kernel/KernelProgram.h"

#include "ir/FritAttributes.h"
#include "ir/Planted.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::frit;

KernelProgram::KernelProgram(KernelOp kernel) : kernel(kernel), facts(kernel.getSizeFacts()) {}

SizeExpr KernelProgram::getExtent(unsigned begin, unsigned end) const {
  return product(getContext(), getDomain().slice(begin, end - begin));
}

std::optional<unsigned> KernelProgram::getScan() const {
  for (auto [id, node] : llvm::enumerate(nodes)) {
    if (node.kind == NodeKind::Scan) {
      return id;
    }
  }
  return std::nullopt;
}

unsigned KernelProgram::numPhases() const {
  unsigned phases = 0;
  for (unsigned id : reduces) {
    phases = std::max(phases, getPhase(id));
  }
  return phases;
}

bool KernelProgram::canFail() const {
  return llvm::any_of(nodes, [&](const Node &node) {
    if (node.kind == NodeKind::Check) {
      return node.check != IndexCheck::Unchecked;
    }
    if (node.kind != NodeKind::Apply || !isIntegerDivision(node.op)) {
      return false;
    }
    const Node &divisor = nodes[node.operands[1]];
    return divisor.kind != NodeKind::Constant ||
           cast<IntegerAttr>(divisor.value).getValue().isZero();
  });
}

std::optional<SizeExpr> KernelProgram::getStride(SizeExpr expr, unsigned dim) const {
  SizeSymbolAttr symbol = SizeSymbolAttr::dim(getContext(), dim);
  if (!expr.contains(symbol)) {
    return SizeExpr::constant(getContext(), 0);
  }
  auto parts = expr.splitLinear(symbol);
  if (!parts) {
    return std::nullopt;
  }
  return parts->first;
}

std::optional<Group> KernelProgram::getGroup(SizeExpr address, unsigned dim, unsigned tensor,
                                             bool isResult) const {
  auto stride = getStride(address, dim);
  auto size = stride ? stride->getConstant() : std::nullopt;
  if (!size || *size < 2 || *size > 4) {
    return std::nullopt;
  }
  KernelOp op = kernel;
  auto type = dyn_cast<RankedTensorType>(isResult ? op.getResultTypes()[tensor]
                                                  : op.getArgumentTypes()[tensor]);
  ArrayAttr attributes = isResult ? op.getResAttrsAttr() : op.getArgAttrsAttr();
  auto strides = getKernelStrides(
      op, type, attributes ? cast<DictionaryAttr>(attributes[tensor]) : DictionaryAttr());
  if (strides.empty() || !getSizes(type).back().isConstant(*size) ||
      !strides.back().isConstant(1)) {
    return std::nullopt;
  }
  auto divides = [&](SizeExpr expr) { return expr.getContentDivisor() % *size == 0; };
  if (!llvm::all_of(ArrayRef(strides).drop_back(), divides)) {
    return std::nullopt;
  }
  // The constant part of the address selects the member; everything else steps over whole groups.
  for (int64_t member = 0; member < *size; ++member) {
    if (divides(address - member)) {
      return Group{static_cast<unsigned>(*size), static_cast<unsigned>(member), address - member};
    }
  }
  return std::nullopt;
}

int64_t KernelProgram::guess(SizeExpr size) const {
  if (auto constant = size.getConstant()) {
    return *constant;
  }
  auto value = size.evaluate([&](StringRef name) -> std::optional<int64_t> {
    for (auto symbol : getKernel().getSymbols().getAsRange<SymbolAttr>()) {
      if (symbol.getName() == name) {
        // Hints count by their power of two: nearby sizes share a kernel.
        int64_t hint = symbol.getHint().value_or(64);
        return hint <= 1 ? hint : int64_t(1) << llvm::Log2_64(hint);
      }
    }
    return std::nullopt;
  });
  return value.value_or(64);
}

void KernelProgram::assume(ArrayRef<AssumptionAttr> more) {
  for (AssumptionAttr assumption : more) {
    assumptions.push_back(assumption);
    if (assumption.getKind() != GuardKind::Range) {
      continue;
    }
    SizeExpr size = assumption.getSizes()[0];
    auto low = SizeExpr(assumption.getSizes()[1]).getConstant(),
         high = SizeExpr(assumption.getSizes()[2]).getConstant();
    if (auto name = size.getSymbol(); name && low && high) {
      facts.setRange(*name, std::max(*low, facts.lowerBound(size).value_or(*low)),
                     std::min(*high, facts.upperBound(size).value_or(*high)));
    }
  }
  // The extents of dims follow from what is known about the parameters.
  facts.setExtents(domain);
}

void KernelProgram::assumeRanges() {
  if (ArrayAttr ranges = kernel.getRangesAttr()) {
    assume(llvm::to_vector(ranges.getAsRange<AssumptionAttr>()));
  }
}

std::optional<int64_t> KernelProgram::sharedBound(SizeExpr size) const {
  return KernelOp(kernel).getSizeFacts().upperBound(size);
}

std::optional<unsigned> KernelProgram::getLaneDim() const {
  if (domain.empty()) {
    return std::nullopt;
  }
  SmallVector<double> bytes(domain.size(), 0);
  auto count = [&](SizeExpr address, uint32_t dims, Type element) {
    double size = getElementBytes(element);
    for (unsigned dim = 0; dim < domain.size(); ++dim) {
      if (dims >> dim & 1) {
        size *= guess(domain[dim]);
      }
    }
    for (unsigned dim = 0; dim < domain.size(); ++dim) {
      auto stride = getStride(address, dim);
      if (stride && stride->isConstant(1)) {
        bytes[dim] += size;
      }
    }
  };
  for (const Node &node : nodes) {
    if (node.kind == NodeKind::Load) {
      count(node.expr, node.dims, node.type);
    }
  }
  for (const Store &store : stores) {
    count(store.address, store.dims, nodes[store.node].type);
  }
  unsigned best = domain.size() - 1;
  for (unsigned dim = domain.size(); dim-- > 0;) {
    if (bytes[dim] > bytes[best]) {
      best = dim;
    }
  }
  return best;
}

void Node::forEachInput(llvm::function_ref<void(unsigned)> visit) const {
  llvm::for_each(operands, visit);
  for (const Bound &bound : bounds) {
    for (SizeExpr part : {bound.expr, bound.low, bound.high}) {
      part.forEachSymbol([&](SizeSymbolAttr symbol) {
        if (symbol.isValue()) {
          visit(symbol.getPosition());
        }
      });
    }
  }
}

void Node::forEachNode(llvm::function_ref<void(unsigned)> visit) const {
  forEachInput(visit);
  if (body) {
    visit(body->position);
    visit(body->value);
  }
}

SmallVector<unsigned> KernelProgram::getReducedNodes(unsigned level) const {
  SmallVector<unsigned> taken;
  for (unsigned id : reduces) {
    if (nodes[id].level == level) {
      taken.push_back(nodes[id].operands[0]);
    }
  }
  return taken;
}

SmallVector<unsigned> KernelProgram::getSweptLoads(ArrayRef<unsigned> roots) const {
  SmallVector<unsigned> loads;
  for (unsigned id : reach(roots)) {
    if (nodes[id].kind == NodeKind::Load && (nodes[id].dims & reducedMask())) {
      loads.push_back(id);
    }
  }
  return loads;
}

bool KernelProgram::isReadAgain() const {
  return numPhases() > 1 || llvm::any_of(stores, [&](const Store &store) {
           const Node &node = nodes[store.node];
           return ((store.dims | node.dims) & reducedMask()) && node.level > 0;
         });
}

SmallVector<unsigned> KernelProgram::getStoredNodes() const {
  return llvm::map_to_vector(stores, [](const Store &store) { return store.node; });
}

SmallVector<unsigned> KernelProgram::getRoots() const {
  SmallVector<unsigned> roots = getStoredNodes();
  for (unsigned id : reduces) {
    roots.push_back(nodes[id].operands[0]);
  }
  if (auto scan = getScan()) {
    roots.push_back(nodes[*scan].operands[0]);
  }
  return roots;
}

SmallVector<unsigned> KernelProgram::reach(ArrayRef<unsigned> roots,
                                           ArrayRef<unsigned> known) const {
  llvm::BitVector needed(nodes.size());
  for (unsigned root : roots) {
    needed.set(root);
  }
  for (unsigned id = nodes.size(); id-- > 0;) {
    if (needed.test(id) && !nodes[id].isSupplied() && !llvm::is_contained(known, id)) {
      nodes[id].forEachInput([&](unsigned input) { needed.set(input); });
    }
  }
  return SmallVector<unsigned>(needed.set_bits());
}

//===----------------------------------------------------------------------===//
// Finishing
//===----------------------------------------------------------------------===//

void KernelProgram::forEachExpr(llvm::function_ref<void(SizeExpr &)> visit) {
  for (Node &node : nodes) {
    if (node.expr) {
      visit(node.expr);
    }
    for (Bound &bound : node.bounds) {
      visit(bound.expr);
      visit(bound.low);
      visit(bound.high);
    }
  }
  for (Store &store : stores) {
    visit(store.address);
  }
}

void mlir::frit::forEachQuotient(SizeExpr expr,
                                 llvm::function_ref<void(SizeExpr, SizeExpr, SizeExpr)> visit) {
  for (ArrayAttr monomial : expr.getAttr().getMonomials()) {
    for (Attribute atom : monomial) {
      if (auto call = dyn_cast<SizeCallAttr>(atom)) {
        SizeExpr left = call.getLhs(), right = call.getRhs();
        forEachQuotient(left, visit);
        forEachQuotient(right, visit);
        if (call.getFunction() == SizeFunction::FloorDiv) {
          visit(SizeAttr::get(expr.getContext(), {1}, {ArrayAttr::get(expr.getContext(), {atom})}),
                left, right);
        }
      }
    }
  }
}

void KernelProgram::forEachQuotient(
    llvm::function_ref<void(SizeExpr, SizeExpr, SizeExpr)> visit) const {
  const_cast<KernelProgram *>(this)->forEachExpr(
      [&](SizeExpr &expr) { frit::forEachQuotient(expr, visit); });
}

/// Whether a dim of the tensor that is reduced ends with this dim of the domain. Where the order of
/// sums must not follow from strides, which depend on the number of rows if these lie between
/// reduced dims, only parts of one dim are collapsed.
static bool endsReducedDim(const KernelProgram &program, unsigned dim) {
  // The list of reductions is made from collapsed dims.
  const Node *node = llvm::find_if(program.getNodes(), [](const Node &one) {
    return one.kind == NodeKind::Reduce && !one.isAcross;
  });
  if (node == program.getNodes().end()) {
    return false;
  }
  auto reduce = cast<ReduceOp>(node->op);
  SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(reduce.getOperand().getType()));
  SizeExpr upTo = SizeExpr::constant(program.getContext(), 1), ends = upTo;
  for (unsigned at = program.numParallel(); at <= dim; ++at) {
    upTo = upTo * program.getDomain()[at];
  }
  return llvm::any_of(reduce.getDims(), [&](int64_t reduced) {
    ends = ends * sizes[reduced];
    return ends == upTo;
  });
}

void KernelProgram::collapseDims() {
  MLIRContext *context = getContext();
  bool isInvariant = kBatchInvariantAttr.isOn(getKernel());
  for (unsigned i = 0; i + 1 < domain.size();) {
    bool isBorder = i + 1 == numParallel();
    if (isBorder || (isInvariant && i >= numParallel() && endsReducedDim(*this, i))) {
      ++i;
      continue;
    }
    // f(d_i, d_i+1) == f(0, d_i * size + d_i+1) for all f: the pair is one dim.
    SizeExpr zero = SizeExpr::constant(context, 0),
             both = SizeExpr::dim(context, i) * domain[i + 1] + SizeExpr::dim(context, i + 1);
    auto joined = [&](SizeSymbolAttr symbol) {
      return symbol.isDim(i) ? zero : symbol.isDim(i + 1) ? both : SizeExpr();
    };
    bool one = true;
    forEachExpr([&](SizeExpr &expr) { one = one && expr.replaceSymbols(joined) == expr; });
    if (!one) {
      ++i;
      continue;
    }
    auto dropped = [&](SizeSymbolAttr symbol) {
      if (!symbol.isDim() || symbol.getPosition() < i) {
        return SizeExpr();
      }
      return symbol.isDim(i) ? zero : SizeExpr::dim(context, symbol.getPosition() - 1);
    };
    forEachExpr([&](SizeExpr &expr) { expr = expr.replaceSymbols(dropped); });
    domain[i + 1] = domain[i] * domain[i + 1];
    if (i >= numParallel()) {
      --reducedRank;
    }
    domain.erase(domain.begin() + i);
  }
  facts.setExtents(domain);
  forEachExpr([&](SizeExpr &expr) { expr = facts.simplify(expr); });
}

void KernelProgram::computeDims() {
  auto dimsOf = [&](SizeExpr expr) {
    uint32_t dims = 0;
    expr.forEachSymbol([&](SizeSymbolAttr symbol) {
      if (symbol.isDim()) {
        dims |= 1u << symbol.getPosition();
      } else if (symbol.isValue()) {
        const Node &index = nodes[symbol.getPosition()];
        assert((index.kind == NodeKind::Check || index.kind == NodeKind::Position) &&
               "only indices have names");
        dims |= index.dims;
      }
    });
    return dims;
  };
  reduces.clear();
  across.clear();
  for (auto [id, node] : llvm::enumerate(nodes)) {
    node.dims = node.expr ? dimsOf(node.expr) : 0;
    node.level = 0;
    for (const Bound &bound : node.bounds) {
      node.dims |= dimsOf(bound.expr) | dimsOf(bound.low) | dimsOf(bound.high);
    }
    node.forEachNode([&, &node = node](unsigned input) {
      node.dims |= nodes[input].dims;
      node.level = std::max(node.level, getPhase(input));
    });
    if (node.kind == NodeKind::Scan) {
      node.dims |= reducedMask();
    }
    if (node.kind == NodeKind::Position) {
      node.dims |= 1u << node.dimension;
    }
    if (node.body) {
      node.dims &= ~(1u << nodes[node.body->position].dimension);
    }
    if (node.kind == NodeKind::Reduce) {
      node.dims &= node.isAcross ? reducedMask() : parallelMask();
      (node.isAcross ? across : reduces).push_back(id);
    }
  }
  llvm::sort(reduces, [&](unsigned a, unsigned b) {
    return std::pair(nodes[a].level, a) < std::pair(nodes[b].level, b);
  });
  for (Store &store : stores) {
    store.dims = dimsOf(store.address) | nodes[store.node].dims;
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printBounds(raw_ostream &os, ArrayRef<Bound> bounds) {
  for (auto [i, bound] : llvm::enumerate(bounds)) {
    os << (i ? ", " : " where ") << bound.low.str() << " <= " << bound.expr.str() << " < "
       << bound.high.str();
  }
}

void KernelProgram::print(raw_ostream &os) const {
  os << "domain [";
  for (auto [i, size] : llvm::enumerate(domain)) {
    os << (i == 0 ? "" : i == numParallel() ? " | " : ", ") << size.str();
  }
  os << "]\n";
  for (auto [id, node] : llvm::enumerate(nodes)) {
    os << '%' << id << " = ";
    switch (node.kind) {
    case NodeKind::Constant:
      os << "constant " << node.value;
      break;
    case NodeKind::Scalar:
      os << "scalar arg" << node.argument;
      break;
    case NodeKind::Index:
      os << "index " << node.expr.str();
      break;
    case NodeKind::Random:
      os << "random at " << node.expr.str();
      break;
    case NodeKind::Load:
      os << "load arg" << node.argument << '[' << node.expr.str() << ']';
      break;
    case NodeKind::Check:
      os << "check " << stringifyIndexCheck(node.check) << " < " << node.expr.str();
      break;
    case NodeKind::Checked:
      os << "checked";
      break;
    case NodeKind::Apply:
      os << "apply " << node.op->getName();
      break;
    case NodeKind::Select:
      os << "select";
      break;
    case NodeKind::Position:
      os << "position";
      break;
    case NodeKind::SegmentSum:
      os << "segment sum of %" << node.body->value << " at %" << node.body->position << " from";
      break;
    case NodeKind::Scan:
      os << "scan " << stringifyReduceKind(cast<ScanOp>(node.op).getKind());
      break;
    case NodeKind::Reduce:
      os << "reduce " << (node.isAcross ? "across " : "")
         << stringifyReduceKind(cast<ReduceOp>(node.op).getKind());
      break;
    }
    if (node.kind != NodeKind::Load) {
      for (auto [i, operand] : llvm::enumerate(node.operands)) {
        os << (i ? ", %" : " %") << operand;
      }
    }
    printBounds(os, node.bounds);
    os << " : " << node.type << " dims {";
    llvm::interleave(llvm::make_filter_range(llvm::seq(0u, getRank()),
                                             [&](unsigned dim) { return node.dims >> dim & 1; }),
                     os, ",");
    os << "} level " << node.level << '\n';
  }
  for (const Store &store : stores) {
    os << "store %" << store.node << " -> result " << store.result << '[' << store.address.str()
       << "]\n";
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<SizeExpr> mlir::frit::getKernelStrides(KernelOp kernel, RankedTensorType type,
                                                   DictionaryAttr attributes) {
  if (attributes) {
    if (LayoutAttr layout = kArgumentLayoutAttr.in(attributes)) {
      bool repeats = llvm::any_of(layout.getStrides(),
                                  [](SizeAttr stride) { return SizeExpr(stride).isConstant(0); });
      if ((isPlanted(Mistake::StrideZero) && repeats) ||
          (isPlanted(Mistake::DynamicStrides) && !type.hasStaticShape())) {
        return getContiguousStrides(getSizes(type), kernel.getContext());
      }
      return llvm::to_vector(
          llvm::map_range(layout.getStrides(), [](SizeAttr stride) { return SizeExpr(stride); }));
    }
  }
  return getContiguousStrides(getSizes(type), kernel.getContext());
}

unsigned mlir::frit::getElementBytes(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }
