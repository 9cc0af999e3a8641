#pragma once

#include "codegen/Codegen.h"
#include "codegen/Emitter.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

/// One entry of a GPU kernel under construction; implements the emitter's target for GPUs.
///
/// Arguments are those of the kernel ABI: a pointer for each tensor operand and result, an i64 for
/// each parameter and integer host scalar, an f64 for each float host scalar, and a pointer to the
/// workspace if `Options` asks for it. Indices are 32 bits wide if the facts about the kernel's
/// sizes prove that every address fits, and 64 bits wide otherwise.
///
/// A contiguous access of several lanes becomes one vector access only if its address is in the set
/// of `setVectorAddresses`; otherwise it is split into scalar accesses. An index out of range stops
/// the kernel (`frit_fail`): by a trap on the device, by eager's error message under emulation.
///
/// The entry of a kernel over a list takes a table by value (ir/KernelLists.h). A block finds its
/// item by the first block number of each item and advances the item's pointers to its chunk. The
/// rest of the code is a kernel over one chunk, with 32-bit indices.
namespace mlir::frit {

/// Which functions of a kernel may be less exact than f32.
class ApproximateMath {
public:
  explicit ApproximateMath(KernelOp kernel);
  /// In `all`, everything may be that has an approximate form; else what is `summed`.
  bool allows(Operation *op) const { return all || summed.contains(op); }

private:
  bool all;
  llvm::DenseSet<Operation *> summed;
};

class GpuFunction : public EmitterTarget {
public:
  struct Options {
    uint32_t threads = 256;
    bool hasWorkspace = false;
    /// Blocks of a cluster: neighbours that run at the same time.
    uint32_t cluster = 1;
    /// Blocks that a multiprocessor should hold at once; ptxas limits registers accordingly.
    uint32_t resident = 1;
    /// A kernel over a list: the number of items in its table (0: no list), and the most elements
    /// of an item that a block takes.
    uint32_t listItems = 0;
    int64_t listChunk = 0;
  };
  GpuFunction(gpu::GPUModuleOp module, StringRef name, const KernelProgram &program,
              Options options);
  void finish();

  const KernelProgram &getProgram() const { return program; }
  OpBuilder &getBuilder() { return builder; }
  Emitter &getEmitter() { return *emitter; }
  Location getLoc() const { return loc; }

  // Integers of the index type.
  Value index(int64_t value);
  /// A size over the kernel's parameters alone; computed once, at entry.
  Value size(SizeExpr expr);
  uint32_t getBlockThreads() const { return threads; }
  Value threadId() const { return thread; }
  Value blockId() const { return block; }
  /// Replaces the block number that later code sees, for a block that does the work of several.
  void setBlockId(Value number) { block = number; }
  Value gridSize();
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value minimum(Value a, Value b);
  Value less(Value a, Value b);
  /// The conjunction of two conditions, either of which may be null (true).
  Value both(Value a, Value b);

  /// Declares that the address of a tensor is a multiple of `bytes`, a power of two. The launcher
  /// checks it.
  void assumeAligned(unsigned number, bool isResult, unsigned bytes);
  /// Marks the entry with kSizePathsAttr.
  void noteSizePaths() { kSizePathsAttr.mark(function); }

  /// Runs `body` where `condition` (null: always) holds.
  void when(Value condition, llvm::function_ref<void()> body);
  /// Emits an if that yields values; only one branch if the condition is null (true) or a constant.
  SmallVector<Value> choose(Value condition, TypeRange types,
                            llvm::function_ref<SmallVector<Value>()> yes,
                            llvm::function_ref<SmallVector<Value>()> no);
  /// The same without results.
  void either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);
  /// for (i = begin; i < end; i += step), carrying values.
  SmallVector<Value> loop(Value begin, Value end, Value step, ValueRange carried,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);

  void barrier();
  /// The value of lane `lane ^ distance` of the warp; any type of up to 64 bits.
  Value shuffle(Value value, int64_t distance);
  /// Accesses an array in the shared memory of the block that begins at `byteOffset`, of elements
  /// or of vectors of `lanes` of them; `index` counts those.
  Value loadShared(int64_t byteOffset, Value index, Type element, unsigned lanes = 1);
  void storeShared(int64_t byteOffset, Value index, Value value);
  // Operations between the blocks of a cluster (Cluster.cpp).
  uint32_t getClusterBlocks() const { return cluster; }
  /// The number of this block in its cluster.
  Value clusterRank();
  /// Waits for all threads of the cluster; their earlier writes are visible afterwards.
  void clusterBarrier();
  /// Begins exchanges between the blocks: number i, whose barrier object is word i from
  /// `byteOffset` in shared memory, is over when `bytes[i]` bytes have come. Each takes place once.
  void beginExchanges(int64_t byteOffset, ArrayRef<int64_t> bytes);
  /// Waits until all blocks have begun the exchanges. Comes before the first `send`.
  void awaitPartners();
  /// Stores into the shared memory of block `rank`, in exchange `number`: 4 bytes, or 8.
  void send(int64_t byteOffset, Value index, Value value, Value rank, int64_t exchange,
            int64_t number);
  /// Waits for all bytes of an exchange, which this block can read afterwards.
  void awaitExchange(int64_t exchange, int64_t number);
  /// The same for an array in the workspace.
  Value loadWorkspace(Value byteOffset, Value index, Type element);
  void storeWorkspace(Value byteOffset, Value index, Value value);

