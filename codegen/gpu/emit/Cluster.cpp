// Operations between the blocks of a cluster (sm_90 and newer). A cluster is a run of neighbouring
// blocks of the grid that run at the same time on one group of multiprocessors, so they can wait
// for each other and write into each other's shared memory.
//
// The size of the cluster is part of the code (`.reqnctapercluster`), so any launch whose grid is a
// multiple of it runs in clusters. Blocks start at different times, and their shared memory ends
// with them: no block may write into another's before a first barrier of the cluster, and the last
// such write is followed by a barrier too.

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
