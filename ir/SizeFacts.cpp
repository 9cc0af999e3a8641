// What ranges decide about sizes: bounds, signs, and the divisions they make
// exact.
#include "ir/SizeExpr.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::frit;

void SizeFacts::setRange(SizeSymbolAttr symbol, int64_t min, std::optional<int64_t> max,
                         int64_t divisor) {
  facts[symbol] = Fact{min, max, divisor, SizeExpr()};
}

void SizeFacts::setRange(StringRef symbol, int64_t min, std::optional<int64_t> max,
                         int64_t divisor) {
  setRange(SizeSymbolAttr::get(context, symbol), min, max, divisor);
}

void SizeFacts::addSymbol(SymbolAttr symbol) {
  setRange(symbol.getName(), symbol.getMin(), symbol.getMax(), symbol.getDivisor());
}

void SizeFacts::setExtent(SizeSymbolAttr symbol, SizeExpr extent) {
  std::optional<int64_t> max = upperBound(extent);
  facts[symbol] = Fact{0, max ? std::optional<int64_t>(*max - 1) : std::nullopt, 1, extent};
}

void SizeFacts::setExtents(ArrayRef<SizeExpr> extents) {
  for (auto [position, extent] : llvm::enumerate(extents)) {
    setExtent(SizeSymbolAttr::dim(context, position), extent);
  }
}

namespace {
/// A closed interval whose ends may be unknown.
struct Interval {
  std::optional<int64_t> low, high;
};
} // namespace

static std::optional<int64_t> multiply(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t result;
  if (!a || !b || llvm::MulOverflow(*a, *b, result)) {
    return std::nullopt;
  }
  return result;
}

static Interval multiply(Interval a, Interval b) {
  if (a.low && b.low && *a.low >= 0 && *b.low >= 0) {
    return {multiply(a.low, b.low), multiply(a.high, b.high)};
  }
  if (!a.low || !a.high || !b.low || !b.high) {
    return {};
  }
  Interval result;
  for (int64_t x : {*a.low, *a.high}) {
    for (int64_t y : {*b.low, *b.high}) {
      auto p = multiply(std::optional<int64_t>(x), std::optional<int64_t>(y));
      if (!p) {
        return {};
      }
      result.low = result.low ? std::min(*result.low, *p) : *p;
      result.high = result.high ? std::max(*result.high, *p) : *p;
    }
  }
  return result;
}

