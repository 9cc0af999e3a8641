#include "runtime/plan/PlanChecks.h"

#include "runtime/artifact/BodyChecks.h"
#include "runtime/artifact/GpuCode.h"
#include "runtime/plan/PlanPlace.h"
#include "runtime/plan/ScalarProgram.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_set>

namespace frit {

using namespace format;

namespace {

// Limits that hold for every device of sm_80 and later.
constexpr uint32_t kMaxBlockThreads = 1024, kMaxBlockDepth = 64, kMaxSharedBytes = 227 << 10,
                   kMaxCluster = 8;
constexpr uint32_t kMaxBucketSizes = 64;
constexpr uint64_t kMaxCopiedBytes = 64 << 20;

template <typename T> uint32_t countOf(const T *vector) { return vector ? vector->size() : 0; }

class PlanCheck {
public:
  PlanCheck(const ::frit::Artifact &artifact, const Plan &plan)
      : artifact(artifact), plan(plan), budget(artifact.bodyBytes()) {}

  Status run() {
    FRIT_RETURN_IF_ERROR(checkRegisters());
    FRIT_RETURN_IF_ERROR(checkSignature());
    FRIT_RETURN_IF_ERROR(checkGuards());
    FRIT_RETURN_IF_ERROR(checkKernels());
    return checkSteps();
  }

private:
  const ::frit::Artifact &artifact;
  const Plan &plan;
  std::vector<bool> isConstant, isFloatConstant, isHeld;
  /// Bytes of the body that are not yet accounted for by the parts of the plan.
  uint64_t budget;
  std::unordered_set<const flatbuffers::String *> seen;
  uint64_t copied = 0;
  PlanPlace place;

  Status wrong(const std::string &what) const { return place.malformed(what); }

  /// Deducts the bytes of a list or text. They run out only if parts of the plan share lists, or if
  /// texts overlap.
  Status spend(uint64_t bytes) {
    if (bytes > budget) {
      return wrong("it says more than its " + std::to_string(artifact.bodyBytes()) +
                   " bytes can hold");
    }
    budget -= bytes;
    return Status::ok();
  }
  template <typename T> Status spendOn(const flatbuffers::Vector<T> *list) {
    return spend(uint64_t(countOf(list)) * sizeof(flatbuffers::uoffset_t));
  }
  template <typename T> Status spendOn(const flatbuffers::Vector<const T *> *list) {
    return spendOnNumbers<T>(list);
  }
  Status spendOn(const flatbuffers::Vector<int64_t> *list) { return spendOnNumbers<int64_t>(list); }
  template <typename T, typename L> Status spendOnNumbers(const L *list) {
    return isAligned<T>(list) ? spend(uint64_t(countOf(list)) * sizeof(T))
                              : wrong("a list begins inside of a number");
  }

  /// Whether a text was checked before. A text is stored once for all parts that say it (`shared`
  /// in Artifact.fbs), so it is deducted and checked once.
  bool isSeen(const flatbuffers::String *text) { return !text || !seen.insert(text).second; }

  Status checkName(const flatbuffers::String *name) {
    // What was checked as a text may be too long for a name.
    if (isSeen(name)) {
      return !name || name->size() <= kMaxNameBytes ? Status::ok()
                                                    : wrong("a name " + badName(name));
    }
    FRIT_RETURN_IF_ERROR(spend(name->size()));
    std::string bad = badName(name);
    return bad.empty() ? Status::ok() : wrong("a name " + bad);
  }
  Status checkText(const flatbuffers::String *text) {
    if (isSeen(text)) {
      return Status::ok();
    }
    FRIT_RETURN_IF_ERROR(spend(text->size()));
    return isUtf8(text->string_view()) ? Status::ok() : wrong("a text is no UTF-8");
  }
  /// A host copies the texts of each call, so they are limited together.
  Status copy(const flatbuffers::String *text) {
    copied += text ? text->size() : 0;
    return copied <= kMaxCopiedBytes ? Status::ok()
                                     : wrong("the names and texts of its calls have more than " +
                                             std::to_string(kMaxCopiedBytes) + " bytes");
  }

