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
void ifTrue(CpuFunction &f, Value condition, llvm::function_ref<void()> body);

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

/// Sweeps [low, high) of `dim`: `unroll` frames of full vectors at a time, then
/// single masked ones. `body` gets the frames of one step.
void sweepLanes(CpuFunction &f, Frame &outer, unsigned dim, Value low, Value high, unsigned lanes,
                unsigned unroll, llvm::function_ref<void(MutableArrayRef<Frame>)> body);
/// The same with `unroll` sets of carried values; the masked steps continue set 0.
SmallVector<Values> sweepLanes(
    CpuFunction &f, Frame &outer, unsigned dim, Value low, Value high, unsigned lanes,
    SmallVector<Values> carried,
    llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body);

/// Elements worth one thread's while, spread over units of about `elements`.
int64_t chooseGrain(const KernelProgram &program, int64_t elements);
/// The size if it is constant, a guess otherwise.
int64_t guessSize(const KernelProgram &program, SizeExpr size);

} // namespace mlir::frit
