#include "codegen/cpu/ObjectImage.h"

#include "codegen/cpu/LowerToLlvm.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace mlir::frit;

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const CpuTarget &cpu) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::TargetOptions options;
  // Products fuse with sums only where an operation carries `contract`.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::string features = "+f16c,+fma";
  for (const std::string &feature : cpu.features) {
    features += ",+" + feature;
  }
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu.levelName(), features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

namespace {
/// A target machine for one thread at a time. Making one takes about a millisecond, so unused ones
/// are cached.
class BorrowedMachine {
public:
  explicit BorrowedMachine(const CpuTarget &cpu) : name(cpu.text()) {
    {
      std::lock_guard lock(pool().mutex);
      auto &idle = pool().idle[name];
      if (!idle.empty()) {
        machine = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!machine) {
      machine = makeTargetMachine(cpu);
    }
  }
  ~BorrowedMachine() {
    std::lock_guard lock(pool().mutex);
    pool().idle[name].push_back(std::move(machine));
  }
  llvm::TargetMachine &operator*() { return *machine; }

private:
  struct Pool {
    std::mutex mutex;
    std::map<std::string, std::vector<std::unique_ptr<llvm::TargetMachine>>> idle;
  };
  /// Lives until the process ends: a thread may compile while statics are destroyed.
  static Pool &pool() {
    static Pool *pool = new Pool;
    return *pool;
  }

  std::string name;
  std::unique_ptr<llvm::TargetMachine> machine;
};
} // namespace

/// The passes that the generated vector code still needs. Schedules hoist invariants and memoise
/// what they emit, so there is neither an inliner nor an unroller, and no InstCombine, GVN or LICM
/// either: measured, those took as long as instruction selection, and LICM split gathers (a base
/// that is hoisted from its offsets no longer folds into the address).
static constexpr const char *kPasses = "function(early-cse,simplifycfg)";

static LogicalResult optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  // No library function is available, so none is introduced (memset, fmodf ...).
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kPasses)) {
    llvm::consumeError(std::move(error));
    return failure();
  }
  passes.run(module, modules);
  return success();
}

namespace {
/// Gives access to a protected method of TargetPassConfig.
struct InstructionSelection : llvm::TargetPassConfig {
  static bool add(llvm::TargetPassConfig &config) {
    return (config.*&InstructionSelection::addCoreISelPasses)();
  }
};
} // namespace

/// The target's own pass list without its IR preparation: loop strength reduction and scalar
/// evolution took a quarter of the compile time of a small kernel, to rewrite loops whose addresses
/// fold into the instructions anyway. Passes that make IR selectable remain: they expand accesses
/// and reductions for which the level has no instruction.
static bool emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                       llvm::raw_pwrite_stream &stream) {
  auto &target = static_cast<llvm::CodeGenTargetMachineImpl &>(machine);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  llvm::TargetPassConfig *config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  auto *machineModule = new llvm::MachineModuleInfoWrapperPass(&target);
  passes.add(machineModule);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass());
  passes.add(llvm::createAtomicExpandLegacyPass());
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
  passes.add(llvm::createExpandReductionsPass());
  passes.add(llvm::createUnreachableBlockEliminationPass());
  config->addISelPrepare();
  if (InstructionSelection::add(*config)) {
    return false;
  }
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                           machineModule->getMMI().getContext())) {
    return false;
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return true;
}