  /// Tensors that are bound at load must have constant sizes and strides.
  Status checkFixed(uint32_t number) const {
    const Tensor *tensor = number < countOf(plan.tensors()) ? plan.tensors()->Get(number) : nullptr;
    for (const auto *list :
         {tensor ? tensor->sizes() : nullptr, tensor ? tensor->strides() : nullptr}) {
      for (uint32_t at = 0; at < countOf(list); ++at) {
        if (uint32_t reg = list->Get(at); reg >= isConstant.size() || !isConstant[reg]) {
          return wrong("a size or stride is not fixed");
        }
      }
    }
    return Status::ok();
  }

  Status writeInt(uint32_t reg) const {
    return reg < isConstant.size() && isConstant[reg]
               ? wrong("the constant in int register " + std::to_string(reg) + " is written")
               : Status::ok();
  }

  Status writeFloat(uint32_t reg) const {
    return reg < isFloatConstant.size() && isFloatConstant[reg]
               ? wrong("the constant in float register " + std::to_string(reg) + " is written")
               : Status::ok();
  }

  Status checkRegisters() {
    place = {"registers"};
    uint64_t registers = uint64_t(plan.int_count()) + plan.float_count() + countOf(plan.tensors());
    if (registers > artifact.bodyBytes()) {
      return wrong(std::to_string(registers) + " registers are more than its " +
                   std::to_string(artifact.bodyBytes()) + " bytes can use");
    }
    isConstant.resize(plan.int_count());
    isFloatConstant.resize(plan.float_count());
    isHeld.resize(countOf(plan.tensors()));
    FRIT_RETURN_IF_ERROR(spendOn(plan.int_constants()));
    for (uint32_t at = 0; at < countOf(plan.int_constants()); ++at) {
      if (uint32_t reg = plan.int_constants()->Get(at)->reg(); reg < isConstant.size()) {
        isConstant[reg] = true;
      }
    }
    FRIT_RETURN_IF_ERROR(spendOn(plan.float_constants()));
    for (uint32_t at = 0; at < countOf(plan.float_constants()); ++at) {
      if (uint32_t reg = plan.float_constants()->Get(at)->reg(); reg < isFloatConstant.size()) {
        isFloatConstant[reg] = true;
      }
    }
    FRIT_RETURN_IF_ERROR(spendOn(plan.programs()));
    for (uint32_t at = 0; at < countOf(plan.programs()); ++at) {
      place = {"program", at};
      const auto *code = plan.programs()->Get(at)->code();
      FRIT_RETURN_IF_ERROR(spendOn(code));
      for (uint32_t line = 0; line < countOf(code); ++line) {
        const Instruction &instruction = *code->Get(line);
        if (instruction.op() > Op::MAX) {
          return wrong("unknown operation " + std::to_string(static_cast<int>(instruction.op())));
        }
        uint32_t dst = instruction.dst();
        if (signatureOf(instruction.op()).dst == 'i') {
          FRIT_RETURN_IF_ERROR(writeInt(dst));
        } else {
          FRIT_RETURN_IF_ERROR(writeFloat(dst));
        }
      }
    }
    place = {"tensor registers"};
    FRIT_RETURN_IF_ERROR(spendOn(plan.tensors()));
    for (uint32_t at = 0; at < countOf(plan.tensors()); ++at) {
      FRIT_RETURN_IF_ERROR(spendOn(plan.tensors()->Get(at)->sizes()));
      FRIT_RETURN_IF_ERROR(spendOn(plan.tensors()->Get(at)->strides()));
    }
    return Status::ok();
  }

  /// Checks that each argument and constant has a separate register, filled before the first step.
  Status hold(uint32_t tensor) {
    if (tensor < isHeld.size() && isHeld[tensor]) {
      return wrong("tensor register " + std::to_string(tensor) + " is written twice");
    }
    if (tensor < isHeld.size()) {
      isHeld[tensor] = true;
    }
    return Status::ok();
  }

