#include "codegen/gpu/emit/MixedRadixCounter.h"

using namespace mlir;
using namespace mlir::frit;

/// Whether an expression has the same value at every point of the domain.
static bool isInvariant(SizeExpr expr) {
  return !expr.anySymbol([](SizeSymbolAttr symbol) { return !symbol.isUniform(); });
}

MixedRadixCounter::MixedRadixCounter(GpuFunction &function, ArrayRef<Digit> digits)
    : function(function), program(function.getProgram()), digits(digits) {
  program.forEachQuotient([&](SizeExpr quotient, SizeExpr left, SizeExpr right) {
    addDivision(quotient, left, right);
  });
}

void MixedRadixCounter::addDivision(SizeExpr quotient, SizeExpr left, SizeExpr divisor) {
  auto isKnown = [&](const Division &known) { return known.quotient == quotient; };
  if (divisor.getConstant() || !isInvariant(divisor) ||
      !program.getFacts().provablyNonNegative(left) || llvm::any_of(divisions, isKnown) ||
      llvm::any_of(shared, isKnown)) {
    return;
  }
  // Whether an expression contains neither the dims of the digits nor an index that was read from
  // memory.
  auto isOutside = [&](SizeExpr rest) {
    return !rest.anySymbol([&](SizeSymbolAttr symbol) {
      return symbol.isValue() ||
             llvm::any_of(digits, [&](const Digit &digit) { return symbol.isDim(digit.dim); });
    });
  };
  if (isOutside(left)) {
    if (!isInvariant(left)) {
      shared.push_back({quotient, left, divisor});
    }
    return;
  }
  for (auto [number, digit] : llvm::enumerate(digits)) {
    SizeExpr rest = left - SizeExpr::dim(program.getContext(), digit.dim);
    if (isOutside(rest)) {
      divisions.push_back(
          {quotient, left, divisor, rest, static_cast<unsigned>(number), std::nullopt});
      return;
    }
  }
  for (auto [number, inner] : llvm::enumerate(divisions)) {
    SizeExpr rest = left - inner.quotient;
    if (isOutside(rest)) {
      divisions.push_back(
          {quotient, left, divisor, rest, inner.digit, static_cast<unsigned>(number)});
      return;
    }
  }
}

bool MixedRadixCounter::divides() const {
  return !divisions.empty() || !shared.empty() ||
         llvm::any_of(ArrayRef(digits).drop_front(),
                      [](const Digit &digit) { return !digit.extent.getConstant(); });
}

Value MixedRadixCounter::positive(SizeExpr size) const {
  Value value = function.size(size);
  auto least = program.getFacts().lowerBound(size);
  return least && *least > 0
             ? value
             : Value(arith::MaxSIOp::create(function.getBuilder(), function.getLoc(), value,
                                            function.index(1)));
}

std::pair<Value, Value> MixedRadixCounter::divide(Value number, SizeExpr divisor) const {
  Value by = positive(divisor), quotient = function.div(number, by);
  return {quotient, function.sub(number, function.mul(quotient, by))};
}

Value MixedRadixCounter::unitsOf(Value digit, unsigned number) const {
  return digits[number].unit == 1 ? digit
                                  : function.mul(digit, function.index(digits[number].unit));
}

MixedRadixCounter::Place MixedRadixCounter::split(Value number) const {
  Place place(digits.size());
  for (size_t i = digits.size(); i-- > 1;) {
    Value extent = function.size(digits[i].extent), quotient = function.div(number, extent);
    place[i] = function.sub(number, function.mul(quotient, extent));
    number = quotient;
  }
  place[0] = number;
  return place;
}

MixedRadixCounter::Place MixedRadixCounter::find(Frame &outer, Value number) const {
  Place place(digits.size());
  for (size_t i = digits.size(); i-- > 1;) {
    std::tie(number, place[i]) = divide(number, digits[i].extent);
  }
  place[0] = number;
  for (const Division &division : shared) {
    Value quotient =
        divide(function.getEmitter().firstLane(outer, division.left), division.divisor).first;
    outer.indices[{0u, division.quotient.getAttr()}] = quotient;
  }
  SmallVector<Value> quotients;
  for (const Division &division : divisions) {
    Value left = division.inner ? quotients[*division.inner]
                                : unitsOf(place[division.digit], division.digit);
    left = function.add(left, function.getEmitter().firstLane(outer, division.rest));
    auto [quotient, rest] = divide(left, division.divisor);
    quotients.push_back(quotient);
    place.append({quotient, rest});
  }
  return place;
}