  /// The pointer of a tensor; for tests of its alignment.
  Value getPointer(unsigned tensor, bool isResult) const {
    return isResult ? resultPointers[tensor] : operandPointers[tensor];
  }
  /// Sets which addresses are vector accesses. `condition`: the run-time condition on sizes and
  /// pointers under which they are; null: always.
  void setVectorAddresses(const llvm::DenseSet<Attribute> *addresses, Value condition = Value()) {
    vectorAddresses = addresses;
    vectorCondition = condition;
  }
  bool hasVectorCondition() const { return bool(vectorCondition); }
  /// Emits `loads` twice, with vector accesses and with scalar ones, in two branches; in each all
  /// loads are issued before the first value is used. The values are contiguous along `lanes` lanes
  /// and have the given element types.
  SmallVector<Value> loadEither(ArrayRef<Type> elements, unsigned lanes,
                                llvm::function_ref<SmallVector<Value>()> loads);

  /// Emits `loads` where `condition` holds, all of them before the first value is used. Returns the
  /// bits, in which narrow elements are packed: value i has `lanes[i]` lanes of the type
  /// `elements[i]`. Where the condition does not hold they are `otherwise`, by default 0.
  SmallVector<Value> loadBits(Value condition, ArrayRef<Type> elements, ArrayRef<unsigned> lanes,
                              ValueRange otherwise, llvm::function_ref<SmallVector<Value>()> loads);
  Value fromBits(Value bits, Type element, unsigned lanes);

  // EmitterTarget
  Type getIndexType() override { return indexType; }
  bool countsQuotients() override { return true; }
  Value getParameter(OpBuilder &builder, StringRef name) override;
  Value getScalar(OpBuilder &builder, unsigned argument) override;
  Value load(OpBuilder &builder, Location loc, const Access &access) override;
  void store(OpBuilder &builder, Location loc, const Access &access, Value value) override;
  Value apply(OpBuilder &builder, Operation *op, ValueRange operands, Type resultType) override;
  void fail(OpBuilder &builder, Location loc, Value failed, ErrorCode code, unsigned dimension,
            Value index, Value size) override;

private:
  void bindArguments(ValueRange arguments, unsigned numPointers, unsigned numInts);
  void bindListItem(ArrayRef<Type> types, unsigned numPointers, unsigned numInts,
                    const Options &options);
  Value toIndex(Value value, bool isSigned);
  Value elementPointer(Value base, Type element, Value index);
  Value loadFrom(Value pointer, Type element, unsigned lanes, Value guard);
  Value fromMemory(Value value, Type element);
  bool isVector(const Access &access);
  void storeTo(Value pointer, Value value, unsigned lanes, Value guard);
  Value lanePointer(const Access &access, Value first, unsigned lane);
  Value sharedPointer(int64_t byteOffset, Value index, Type element);
  void callIntrinsic(StringRef name);
  /// Emits an instruction that reads and writes memory; a pointer is an address of shared memory.
  void emitPtx(const char *text, ValueRange operands);
  Value exchangeObject(int64_t byteOffset, int64_t number);
  /// The same place in the shared memory of another block of the cluster.
  Value partnerPointer(Value own, Value rank);
  Value shuffle32(Value value, int64_t distance);

  const KernelProgram &program;
  KernelOp kernel;
  gpu::GPUModuleOp module;
  OpBuilder builder;
  Location loc;
  Type indexType;
  gpu::GPUFuncOp function;
  uint32_t threads, cluster;
  Value thread, block, workspace;
  SmallVector<Value> operandPointers, resultPointers;
  llvm::StringMap<Value> parameters;
  llvm::DenseMap<unsigned, Value> scalars;
  const llvm::DenseSet<Attribute> *vectorAddresses = nullptr;
  Value vectorCondition;
  /// Of a kernel for aligned pointers: loads that LLVM merges if the pointer is a multiple of so
  /// many bytes.
  llvm::DenseMap<Attribute, unsigned> neighbours;
  /// Loaded booleans stay bytes.
  bool keepsBytes = false;
  Operation *entryEnd = nullptr;
  ApproximateMath approximateMath;
  Frame entry;
  std::unique_ptr<Emitter> emitter;
};

/// Whether every index that the kernel computes provably fits into 31 bits.
bool fitsIn32Bits(const KernelProgram &program);

} // namespace mlir::frit
