#pragma once

#include "codegen/Codegen.h"
#include "codegen/Emitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

/// One entry point of a CPU kernel under construction, and the emitter's target for
/// CPUs: pointers, sizes and scalars are read from the Context once, at entry;
/// accesses become vector, masked or gathering loads; math functions become arithmetic.
/// Errors are recorded, and the kernel continues with the failing lanes masked, so that
/// control flow stays structured; it returns the recorded code at its end.
namespace mlir::frit {

struct VectorShape {
  unsigned bytes = 32;
  /// Lanes of 32 bits: the unit in which schedules count.
  unsigned lanes() const { return bytes / 4; }
};

class CpuFunction : public EmitterTarget {
public:
  /// Opens `func.func @name(context, begin, end) -> i32` at the end of `module`.
  CpuFunction(ModuleOp module, StringRef name, const KernelProgram &program, const CpuTarget &cpu);
  /// Ends the function: fences, return code.
  void finish();

  OpBuilder &getBuilder() { return builder; }
  Value getBegin() { return function.getArgument(1); }
  Value getEnd() { return function.getArgument(2); }
  Value getWorkspace() { return workspace; }
  VectorShape getShape() const { return shape; }
  bool hasMaskedBytes() const { return cpu.level == CpuLevel::X86_64_V4; }

  Value i64(int64_t value);
  /// A size over the kernel's parameters alone.
  Value size(SizeExpr expr);
  /// An address in a scratch or workspace buffer.
  Value address(Value base, Type element, Value index);
  Value splatLanes(Value value, unsigned lanes) {
    return sizes->splat(value.getLoc(), value, lanes);
  }
  /// Uninitialised memory of this function's frame.
  Value scratch(Type element, int64_t count);

  /// From here on contiguous full-vector stores along `lane` bypass the cache if the kernel's
  /// tensors together exceed it.
  void allowStreaming(unsigned lane) { streamingLane = lane; }

  // EmitterTarget
  Type getIndexType() override { return builder.getI64Type(); }
  bool splatsAtDefinition() override { return true; }
  Value getParameter(OpBuilder &builder, StringRef name) override;
  Value getScalar(OpBuilder &builder, unsigned argument) override;
  Value load(OpBuilder &builder, Location loc, const Access &access) override;
  void store(OpBuilder &builder, Location loc, const Access &access, Value value) override;
  SmallVector<Value> loadGroups(OpBuilder &builder, Location loc, const Access &access,
                                unsigned members) override;
  bool storeGroups(OpBuilder &builder, Location loc, const Access &access,
                   ValueRange members) override;
  Value apply(OpBuilder &builder, Operation *op, ValueRange operands, Type resultType) override;
  void fail(OpBuilder &builder, Location loc, Value failed, ErrorCode code, unsigned dimension,
            Value index, Value size) override;

  /// Loads and stores of plain memory, shared with scratch buffers: `mask` may be
  /// null; i1 is kept as a byte.
  Value loadVector(Location loc, Value pointer, Type element, unsigned lanes, Value mask);
  /// Bypasses the cache where `nonTemporal` (may be null) holds, which implies the mask.
  void storeVector(Location loc, Value pointer, Type element, Value value, Value mask,
                   Value nonTemporal = Value());
  Value callScalar(OpBuilder &b, Location loc, StringRef name, ValueRange operands);

private:
  Value loadField(Value base, int64_t offset, Type type);
  Value flushDenormals();
  bool hasScatters(Type memory) const;
  SmallVector<Value> eachPointer(Location loc, const Access &access, Value base, Type memory,
                                 Value elsewhere);
  Value loadEach(Location loc, const Access &access, Value base, Type memory);
  void storeEach(Location loc, const Access &access, Value base, Value value);
  Value lanePointers(Location loc, const Access &access, Value base, Type memory);
  /// The access's mask; one of all lanes if it has none.
  Value maskOf(Location loc, const Access &access);
  Value applyHalf(OpBuilder &b, Operation *op, ValueRange operands, Type resultType);
  Value applyDouble(OpBuilder &b, Operation *op, ValueRange operands, Type resultType);
  Value divideByUniform(Location loc, Value dividend, Value divisor);
  Value isStreaming(unsigned result);
  Value isStreaming(const Access &access);
  Value loadMember(Location loc, const Access &access, unsigned member, unsigned members);

  KernelOp kernel;
  const KernelProgram &program;
  CpuTarget cpu;
  VectorShape shape;
  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  Value pointers, workspace, callbacks, error;
  llvm::StringMap<Value> parameters;
  llvm::DenseMap<unsigned, Value> scalars;
  SmallVector<Value> operandPointers, resultPointers;
  SmallVector<Value> streamingResults;
  /// Divisors that all lanes share: their reciprocals, and whether these may be used.
  llvm::DenseMap<Value, std::pair<Value, Value>> reciprocals;
  std::optional<unsigned> streamingLane;
  /// Where entry-level values are inserted: before the first loop.
  Operation *entryEnd = nullptr;
  /// The control word that finish() restores, under the planted mistake that flushes denormals.
  Value denormals;
  Frame entry;
  std::unique_ptr<Emitter> sizes;
};

/// The type of an element in memory: booleans are bytes, half types integers.
Type memoryType(Type element);
Value fromMemory(OpBuilder &b, Location loc, Value value, Type element);
Value toMemory(OpBuilder &b, Location loc, Value value);

/// arith, math and half conversions that need another form on x86, as vectors or
/// scalars alike; null if the operation is fine as it is.
Value emitHalfToFloat(OpBuilder &b, Location loc, Value half);
Value emitFloatToHalf(OpBuilder &b, Location loc, Value wide, Type half);
/// NaN if either operand is NaN; zeros of either sign are equal, and the first of equals is taken.
Value emitMaximum(OpBuilder &b, Location loc, Value x, Value y, bool minimum);

} // namespace mlir::frit