  Status checkSignature() {
    FRIT_RETURN_IF_ERROR(spendOn(plan.inputs()));
    for (uint32_t at = 0; at < countOf(plan.inputs()); ++at) {
      const Input &input = *plan.inputs()->Get(at);
      place = {"input", at};
      FRIT_RETURN_IF_ERROR(checkName(input.name()));
      FRIT_RETURN_IF_ERROR(checkText(input.origin()));
      if (input.kind() == InputKind::Tensor || input.kind() == InputKind::ScalarTensor) {
        FRIT_RETURN_IF_ERROR(hold(input.reg()));
        // The signature repeats the names of an input's sizes.
        FRIT_RETURN_IF_ERROR(spend(
            input.reg() < isHeld.size() ? countOf(plan.tensors()->Get(input.reg())->sizes()) : 0));
      } else if (input.kind() == InputKind::Int || input.kind() == InputKind::Bool) {
        FRIT_RETURN_IF_ERROR(writeInt(input.reg()));
      }
    }
    FRIT_RETURN_IF_ERROR(spendOn(plan.symbols()));
    for (uint32_t at = 0; at < countOf(plan.symbols()); ++at) {
      place = {"symbol", at};
      FRIT_RETURN_IF_ERROR(checkName(plan.symbols()->Get(at)->name()));
      FRIT_RETURN_IF_ERROR(writeInt(plan.symbols()->Get(at)->reg()));
    }
    FRIT_RETURN_IF_ERROR(spendOn(plan.buckets()));
    uint64_t sizes = 0;
    for (uint32_t at = 0; at < countOf(plan.buckets()); ++at) {
      const Bucket &bucket = *plan.buckets()->Get(at);
      place = {"bucket", at};
      FRIT_RETURN_IF_ERROR(spendOn(bucket.sizes()));
      FRIT_RETURN_IF_ERROR(writeInt(bucket.dst()));
      if (countOf(bucket.sizes()) != 0 && bucket.sizes()->Get(0) < 0) {
        return wrong("it has the size " + std::to_string(bucket.sizes()->Get(0)) +
                     ", which is negative");
      }
      sizes += std::max<uint64_t>(countOf(bucket.sizes()), 1);
      if (sizes > kMaxBucketSizes) {
        return wrong("all lists together have more than " + std::to_string(kMaxBucketSizes) +
                     " sizes");
      }
    }
    FRIT_RETURN_IF_ERROR(spendOn(plan.constants()));
    for (uint32_t at = 0; at < countOf(plan.constants()); ++at) {
      place = {"constant", at};
      FRIT_RETURN_IF_ERROR(checkName(plan.constants()->Get(at)->name()));
      FRIT_RETURN_IF_ERROR(hold(plan.constants()->Get(at)->tensor()));
      FRIT_RETURN_IF_ERROR(checkFixed(plan.constants()->Get(at)->tensor()));
    }
    FRIT_RETURN_IF_ERROR(spendOn(plan.outputs()));
    for (uint32_t at = 0; at < countOf(plan.outputs()); ++at) {
      const Output &output = *plan.outputs()->Get(at);
      place = {"output", at};
      if (output.dtype() > Dtype::MAX || output.base_dtype().value_or(Dtype::MIN) > Dtype::MAX) {
        return wrong("unknown dtype");
      }
      FRIT_RETURN_IF_ERROR(spendOn(output.base_sizes()));
      FRIT_RETURN_IF_ERROR(spendOn(output.base_strides()));
      if (output.kind() == OutputKind::Tensor && output.reg() < isHeld.size()) {
        FRIT_RETURN_IF_ERROR(spend(countOf(plan.tensors()->Get(output.reg())->sizes())));
      }
    }
    return Status::ok();
  }

  Status checkGuards() {
    FRIT_RETURN_IF_ERROR(spendOn(plan.guards()));
    for (uint32_t at = 0; at < countOf(plan.guards()); ++at) {
      const Guard &guard = *plan.guards()->Get(at);
      place = {"guard", at};
      FRIT_RETURN_IF_ERROR(spendOn(guard.symbols()));
      FRIT_RETURN_IF_ERROR(checkText(guard.requirement()));
      FRIT_RETURN_IF_ERROR(checkText(guard.origin()));
      if (guard.kind() > GuardKind::MAX) {
        return wrong("unknown kind");
      }
      if (guard.kind() == GuardKind::Aligned && !std::has_single_bit(guard.bytes())) {
        return wrong("an address as a multiple of " + std::to_string(guard.bytes()) +
                     " bytes, which is no power of two");
      }
    }
    return Status::ok();
  }

