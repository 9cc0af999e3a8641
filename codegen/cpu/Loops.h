#pragma once

#include "codegen/cpu/CpuFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

/// Loops as schedules write them: bodies are callbacks, the function's one builder
/// stands inside the body while they run.
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

/// The units of a launch: `body` gets the place of each along `sizes`, of which the last runs
/// fastest. To divide by a size that is not known takes tens of cycles, as long as a short row.
/// Places are therefore counted on from unit to unit, and only the first one of a call is found by
/// division.
void forUnits(CpuFunction &f, ArrayRef<SizeExpr> sizes, llvm::function_ref<void(ValueRange)> body);

/// A walk over [low, high) of `dim`, `lanes` at a time.
struct Sweep {
  unsigned dim;
  Value low, high;
  unsigned lanes;
  /// Divides high - low; 1 if nothing is known.
  int64_t multiple = 1;
  /// The body is long: it is emitted once, every vector under its mask. Otherwise
  /// full vectors have a loop of their own and what is left has another.
  bool once = false;
};

/// `body` gets the frames of one step: `unroll` of them, or one.
void sweepLanes(CpuFunction &f, Frame &outer, const Sweep &sweep, unsigned unroll,
                llvm::function_ref<void(MutableArrayRef<Frame>)> body);
/// The same with as many sets of carried values as accumulators: vector i goes to set i
/// modulo their number, masked ones at the end to set 0 (to the next one, if `once`).
SmallVector<Values>
sweepLanes(CpuFunction &f, Frame &outer, const Sweep &sweep, SmallVector<Values> carried,
           llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body);

/// Takes the products of 64 bits that a loop does not change out of it: where rows begin, if sizes
/// are not known. Sums stay: they fold into addresses.
void hoistProducts(func::FuncOp function);

} // namespace mlir::frit
