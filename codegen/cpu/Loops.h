#pragma once

#include "codegen/cpu/CpuFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

/// Loops for schedules: bodies are callbacks, and while one runs, the builder of the
/// function inserts into the body.
namespace mlir::frit {

using Values = SmallVector<Value>;

/// for (i = low; i < high; i += step) with carried values.
Values forRange(CpuFunction &f, Value low, Value high, int64_t step, ValueRange carried,
                llvm::function_ref<Values(Value, ValueRange)> body);
void forRange(CpuFunction &f, Value low, Value high, int64_t step,
              llvm::function_ref<void(Value)> body);
void ifTrue(CpuFunction &f, Value condition, llvm::function_ref<void()> body,
            llvm::function_ref<void()> otherwise = nullptr);

Value add(CpuFunction &f, Value a, Value b);
Value add(CpuFunction &f, Value a, int64_t b);
Value sub(CpuFunction &f, Value a, Value b);
Value mul(CpuFunction &f, Value a, Value b);
Value minimum(CpuFunction &f, Value a, Value b);
Value divide(CpuFunction &f, Value a, Value b);
/// low + floor((high - low) / step) * step.
Value wholeSteps(CpuFunction &f, Value low, Value high, int64_t step);
/// Lanes i with first + i < high.
Value tailMask(CpuFunction &f, Value first, Value high, unsigned lanes);

/// A loop over the units of a launch: `body` gets the index of each along `sizes`, of which the
/// last varies fastest. Dividing by an unknown size takes tens of cycles, as long as a short row.
/// So indices are incremented from unit to unit, and only those of the first unit of a call are
/// computed by division.
void forUnits(CpuFunction &f, ArrayRef<SizeExpr> sizes, llvm::function_ref<void(ValueRange)> body);

/// A loop over [low, high) of `dim`, `lanes` at a time.
struct Sweep {
  unsigned dim;
  Value low, high;
  unsigned lanes;
  /// Divides high - low; 1 if nothing is known.
  int64_t multiple = 1;
  /// Set for a long body, which is emitted once, every vector under its mask. Otherwise whole
  /// vectors and the rest have separate loops.
  bool once = false;
  /// Set where it must not depend on `once` to which accumulator a vector is added.
  bool rotates = false;
};

/// Emits the sweep; `body` gets the frames of one step, `unroll` of them or one.
void sweepLanes(CpuFunction &f, Frame &outer, const Sweep &sweep, unsigned unroll,
                llvm::function_ref<void(MutableArrayRef<Frame>)> body);
/// The same with as many sets of carried values as accumulators: vector i goes to set i
/// modulo their number, masked ones at the end to set 0 (to the next one, if `once` or `rotates`).
SmallVector<Values>
sweepLanes(CpuFunction &f, Frame &outer, const Sweep &sweep, SmallVector<Values> carried,
           llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body);

/// Hoists 64-bit products that are invariant in a loop out of it: the addresses of rows, if sizes
/// are not known. Sums are not hoisted, because they fold into addresses.
void hoistProducts(func::FuncOp function);

} // namespace mlir::frit
