// Operations between the blocks of a cluster (sm_90 and newer). A cluster is a run of neighbouring
// blocks of the grid that run at the same time on one group of multiprocessors, so they can wait
// for each other and write into each other's shared memory.
//
// The size of the cluster is part of the code (`.reqnctapercluster`), so any launch whose grid is a
// multiple of it runs in clusters. Blocks start at different times, and their shared memory ends
// with them: no block may write into another's before a first barrier of the cluster, and no block
// may end before it has got all that others send to it.
//
// Blocks send each other values by asynchronous stores that count their bytes at a barrier object
// of the receiver (an exchange). A barrier of the cluster with release semantics would instead wait
// for all earlier accesses of global memory, at each exchange: on an H200 that was a fifth of the
// time of a softmax over rows of 131,072 elements.

#include "codegen/ClusterInstructions.h"
#include "codegen/gpu/emit/GpuFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr unsigned kClusterSpace = 7;
static constexpr const char *kClusterWait = "llvm.nvvm.barrier.cluster.wait.aligned";

Value GpuFunction::clusterRank() { return rem(block, index(cluster)); }

void GpuFunction::clusterBarrier() {
  callIntrinsic("llvm.nvvm.barrier.cluster.arrive.aligned");
  callIntrinsic(kClusterWait);
}

void GpuFunction::callIntrinsic(StringRef name) {
  LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name), ValueRange());
}

void GpuFunction::emitPtx(const char *text, ValueRange operands) {
  std::string constraints;
  SmallVector<Value> words;
  for (Value operand : operands) {
    if (isa<LLVM::LLVMPointerType>(operand.getType())) {
      // Addresses of shared memory have 32 bits.
      Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), operand);
      operand = arith::TruncIOp::create(builder, loc, builder.getI32Type(), address);
    }
    constraints += operand.getType().isInteger(64) ? "l," : "r,";
    words.push_back(operand);
  }
  constraints += "~{memory}";
  LLVM::InlineAsmOp::create(builder, loc, TypeRange(), words, text, constraints,
                            /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void GpuFunction::beginExchanges(int64_t byteOffset, ArrayRef<int64_t> bytes) {
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, index(0));
  when(isFirst, [&] {
    for (auto [number, expected] : llvm::enumerate(bytes)) {
      Value object = exchangeObject(byteOffset, static_cast<int64_t>(number));
      Value count =
          arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(expected)));
      emitPtx(cluster_instructions::kInit, object);
      emitPtx(cluster_instructions::kExpect, {object, count});
    }
    callIntrinsic("llvm.nvvm.fence.mbarrier_init.release.cluster");
  });
  callIntrinsic("llvm.nvvm.barrier.cluster.arrive.relaxed.aligned");
}

void GpuFunction::awaitPartners() { callIntrinsic(kClusterWait); }

void GpuFunction::send(int64_t byteOffset, Value at, Value value, Value rank, int64_t exchange,
                       int64_t number) {
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  Value word = value;
  if (isa<FloatType>(value.getType())) {
    word = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits), word);
  }
  if (bits < 32) {
    word = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), word);
  }
  Value target = partnerPointer(sharedPointer(byteOffset, at, value.getType()), rank),
        object = partnerPointer(exchangeObject(exchange, number), rank);
  emitPtx(bits > 32 ? cluster_instructions::kSend64 : cluster_instructions::kSend32,
          {target, word, object});
}

void GpuFunction::awaitExchange(int64_t exchange, int64_t number) {
  emitPtx(cluster_instructions::kAwait, exchangeObject(exchange, number));
}

Value GpuFunction::exchangeObject(int64_t byteOffset, int64_t number) {
  return sharedPointer(byteOffset, index(number), builder.getI64Type());
}

Value GpuFunction::partnerPointer(Value own, Value rank) {
  Type i32 = builder.getI32Type();
  Value number =
      rank.getType() == i32 ? rank : Value(arith::TruncIOp::create(builder, loc, i32, rank));
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kClusterSpace);
  StringAttr name = builder.getStringAttr("llvm.nvvm.mapa.shared.cluster");
  return LLVM::CallIntrinsicOp::create(builder, loc, pointer, name, ValueRange{own, number})
      .getResult(0);
}
