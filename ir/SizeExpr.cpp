// Construction keeps the canonical form: every operation returns a sorted,
// expanded polynomial, and nothing here looks at ranges.
#include "ir/SizeExpr.h"
#include "ir/SizeConstants.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::frit;

//===----------------------------------------------------------------------===//
// Order of atoms and monomials: structural, so it does not depend on addresses
//===----------------------------------------------------------------------===//

static int compareSizes(SizeAttr lhs, SizeAttr rhs);

static int compareAtoms(Attribute lhs, Attribute rhs) {
  if (lhs == rhs) {
    return 0;
  }
  auto lhsName = dyn_cast<SizeSymbolAttr>(lhs), rhsName = dyn_cast<SizeSymbolAttr>(rhs);
  if (lhsName && rhsName) {
    // Shorter first: s2 before s10.
    StringRef l = lhsName.getName(), r = rhsName.getName();
    return l.size() != r.size() ? (l.size() < r.size() ? -1 : 1) : l.compare(r);
  }
  if (lhsName || rhsName) {
    return lhsName ? -1 : 1;
  }
  auto lhsCall = cast<SizeCallAttr>(lhs), rhsCall = cast<SizeCallAttr>(rhs);
  if (lhsCall.getFunction() != rhsCall.getFunction()) {
    return lhsCall.getFunction() < rhsCall.getFunction() ? -1 : 1;
  }
  if (int order = compareSizes(lhsCall.getLhs(), rhsCall.getLhs())) {
    return order;
  }
  return compareSizes(lhsCall.getRhs(), rhsCall.getRhs());
}

static int compareMonomials(ArrayAttr lhs, ArrayAttr rhs) {
  if (lhs == rhs) {
    return 0;
  }
  if (lhs.size() != rhs.size()) {
    return lhs.size() > rhs.size() ? -1 : 1; // higher degree first
  }
  for (auto [l, r] : llvm::zip(lhs, rhs)) {
    if (int order = compareAtoms(l, r)) {
      return order;
    }
  }
  return 0;
}

static int compareSizes(SizeAttr lhs, SizeAttr rhs) {
  if (lhs == rhs) {
    return 0;
  }
  size_t common = std::min(lhs.getMonomials().size(), rhs.getMonomials().size());
  for (size_t i = 0; i < common; ++i) {
    if (int order = compareMonomials(lhs.getMonomials()[i], rhs.getMonomials()[i])) {
      return order;
    }
    if (lhs.getCoefficients()[i] != rhs.getCoefficients()[i]) {
      return lhs.getCoefficients()[i] < rhs.getCoefficients()[i] ? -1 : 1;
    }
  }
  return lhs.getMonomials().size() < rhs.getMonomials().size() ? -1 : 1;
}

/// 64-bit arithmetic that wraps: sizes beyond 64 bits are refused at run time.
static int64_t wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
static int64_t wrappingMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

namespace {
/// A sum under construction.
class Polynomial {
public:
  explicit Polynomial(MLIRContext *context) : context(context) {}

  void add(int64_t coefficient, ArrayAttr monomial) { terms.emplace_back(monomial, coefficient); }
  void add(SizeAttr size, int64_t factor = 1) {
    for (auto [c, m] : llvm::zip(size.getCoefficients(), size.getMonomials())) {
      add(wrappingMultiply(c, factor), m);
    }
  }
  SizeAttr finish() {
    llvm::sort(terms,
               [](const auto &a, const auto &b) { return compareMonomials(a.first, b.first) < 0; });
    SmallVector<int64_t> coefficients;
    SmallVector<ArrayAttr> monomials;
    for (auto &[monomial, coefficient] : terms) {
      if (!monomials.empty() && monomials.back() == monomial) {
        coefficients.back() = wrappingAdd(coefficients.back(), coefficient);
      } else {
        monomials.push_back(monomial);
        coefficients.push_back(coefficient);
      }
    }
    size_t kept = 0;
    for (size_t i = 0; i < monomials.size(); ++i) {
      if (coefficients[i] != 0) {
        monomials[kept] = monomials[i];
        coefficients[kept++] = coefficients[i];
      }
    }
    monomials.resize(kept);
    coefficients.resize(kept);
    return SizeAttr::get(context, coefficients, monomials);
  }

private:
  MLIRContext *context;
  SmallVector<std::pair<ArrayAttr, int64_t>> terms;
};
} // namespace

