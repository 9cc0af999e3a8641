// Makes PTX with LLVM, in process: translate, link the needed parts of libdevice (lazily: only the
// bodies of called functions are read), optimise, print. MLIR's gpu-module-to-binary goes through
// files and a second copy of libdevice, and some of its options cannot be set.

#include "codegen/gpu/ptx/PtxEmitter.h"

#include "codegen/gpu/ptx/Libdevice.h"
#include "codegen/gpu/ptx/LocalArrays.h"
#include "ir/KernelLists.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace mlir;

namespace {

struct Architecture {
  unsigned number;
  const char *cpu;
  const char *features;
};

/// Each PTX version is the oldest that supports the architecture and all emitted instructions, so
/// that old drivers can compile the text. Tables of more than 4096 bytes by value and the exchanges
/// of a cluster need 8.1, which drivers of CUDA 12.1 know.
constexpr Architecture kArchitectures[] = {
    {80, "sm_80", "+ptx78"}, {90, "sm_90", "+ptx80"}, {100, "sm_100", "+ptx86"}};

constexpr unsigned kFirstWithClusters = 90;

const llvm::Target *getTarget(const llvm::Triple &triple, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

/// A pooled TargetMachine: creating one takes as long as the IR of a small kernel. Returned
/// machines are reused for the same processor and features, by any thread. Each is dropped after
/// 256 uses because it keeps every name it has seen.
class Machine {
public:
  Machine(const llvm::Target &target, const llvm::Triple &triple, const char *cpu,
          StringRef features)
      : key((StringRef(cpu) + features).str()) {
    {
      std::lock_guard lock(mutex);
      std::vector<Idle> &idle = (*machines)[key];
      if (!idle.empty()) {
        one = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!one.machine) {
      one.machine.reset(target.createTargetMachine(triple, cpu, features, {}, {}));
    }
  }
  ~Machine() {
    constexpr unsigned mostLoans = 256;
    if (++one.loans < mostLoans) {
      std::lock_guard lock(mutex);
      (*machines)[key].push_back(std::move(one));
    }
  }
  Machine(const Machine &) = delete;
  llvm::TargetMachine &operator*() { return *one.machine; }
  llvm::TargetMachine *operator->() { return one.machine.get(); }

private:
  struct Idle {
    std::unique_ptr<llvm::TargetMachine> machine;
    unsigned loans = 0;
  };
  static std::mutex mutex;
  /// Holds at most as many machines as were in use at once. Lives until the process ends: a thread
  /// may compile while statics are destroyed.
  static llvm::StringMap<std::vector<Idle>> *const machines;
  std::string key;
  Idle one;
};

std::mutex Machine::mutex;
llvm::StringMap<std::vector<Machine::Idle>> *const Machine::machines =
    new llvm::StringMap<std::vector<Machine::Idle>>;

LogicalResult linkLibdevice(llvm::Module &module, Operation *at) {
  SmallVector<StringRef> called;
  for (const llvm::Function &function : module) {
    if (function.isDeclaration() && function.getName().starts_with("__nv_")) {
      called.push_back(function.getName());
    }
  }
  if (called.empty()) {
    return success();
  }
  if (frit::getLibdevice().empty()) {
    return at->emitError(
        "this build of frit has no libdevice, which the kernels need for their math: "
        "install a CUDA toolkit or the package nvidia-nvvm and build again");
  }
  auto bytes = frit::takeFromLibdevice(called);
  if (!bytes) {
    return at->emitError("libdevice does not serve the kernels: ")
           << llvm::toString(bytes.takeError());
  }
  auto library =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(**bytes, "libdevice"), module.getContext());
  if (!library) {
    return at->emitError("libdevice does not read as bitcode: ")
           << llvm::toString(library.takeError());
  }
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded)) {
    return at->emitError("libdevice does not link with the kernels");
  }
  llvm::internalizeModule(module, [](const llvm::GlobalValue &value) {
    auto *function = dyn_cast<llvm::Function>(&value);
    return (function && function->getCallingConv() == llvm::CallingConv::PTX_Kernel) ||
           value.isDeclaration();
  });
  frit::allowUnrolling(module);
  return success();
}

