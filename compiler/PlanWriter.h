// Writes one plan from one outlined graph: registers for sizes, scalars and tensors, and the steps
// in order.
//
// The outlined form already has the order of the program; the writer adds where values lie. Every
// tensor value has a register whose sizes and strides are int registers computed from the symbols.
// Storage is allocated before the kernel that fills it and freed after its last reader. Views of
// the graph become views of their root's storage. Launches are described by the descriptors of
// codegen.

#pragma once

#include "codegen/Codegen.h"
#include "ir/FritOps.h"
#include "ir/SizeExpr.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace frit {

/// Numbers the user's source lines, each once.
class SourceTable {
public:
  uint32_t intern(mlir::Location location);
  std::vector<std::string> take() { return std::move(lines); }

private:
  std::vector<std::string> lines;
  llvm::StringMap<uint32_t> numbers;
};

class PlanWriter {
public:
  using Kernels = llvm::StringMap<const mlir::frit::KernelDesc *>;

  /// `firstKept` is the first result that only a backward graph sees, -1 for none.
  PlanWriter(mlir::frit::GraphOp graph, format::Target target, const Kernels &kernels,
             SourceTable &sources, int64_t firstKept = -1);

  /// Emits an error and returns null if a plan cannot express the graph.
  std::unique_ptr<format::PlanT> write();

private:
  struct TensorValue {
    uint32_t reg;
    mlir::frit::LayoutAttr layout;
    /// The value whose storage this one lives in.
    mlir::Value root;
  };

  // PlanWriter.cpp: the walk.
  mlir::LogicalResult writeInputs();
  mlir::LogicalResult bindSymbols();
  mlir::LogicalResult writeBody(mlir::Block &block);
  mlir::LogicalResult writeOp(mlir::Operation &op);
  mlir::LogicalResult writeLaunch(mlir::frit::LaunchOp op);
  /// Passes the sizes, operands and results of one item of a launch; without a list there is one
  /// item.
  mlir::LogicalResult passItem(mlir::frit::LaunchOp op, mlir::frit::KernelOp kernel, unsigned item,
                               llvm::StringMap<mlir::frit::SizeExpr> &parameters,
                               format::LaunchT &launch);
  mlir::LogicalResult writeView(mlir::Operation &op);
  mlir::LogicalResult writeBind(mlir::frit::BindOp op);
  mlir::LogicalResult writeOutputs(mlir::frit::ReturnOp op);
  /// The number of an argument among the inputs, which exclude the constants (bound at load).
  unsigned inputNumber(unsigned argument);
  uint32_t useKernel(mlir::frit::KernelOp kernel, const mlir::frit::KernelDesc &desc);

  // PlanCalls.cpp: operators through the dispatcher.
  mlir::LogicalResult writeAten(mlir::frit::AtenOp op);
  uint32_t operandRegister(mlir::OpOperand &use);
  std::unique_ptr<format::ValueT> argumentValue(mlir::frit::AtenOp op, mlir::Attribute argument);
  std::unique_ptr<format::ValueT> resultValue(mlir::frit::AtenOp op, unsigned result);
  int64_t keptOf(mlir::OpResult result, mlir::frit::LayoutAttr layout);
  bool writePlacedClone(mlir::frit::AtenOp op);
  /// Copies `value` to a storage of its own with the strides of `layout`, by a call of aten.clone.
  uint32_t writeClone(mlir::Value value, mlir::frit::LayoutAttr layout, llvm::StringRef reason);

  // PlanScalars.cpp: sizes and host scalars.
  uint32_t sizeRegister(mlir::frit::SizeExpr size);
  mlir::LogicalResult writeScalar(mlir::Operation &op);
  mlir::LogicalResult writeWrap(mlir::Operation &op, mlir::Value scalar);
  mlir::LogicalResult writeConstant(mlir::Operation &op, mlir::Attribute value);
  uint32_t emitPolynomial(mlir::frit::SizeExpr size, uint32_t program);
  bool isUnbacked(mlir::frit::SizeExpr size);
  /// The program at the end of the steps written so far; appends a new one if they end otherwise.
  uint32_t openProgram();
  std::optional<uint32_t> integerOf(mlir::Value real);
  uint32_t intRegister(mlir::Value value) { return ints.lookup(value); }
  uint32_t floatRegister(mlir::Value value) { return floats.lookup(value); }

  // PlanGuards.cpp: assumptions of the graph and of the variants of its kernels.
  mlir::LogicalResult writeGuards();
  /// Writes a guard over sizes that only an operator knows, at its place among the steps.
  void writeLateGuard(mlir::frit::GuardOp op);
  void writeVariantGuard(mlir::frit::KernelOp kernel, mlir::frit::VariantAttr variant,
                         const llvm::StringMap<mlir::frit::SizeExpr> &parameters,
                         format::VariantSizesT &sizes);
  void emitCondition(mlir::frit::AssumptionAttr assumption, uint32_t program, uint32_t reg);
  bool isUnbacked(mlir::frit::AssumptionAttr assumption);
  uint32_t openSizeProgram();