static ArrayAttr multiplyMonomials(MLIRContext *context, ArrayAttr lhs, ArrayAttr rhs) {
  if (lhs.empty()) {
    return rhs;
  }
  if (rhs.empty()) {
    return lhs;
  }
  SmallVector<Attribute> atoms(lhs.begin(), lhs.end());
  atoms.append(rhs.begin(), rhs.end());
  llvm::sort(atoms, [](Attribute a, Attribute b) { return compareAtoms(a, b) < 0; });
  return ArrayAttr::get(context, atoms);
}

/// Whether b divides a with a quotient that fits into 64 bits (INT64_MIN / -1 does not).
static bool divides(int64_t b, int64_t a) {
  return b != -1 && b != 0 ? a % b == 0 : b == -1 && a != INT64_MIN;
}

/// lhs / rhs if rhs's atoms all occur in lhs.
static std::optional<ArrayAttr> divideMonomials(ArrayAttr lhs, ArrayAttr rhs) {
  SmallVector<Attribute> rest(lhs.begin(), lhs.end());
  for (Attribute atom : rhs) {
    auto it = llvm::find(rest, atom);
    if (it == rest.end()) {
      return std::nullopt;
    }
    rest.erase(it);
  }
  return ArrayAttr::get(lhs.getContext(), rest);
}

static SizeExpr fromAtom(MLIRContext *context, Attribute atom) {
  return SizeExpr(SizeAttr::get(context, {1}, {ArrayAttr::get(context, {atom})}));
}

SizeExpr SizeExpr::constant(MLIRContext *context, int64_t value) {
  auto make = [&] {
    return value == 0 ? SizeAttr::get(context, {}, {})
                      : SizeAttr::get(context, {value}, {ArrayAttr::get(context, {})});
  };
  // By the attribute's id: a dialect is looked up by the text of its name.
  Dialect &dialect = AbstractAttribute::lookup(SizeAttr::getTypeID(), context).getDialect();
  return dialect.getRegisteredInterface<SizeConstants>()->get(value, make);
}

SizeExpr SizeExpr::symbol(SizeSymbolAttr symbol) { return fromAtom(symbol.getContext(), symbol); }

SizeExpr SizeExpr::symbol(MLIRContext *context, StringRef name) {
  return symbol(SizeSymbolAttr::get(context, name));
}

SizeExpr SizeExpr::dim(MLIRContext *context, unsigned position) {
  return symbol(SizeSymbolAttr::dim(context, position));
}

SizeExpr SizeExpr::parameter(MLIRContext *context, unsigned position) {
  return symbol(SizeSymbolAttr::parameter(context, position));
}

SizeExpr SizeExpr::value(MLIRContext *context, unsigned position) {
  return symbol(SizeSymbolAttr::value(context, position));
}

//===----------------------------------------------------------------------===//
// Ring operations
//===----------------------------------------------------------------------===//

// Most operands are constants, often 0 or 1: those need no polynomial.

SizeExpr SizeExpr::operator+(SizeExpr other) const {
  auto lhs = getConstant(), rhs = other.getConstant();
  if (lhs == 0) {
    return other;
  }
  if (rhs == 0) {
    return *this;
  }
  if (lhs && rhs) {
    return constant(getContext(), wrappingAdd(*lhs, *rhs));
  }
  Polynomial sum(getContext());
  sum.add(attr);
  sum.add(other.attr);
  return sum.finish();
}

SizeExpr SizeExpr::operator-(SizeExpr other) const {
  auto lhs = getConstant(), rhs = other.getConstant();
  if (rhs == 0) {
    return *this;
  }
  if (lhs && rhs) {
    return constant(getContext(), wrappingAdd(*lhs, wrappingMultiply(*rhs, -1)));
  }
  Polynomial sum(getContext());
  sum.add(attr);
  sum.add(other.attr, -1);
  return sum.finish();
}

SizeExpr SizeExpr::operator*(SizeExpr other) const {
  if (auto rhs = other.getConstant()) {
    return *this * *rhs;
  }
  if (auto lhs = getConstant()) {
    return other * *lhs;
  }
  MLIRContext *context = getContext();
  Polynomial sum(context);
  for (auto [lc, lm] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    for (auto [rc, rm] : llvm::zip(other.attr.getCoefficients(), other.attr.getMonomials())) {
      sum.add(wrappingMultiply(lc, rc), multiplyMonomials(context, lm, rm));
    }
  }
  return sum.finish();
}

