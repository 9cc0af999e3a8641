// Keeps arrays of libdevice out of local memory. sin, cos and tan of large arguments multiply by a
// window of 2/pi: in f32 a loop that libdevice forbids to unroll writes seven words, of which three
// are read at an index that depends on the exponent; in f64 five words are written at such indices.
// ptxas turns the first into selects in a small kernel but not in a large one, where every thread
// then has a stack frame. So the loop is unrolled here, each access at a computed index becomes
// selects over accesses at constant ones, and SROA removes the array. The cost is a few selects on
// a path that hardly any argument takes.

#include "codegen/gpu/ptx/LocalArrays.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/Utils/Local.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

static constexpr uint64_t kMostBytes = 64;

void mlir::frit::allowUnrolling(Module &module) {
  for (Function &function : module) {
    bool hasArray =
        any_of(instructions(function), [](const Instruction &one) { return isa<AllocaInst>(one); });
    if (!hasArray || function.getCallingConv() == CallingConv::PTX_Kernel) {
      continue;
    }
    for (Instruction &one : instructions(function)) {
      if (one.isTerminator()) {
        one.setMetadata(LLVMContext::MD_loop, nullptr);
      }
    }
  }
}

namespace {

/// A load or store of an array, and its byte offset.
struct Access {
  Instruction *instruction;
  Value *offset;
};

class Array {
public:
  explicit Array(AllocaInst &memory)
      : memory(memory), layout(memory.getModule()->getDataLayout()) {}

  /// Returns whether accesses were replaced. Nothing is replaced if the array has other uses or is
  /// not small.
  bool dissolve() {
    auto size = memory.getAllocationSize(layout);
    if (!size || size->isScalable() || size->getFixedValue() > kMostBytes ||
        !follow(&memory, nullptr)) {
      return false;
    }
    SmallVector<Access> computed;
    copy_if(accesses, std::back_inserter(computed),
            [](const Access &one) { return one.offset && !isa<ConstantInt>(one.offset); });
    for (const Access &one : computed) {
      Type *type = getLoadStoreType(one.instruction);
      if (type->isAggregateType() || size->getFixedValue() % layout.getTypeStoreSize(type) != 0) {
        return false;
      }
    }
    for (const Access &one : computed) {
      choose(one, size->getFixedValue());
    }
    return !computed.empty();
  }

private:
  bool follow(Value *pointer, Value *offset) {
    for (User *user : pointer->users()) {
      auto *one = cast<Instruction>(user);
      if (auto *place = dyn_cast<GetElementPtrInst>(one)) {
        if (!place->getType()->isPointerTy()) {
          return false;
        }
        IRBuilder<> builder(place);
        Value *more = emitGEPOffset(&builder, layout, place);
        if (!follow(place, offset ? builder.CreateAdd(offset, more) : more)) {
          return false;
        }
      } else if (auto *load = dyn_cast<LoadInst>(one); load && load->isSimple()) {
        accesses.push_back({one, offset});
      } else if (auto *store = dyn_cast<StoreInst>(one);
                 store && store->isSimple() && store->getValueOperand() != pointer) {
        accesses.push_back({one, offset});
      } else if (!one->isLifetimeStartOrEnd() && !one->isDebugOrPseudoInst()) {
        return false;
      }
    }
    return true;
  }

  void choose(const Access &access, uint64_t size) {
    auto *store = dyn_cast<StoreInst>(access.instruction);
    Type *type = getLoadStoreType(access.instruction);
    IRBuilder<> builder(access.instruction);
    Value *chosen = nullptr;
    for (uint64_t at = 0, step = layout.getTypeStoreSize(type); at < size; at += step) {
      Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &memory, at);
      Align alignment = commonAlignment(memory.getAlign(), at);
      Value *isHere =
          builder.CreateICmpEQ(access.offset, ConstantInt::get(access.offset->getType(), at));
      // A word that was never written is undefined; frozen, it cannot poison the select.
      Value *held = builder.CreateFreeze(builder.CreateAlignedLoad(type, place, alignment));
      if (store) {
        builder.CreateAlignedStore(builder.CreateSelect(isHere, store->getValueOperand(), held),
                                   place, alignment);
      } else {
        chosen = chosen ? builder.CreateSelect(isHere, held, chosen) : held;
      }
    }
    if (chosen) {
      access.instruction->replaceAllUsesWith(chosen);
    }
    access.instruction->eraseFromParent();
  }

  AllocaInst &memory;
  const DataLayout &layout;
  SmallVector<Access> accesses;
};

} // namespace

void mlir::frit::keepArraysInRegisters(Module &module, TargetMachine &machine) {
  SetVector<Function *> changed;
  for (Function &function : module) {
    SmallVector<AllocaInst *> arrays;
    for (Instruction &one : instructions(function)) {
      if (auto *memory = dyn_cast<AllocaInst>(&one)) {
        arrays.push_back(memory);
      }
    }
    for (AllocaInst *memory : arrays) {
      if (Array(*memory).dissolve()) {
        changed.insert(&function);
      }
    }
  }
  if (changed.empty()) {
    return;
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::PreserveCFG));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  for (Function *function : changed) {
    passes.run(*function, functions);
  }
}
