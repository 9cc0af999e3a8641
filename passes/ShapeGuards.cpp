#include "passes/ShapeGuards.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr int64_t kIndexEnd = int64_t(1) << 31;

std::optional<bool>
mlir::frit::holds(AssumptionAttr assumption,
                  llvm::function_ref<std::optional<int64_t>(StringRef)> lookup) {
  SmallVector<int64_t> values;
  for (SizeAttr size : assumption.getSizes()) {
    auto value = SizeExpr(size).evaluate(lookup);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  switch (assumption.getKind()) {
  case GuardKind::Equal:
    return values[0] == values[1];
  case GuardKind::Range:
    return values[1] <= values[0] && values[0] <= values[2];
  case GuardKind::Divisor:
    return values[0] % values[1] == 0;
  case GuardKind::Index32:
    return values[0] >= 0 && values[0] < kIndexEnd;
  case GuardKind::Strides:
  case GuardKind::Aligned:
  case GuardKind::Disjoint:
    return std::nullopt;
  }
  return std::nullopt;
}

std::string mlir::frit::describe(AssumptionAttr assumption,
                                 llvm::function_ref<std::string(int64_t)> nameOf) {
  auto size = [&](unsigned i) { return SizeExpr(assumption.getSizes()[i]).str(); };
  auto tensor = [&](unsigned i) { return nameOf(assumption.getOperands()[i]); };
  switch (assumption.getKind()) {
  case GuardKind::Equal:
    return size(0) + " must equal " + size(1);
  case GuardKind::Range:
    return SizeExpr(assumption.getSizes()[2]).isConstant(INT64_MAX)
               ? size(0) + " must be at least " + size(1)
               : size(0) + " must be between " + size(1) + " and " + size(2);
  case GuardKind::Divisor:
    return size(0) + " must be a multiple of " + size(1);
  case GuardKind::Strides: {
    std::string strides;
    for (SizeAttr stride : assumption.getSizes()) {
      strides += (strides.empty() ? "" : ", ") + SizeExpr(stride).str();
    }
    return tensor(0) + " must have the strides (" + strides + ")";
  }
  case GuardKind::Aligned:
    return "the address of " + tensor(0) + " must be a multiple of " + size(0) + " bytes";
  case GuardKind::Index32:
    return size(0) + " must fit into 32 bits";
  case GuardKind::Disjoint:
    return "the memory of " + tensor(0) + " and of " + tensor(1) + " must not meet";
  }
  return "";
}

AssumptionAttr mlir::frit::withSizes(AssumptionAttr assumption,
                                     llvm::function_ref<SizeExpr(SizeExpr)> replace) {
  SmallVector<SizeAttr> sizes;
  for (SizeAttr size : assumption.getSizes()) {
    sizes.push_back(replace(size));
  }
  return AssumptionAttr::get(assumption.getContext(), assumption.getKind(),
                             assumption.getOperands(), sizes, assumption.getOrigin());
}

AssumptionAttr mlir::frit::withOrigin(AssumptionAttr assumption, StringRef origin) {
  return AssumptionAttr::get(assumption.getContext(), assumption.getKind(),
                             assumption.getOperands(), assumption.getSizes(), origin);
}

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

GuardFacts::GuardFacts(GraphOp graph) : facts(graph.getSizeFacts()) {
  for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
    unbacked[symbol.getName()] = symbol.getUnbacked();
    if (symbol.getDivisor() != 1) {
      multiples[symbol.getName()] =
          SizeExpr::symbol(graph.getContext(), symbol.getName()) * symbol.getDivisor();
    }
  }
}

bool GuardFacts::isUnbacked(AssumptionAttr assumption) const {
  bool found = false;
  for (SizeAttr size : assumption.getSizes()) {
    SizeExpr(size).forEachSymbol([&](StringRef name) { found |= unbacked.lookup(name); });
  }
  return found;
}

SizeExpr GuardFacts::reduced(SizeExpr size) const {
  return facts.simplify(equal.empty() ? size : size.substitute(equal));
}

SizeExpr GuardFacts::inMultiples(SizeExpr size) const {
  return multiples.empty() ? size : size.substitute(multiples);
}

/// `x` and `d` if the size is a multiple of the remainder `x - d * floordiv(x, d)`, nullopt
/// otherwise.
static std::optional<std::pair<SizeExpr, int64_t>> getRemainder(SizeExpr size) {
  MLIRContext *context = size.getContext();
  for (auto [c, m] : llvm::zip(size.getAttr().getCoefficients(), size.getAttr().getMonomials())) {
    auto call = m.size() == 1 ? dyn_cast<SizeCallAttr>(m[0]) : SizeCallAttr();
    if (!call || call.getFunction() != SizeFunction::FloorDiv || c == INT64_MIN) {
      continue;
    }
    auto divisor = SizeExpr(call.getRhs()).getConstant();
    SizeExpr whole = call.getLhs();
    if (divisor && *divisor > 1 && std::abs(c) % *divisor == 0) {
      // A multiple of the remainder is 0 where the remainder is.
      SizeExpr remainder = whole.mod(SizeExpr::constant(context, *divisor));
      if (size == remainder * (-c / *divisor)) {
        return std::pair(whole, *divisor);
      }
    }
  }
  return std::nullopt;
}

