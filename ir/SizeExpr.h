#pragma once

#include "ir/FritDialect.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

/// Sizes have one canonical form. A size is an integer polynomial over atoms,
/// fully expanded, its monomials sorted, its zero terms dropped; an atom is a
/// symbol or an opaque floordiv, max or min of two canonical forms (`mod(a, b)` is
/// `a - b * floordiv(a, b)`, so that quotient and remainder recombine by themselves). Two
/// sizes that are equal as polynomials are therefore the same attribute, and
/// two tensor types are equal exactly when their shapes provably are.
///
///   (s0 + 1) * s1 - s0 * s1 - s1   is   0
///   (s0 * s1) * s2                 is   s0 * (s1 * s2)
///   floordiv(4 * s0 + 3, 4)        is   s0        (exact parts leave, 3 < 4)
///   mod(s0 * s1, s1)               is   0
///
/// AffineExpr does none of these, which is why this class exists.
///
/// Division follows Python (floor; the remainder has the divisor's sign). What
/// needs ranges (`floordiv(d0 * s0 + d1, s0)` is `d0` if `0 <= d1 < s0`) is
/// done by SizeFacts::simplify, never by construction: a construction must not
/// depend on who builds it.
///
/// Names (`SizeSymbolAttr`): symbols of a graph are torch's (s0, u0, ...), kernel parameters p0..,
/// dimensions of an indexing map d0.., loaded index values v0...
namespace mlir::frit {

/// A value handle to a canonical size. Never null unless default-constructed.
class SizeExpr {
public:
  SizeExpr() = default;
  /*implicit*/ SizeExpr(SizeAttr attr) : attr(attr) {}

  static SizeExpr constant(MLIRContext *context, int64_t value);
  static SizeExpr symbol(SizeSymbolAttr symbol);
  static SizeExpr symbol(MLIRContext *context, llvm::StringRef name);
  static SizeExpr dim(MLIRContext *context, unsigned position);
  static SizeExpr parameter(MLIRContext *context, unsigned position);
  static SizeExpr value(MLIRContext *context, unsigned position);

  /// Parses the text form. Returns a null expression and sets `error` (one
  /// line, naming the column) if the text is not a size.
  static SizeExpr parse(MLIRContext *context, llvm::StringRef text, std::string &error);

  /*implicit*/ operator SizeAttr() const { return attr; }
  SizeAttr getAttr() const { return attr; }
  MLIRContext *getContext() const { return attr.getContext(); }
  explicit operator bool() const { return static_cast<bool>(attr); }
  bool operator==(SizeExpr other) const { return attr == other.attr; }
  bool operator!=(SizeExpr other) const { return attr != other.attr; }

  SizeExpr operator+(SizeExpr other) const;
  SizeExpr operator-(SizeExpr other) const;
  SizeExpr operator*(SizeExpr other) const;
  SizeExpr operator-() const;
  SizeExpr operator+(int64_t other) const;
  SizeExpr operator-(int64_t other) const;
  SizeExpr operator*(int64_t other) const;
  /// Python floor division and remainder. By the constant 0 they stay opaque
  /// and have no value.
  SizeExpr floorDiv(SizeExpr other) const;
  SizeExpr mod(SizeExpr other) const;
  SizeExpr ceilDiv(SizeExpr other) const;
  SizeExpr max(SizeExpr other) const;
  SizeExpr min(SizeExpr other) const;

  std::optional<int64_t> getConstant() const;
  bool isConstant(int64_t value) const;
  /// The name, if the whole expression is one symbol.
  std::optional<llvm::StringRef> getSymbol() const;
  /// The position N, if the whole expression is the dimension dN.
  std::optional<unsigned> getDim() const;
  /// Largest known divisor of every value of the expression (>= 1; 0 for the
  /// constant 0).
  int64_t getContentDivisor() const;
  /// The exact quotient if `other` divides the polynomial, else nullopt.
  std::optional<SizeExpr> divideExactly(SizeExpr other) const;

