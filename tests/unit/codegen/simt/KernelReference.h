#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <functional>
#include <vector>

/// The reference semantics of a kernel: evaluates its body operation by operation on whole
/// tensors. Slow and independent of code generation: no domains, no addresses, no schedules.
/// Floats are computed in f64 and rounded to the type; reductions run in order.
namespace mlir::frit::test {

struct ReferenceTensor {
  Type element;
  std::vector<int64_t> sizes;
  /// One of the two, by the element type; row-major. Booleans are 0 and 1.
  std::vector<double> reals;
  std::vector<int64_t> integers;

  bool isFloat() const { return isa<FloatType>(element); }
  int64_t numElements() const;
};

using Lookup = std::function<std::optional<int64_t>(StringRef)>;

/// Results of the kernel on `arguments` (rank 0 for host scalars).
std::vector<ReferenceTensor> evaluateKernel(KernelOp kernel, std::vector<ReferenceTensor> arguments,
                                            const Lookup &parameters);

/// Rounds `value` to the type.
double roundToType(double value, Type type);
std::vector<int64_t> evaluateSizes(RankedTensorType type, const Lookup &parameters);

} // namespace mlir::frit::test