  Status checkKernels() {
    FRIT_RETURN_IF_ERROR(spendOn(plan.kernels()));
    for (uint32_t number = 0; number < countOf(plan.kernels()); ++number) {
      const Kernel &kernel = *plan.kernels()->Get(number);
      place = {"kernel", number};
      FRIT_RETURN_IF_ERROR(checkName(kernel.name()));
      FRIT_RETURN_IF_ERROR(spendOn(kernel.sources()));
      for (uint32_t at = 0; at < countOf(kernel.sources()); ++at) {
        if (kernel.sources()->Get(at) >= countOf(artifact.root().sources())) {
          return wrong("source line " + std::to_string(kernel.sources()->Get(at)) +
                       " is not there");
        }
      }
      FRIT_RETURN_IF_ERROR(spend(countOf(kernel.access())));
      if (kernel.access() &&
          kernel.access()->string_view().find_first_not_of("rwu") != std::string_view::npos) {
        return wrong("a way of access that is neither r, w nor u");
      }
      FRIT_RETURN_IF_ERROR(spendOn(kernel.variants()));
      for (uint32_t variant = 0; variant < countOf(kernel.variants()); ++variant) {
        const auto *launches = kernel.variants()->Get(variant)->launches();
        FRIT_RETURN_IF_ERROR(spendOn(launches));
        for (uint32_t at = 0; at < countOf(launches); ++at) {
          FRIT_RETURN_IF_ERROR(checkName(launches->Get(at)->entry()));
          FRIT_RETURN_IF_ERROR(checkBlock(*launches->Get(at)));
        }
      }
    }
    return Status::ok();
  }

  Status checkBlock(const KernelLaunch &launch) const {
    uint64_t x = launch.block_x(), y = launch.block_y(), z = launch.block_z();
    bool fits = x >= 1 && y >= 1 && z >= 1 && x <= kMaxBlockThreads && y <= kMaxBlockThreads &&
                z <= kMaxBlockDepth && x * y * z <= kMaxBlockThreads;
    if (!fits) {
      return wrong("a block of (" + std::to_string(x) + ", " + std::to_string(y) + ", " +
                   std::to_string(z) + ") threads, which no device takes (limit " +
                   std::to_string(kMaxBlockThreads) + ")");
    }
    if (launch.shared_bytes() > kMaxSharedBytes) {
      return wrong(std::to_string(launch.shared_bytes()) + " bytes of shared memory (limit " +
                   std::to_string(kMaxSharedBytes) + ")");
    }
    if (uint32_t cluster = launch.cluster_x();
        cluster == 0 || cluster > kMaxCluster || (cluster & (cluster - 1)) != 0) {
      return wrong("a cluster of " + std::to_string(cluster) +
                   " blocks, which no device takes (1, 2, 4 or 8)");
    }
    return launch.grain() >= 1
               ? Status::ok()
               : wrong("a grain of " + std::to_string(launch.grain()) + " units, less than 1");
  }

  Status checkValues(const flatbuffers::Vector<flatbuffers::Offset<Value>> *values) {
    FRIT_RETURN_IF_ERROR(spendOn(values));
    for (uint32_t at = 0; at < countOf(values); ++at) {
      const Value &value = *values->Get(at);
      FRIT_RETURN_IF_ERROR(checkName(value.name()));
      FRIT_RETURN_IF_ERROR(checkText(value.string()));
      FRIT_RETURN_IF_ERROR(copy(value.string()));
      FRIT_RETURN_IF_ERROR(checkValues(value.items()));
    }
    return Status::ok();
  }