SizeExpr SizeExpr::operator-() const { return *this * -1; }
SizeExpr SizeExpr::operator+(int64_t other) const { return *this + constant(getContext(), other); }
SizeExpr SizeExpr::operator-(int64_t other) const { return *this + constant(getContext(), -other); }
SizeExpr SizeExpr::operator*(int64_t other) const {
  if (other == 1) {
    return *this;
  }
  if (auto lhs = getConstant()) {
    return constant(getContext(), wrappingMultiply(*lhs, other));
  }
  Polynomial sum(getContext());
  sum.add(attr, other);
  return sum.finish();
}

//===----------------------------------------------------------------------===//
// Division, max, min
//===----------------------------------------------------------------------===//

static SizeExpr makeCall(SizeFunction function, SizeExpr lhs, SizeExpr rhs) {
  MLIRContext *context = lhs.getContext();
  return fromAtom(context, SizeCallAttr::get(context, function, lhs, rhs));
}

std::optional<SizeExpr> SizeExpr::divideExactly(SizeExpr other) const {
  SizeAttr divisor = other.attr;
  if (divisor.getMonomials().empty()) {
    return std::nullopt;
  }
  if (divisor.getMonomials().size() > 1) {
    // Division by a sum: the leading terms give the leading term of the quotient.
    if (attr.getMonomials().empty()) {
      return *this;
    }
    auto lead = divideMonomials(attr.getMonomials()[0], divisor.getMonomials()[0]);
    if (!lead || !divides(divisor.getCoefficients()[0], attr.getCoefficients()[0])) {
      return std::nullopt;
    }
    SizeExpr quotient(SizeAttr::get(
        getContext(), {attr.getCoefficients()[0] / divisor.getCoefficients()[0]}, {*lead}));
    SizeExpr rest = *this - quotient * other;
    if (rest.attr.getMonomials().empty()) {
      return quotient;
    }
    // The leading term must have vanished, or this is not a division.
    if (compareMonomials(rest.attr.getMonomials()[0], attr.getMonomials()[0]) <= 0) {
      return std::nullopt;
    }
    auto tail = rest.divideExactly(other);
    return tail ? std::optional<SizeExpr>(quotient + *tail) : std::nullopt;
  }
  Polynomial quotient(getContext());
  for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    auto monomial = divideMonomials(m, divisor.getMonomials()[0]);
    if (!monomial || !divides(divisor.getCoefficients()[0], c)) {
      return std::nullopt;
    }
    quotient.add(c / divisor.getCoefficients()[0], *monomial);
  }
  return SizeExpr(quotient.finish());
}

SizeExpr SizeExpr::floorDiv(SizeExpr other) const {
  MLIRContext *context = getContext();
  auto lhs = getConstant(), rhs = other.getConstant();
  // Division by these numbers stays opaque.
  if (rhs && (*rhs == 0 || *rhs == INT64_MIN)) {
    return makeCall(SizeFunction::FloorDiv, *this, other);
  }
  if (rhs && *rhs == -1) {
    return -*this;
  }
  if (lhs && rhs) {
    return constant(context, llvm::divideFloorSigned(*lhs, *rhs));
  }
  if (auto quotient = divideExactly(other)) {
    return *quotient;
  }
  if (rhs && *rhs < 0) {
    return (-*this).floorDiv(constant(context, -*rhs));
  }
  // Terms that divide exactly are taken out of the division.
  Polynomial exact(context), rest(context);
  bool split = false;
  if (other.attr.getMonomials().size() == 1) {
    int64_t divisor = other.attr.getCoefficients()[0];
    ArrayAttr divisorMonomial = other.attr.getMonomials()[0];
    for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
      auto monomial = divideMonomials(m, divisorMonomial);
      // The constant term is reduced to [0, divisor), other terms keep their sign.
      int64_t quotient = !monomial || (divisor == -1 && c == INT64_MIN) ? 0
                         : m.empty() ? llvm::divideFloorSigned(c, divisor)
                                     : c / divisor;
      if (quotient != 0) {
        exact.add(quotient, *monomial);
        split = true;
      }
      if (c - quotient * divisor != 0) {
        rest.add(c - quotient * divisor, m);
      }
    }
  } else {
    rest.add(attr);
  }
  if (split) {
    return SizeExpr(exact.finish()) + SizeExpr(rest.finish()).floorDiv(other);
  }
  if (rhs) {
    // floor((g*a + c) / (g*b)) = floor((a + floor(c/g)) / b).
    int64_t common = *rhs;
    for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
      if (!m.empty()) {
        common = std::gcd(common, c);
      }
    }
    if (common > 1) {
      Polynomial reduced(context);
      for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
        reduced.add(m.empty() ? llvm::divideFloorSigned(c, common) : c / common, m);
      }
      return SizeExpr(reduced.finish()).floorDiv(constant(context, *rhs / common));
    }
  }
  return makeCall(SizeFunction::FloorDiv, *this, other);
}