AssumptionAttr GuardFacts::simplify(AssumptionAttr assumption) const {
  AssumptionAttr plain = withSizes(assumption, [&](SizeExpr size) { return facts.simplify(size); });
  if (plain.getKind() != GuardKind::Equal) {
    return plain;
  }
  if (auto remainder = getRemainder(SizeExpr(plain.getSizes()[0]) - plain.getSizes()[1])) {
    MLIRContext *context = assumption.getContext();
    SizeAttr sizes[] = {remainder->first, SizeExpr::constant(context, remainder->second)};
    return AssumptionAttr::get(context, GuardKind::Divisor, {}, sizes, assumption.getOrigin());
  }
  return plain;
}

std::optional<bool> GuardFacts::decide(AssumptionAttr assumption) const {
  SmallVector<SizeExpr> sizes;
  for (SizeAttr size : assumption.getSizes()) {
    sizes.push_back(reduced(size));
  }
  auto less = [&](SizeExpr a, SizeExpr b) { return facts.provablyLess(a, b); };
  switch (assumption.getKind()) {
  case GuardKind::Equal:
    if (sizes[0] == sizes[1]) {
      return true;
    }
    return less(sizes[0], sizes[1]) || less(sizes[1], sizes[0]) ? std::optional(false)
                                                                : std::nullopt;
  case GuardKind::Range: {
    bool open = sizes[2].isConstant(INT64_MAX);
    if (less(sizes[0], sizes[1]) || (!open && less(sizes[2], sizes[0]))) {
      return false;
    }
    bool high = open || facts.provablyNonNegative(sizes[2] - sizes[0]);
    return high && facts.provablyNonNegative(sizes[0] - sizes[1]) ? std::optional(true)
                                                                  : std::nullopt;
  }
  case GuardKind::Divisor: {
    SizeExpr size = inMultiples(sizes[0]);
    int64_t divisor = *sizes[1].getConstant();
    if (size.getContentDivisor() % divisor == 0) {
      return true;
    }
    auto rest = size.mod(sizes[1]).getConstant();
    return rest ? std::optional(*rest == 0) : std::nullopt;
  }
  case GuardKind::Index32: {
    SizeExpr end = SizeExpr::constant(assumption.getContext(), kIndexEnd);
    if (less(sizes[0], SizeExpr::constant(assumption.getContext(), 0)) ||
        facts.provablyNonNegative(sizes[0] - end)) {
      return false;
    }
    return facts.provablyNonNegative(sizes[0]) && less(sizes[0], end) ? std::optional(true)
                                                                      : std::nullopt;
  }
  case GuardKind::Aligned:
    return sizes[0].isConstant(1) ? std::optional(true) : std::nullopt;
  case GuardKind::Strides:
  case GuardKind::Disjoint:
    return std::nullopt;
  }
  return std::nullopt;
}

bool GuardFacts::implies(AssumptionAttr other, AssumptionAttr assumption) const {
  if (other.getKind() != assumption.getKind() || other.getOperands() != assumption.getOperands()) {
    return false;
  }
  SmallVector<SizeExpr> known, wanted;
  for (SizeAttr size : other.getSizes()) {
    known.push_back(reduced(size));
  }
  for (SizeAttr size : assumption.getSizes()) {
    wanted.push_back(reduced(size));
  }
  if (known == wanted) {
    return true;
  }
  switch (assumption.getKind()) {
  case GuardKind::Equal:
    return known[0] - known[1] == wanted[1] - wanted[0] ||
           known[0] - known[1] == wanted[0] - wanted[1];
  case GuardKind::Range:
    return known[0] == wanted[0] && facts.provablyNonNegative(known[1] - wanted[1]) &&
           (known[2] == wanted[2] || wanted[2].isConstant(INT64_MAX) ||
            (!known[2].isConstant(INT64_MAX) && facts.provablyNonNegative(wanted[2] - known[2])));
  case GuardKind::Divisor: {
    auto factor = wanted[0].divideExactly(known[0]);
    int64_t divisor = *known[1].getConstant(), needed = *wanted[1].getConstant(), product;
    return factor &&
           !llvm::MulOverflow(divisor, inMultiples(*factor).getContentDivisor(), product) &&
           product % needed == 0;
  }
  case GuardKind::Index32:
    return facts.provablyNonNegative(wanted[0]) && facts.provablyNonNegative(known[0] - wanted[0]);
  case GuardKind::Aligned:
    return *known[0].getConstant() % *wanted[0].getConstant() == 0;
  case GuardKind::Strides:
  case GuardKind::Disjoint:
    return false;
  }
  return false;
}

void GuardFacts::learn(AssumptionAttr assumption) {
  if (assumption.getKind() != GuardKind::Equal) {
    return;
  }
  SizeExpr a = reduced(assumption.getSizes()[0]), b = reduced(assumption.getSizes()[1]);
  for (auto [symbol, size] : {std::pair(a, b), std::pair(b, a)}) {
    auto name = symbol.getSymbol();
    if (!name || size.contains(SizeSymbolAttr::get(size.getContext(), *name))) {
      continue;
    }
    llvm::StringMap<SizeExpr> one;
    one[*name] = size;
    for (auto &entry : equal) {
      entry.second = entry.second.substitute(one);
    }
    equal[*name] = size;
    return;
  }
}