  Status checkSteps() {
    FRIT_RETURN_IF_ERROR(spendOn(plan.steps()));
    for (uint32_t number = 0; number < countOf(plan.steps()); ++number) {
      const Step &step = *plan.steps()->Get(number);
      place = {"step", number};
      if (const Launch *launch = step.action_as_Launch()) {
        FRIT_RETURN_IF_ERROR(spendOn(launch->tensors()));
        FRIT_RETURN_IF_ERROR(spendOn(launch->ints()));
        FRIT_RETURN_IF_ERROR(spendOn(launch->floats()));
        FRIT_RETURN_IF_ERROR(spendOn(launch->variants()));
        for (uint32_t variant = 0; variant < countOf(launch->variants()); ++variant) {
          FRIT_RETURN_IF_ERROR(spendOn(launch->variants()->Get(variant)->aligned()));
          FRIT_RETURN_IF_ERROR(spendOn(launch->variants()->Get(variant)->launches()));
        }
      } else if (const Aten *call = step.action_as_Aten()) {
        FRIT_RETURN_IF_ERROR(checkName(call->name()));
        FRIT_RETURN_IF_ERROR(checkName(call->overload()));
        FRIT_RETURN_IF_ERROR(checkText(call->reason()));
        FRIT_RETURN_IF_ERROR(copy(call->name()));
        FRIT_RETURN_IF_ERROR(copy(call->overload()));
        FRIT_RETURN_IF_ERROR(checkValues(call->arguments()));
        FRIT_RETURN_IF_ERROR(checkValues(call->results()));
        if (call->name() && call->name()->string_view() == "aten::from_file") {
          return wrong("aten::from_file opens files, which no artifact may");
        }
      } else if (const Alloc *alloc = step.action_as_Alloc()) {
        if (alloc->storage() > StorageClass::MAX) {
          return wrong("unknown storage class");
        }
      } else if (const Dim *dim = step.action_as_Dim()) {
        FRIT_RETURN_IF_ERROR(writeInt(dim->dst()));
      } else if (const Item *item = step.action_as_Item()) {
        bool isFloat = item->tensor() < isHeld.size() &&
                       isFloating(plan.tensors()->Get(item->tensor())->dtype());
        FRIT_RETURN_IF_ERROR(isFloat ? writeFloat(item->dst()) : writeInt(item->dst()));
      } else if (const Check *check = step.action_as_Check()) {
        FRIT_RETURN_IF_ERROR(checkText(check->message()));
      }
    }
    return Status::ok();
  }
};

} // namespace

Status checkPlan(const ::frit::Artifact &artifact, const Plan &plan) {
  return PlanCheck(artifact, plan).run();
}

std::string setTableItems(LaunchSite &site, const Kernel &kernel, Target target) {
  // The most 8-byte words that every GPU accepts as parameters.
  constexpr size_t kMostTableWords = 4095;
  for (const KernelVariant *variant : *kernel.variants()) {
    for (uint32_t at = 0; at < countOf(variant->launches()); ++at) {
      site.tableItems = std::max(site.tableItems, variant->launches()->Get(at)->list_items());
    }
  }
  if (site.items == 1 && site.tableItems == 0) {
    return "";
  }
  std::string items = std::to_string(site.items) + " items";
  if (site.items == 0 || (target != Target::Cpu && site.items > site.tableItems)) {
    return items + " for a kernel that takes " + std::to_string(site.tableItems);
  }
  if (site.tensors.size() % site.items != 0 || site.ints.size() % site.items != 0 ||
      site.floats.size() % site.items != 0) {
    return items + ", which do not share the registers of a launch evenly";
  }
  size_t words = 1 + (site.tensors.size() + site.ints.size() + site.floats.size()) / site.items;
  if (site.tableItems > kMostTableWords / words) {
    return "a table of " + std::to_string(site.tableItems) + " items of " +
           std::to_string(8 * words) + " bytes (limit " + std::to_string(8 * kMostTableWords) +
           " bytes)";
  }
  if (countOf(kernel.variants()) != 1 || countOf(kernel.variants()->Get(0)->launches()) != 1) {
    return items + " for a kernel of several launches";
  }
  return "";
}

/// Whether the declared parameters are those of a launch, or the first of them.
static bool fits(std::string_view declared, std::string_view passed) {
  return declared.size() <= passed.size() &&
         std::equal(declared.begin(), declared.end(), passed.begin(), [](char wanted, char given) {
           return wanted == given || (wanted == 'n' && given != 't');
         });
}

Status checkGpuCode(const DecodedPlan &plan) {
  auto wrong = [](const std::string &what) {
    return Status::error(ErrorKind::BadArtifact,
                         "not a usable .frit artifact: " + what + "; compile it again");
  };
  // The declarations of each entry, in all modules that have it.
  std::map<std::string_view, std::vector<GpuEntry>> declared;
  const auto *modules = plan.artifact->root().gpu_modules();
  for (uint32_t number = 0; number < countOf(modules); ++number) {
    const GpuModule &module = *modules->Get(number);
    std::span<const uint8_t> bytes(module.bytes()->data(), module.bytes()->size());
    bool isCubin = module.kind() == GpuCodeKind::Cubin;
    auto entries = isCubin ? readCubin(bytes)
                           : readPtx({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                     module.arch());
    FRIT_RETURN_IF_ERROR(entries.status());
    std::map<std::string_view, const GpuEntry *> byName;
    std::string code =
        std::string(isCubin ? "the cubin" : "the PTX") + " for sm_" + std::to_string(module.arch());
    for (const GpuEntry &entry : *entries) {
      if (!byName.emplace(entry.name, &entry).second) {
        return wrong(code + " has two entries '" + std::string(entry.name.substr(0, 200)) + "'");
      }
    }
    for (uint32_t at = 0; at < countOf(module.entries()); ++at) {
      auto found = byName.find(module.entries()->Get(at)->string_view());
      if (found == byName.end()) {
        return wrong(code + " has no entry '" + module.entries()->Get(at)->str() + "'");
      }
      declared[found->first].push_back(*found->second);
    }
  }
  for (const LaunchSite &site : plan.sites) {
    std::string passed = std::string(site.tensors.size() + site.ints.size(), 'i') +
                         std::string(site.floats.size(), 'f');
    uint64_t tableBytes = 0;
    if (site.tableItems != 0) {
      tableBytes = 8 * uint64_t(site.tableItems) * (1 + passed.size() / site.items);
      passed = "t";
    }
    const auto &variants = *plan.source->kernels()->Get(site.kernel)->variants();
    for (uint32_t variant = 0; variant < variants.size(); ++variant) {
      const auto *launches = variants.Get(variant)->launches();
      std::string parameters =
          passed + (site.variants[variant].workspace == kNoRegister ? "" : "i");
      for (uint32_t at = 0; at < countOf(launches); ++at) {
        const KernelLaunch &launch = *launches->Get(at);
        uint64_t threads = uint64_t(launch.block_x()) * launch.block_y() * launch.block_z();
        for (const GpuEntry &entry : declared[launch.entry()->string_view()]) {
          // The driver reads as many parameters as the code declares; a further one is ignored.
          if (!fits(entry.parameters, parameters)) {
            return wrong("entry '" + launch.entry()->str() + "' takes the parameters '" +
                         entry.parameters + "', a launch passes '" + parameters + "'");
          }
          if (entry.tableBytes != tableBytes) {
            return wrong("entry '" + launch.entry()->str() + "' takes a table of " +
                         std::to_string(entry.tableBytes) + " bytes, a launch passes " +
                         std::to_string(tableBytes));
          }
          if (entry.cluster != launch.cluster_x()) {
            return wrong("entry '" + launch.entry()->str() + "' runs in clusters of " +
                         std::to_string(entry.cluster) + " blocks, a launch has " +
                         std::to_string(launch.cluster_x()));
          }
          if (entry.threads != 0 && threads > entry.threads) {
            return wrong("entry '" + launch.entry()->str() + "' runs with " +
                         std::to_string(entry.threads) + " threads a block, a launch has " +
                         std::to_string(threads));
          }
        }
      }
    }
  }
  return Status::ok();
}

} // namespace frit
