#include "runtime/cpu/MathCallbacks.h"

#include <cmath>

namespace frit {

namespace {

thread_local uint64_t count = 0;

template <double (*function)(double)> double counted(double x) {
  ++count;
  return function(x);
}

template <double (*function)(double, double)> double counted(double x, double y) {
  ++count;
  return function(x, y);
}

#define FRIT_UNARY(function) counted<static_cast<double (*)(double)>(::function)>
#define FRIT_BINARY(function) counted<static_cast<double (*)(double, double)>(::function)>

constexpr Callbacks kTable = {
    {FRIT_UNARY(exp),   FRIT_UNARY(exp2),  FRIT_UNARY(expm1),  FRIT_UNARY(log),   FRIT_UNARY(log2),
     FRIT_UNARY(log10), FRIT_UNARY(log1p), FRIT_UNARY(sin),    FRIT_UNARY(cos),   FRIT_UNARY(tan),
     FRIT_UNARY(asin),  FRIT_UNARY(acos),  FRIT_UNARY(atan),   FRIT_UNARY(sinh),  FRIT_UNARY(cosh),
     FRIT_UNARY(tanh),  FRIT_UNARY(asinh), FRIT_UNARY(acosh),  FRIT_UNARY(atanh), FRIT_UNARY(erf),
     FRIT_UNARY(erfc),  FRIT_UNARY(cbrt),  FRIT_UNARY(lgamma), FRIT_UNARY(tgamma)},
    {FRIT_BINARY(pow), FRIT_BINARY(atan2), FRIT_BINARY(fmod), FRIT_BINARY(hypot),
     FRIT_BINARY(remainder)}};

} // namespace

const Callbacks &mathCallbacks() { return kTable; }

uint64_t mathCallbackCount() { return count; }

} // namespace frit