MixedRadixCounter::Step MixedRadixCounter::getStep(Value distance) const {
  Step step;
  step.digits.resize(digits.size());
  for (size_t i = digits.size(); i-- > 1;) {
    std::tie(distance, step.digits[i]) = divide(distance, digits[i].extent);
  }
  step.digits[0] = distance;
  for (const Division &division : divisions) {
    auto own = [&](Value ofDigit, ArrayRef<std::pair<Value, Value>> quotients) {
      return divide(division.inner ? quotients[*division.inner].first : ofDigit, division.divisor);
    };
    step.added.push_back(own(unitsOf(step.digits[division.digit], division.digit), step.added));
    step.taken.emplace_back();
    if (division.digit > 0) {
      step.taken.back() =
          own(unitsOf(function.size(digits[division.digit].extent), division.digit), step.taken);
    }
  }
  return step;
}

MixedRadixCounter::Place MixedRadixCounter::advance(ArrayRef<Value> place, const Step &step) const {
  OpBuilder &builder = function.getBuilder();
  Location loc = function.getLoc();
  auto one = [&](Value carry) -> Value {
    return arith::ExtUIOp::create(builder, loc, function.getIndexType(), carry);
  };
  auto plus = [&](Value a, Value b, Value carry) {
    Value sum = function.add(a, b);
    return carry ? function.add(sum, one(carry)) : sum;
  };
  auto minus = [&](Value a, Value b, Value borrow) {
    Value difference = function.sub(a, b);
    return borrow ? function.sub(difference, one(borrow)) : difference;
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  };
  auto reaches = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, a, b);
  };
  Place next(digits.size());
  // The carry into each digit, and whether the digit wrapped around.
  SmallVector<Value> carries(digits.size()), wraps(digits.size());
  for (size_t i = digits.size(); i-- > 0;) {
    carries[i] = i + 1 < digits.size() ? wraps[i + 1] : Value();
    next[i] = plus(place[i], step.digits[i], carries[i]);
    if (i > 0) {
      Value extent = function.size(digits[i].extent);
      wraps[i] = reaches(next[i], extent);
      next[i] = select(wraps[i], function.sub(next[i], extent), next[i]);
    }
  }
  SmallVector<Value> ups, downs;
  for (auto [number, division] : llvm::enumerate(divisions)) {
    Value divisor = function.size(division.divisor), old = place[digits.size() + 2 * number],
          rest = place[digits.size() + 2 * number + 1];
    auto [quotientStep, restStep] = step.added[number];
    rest = plus(rest, restStep, division.inner ? ups[*division.inner] : carries[division.digit]);
    Value up = reaches(rest, divisor), quotient = plus(old, quotientStep, up), down;
    rest = select(up, function.sub(rest, divisor), rest);
    if (Value isBack = wraps[division.digit]) {
      auto [quotientBack, restBack] = step.taken[number];
      Value borrow = division.inner ? downs[*division.inner] : Value();
      Value left = minus(rest, restBack, borrow);
      down = function.less(left, function.index(0));
      rest = select(isBack, select(down, function.add(left, divisor), left), rest);
      quotient = select(isBack, minus(quotient, quotientBack, down), quotient);
    }
    ups.push_back(up);
    downs.push_back(down);
    next.append({quotient, rest});
  }
  return next;
}

void MixedRadixCounter::bind(Frame &frame, ArrayRef<Value> place) const {
  for (size_t i = 0; i + 1 < digits.size(); ++i) {
    frame.bind(digits[i].dim, unitsOf(place[i], i));
  }
  if (place.size() > digits.size()) {
    for (auto [number, division] : llvm::enumerate(divisions)) {
      frame.indices[{0u, division.quotient.getAttr()}] = place[digits.size() + 2 * number];
    }
  }
}