  // PlanBuckets.cpp: sizes rounded up.
  void findBuckets();
  void useAskedBuckets();
  /// The register of a bucket, which the plan then computes; nullopt if the symbol has no list.
  std::optional<uint32_t> useBucket(llvm::StringRef name);
  void noteGain(mlir::frit::SizeExpr bytes, const llvm::StringMap<mlir::frit::SizeExpr> &symbols);
  /// Assigns registers to the numbers of padded and logical elements, as far as the arguments
  /// decide them.
  void countPads();
  /// The register of a temporary's bytes at the buckets of its sizes; kNoRegister if allocating
  /// that much gains nothing.
  uint32_t capacityRegister(mlir::frit::SizeExpr bytes);

  // PlanStorage.cpp: tensors and their lifetimes.
  uint32_t newTensor(mlir::Value value, format::Dtype dtype, mlir::frit::LayoutAttr layout,
                     mlir::Value root);
  uint32_t describe(mlir::RankedTensorType type, format::Dtype dtype, mlir::frit::LayoutAttr layout,
                    mlir::Value root);
  format::Device deviceOf(mlir::Value root);
  /// Places a result of a launch: in its own storage, in that of a dead temporary, or in that of an
  /// argument.
  uint32_t placeResult(mlir::frit::LaunchOp op, unsigned result);
  static mlir::frit::SizeExpr startFor(mlir::Value root, mlir::frit::LayoutAttr atZero);
  void allocate(mlir::Value value, format::StorageClass storage);
  /// `start`: the storage offset of the first element; null for 0.
  void allocate(uint32_t reg, mlir::frit::SizeExpr elements, format::Dtype dtype,
                mlir::frit::SizeAttr start, format::StorageClass storage);
  /// Copies `value` to a storage of its own with the given layout.
  uint32_t writeOwnCopy(mlir::Value value, mlir::frit::LayoutAttr layout, llvm::StringRef reason);
  uint32_t addView(mlir::Value value, mlir::Value source, format::Dtype dtype,
                   mlir::frit::LayoutAttr layout);
  /// `offset` is relative to the first element of `source`, in elements of `dtype`.
  uint32_t addView(mlir::Value value, mlir::Value source, format::Dtype dtype,
                   mlir::frit::LayoutAttr layout, mlir::frit::SizeExpr offset);
  // PlanResultShapes.cpp: results whose shapes only their calls know.
  /// Whether all symbols of its sizes are bound so far.
  bool areSizesKnown(mlir::Value tensor) const;
  void checkLater(mlir::Value result);
  void checkKnownShapes();
  static mlir::Operation *lastCheck(mlir::Block &block);
  mlir::Value rootOf(mlir::Value value);
  void planLives(mlir::Block &block);
  void freeAfter(mlir::Operation *op);

  mlir::InFlightDiagnostic error(mlir::Operation &op) {
    return op.emitError() << "cannot be planned: ";
  }

  mlir::frit::GraphOp graph;
  const Kernels &kernels;
  SourceTable &sources;
  int64_t firstKept;
  PlanBuilder builder;

  llvm::DenseMap<mlir::Value, TensorValue> tensors;
  llvm::DenseMap<mlir::Value, format::Dtype> dtypes;
  llvm::DenseMap<mlir::Value, uint32_t> ints, floats;
  /// Registers with the values of 0-d arguments that are read on the host.
  llvm::DenseMap<mlir::Value, uint32_t> hostScalars;
  llvm::DenseMap<mlir::Attribute, uint32_t> sizeRegisters;
  /// The conditions of variants on sizes, in terms of the graph and without origins.
  llvm::DenseMap<mlir::Attribute, uint32_t> conditionRegisters;
  llvm::StringMap<uint32_t> symbolRegisters;
  llvm::StringMap<mlir::frit::SymbolAttr> symbolFacts;
  llvm::StringMap<llvm::StringRef> bucketOfSymbol;
  llvm::DenseSet<mlir::StringAttr> unbackedSymbols;
  llvm::StringMap<uint32_t> kernelNumbers;
  uint32_t sizeProgram = kNoRegister;
  /// A symbol that a size uses and nothing defines; for the error.
  std::string unknownSymbol;
  /// Roots whose storage is freed after an operation.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> endsAfter;
  /// Results to check once all symbols of their sizes are bound.
  llvm::SmallVector<mlir::Value, 2> unchecked;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<uint32_t, 1>> viewsOf;
  llvm::DenseSet<mlir::Value> returned, mutated;
  /// A dead temporary that the next operation reuses, by buffer number.
  llvm::DenseMap<int64_t, uint32_t> heldBuffers;
};

format::Dtype dtypeOf(mlir::frit::DType dtype);

} // namespace frit