SizeExpr SizeExpr::mod(SizeExpr other) const { return *this - other * floorDiv(other); }

SizeExpr SizeExpr::ceilDiv(SizeExpr other) const { return (*this + other - 1).floorDiv(other); }

SizeExpr SizeExpr::max(SizeExpr other) const {
  if (auto difference = (*this - other).getConstant()) {
    return *difference >= 0 ? *this : other;
  }
  bool ordered = compareSizes(attr, other.attr) < 0;
  return makeCall(SizeFunction::Max, ordered ? *this : other, ordered ? other : *this);
}

SizeExpr SizeExpr::min(SizeExpr other) const {
  if (auto difference = (*this - other).getConstant()) {
    return *difference <= 0 ? *this : other;
  }
  bool ordered = compareSizes(attr, other.attr) < 0;
  return makeCall(SizeFunction::Min, ordered ? *this : other, ordered ? other : *this);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

std::optional<int64_t> SizeExpr::getConstant() const {
  if (attr.getMonomials().empty()) {
    return 0;
  }
  if (attr.getMonomials().size() == 1 && attr.getMonomials()[0].empty()) {
    return attr.getCoefficients()[0];
  }
  return std::nullopt;
}

bool SizeExpr::isConstant(int64_t value) const {
  auto constant = getConstant();
  return constant && *constant == value;
}

/// The symbol that the whole expression is, or null.
static SizeSymbolAttr onlySymbol(SizeAttr attr) {
  if (attr.getMonomials().size() != 1 || attr.getCoefficients()[0] != 1 ||
      attr.getMonomials()[0].size() != 1) {
    return {};
  }
  return dyn_cast<SizeSymbolAttr>(attr.getMonomials()[0][0]);
}

std::optional<StringRef> SizeExpr::getSymbol() const {
  SizeSymbolAttr symbol = onlySymbol(attr);
  return symbol ? std::optional<StringRef>(symbol.getName()) : std::nullopt;
}

std::optional<unsigned> SizeExpr::getDim() const {
  SizeSymbolAttr symbol = onlySymbol(attr);
  return symbol && symbol.isDim() ? std::optional(symbol.getPosition()) : std::nullopt;
}

int64_t SizeExpr::getContentDivisor() const {
  int64_t common = 0;
  for (int64_t coefficient : attr.getCoefficients()) {
    common = std::gcd(common, coefficient);
  }
  return common;
}

void SizeExpr::forEachSymbol(llvm::function_ref<void(SizeSymbolAttr)> visit) const {
  for (ArrayAttr monomial : attr.getMonomials()) {
    for (Attribute atom : monomial) {
      if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
        visit(symbol);
      } else {
        auto call = cast<SizeCallAttr>(atom);
        SizeExpr(call.getLhs()).forEachSymbol(visit);
        SizeExpr(call.getRhs()).forEachSymbol(visit);
      }
    }
  }
}

bool SizeExpr::anySymbol(llvm::function_ref<bool(SizeSymbolAttr)> test) const {
  bool found = false;
  forEachSymbol([&](SizeSymbolAttr symbol) { found = found || test(symbol); });
  return found;
}

bool SizeExpr::contains(SizeSymbolAttr symbol) const {
  return anySymbol([&](SizeSymbolAttr other) { return other == symbol; });
}

