// What the blocks of a cluster do together (sm_90 and newer): a cluster is a run of neighbouring
// blocks of the grid, on one group of multiprocessors at the same time, so they can wait for each
// other and write into each other's shared memory.
//
// The size is part of the code (`.reqnctapercluster`), so any launch whose grid is a multiple of it
// runs in clusters. Blocks begin at different times and shared memory ends with its block: nobody
// writes into another's before a barrier that all have reached, and the last thing between blocks
// is such a barrier too.

#include "codegen/gpu/emit/GpuFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr unsigned kClusterSpace = 7;

Value GpuFunction::clusterRank() { return rem(block, index(cluster)); }

void GpuFunction::clusterBarrier() {
  for (StringRef name :
       {"llvm.nvvm.barrier.cluster.arrive.aligned", "llvm.nvvm.barrier.cluster.wait.aligned"}) {
    LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name), ValueRange());
  }
}

void GpuFunction::storeCluster(int64_t byteOffset, Value at, Value value, Value rank) {
  Type i32 = builder.getI32Type();
  Value number =
      rank.getType() == i32 ? rank : Value(arith::TruncIOp::create(builder, loc, i32, rank));
  Value own = sharedPointer(byteOffset, at, value.getType());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kClusterSpace);
  StringAttr name = builder.getStringAttr("llvm.nvvm.mapa.shared.cluster");
  auto there = LLVM::CallIntrinsicOp::create(builder, loc, pointer, name, ValueRange{own, number});
  storeTo(there.getResult(0), value, 1, Value());
}
