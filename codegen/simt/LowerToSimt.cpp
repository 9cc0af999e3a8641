#include "codegen/simt/LowerToSimt.h"
#include "ir/FritAttributes.h"
#include "ir/FritOps.h"

#include "codegen/ClusterInstructions.h"
#include "codegen/cpu/CpuFunction.h"
#include "codegen/math/VectorMath.h"
#include "codegen/simt/SimtLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace mlir::frit::simt_layout;
namespace cluster_instructions = mlir::frit::cluster_instructions;

namespace {

/// Address spaces of the block's and of the cluster's shared memory.
constexpr unsigned kSharedSpace = 3, kClusterSpace = 7;

StringRef getLibmName(Operation *op) {
  if (isa<arith::RemFOp>(op)) {
    return "fmod";
  }
  return op->getName().stripDialect();
}

class KernelLowering {
public:
  KernelLowering(gpu::GPUFuncOp kernel, func::FuncOp function)
      : kernel(kernel), function(function), builder(function.getContext()), loc(kernel.getLoc()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

  LogicalResult run() {
    Block *entry = function.addEntryBlock();
    Block *body = &kernel.getBody().front();
    context = entry->getArgument(0);
    builder.setInsertionPointToStart(entry);
    if (failed(bindArguments(body))) {
      return failure();
    }
    entry->getOperations().splice(entry->end(), body->getOperations());
    function.getBody().getBlocks().splice(function.getBody().end(), kernel.getBody().getBlocks(),
                                          std::next(kernel.getBody().begin()),
                                          kernel.getBody().end());
    SmallVector<Operation *> operations;
    function.walk([&](Operation *op) { operations.push_back(op); });
    for (Operation *op : operations) {
      if (failed(lower(op))) {
        return failure();
      }
    }
    moveAsBits();
    return success();
  }

private:
  /// LLVM has no register class for bf16 on x86 and would call a library to move one. The remaining
  /// bf16 values (loads, stores, carried values, lanes) are moved as integers.
  void moveAsBits() {
    auto bitsOf = [&](Type type) -> Type {
      if (!getElementTypeOrSelf(type).isBF16()) {
        return type;
      }
      auto vector = dyn_cast<VectorType>(type);
      return vector ? Type(vector.clone(builder.getI16Type())) : builder.getI16Type();
    };
    function.walk([&](Operation *op) {
      for (Value result : op->getResults()) {
        result.setType(bitsOf(result.getType()));
      }
      for (Region &region : op->getRegions()) {
        for (Block &block : region) {
          for (BlockArgument argument : block.getArguments()) {
            argument.setType(bitsOf(argument.getType()));
          }
        }
      }
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        if (auto one = dyn_cast<FloatAttr>(constant.getValue()); one && one.getType().isBF16()) {
          constant.setValueAttr(
              builder.getIntegerAttr(builder.getI16Type(), one.getValue().bitcastToAPInt()));
        } else if (auto all = dyn_cast<DenseElementsAttr>(constant.getValue());
                   all && all.getElementType().isBF16()) {
          constant.setValueAttr(all.bitcast(builder.getI16Type()));
        }
      } else if (isa<arith::BitcastOp>(op) &&
                 op->getOperand(0).getType() == op->getResult(0).getType()) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      }
    });
  }
  Value offset(Value base, int64_t bytes) {
    SmallVector<LLVM::GEPArg> indices{static_cast<int32_t>(bytes)};
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base, indices);
  }
  Value field(Value base, int64_t bytes, Type type) {
    return LLVM::LoadOp::create(builder, loc, type, offset(base, bytes));
  }
  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value constant32(int64_t value) { return constant(builder.getI32Type(), value); }

  /// Binds the arguments in the order of the kernel ABI: pointers, ints, floats, and last the
  /// workspace, marked by `frit.workspace`.
  LogicalResult bindArguments(Block *body) {
    Value pointers = field(context, kPointers, pointer), ints = field(context, kInts, pointer),
          floats = field(context, kFloats, pointer);
    int64_t numPointers = 0, numInts = 0, numFloats = 0;
    for (BlockArgument argument : body->getArguments()) {
      Type type = argument.getType();
      Value value;
      if (frit::kArgumentWorkspaceAttr.isOn(kernel, argument.getArgNumber())) {
        value = field(context, kWorkspace, type);
      } else if (isa<LLVM::LLVMPointerType>(type)) {
        value = field(pointers, 8 * numPointers++, type);
      } else if (type.isInteger(64)) {
        value = field(ints, 8 * numInts++, type);
      } else if (type.isF64()) {
        value = field(floats, 8 * numFloats++, type);
      } else {
        return kernel.emitError("argument ") << argument.getArgNumber() << " is " << type
                                             << ": kernels take pointers, i64 and f64";
      }
      argument.replaceAllUsesWith(value);
    }
    return success();
  }

  Value call(int64_t slot, Type result, ValueRange arguments) {
    Value table = field(context, kOperations, pointer);
    Value callee = field(table, slot, pointer);
    return callPointer(callee, result, arguments);
  }
  Value callPointer(Value callee, Type result, ValueRange arguments) {
    SmallVector<Type> types(arguments.getTypes());
    Type returned = result ? result : Type(LLVM::LLVMVoidType::get(builder.getContext()));
    SmallVector<Value> operands{callee};
    llvm::append_range(operands, arguments);
    auto call =
        LLVM::CallOp::create(builder, loc, LLVM::LLVMFunctionType::get(returned, types), operands);
    return result ? call.getResult() : Value();
  }

  void announce(Value address, Type type, bool isStore) {
    unsigned space = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace();
    bool isShared = space == kSharedSpace || space == kClusterSpace;
    if (space != 1 && !isShared) {
      return;
    }
    int64_t bytes = DataLayout(function->getParentOfType<ModuleOp>()).getTypeSize(type);
    int64_t flags = (isStore ? kStoreFlag : 0) | (isShared ? kSharedFlag : 0);
    Value plain = LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
    call(kAccess, nullptr,
         {context, plain, constant(builder.getI64Type(), bytes), constant32(flags)});
  }

  void replaceId(Operation *op, int64_t base, gpu::Dimension dimension) {
    Value id = field(context, base + 4 * static_cast<int64_t>(dimension), builder.getI32Type());
    replace(op, arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), id));
  }
  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  LogicalResult lower(Operation *op) {
    builder.setInsertionPoint(op);
    loc = op->getLoc();
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      announce(load.getAddr(), load.getType(), false);
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      announce(store.getAddr(), store.getValue().getType(), true);
    } else if (auto id = dyn_cast<gpu::ThreadIdOp>(op)) {
      replaceId(op, kThreadId, id.getDimension());
    } else if (auto id = dyn_cast<gpu::BlockIdOp>(op)) {
      replaceId(op, kBlockId, id.getDimension());
    } else if (auto size = dyn_cast<gpu::BlockDimOp>(op)) {
      replaceId(op, kBlockDim, size.getDimension());
    } else if (auto size = dyn_cast<gpu::GridDimOp>(op)) {
      replaceId(op, kGridDim, size.getDimension());
    } else if (isa<gpu::BarrierOp>(op)) {
      call(kBarrier, nullptr, {context, constant32(numBarriers++)});
      op->erase();
    } else if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
      return lowerIntrinsic(intrinsic);
    } else if (auto ptx = dyn_cast<LLVM::InlineAsmOp>(op)) {
      return lowerPtx(ptx);
    } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
      return lowerShuffle(shuffle);
    } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      replace(op, field(context, kShared, address.getType()));
    } else if (isa<gpu::ReturnOp>(op)) {
      func::ReturnOp::create(builder, loc);
      op->erase();
    } else if (auto failing = dyn_cast<LLVM::CallOp>(op);
               failing && failing.getCallee() == StringRef("frit_fail")) {
      SmallVector<Value> arguments{context};
      llvm::append_range(arguments, failing.getArgOperands());
      call(kFail, nullptr, arguments);
      op->erase();
    } else if (touchesHalf(op)) {
      lowerHalf(op);
    } else if (isa<arith::RemFOp>(op) || frit::isMathFunction(op)) {
      lowerMath(op);
    } else if (isa_and_nonnull<gpu::GPUDialect>(op->getDialect())) {
      return op->emitError("has no emulated meaning");
    }
    return success();
  }

  /// Lowers the exchanges of a cluster. Addresses are words of 32 bits that were cast from
  /// pointers.
  LogicalResult lowerPtx(LLVM::InlineAsmOp op) {
    StringRef text = op.getAsmString();
    auto pointerOf = [&](unsigned operand) -> Value {
      auto word = op.getOperands()[operand].getDefiningOp<arith::TruncIOp>();
      auto cast = word ? word.getIn().getDefiningOp<LLVM::PtrToIntOp>() : nullptr;
      return cast ? Value(LLVM::AddrSpaceCastOp::create(builder, loc, pointer, cast.getArg()))
                  : Value();
    };
    auto wide = [&](Value value) -> Value {
      Type i64 = builder.getI64Type();
      return value.getType() == i64 ? value
                                    : Value(arith::ExtUIOp::create(builder, loc, i64, value));
    };
    unsigned last = op.getNumOperands() - 1;
    Value object = pointerOf(text == cluster_instructions::kExpect ? 0 : last);
    if (!object) {
      return op.emitError("has an emulated meaning only for the address of a pointer");
    }
    bool isShort = text == cluster_instructions::kSend32;
    if (text == cluster_instructions::kExpect) {
      call(kExpect, nullptr, {context, object, wide(op.getOperands()[1])});
    } else if (isShort || text == cluster_instructions::kSend64) {
      Value bytes = constant(builder.getI64Type(), isShort ? 4 : 8);
      call(kSend, nullptr, {context, pointerOf(0), wide(op.getOperands()[1]), bytes, object});
    } else if (text == cluster_instructions::kAwait) {
      call(kAwait, nullptr, {context, object, constant32(numBarriers++)});
    } else if (text != cluster_instructions::kInit) {
      return op.emitError("has no emulated meaning");
    }
    op.erase();
    return success();
  }

  /// Lowers approximate instructions and the operations of a cluster. A cluster barrier consists of
  /// two adjacent operations, arrive and wait, unless its arrival orders nothing: then all blocks
  /// meet at the wait.
  LogicalResult lowerIntrinsic(LLVM::CallIntrinsicOp op) {
    StringRef name = op.getIntrin(), wait = "llvm.nvvm.barrier.cluster.wait.aligned";
    if (const auto *approximation = llvm::find(kApproximations, name);
        approximation != std::end(kApproximations)) {
      Type f32 = builder.getF32Type();
      ValueRange arguments = op.getArgs();
      Value second =
          arguments.size() == 2
              ? Value(arguments[1])
              : Value(arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0)));
      replace(op, call(kApproximate, f32,
                       {context, constant32(approximation - std::begin(kApproximations)),
                        arguments[0], second}));
      return success();
    }
    if (name == "llvm.nvvm.barrier.cluster.arrive.aligned") {
      auto next = dyn_cast<LLVM::CallIntrinsicOp>(op->getNextNode());
      if (!next || next.getIntrin() != wait) {
        return op.emitError("has an emulated meaning only in front of ") << wait;
      }
    } else if (name == "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned" ||
               name == "llvm.nvvm.fence.mbarrier_init.release.cluster") {
      // The wait that follows is the barrier.
    } else if (name == wait) {
      call(kClusterBarrier, nullptr, {context, constant32(numBarriers++)});
    } else if (name == "llvm.nvvm.mapa.shared.cluster") {
      Value plain = LLVM::AddrSpaceCastOp::create(builder, loc, pointer, op.getArgs()[0]);
      Value there = call(kMapShared, pointer, {context, plain, op.getArgs()[1]});
      replace(op, LLVM::AddrSpaceCastOp::create(builder, loc, op.getResult(0).getType(), there));
      return success();
    } else {
      return op.emitError("has no emulated meaning");
    }
    op.erase();
    return success();
  }

  LogicalResult lowerShuffle(gpu::ShuffleOp shuffle) {
    Type type = shuffle.getValue().getType(), i32 = builder.getI32Type();
    if (!type.isInteger(32) && !type.isF32()) {
      return shuffle.emitError("shuffles ")
             << type << ": only i32 and f32 have an emulated meaning";
    }
    Value bits = shuffle.getValue();
    if (type.isF32()) {
      bits = arith::BitcastOp::create(builder, loc, i32, bits);
    }
    Value result = call(kShuffle, i32,
                        {context, bits, constant32(static_cast<int64_t>(shuffle.getMode())),
                         shuffle.getOffset(), shuffle.getWidth(), constant32(numShuffles++)});
    if (type.isF32()) {
      result = arith::BitcastOp::create(builder, loc, type, result);
    }
    shuffle.getShuffleResult().replaceAllUsesWith(result);
    shuffle.getValid().replaceAllUsesWith(constant(builder.getI1Type(), 1));
    shuffle->erase();
    return success();
  }

  static bool isHalf(Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isBF16() || element.isF16();
  }
  static bool touchesHalf(Operation *op) {
    if (!frit::isElementwise(op) || isa<arith::ConstantOp, arith::BitcastOp>(op)) {
      return false;
    }
    return llvm::any_of(op->getOperandTypes(), isHalf) ||
           llvm::any_of(op->getResultTypes(), isHalf);
  }

  /// x86 has no arithmetic on half types: the operation is done in f32, with the conversions
  /// written as operations on bits.
  void lowerHalf(Operation *op) {
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    auto withElement = [](Type shaped, Type newElement) -> Type {
      auto vector = dyn_cast<VectorType>(shaped);
      return vector ? Type(vector.clone(newElement)) : newElement;
    };
    SmallVector<Value> wide;
    for (Value operand : op->getOperands()) {
      wide.push_back(isHalf(operand.getType()) ? frit::emitHalfToFloat(builder, loc, operand)
                                               : operand);
    }
    if (isa<arith::ExtFOp>(op)) {
      return replace(op, element.isF32()
                             ? wide[0]
                             : Value(arith::ExtFOp::create(builder, loc, type, wide[0])));
    }
    if (isa<arith::TruncFOp>(op)) {
      return replace(op, frit::emitFloatToHalf(builder, loc, wide[0], element));
    }
    OperationState state(loc, op->getName());
    state.addOperands(wide);
    state.addTypes(isHalf(type) ? withElement(type, builder.getF32Type()) : type);
    state.addAttributes(op->getAttrs());
    Operation *computed = builder.create(state);
    Value result = computed->getResult(0);
    if (isHalf(type)) {
      result = frit::emitFloatToHalf(builder, loc, result, element);
    }
    replace(op, result);
    if (isa<arith::RemFOp>(computed) || frit::isMathFunction(computed)) {
      builder.setInsertionPoint(computed);
      lowerMath(computed);
    }
  }

  /// The byte offset of a libm function in the table of callbacks.
  static std::optional<int64_t> getCallback(StringRef name) {
    const auto *unary = llvm::find(kUnary, name);
    if (unary != std::end(kUnary)) {
      return 8 * (unary - std::begin(kUnary));
    }
    const auto *binary = llvm::find(kBinary, name);
    if (binary != std::end(kBinary)) {
      return 8 * (std::size(kUnary) + (binary - std::begin(kBinary)));
    }
    return std::nullopt;
  }

  void lowerMath(Operation *op) {
    Type type = op->getResult(0).getType();
    Type element = getElementTypeOrSelf(type);
    if (isa<math::RsqrtOp>(op)) {
      Value root = math::SqrtOp::create(builder, loc, op->getOperand(0));
      TypedAttr one = builder.getFloatAttr(element, 1.0);
      if (auto shaped = dyn_cast<ShapedType>(type)) {
        one = DenseElementsAttr::get(shaped, static_cast<Attribute>(one));
      }
      replace(op, arith::DivFOp::create(builder, loc, arith::ConstantOp::create(builder, loc, one),
                                        root));
      return;
    }
    if (isa<math::CopySignOp>(op)) {
      return replace(
          op,
          frit::FloatBuilder(builder, loc, type).copySign(op->getOperand(0), op->getOperand(1)));
    }
    auto slot = getCallback(getLibmName(op));
    if (!slot) {
      return;
    }
    Value table = field(context, kCallbacks, pointer);
    Value callee = field(table, *slot, pointer);
    auto one = [&](ValueRange operands) -> Value {
      SmallVector<Value> wide;
      for (Value operand : operands) {
        wide.push_back(element.isF64()
                           ? operand
                           : arith::ExtFOp::create(builder, loc, builder.getF64Type(), operand));
      }
      Value result = callPointer(callee, builder.getF64Type(), wide);
      return element.isF64() ? result : arith::TruncFOp::create(builder, loc, element, result);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      return replace(op, one(op->getOperands()));
    }
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      SmallVector<Value> scalars;
      for (Value operand : op->getOperands()) {
        scalars.push_back(vector::ExtractOp::create(builder, loc, operand, lane));
      }
      lanes.push_back(one(scalars));
    }
    replace(op, vector::FromElementsOp::create(builder, loc, vector, lanes));
  }

  gpu::GPUFuncOp kernel;
  func::FuncOp function;
  OpBuilder builder;
  Location loc;
  Type pointer;
  Value context;
  int64_t numBarriers = 0, numShuffles = 0;
};

} // namespace

LogicalResult frit::lowerToSimt(gpu::GPUModuleOp source, ModuleOp destination) {
  MLIRContext *context = source.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(destination.getBody());
  auto type = builder.getFunctionType(LLVM::LLVMPointerType::get(context), {});
  for (auto kernel : llvm::make_early_inc_range(source.getOps<gpu::GPUFuncOp>())) {
    auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(), type);
    if (failed(KernelLowering(kernel, function).run())) {
      return failure();
    }
    kernel.erase();
  }
  source.erase();
  return success();
}
