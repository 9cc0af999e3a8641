#include "kernel/VectorAccesses.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::frit;

SizeExpr mlir::frit::countChunks(const KernelProgram &program, unsigned begin, unsigned end,
                                 unsigned lane, int64_t width) {
  SizeExpr chunks = SizeExpr::constant(program.getContext(), 1);
  for (unsigned dim = begin; dim < end; ++dim) {
    chunks = dim == lane ? chunks : chunks * program.getDomain()[dim];
  }
  return chunks *
         program.getDomain()[lane].ceilDiv(SizeExpr::constant(program.getContext(), width));
}

bool mlir::frit::hasWholeChunks(const KernelProgram &program, unsigned lane, int64_t width) {
  return program.getDomain()[lane].getContentDivisor() % width == 0;
}

void mlir::frit::forEachAccess(const KernelProgram &program,
                               llvm::function_ref<void(unsigned, bool, Type, SizeExpr)> visit) {
  for (const Node &node : program.getNodes()) {
    if (node.kind == NodeKind::Load) {
      visit(node.argument, false, node.type, node.expr);
    }
  }
  for (const Store &store : program.getStores()) {
    visit(store.result, true, program[store.node].type, store.address);
  }
}

llvm::DenseMap<Attribute, unsigned> mlir::frit::findNeighbours(const KernelProgram &program) {
  // The loads of each group, by its first address.
  llvm::MapVector<std::pair<unsigned, Attribute>, llvm::SmallSetVector<Attribute, 4>> groups;
  llvm::DenseMap<Attribute, unsigned> neighbours;
  MLIRContext *context = program.getContext();
  for (const Node &node : program.getNodes()) {
    if (node.kind != NodeKind::Load || !node.dims) {
      continue;
    }
    SizeAttr attr = node.expr;
    int64_t constant = 0;
    for (auto [coefficient, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
      constant += monomial.empty() ? coefficient : 0;
    }
    SizeExpr varying = node.expr - SizeExpr::constant(context, constant);
    int64_t divisor = varying.getContentDivisor(),
            members = std::min<int64_t>(4, 16 / getElementBytes(node.type));
    while (members > 1 && divisor % members != 0) {
      members /= 2;
    }
    if (members > 1) {
      SizeExpr first = node.expr - SizeExpr::constant(context, llvm::mod(constant, members));
      groups[{node.argument, first.getAttr()}].insert(node.expr.getAttr());
      neighbours[node.expr.getAttr()] = static_cast<unsigned>(members) * getElementBytes(node.type);
    }
  }
  for (const auto &[first, addresses] : groups) {
    if (addresses.size() == 1) {
      neighbours.erase(addresses.front());
    }
  }
  return neighbours;
}

VectorAccesses::VectorAccesses(const KernelProgram &program, unsigned lane, unsigned wanted)
    : width(wanted) {
  if (width == 1) {
    return;
  }
  MLIRContext *context = program.getContext();
  forEachAccess(program, [&](unsigned tensor, bool isResult, Type element, SizeExpr address) {
    auto stride = program.getStride(address, lane);
    if (!stride || !stride->isConstant(1)) {
      return;
    }
    SizeAttr attr = address - SizeExpr::dim(context, lane);
    SmallVector<SizeExpr> unknown;
    for (auto [coefficient, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
      SizeExpr known = SizeExpr::constant(context, coefficient);
      for (Attribute atom : monomial) {
        auto symbol = dyn_cast<SizeSymbolAttr>(atom);
        if (symbol && symbol.isParameter()) {
          known = known * SizeExpr::symbol(symbol);
        }
      }
      if (known.getContentDivisor() % width == 0) {
        continue;
      }
      if (known.getConstant()) {
        return; // never a multiple
      }
      unknown.push_back(known);
    }
    addresses.insert(address.getAttr());
    for (SizeExpr expr : unknown) {
      if (!llvm::is_contained(conditions, expr)) {
        conditions.push_back(expr);
      }
    }
    unsigned bytes = std::min(16u, width * getElementBytes(element));
    unsigned &known = pointers[{tensor, isResult ? 1 : 0}];
    known = std::max(known, bytes);
  });
  if (addresses.empty()) {
    width = 1;
  }
}