/// This is half of a kernel's compile time, so the pipeline is LLVM's O2 without passes that do
/// nothing for kernels (vectorisers, calls that cannot be inlined, tail calls, switches, memcpy,
/// dead stores, and the cleanup after each of these). GVN runs without memory dependence analysis:
/// kernels store each address once, and early-cse has removed repeated loads. Tests of the
/// instructions and registers of each kind of kernel check the result. The pipeline is text because
/// NVPTX's passes have no other name.
constexpr const char *kPipeline =
    "nvvm-reflect,"
    "function(nvvm-intr-range,simplifycfg,sroa,early-cse),"
    "ipsccp,"
    // Functions of libdevice are simplified before they are inlined for each lane.
    "function(mem2reg,instcombine<no-verify-fixpoint>,simplifycfg),"
    "always-inline,"
    "function(sroa,early-cse<memssa>,speculative-execution,jump-threading,correlated-propagation,"
    "simplifycfg,"
    "instcombine<no-verify-fixpoint>,aggressive-instcombine,simplifycfg,reassociate,constraint-"
    "elimination,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,loop-rotate,licm,"
    "simple-loop-unswitch),"
    "simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop(indvars,loop-deletion,loop-unroll-full),"
    "sroa,gvn<no-memdep;no-load-pre>,sccp,instcombine<no-verify-fixpoint>,jump-threading,"
    "correlated-propagation,"
    "loop-mssa(licm),simplifycfg<hoist-common-insts;sink-common-insts>),"
    "globalopt,globaldce,"
    "function(infer-alignment,simplifycfg<no-keep-loops;hoist-common-insts;sink-common-insts>,"
    "vector-combine,"
    "loop-unroll<O2>,instcombine<no-verify-fixpoint>,"
    "simplifycfg<hoist-loads-stores-with-cond-faulting;speculate-unpredictables>),"
    "constmerge";

llvm::Error optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kPipeline)) {
    return error;
  }
  passes.run(module, modules);
  return llvm::Error::success();
}

/// Renames functions and tables of libdevice that were not inlined after their module, so that
/// modules can be joined.
void nameAfterModule(llvm::Module &module, StringRef name) {
  for (llvm::GlobalValue &value : module.global_values()) {
    if (value.hasLocalLinkage()) {
      value.setName(name + "_" + value.getName());
    }
  }
}

/// Removes LLVM's numbers beside calls ("// callseq 12, 0") from PTX. They count over the life of a
/// target machine, which is reused, so the text would depend on what the process compiled before.
std::string withoutCallNumbers(StringRef text) {
  std::string result;
  result.reserve(text.size());
  for (constexpr StringLiteral number = " // callseq "; !text.empty();) {
    size_t at = std::min(text.find(number), text.size());
    result += text.take_front(at);
    text = text.drop_front(at);
    text = text.drop_front(std::min(text.find('\n'), text.size()));
    if (!text.empty()) {
      result += '\n';
      text = text.drop_front();
    }
  }
  return result;
}

} // namespace

FailureOr<std::string> frit::emitPtx(gpu::GPUModuleOp module, unsigned arch, std::string *llvmIr) {
  const Architecture *known = llvm::find_if(
      kArchitectures, [&](const Architecture &candidate) { return candidate.number == arch; });
  if (known == std::end(kArchitectures)) {
    return module.emitError("no PTX for sm_") << arch << ": frit knows sm_80, sm_90 and sm_100";
  }
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = getTarget(triple, error);
  if (!target) {
    return module.emitError("LLVM was built without its NVPTX target: ") << error;
  }
  bool isClassic = true;
  module.walk([&](LLVM::LLVMFuncOp function) {
    isClassic &= !function->hasAttr("nvvm.cluster_dim");
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (auto table = function.getArgAttrOfType<TypeAttr>(i, "llvm.byval")) {
        isClassic &= 8 * cast<LLVM::LLVMArrayType>(table.getValue()).getNumElements() <=
                     frit::kClassicListBytes;
      }
    }
  });
  std::string features = isClassic || known->number >= 100 ? known->features : "+ptx81";
  Machine machine(*target, triple, known->cpu, features);

  if (arch < kFirstWithClusters) {
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function->hasAttr("nvvm.cluster_dim")) {
        return function.emitError("runs in clusters of blocks, which sm_")
               << arch
               << " has not; schedules are chosen for the oldest "
                  "architecture that is compiled for";
      }
    }
  }
  llvm::LLVMContext context;
  auto translated = translateModuleToLLVMIR(module, context, module.getName());
  if (!translated) {
    return failure();
  }
  translated->setTargetTriple(triple);
  translated->setDataLayout(machine->createDataLayout());
  if (failed(linkLibdevice(*translated, module))) {
    return failure();
  }
  if (llvm::Error error = optimise(*translated, *machine)) {
    return module.emitError("this LLVM does not know the passes of kernels: ")
           << llvm::toString(std::move(error));
  }
  frit::keepArraysInRegisters(*translated, *machine);
  nameAfterModule(*translated, module.getName());
  if (llvmIr) {
    llvm::raw_string_ostream stream(*llvmIr);
    stream << *translated;
  }

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return module.emitError("LLVM's NVPTX target prints no assembly");
  }
  passes.run(*translated);
  return withoutCallNumbers(text);
}
