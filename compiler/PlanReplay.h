// Replays a plan beside its graph; see PlanValidator.h for what it proves.

#pragma once

#include "compiler/PlanMemory.h"
#include "ir/AtenSchemas.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace frit {

class PlanReplay {
public:
  PlanReplay(mlir::frit::GraphOp graph, const format::PlanT &plan, int64_t firstKept);

  /// Replays the plan. After a failure `whatIsWrong` has the message.
  mlir::LogicalResult run();
  const std::string &whatIsWrong() const { return message; }

private:
  struct Register {
    bool isDefined = false, isAlive = false;
    Place place;
  };
  struct Scalar {
    bool isFloat;
    uint32_t reg;
  };

  /// The registers of one item of a launch: tensors (operands, then results), ints (sizes, then
  /// integers), floats.
  struct Passed {
    llvm::ArrayRef<uint32_t> tensors, ints, floats;
  };

  // PlanReplay.cpp: the steps beside the operations.
  mlir::LogicalResult readArguments();
  mlir::LogicalResult visit(mlir::Operation &op);
  /// Replays steps that only affect storage up to the next step of the wanted kind, and returns it.
  const format::StepT *advance(format::Action wanted, mlir::Operation *op);
  /// Whether the next step that does not only affect storage is of this kind.
  bool comesNext(format::Action wanted) const;
  /// The bytes of as many elements as an int register holds; none for no register.
  Sampled bytesAt(uint32_t reg, int64_t elementBytes) const;
  mlir::LogicalResult replayStorage(const format::StepT &step, bool &isStorage);
  mlir::LogicalResult visitStore(mlir::frit::StoreOp store);
  mlir::LogicalResult visitBind(mlir::frit::BindOp bind);
  mlir::LogicalResult visitWrap(mlir::Operation &op, mlir::Value scalar);
  Sampled valueOf(mlir::Value scalar);

  // ReplayCalls.cpp: kernels and operators.
  mlir::LogicalResult visitLaunch(mlir::frit::LaunchOp op);
  mlir::LogicalResult checkItem(mlir::frit::LaunchOp op, mlir::frit::KernelOp kernel, size_t item,
                                const Passed &passed, const std::string &by);
  mlir::LogicalResult checkStrides(uint32_t reg, mlir::RankedTensorType type,
                                   mlir::frit::LayoutAttr layout,
                                   const llvm::StringMap<Sampled> &parameters,
                                   const std::string &by);
  mlir::LogicalResult checkItemsApart(llvm::ArrayRef<uint32_t> tensors, size_t items,
                                      size_t numOperands, const std::string &by);
  mlir::LogicalResult checkInPlace(mlir::frit::KernelOp kernel, llvm::ArrayRef<uint32_t> tensors,
                                   size_t numOperands, const std::string &by);
  mlir::LogicalResult visitAten(mlir::frit::AtenOp op);
  mlir::LogicalResult visitPlacedClone(mlir::frit::AtenOp op);
  mlir::LogicalResult checkArgument(mlir::frit::AtenOp op, mlir::Attribute argument,
                                    const format::ValueT &given, const std::string &by);
  llvm::SmallVector<int> storagesBehind(mlir::frit::AtenOp op, const mlir::frit::AtenSchema *schema,
                                        mlir::OpResult result);
  mlir::LogicalResult defineResult(mlir::frit::AtenOp op, const mlir::frit::AtenSchema *schema,
                                   mlir::OpResult result, const format::ValueT &given,
                                   const std::string &by);
  mlir::LogicalResult checkScalar(mlir::Value value, bool isFloat, uint32_t reg,
                                  const std::string &by);

  // ReplayResults.cpp: the state after the last step.
  mlir::LogicalResult visitReturn(mlir::frit::ReturnOp op);
  mlir::LogicalResult checkStorage(unsigned number, mlir::Value value, const Place &place);
  /// Whether the caller sees the result, and not only a backward graph.
  bool isSeen(unsigned number) const { return firstKept < 0 || number < firstKept; }
  bool showsArgument(unsigned number, const Place &place);
  mlir::LogicalResult checkLayout(unsigned number, const Place &place);
  mlir::LogicalResult checkArguments();

  // ReplayPlaces.cpp: registers, places, and reads of them.
  mlir::LogicalResult describe(uint32_t reg, Place &place, const std::string &by);
  mlir::LogicalResult checkDtype(uint32_t reg, mlir::frit::DTypeAttr wanted, const std::string &by);
  mlir::LogicalResult define(uint32_t reg, const Place &place, const std::string &by);
  mlir::LogicalResult alive(uint32_t reg, const Place *&place, const std::string &by);
  /// Checks that the register's storage still holds the value, at the place that the register
  /// describes.
  mlir::LogicalResult read(uint32_t reg, mlir::Value value, const std::string &by);
  Place placeUnder(mlir::frit::AliasOp alias, const Place &place);
  mlir::LogicalResult readPlace(const Place &place, mlir::Value value, const std::string &by);
  mlir::LogicalResult write(uint32_t reg, mlir::Value value, const std::string &by);
  bool sameThrough(llvm::ArrayRef<mlir::Operation *> views, const Place &base, const Place &shown,
                   mlir::Value value);
  bool hasSizes(const Place &place, mlir::RankedTensorType type);
  std::string nameOf(mlir::Value value);
  std::string listOf(llvm::ArrayRef<mlir::Value> values);

  mlir::LogicalResult fail(const std::string &by, const llvm::Twine &what);

  mlir::frit::GraphOp graph;
  const format::PlanT &plan;
  int64_t firstKept;
  mlir::SymbolTable symbolTable;
  PlanSamples samples;
  PlanMemory memory;
  std::string message;
  size_t next = 0;

  std::vector<Register> registers;
  llvm::DenseMap<mlir::Value, Scalar> scalars;
  /// By argument of the graph: its register, and the number of its input.
  llvm::DenseMap<mlir::Value, uint32_t> argumentRegisters;
  llvm::DenseMap<mlir::Value, unsigned> inputNumbers;
  /// Storages besides its register's in which a value may lie: those of operands that an operator
  /// may have returned.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int, 2>> sharedWith;
  /// The register of each tensor operand of the call that is being replayed.
  llvm::SmallVector<uint32_t> callOperands;
  /// The values that the graph has stored into each argument, as separate memory.
  PlanMemory stored;
  llvm::DenseMap<mlir::Value, int> storedIn;
  llvm::DenseSet<int> written;
  /// Registers of results that are copies made at the end.
  llvm::DenseSet<uint32_t> clones;
  /// The fresh storages that the graph promises for its results, by number, and back.
  llvm::DenseMap<int64_t, int> promised;
  llvm::DenseMap<int, int64_t> promises;
  /// Counts sizes that only a call knows; each gets its own value.
  int64_t unboundSizes = 0;
};

/// The value of which `value` is a view, through any number of views, in an outlined graph;
/// collects the views in `views`, the last one first.
mlir::Value baseOf(mlir::Value value, llvm::SmallVectorImpl<mlir::Operation *> *views = nullptr);

} // namespace frit