std::optional<int64_t> SizeFacts::lowerBound(SizeExpr expr) const {
  auto atomInterval = [&](Attribute atom) -> Interval {
    if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
      auto it = facts.find(symbol);
      return it == facts.end() ? Interval{} : Interval{it->second.min, it->second.max};
    }
    auto call = cast<SizeCallAttr>(atom);
    SizeExpr lhs = call.getLhs(), rhs = call.getRhs();
    Interval l{lowerBound(lhs), upperBound(lhs)}, r{lowerBound(rhs), upperBound(rhs)};
    switch (call.getFunction()) {
    case SizeFunction::FloorDiv: {
      if (!r.low || *r.low <= 0) {
        return {};
      }
      Interval result;
      if (l.low) {
        result.low =
            *l.low >= 0 ? (r.high ? *l.low / *r.high : 0) : llvm::divideFloorSigned(*l.low, *r.low);
      }
      if (l.high) {
        result.high = *l.high >= 0 ? *l.high / *r.low : -1;
      }
      return result;
    }
    case SizeFunction::Max:
      return {l.low && r.low ? std::optional<int64_t>(std::max(*l.low, *r.low))
                             : (l.low ? l.low : r.low),
              l.high && r.high ? std::optional<int64_t>(std::max(*l.high, *r.high)) : std::nullopt};
    case SizeFunction::Min:
      return {l.low && r.low ? std::optional<int64_t>(std::min(*l.low, *r.low)) : std::nullopt,
              l.high && r.high ? std::optional<int64_t>(std::min(*l.high, *r.high))
                               : (l.high ? l.high : r.high)};
    }
    return {};
  };
  SizeAttr attr = expr;
  // A remainder x - b * floordiv(x, b) lies in [0, b): recognised as a whole.
  for (ArrayAttr m : attr.getMonomials()) {
    for (Attribute atom : m) {
      auto call = dyn_cast<SizeCallAttr>(atom);
      if (!call || call.getFunction() != SizeFunction::FloorDiv || m.size() != 1) {
        continue;
      }
      auto divisor = SizeExpr(call.getRhs()).getConstant();
      if (!divisor || *divisor <= 0) {
        continue;
      }
      SizeExpr whole = SizeExpr(call.getLhs());
      SizeExpr remainder = whole.mod(call.getRhs());
      int64_t coefficient = 0;
      for (auto [c, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
        if (monomial == m) {
          coefficient = c;
        }
      }
      if (coefficient % *divisor != 0) {
        continue;
      }
      int64_t factor = -coefficient / *divisor;
      SizeExpr rest = expr - remainder * factor;
      bool gone = llvm::none_of(rest.getAttr().getMonomials(),
                                [&](ArrayAttr other) { return llvm::is_contained(other, atom); });
      // Worth it only if the numerator was really there, that is if the rest is smaller.
      if (!gone || rest.getAttr().getMonomials().size() >= attr.getMonomials().size()) {
        continue;
      }
      auto low = lowerBound(rest);
      return low ? std::optional<int64_t>(*low + (factor < 0 ? factor * (*divisor - 1) : 0))
                 : std::nullopt;
    }
  }
  int64_t sum = 0;
  for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    Interval term{1, 1};
    for (Attribute atom : m) {
      term = multiply(term, atomInterval(atom));
    }
    auto end = multiply(std::optional<int64_t>(c), c >= 0 ? term.low : term.high);
    if (!end || llvm::AddOverflow(sum, *end, sum)) {
      return std::nullopt;
    }
  }
  return sum;
}

std::optional<int64_t> SizeFacts::upperBound(SizeExpr expr) const {
  auto low = lowerBound(-expr);
  return low && *low != INT64_MIN ? std::optional<int64_t>(-*low) : std::nullopt;
}

bool SizeFacts::provablyNonNegative(SizeExpr expr) const {
  if (auto low = lowerBound(expr); low && *low >= 0) {
    return true;
  }
  // Loop dimensions first: each takes the end that makes the expression smallest.
  std::optional<std::pair<SizeSymbolAttr, SizeExpr>> loop;
  expr.forEachSymbol([&](SizeSymbolAttr symbol) {
    auto it = facts.find(symbol);
    if (!loop && it != facts.end() && it->second.extent) {
      loop.emplace(symbol, it->second.extent);
    }
  });
  if (loop) {
    auto parts = expr.splitLinear(loop->first);
    if (!parts) {
      return false;
    }
    auto [coefficient, rest] = *parts;
    if (provablyNonNegative(coefficient)) {
      return provablyNonNegative(rest);
    }
    if (provablyNonNegative(-coefficient)) {
      return provablyNonNegative(rest + coefficient * (loop->second - 1));
    }
    return false;
  }
  // Then s = min + t with t >= 0: products of symbols lose their negative parts.
  SizeFacts shifted(context);
  bool any = false;
  expr.forEachSymbol([&](SizeSymbolAttr symbol) {
    auto it = facts.find(symbol);
    if (it == facts.end()) {
      return;
    }
    const Fact &fact = it->second;
    shifted.setRange(symbol, 0,
                     fact.max ? std::optional<int64_t>(*fact.max - fact.min) : std::nullopt);
    any |= fact.min != 0;
  });
  if (!any) {
    return false;
  }
  auto low = shifted.lowerBound(expr.replaceSymbols([&](SizeSymbolAttr symbol) {
    auto it = facts.find(symbol);
    return it == facts.end() ? SizeExpr() : SizeExpr::symbol(symbol) + it->second.min;
  }));
  return low && *low >= 0;
}