/// Lays out the allocated sections and applies relocations; a message on failure.
static std::string link(StringRef object, KernelCode &image) {
  using namespace llvm::object;
  auto parsed = ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernels"));
  if (!parsed) {
    return llvm::toString(parsed.takeError());
  }
  auto &elf = llvm::cast<ELF64LEObjectFile>(**parsed);
  std::map<uint64_t, uint64_t> placed; // section index -> offset in the image
  uint64_t size = 0;
  for (const SectionRef &section : elf.sections()) {
    ELFSectionRef ref(section);
    if (!(ref.getFlags() & llvm::ELF::SHF_ALLOC) || section.getSize() == 0) {
      continue;
    }
    auto name = section.getName();
    if (name && name->starts_with(".eh_frame")) {
      continue; // nothing unwinds through a kernel
    }
    if (ref.getFlags() & llvm::ELF::SHF_WRITE) {
      return "image has the writable section " + (name ? name->str() : "?");
    }
    uint64_t alignment = std::max(section.getAlignment().value(), kImageAlignment);
    size = llvm::alignTo(size, alignment);
    placed[section.getIndex()] = size;
    size += section.getSize();
  }
  image.bytes.assign(size, '\0');
  for (const SectionRef &section : elf.sections()) {
    auto it = placed.find(section.getIndex());
    if (it == placed.end() || section.isBSS()) {
      continue;
    }
    auto contents = section.getContents();
    if (!contents) {
      return llvm::toString(contents.takeError());
    }
    std::copy(contents->begin(), contents->end(), image.bytes.begin() + it->second);
  }
  auto address = [&](const SymbolRef &symbol) -> std::optional<uint64_t> {
    auto section = symbol.getSection();
    auto value = symbol.getValue();
    if (!section || !value || *section == elf.section_end()) {
      return std::nullopt;
    }
    auto it = placed.find((*section)->getIndex());
    return it == placed.end() ? std::nullopt : std::optional<uint64_t>(it->second + *value);
  };
  for (const SectionRef &section : elf.sections()) {
    auto target = section.getRelocatedSection();
    if (!target || *target == elf.section_end() || !placed.count((*target)->getIndex())) {
      continue;
    }
    for (const RelocationRef &relocation : section.relocations()) {
      auto symbol = relocation.getSymbol();
      auto name = symbol == elf.symbol_end() ? llvm::Expected<StringRef>("?") : symbol->getName();
      std::string symbolName = name ? name->str() : "?";
      auto to = symbol == elf.symbol_end() ? std::nullopt : address(*symbol);
      if (!to) {
        return "image needs '" + symbolName + "', which is outside of it";
      }
      auto addend = ELFRelocationRef(relocation).getAddend();
      if (!addend) {
        return llvm::toString(addend.takeError());
      }
      uint64_t place = placed[(*target)->getIndex()] + relocation.getOffset();
      int64_t distance = static_cast<int64_t>(*to) + *addend - static_cast<int64_t>(place);
      switch (relocation.getType()) {
      case llvm::ELF::R_X86_64_PC32:
      case llvm::ELF::R_X86_64_PLT32: {
        int32_t narrow = static_cast<int32_t>(distance);
        memcpy(image.bytes.data() + place, &narrow, sizeof(narrow));
        break;
      }
      case llvm::ELF::R_X86_64_PC64:
        memcpy(image.bytes.data() + place, &distance, sizeof(distance));
        break;
      default:
        return "image has a relocation of type " + std::to_string(relocation.getType()) + " to '" +
               symbolName + "'";
      }
    }
  }
  for (const SymbolRef &symbol : elf.symbols()) {
    auto flags = symbol.getFlags();
    auto type = symbol.getType();
    auto name = symbol.getName();
    if (flags && type && name && (*flags & SymbolRef::SF_Global) &&
        *type == SymbolRef::ST_Function) {
      if (auto offset = address(symbol)) {
        image.entries[*name] = *offset;
      }
    }
  }
  return {};
}

LogicalResult mlir::frit::compileToImage(ModuleOp module, LlvmLowering &lowering,
                                         const CpuTarget &target, KernelCode &image) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = lowering.lower(module, context);
  if (!code) {
    return module.emitError("kernels cannot be lowered to LLVM");
  }
  BorrowedMachine borrowed(target);
  llvm::TargetMachine &machine = *borrowed;
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *code) {
    if (function.isDeclaration()) {
      continue;
    }
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    if (target.level == CpuLevel::X86_64_V4) {
      function.addFnAttr("prefer-vector-width", "512");
    }
    function.setDSOLocal(true);
  }
  if (failed(optimise(*code, machine))) {
    return module.emitError("the pass list of the CPU target does not parse");
  }
  if (image.llvmIr) {
    llvm::raw_string_ostream stream(*image.llvmIr);
    stream << *code;
  }
  llvm::SmallVector<char, 0> object;
  {
    llvm::raw_svector_ostream stream(object);
    if (!emitObject(*code, machine, stream)) {
      return module.emitError("the CPU target cannot write object files");
    }
  }
  std::string problem = link(StringRef(object.data(), object.size()), image);
  if (!problem.empty()) {
    return module.emitError(problem);
  }
  return success();
}