  bool contains(SizeSymbolAttr symbol) const;
  /// Calls `visit` for each symbol, once per occurrence.
  void forEachSymbol(llvm::function_ref<void(SizeSymbolAttr)> visit) const;
  bool anySymbol(llvm::function_ref<bool(SizeSymbolAttr)> test) const;
  /// Splits `this` into `coefficient * symbol + rest` when the symbol occurs
  /// only linearly and outside of calls; nullopt otherwise.
  std::optional<std::pair<SizeExpr, SizeExpr>> splitLinear(SizeSymbolAttr symbol) const;

  /// Replaces symbols; those for which `replacement` is null stay.
  SizeExpr replaceSymbols(llvm::function_ref<SizeExpr(SizeSymbolAttr)> replacement) const;
  /// Replaces symbols (absent names stay).
  SizeExpr substitute(const llvm::StringMap<SizeExpr> &map) const;
  /// Replaces d0.. by `dims` and, if given, v0.. by `values`.
  SizeExpr substituteDims(llvm::ArrayRef<SizeExpr> dims,
                          llvm::ArrayRef<SizeExpr> values = {}) const;

  /// Value under an assignment; nullopt if a symbol is missing, a divisor is 0
  /// or an intermediate result overflows 64 bits.
  std::optional<int64_t>
  evaluate(llvm::function_ref<std::optional<int64_t>(SizeSymbolAttr)> lookup) const;

  std::string str() const;

private:
  SizeAttr attr;
};

SizeExpr product(MLIRContext *context, llvm::ArrayRef<SizeExpr> factors);

/// What is known about symbols: closed ranges with constant ends, divisors, and
/// for loop dimensions an exclusive upper end that may itself be symbolic.
class SizeFacts {
public:
  explicit SizeFacts(MLIRContext *context) : context(context) {}

  void setRange(llvm::StringRef symbol, int64_t min, std::optional<int64_t> max,
                int64_t divisor = 1);
  void setRange(SizeSymbolAttr symbol, int64_t min, std::optional<int64_t> max,
                int64_t divisor = 1);
  void addSymbol(SymbolAttr symbol);
  /// 0 <= symbol < extent.
  void setExtent(SizeSymbolAttr symbol, SizeExpr extent);
  /// The same for d0, d1 ...
  void setExtents(llvm::ArrayRef<SizeExpr> extents);

  /// Constant bounds that hold under all facts; nullopt if there is none.
  std::optional<int64_t> lowerBound(SizeExpr expr) const;
  std::optional<int64_t> upperBound(SizeExpr expr) const;
  /// False if the facts do not prove it.
  bool provablyNonNegative(SizeExpr expr) const;
  bool provablyLess(SizeExpr lhs, SizeExpr rhs) const { return provablyNonNegative(rhs - lhs - 1); }
  /// Rewrites floordiv, mod, max and min that the facts decide. Values are
  /// unchanged for every assignment that satisfies the facts.
  SizeExpr simplify(SizeExpr expr) const;

private:
  struct Fact {
    int64_t min;
    std::optional<int64_t> max;
    int64_t divisor = 1;
    SizeExpr extent;
  };
  MLIRContext *context;
  llvm::DenseMap<SizeSymbolAttr, Fact> facts;
};

//===----------------------------------------------------------------------===//
// Tensor types with sizes
//===----------------------------------------------------------------------===//

/// The sizes of a ranked tensor type, from its encoding or its static shape.
llvm::SmallVector<SizeExpr> getSizes(RankedTensorType type);
/// The type with these sizes; carries `#frit.dims` only if one is not constant.
RankedTensorType getTensorType(llvm::ArrayRef<SizeExpr> sizes, Type elementType);
SizeExpr getNumElements(RankedTensorType type);
/// Row-major strides of a shape, in elements. As in torch a constant size 0
/// counts as 1; a symbolic size is taken as it is (torch assumes it >= 2).
llvm::SmallVector<SizeExpr> getContiguousStrides(llvm::ArrayRef<SizeExpr> sizes,
                                                 MLIRContext *context);

} // namespace mlir::frit