std::optional<std::pair<SizeExpr, SizeExpr>> SizeExpr::splitLinear(SizeSymbolAttr symbol) const {
  MLIRContext *context = getContext();
  ArrayAttr single = ArrayAttr::get(context, {symbol});
  Polynomial coefficient(context), rest(context);
  for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    SizeExpr term(SizeAttr::get(context, {c}, {m}));
    if (!term.contains(symbol)) {
      rest.add(c, m);
      continue;
    }
    auto without = divideMonomials(m, single);
    if (!without || SizeExpr(SizeAttr::get(context, {1}, {*without})).contains(symbol)) {
      return std::nullopt;
    }
    coefficient.add(c, *without);
  }
  return std::make_pair(SizeExpr(coefficient.finish()), SizeExpr(rest.finish()));
}

//===----------------------------------------------------------------------===//
// Rebuilding
//===----------------------------------------------------------------------===//

SizeExpr SizeExpr::replaceSymbols(llvm::function_ref<SizeExpr(SizeSymbolAttr)> replacement) const {
  MLIRContext *context = getContext();
  SizeExpr sum = constant(context, 0);
  Polynomial kept(context);
  bool isSame = true;
  for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    SizeExpr term = constant(context, c);
    bool changed = false;
    for (Attribute atom : m) {
      SizeExpr factor = fromAtom(context, atom);
      if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
        if (SizeExpr other = replacement(symbol)) {
          factor = other;
          changed = true;
        }
      } else {
        auto call = cast<SizeCallAttr>(atom);
        SizeExpr lhs = SizeExpr(call.getLhs()).replaceSymbols(replacement);
        SizeExpr rhs = SizeExpr(call.getRhs()).replaceSymbols(replacement);
        if (lhs != SizeExpr(call.getLhs()) || rhs != SizeExpr(call.getRhs())) {
          changed = true;
          switch (call.getFunction()) {
          case SizeFunction::FloorDiv:
            factor = lhs.floorDiv(rhs);
            break;
          case SizeFunction::Max:
            factor = lhs.max(rhs);
            break;
          case SizeFunction::Min:
            factor = lhs.min(rhs);
            break;
          }
        }
      }
      term = term * factor;
    }
    if (changed) {
      isSame = false;
      sum = sum + term;
    } else {
      kept.add(c, m);
    }
  }
  return isSame ? *this : sum + SizeExpr(kept.finish());
}

SizeExpr SizeExpr::substitute(const llvm::StringMap<SizeExpr> &map) const {
  return replaceSymbols([&](SizeSymbolAttr symbol) { return map.lookup(symbol.getName()); });
}

SizeExpr SizeExpr::substituteDims(ArrayRef<SizeExpr> dims, ArrayRef<SizeExpr> values) const {
  return replaceSymbols([&](SizeSymbolAttr symbol) {
    ArrayRef<SizeExpr> exprs = symbol.isDim()     ? dims
                               : symbol.isValue() ? values
                                                  : ArrayRef<SizeExpr>();
    return symbol.getPosition() < exprs.size() ? exprs[symbol.getPosition()] : SizeExpr();
  });
}

std::optional<int64_t>
SizeExpr::evaluate(llvm::function_ref<std::optional<int64_t>(SizeSymbolAttr)> lookup) const {
  int64_t sum = 0;
  for (auto [c, m] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    int64_t term = c;
    for (Attribute atom : m) {
      std::optional<int64_t> value;
      if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
        value = lookup(symbol);
      } else {
        auto call = cast<SizeCallAttr>(atom);
        auto lhs = SizeExpr(call.getLhs()).evaluate(lookup);
        auto rhs = SizeExpr(call.getRhs()).evaluate(lookup);
        if (!lhs || !rhs) {
          return std::nullopt;
        }
        switch (call.getFunction()) {
        case SizeFunction::FloorDiv:
          if (*rhs == 0 || (*rhs == -1 && *lhs == INT64_MIN)) {
            return std::nullopt;
          }
          value = llvm::divideFloorSigned(*lhs, *rhs);
          break;
        case SizeFunction::Max:
          value = std::max(*lhs, *rhs);
          break;
        case SizeFunction::Min:
          value = std::min(*lhs, *rhs);
          break;
        }
      }
      if (!value || llvm::MulOverflow(term, *value, term)) {
        return std::nullopt;
      }
    }
    if (llvm::AddOverflow(sum, term, sum)) {
      return std::nullopt;
    }
  }
  return sum;
}

SizeExpr mlir::frit::product(MLIRContext *context, ArrayRef<SizeExpr> factors) {
  SizeExpr result = SizeExpr::constant(context, 1);
  for (SizeExpr factor : factors) {
    result = result * factor;
  }
  return result;
}
