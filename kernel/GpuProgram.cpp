#include "kernel/GpuProgram.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
/// The storage of a value outside of kernels: that of an argument, a planned buffer, or unknown.
struct StorageKey {
  enum { Argument, Buffer, Unknown } kind = Unknown;
  int64_t number = 0;
  bool operator==(const StorageKey &other) const {
    return kind != Unknown && kind == other.kind && number == other.number;
  }
};
} // namespace

static StorageKey storageOfResult(LaunchOp launch, unsigned result) {
  ArrayAttr used = launch.getBuffersAttr(),
            known = launch->getParentOfType<GraphOp>().getBuffersAttr();
  if (!used || !known) {
    return {};
  }
  int64_t number = cast<IntegerAttr>(used[result]).getInt();
  std::optional<unsigned> argument = cast<BufferAttr>(known[number]).getArgument();
  return argument ? StorageKey{StorageKey::Argument, *argument}
                  : StorageKey{StorageKey::Buffer, number};
}

static StorageKey storageOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>()) {
    value = view.getViewSource();
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    return {StorageKey::Argument, argument.getArgNumber()};
  }
  auto launch = value.getDefiningOp<LaunchOp>();
  return launch ? storageOfResult(launch, cast<OpResult>(value).getResultNumber()) : StorageKey();
}

llvm::StringMap<SharedPointers> mlir::frit::findSharedPointers(ModuleOp module) {
  llvm::StringMap<SharedPointers> shared;
  module.walk([&](LaunchOp launch) {
    if (launch.getItems()) {
      return; // pointers from a table are never assumed to be distinct
    }
    SmallVector<Value> operands;
    llvm::copy_if(launch.getOperands(), std::back_inserter(operands),
                  [](Value operand) { return isa<RankedTensorType>(operand.getType()); });
    for (unsigned result = 0; result < launch.getNumResults(); ++result) {
      StorageKey written = storageOfResult(launch, result);
      for (auto [number, operand] : llvm::enumerate(operands)) {
        StorageKey read = storageOf(operand);
        if (written == read ||
            (written.kind == StorageKey::Argument && read.kind == StorageKey::Unknown)) {
          shared[launch.getKernel()].insert(number);
          shared[launch.getKernel()].insert(operands.size() + result);
        }
      }
    }
  });
  return shared;
}

FailureOr<KernelProgram> mlir::frit::buildGpuProgram(KernelOp kernel, bool isInPlace) {
  auto program = KernelProgram::build(kernel, /*joinReads=*/!isInPlace);
  if (failed(program)) {
    return failure();
  }
  // The kernel of a list handles one chunk of a tensor, which has one dim.
  if (!kernel.getList()) {
    program->splitUnknownDims();
  }
  program->assumeRanges();
  return program;
}