/// floordiv(numerator, divisor) where ranges make it simpler.
static SizeExpr simplifyDivision(const SizeFacts &facts, SizeExpr numerator, SizeExpr divisor) {
  MLIRContext *context = numerator.getContext();
  SizeExpr result = numerator.floorDiv(divisor);
  SizeAttr attr = result;
  // Only what is left opaque after construction needs ranges.
  for (ArrayAttr m : attr.getMonomials()) {
    auto call = m.size() == 1 ? dyn_cast<SizeCallAttr>(m[0]) : SizeCallAttr();
    if (!call || call.getFunction() != SizeFunction::FloorDiv) {
      continue;
    }
    SizeExpr opaque(SizeAttr::get(context, {1}, {m}));
    SizeExpr x = call.getLhs(), b = call.getRhs();
    if (facts.provablyNonNegative(x) && facts.provablyLess(x, b)) {
      return result - opaque;
    }
    // (g * y + z) / (g * c) = y / c if 0 <= z < g and c is not negative.
    SmallVector<SizeExpr> candidates;
    if (auto constant = b.getConstant()) {
      for (int64_t c : x.getAttr().getCoefficients()) {
        int64_t g = std::gcd(c, *constant);
        if (g > 1) {
          candidates.push_back(SizeExpr::constant(context, g));
        }
      }
    } else if (b.getAttr().getMonomials().size() == 1) {
      for (Attribute atom : b.getAttr().getMonomials()[0]) {
        candidates.push_back(
            SizeExpr(SizeAttr::get(context, {1}, {ArrayAttr::get(context, {atom})})));
      }
      int64_t content = b.getContentDivisor();
      if (content > 1) {
        candidates.push_back(SizeExpr::constant(context, content));
      }
    }
    for (SizeExpr g : candidates) {
      SizeExpr multiple = SizeExpr::constant(context, 0), rest = multiple;
      for (auto [c, monomial] :
           llvm::zip(x.getAttr().getCoefficients(), x.getAttr().getMonomials())) {
        SizeExpr term(SizeAttr::get(context, {c}, {monomial}));
        if (auto quotient = term.divideExactly(g)) {
          multiple = multiple + *quotient;
        } else {
          rest = rest + term;
        }
      }
      auto reduced = b.divideExactly(g);
      if (reduced && !rest.isConstant(0) && facts.provablyNonNegative(*reduced) &&
          facts.provablyNonNegative(rest) && facts.provablyLess(rest, g)) {
        return result - opaque + simplifyDivision(facts, multiple, *reduced);
      }
    }
  }
  return result;
}

SizeExpr SizeFacts::simplify(SizeExpr expr) const {
  SizeAttr attr = expr;
  bool opaque = llvm::any_of(attr.getMonomials(), [](ArrayAttr m) {
    return llvm::any_of(m, [](Attribute atom) { return isa<SizeCallAttr>(atom); });
  });
  if (!opaque) {
    return expr;
  }
  SizeExpr sum = SizeExpr::constant(context, 0);
  for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    SizeExpr term = SizeExpr::constant(context, c);
    for (Attribute atom : m) {
      SizeExpr factor(SizeAttr::get(context, {1}, {ArrayAttr::get(context, {atom})}));
      if (auto call = dyn_cast<SizeCallAttr>(atom)) {
        SizeExpr lhs = simplify(call.getLhs()), rhs = simplify(call.getRhs());
        switch (call.getFunction()) {
        case SizeFunction::FloorDiv:
          factor = simplifyDivision(*this, lhs, rhs);
          break;
        case SizeFunction::Max:
          factor = provablyNonNegative(lhs - rhs)   ? lhs
                   : provablyNonNegative(rhs - lhs) ? rhs
                                                    : lhs.max(rhs);
          break;
        case SizeFunction::Min:
          factor = provablyNonNegative(lhs - rhs)   ? rhs
                   : provablyNonNegative(rhs - lhs) ? lhs
                                                    : lhs.min(rhs);
          break;
        }
      }
      term = term * factor;
    }
    sum = sum + term;
  }
  return sum;
}
