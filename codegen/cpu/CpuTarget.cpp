// The CPU that is compiled for, as a user names it. LLVM's tables have the CPUs, their features and
// the implications between features. A target consists of the level of a CPU and of the features
// that kernels can use, so that no machine is refused for lack of a feature that no kernel needs.

#include "codegen/Codegen.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr StringRef kLevel3 = "x86-64-v3", kLevel4 = "x86-64-v4";

/// The usable features beyond the levels. Not included are conversions to bf16 in hardware
/// (avx512bf16, avxneconvert), which flush denormals to zero, and features that need intrinsics
/// that no kernel calls.
static constexpr llvm::StringLiteral kUsable[] = {
    "avx512bitalg", "avx512bw",   "avx512cd",     "avx512dq",    "avx512f",    "avx512fp16",
    "avx512ifma",   "avx512vbmi", "avx512vbmi2",  "avx512vl",    "avx512vnni", "avx512vpopcntdq",
    "avxifma",      "avxvnni",    "avxvnniint16", "avxvnniint8", "gfni"};

static constexpr llvm::StringLiteral kFeatureNames[] = {
#define X86_FEATURE_COMPAT(ENUM, NAME, PRIORITY, ABI_VALUE) NAME,
#define X86_FEATURE(ENUM, NAME) NAME,
#include "llvm/TargetParser/X86TargetParser.def"
};

llvm::ArrayRef<llvm::StringLiteral> CpuTarget::usableFeatures() { return kUsable; }

static CpuLevel findHostLevel() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](StringRef name) { return features.lookup(name); };
  bool is4 =
      has("avx512f") && has("avx512bw") && has("avx512cd") && has("avx512dq") && has("avx512vl");
  return is4 ? CpuLevel::X86_64_V4 : CpuTarget().level;
}

CpuTarget CpuTarget::host() {
  // A virtual machine answers each CPUID slowly, and the answer stays the same.
  static const CpuLevel level = findHostLevel();
  CpuTarget target;
  target.level = level;
  return target;
}

StringRef CpuTarget::levelName() const { return level == CpuLevel::X86_64_V4 ? kLevel4 : kLevel3; }

std::string CpuTarget::text() const {
  std::string text = levelName().str();
  for (const std::string &feature : features) {
    text += ",+" + feature;
  }
  return text;
}

/// "; did you mean 'avx512f'?", or nothing where no name is close.
static std::string nearest(StringRef word, ArrayRef<StringRef> names) {
  StringRef best;
  unsigned distance = std::min<size_t>(4, word.size() / 2 + 1);
  for (StringRef name : names) {
    unsigned other = word.edit_distance(name, /*AllowReplacements=*/true, distance);
    if (other < distance) {
      distance = other;
      best = name;
    }
  }
  return best.empty() ? "" : "; did you mean '" + best.str() + "'?";
}

/// The names of the features of a CPU or level, with those that they imply.
static llvm::StringMap<bool> featuresOf(StringRef cpu) {
  SmallVector<StringRef> names;
  llvm::X86::getFeaturesForCPU(cpu, names);
  llvm::StringMap<bool> features;
  for (StringRef name : names) {
    features[name] = true;
    llvm::X86::updateImpliedFeatures(name, true, features);
  }
  return features;
}

/// The features of `level` that are missing, as in "avx2, fma"; empty if there are none.
static std::string lacking(const llvm::StringMap<bool> &features, StringRef level) {
  SmallVector<StringRef> missing;
  llvm::StringMap<bool> wanted = featuresOf(level);
  for (const auto &[name, on] : wanted) {
    if (on && !features.lookup(name)) {
      missing.push_back(name);
    }
  }
  llvm::sort(missing);
  return llvm::join(missing, ", ");
}

std::string CpuTarget::parse(StringRef text, CpuTarget &target) {
  SmallVector<StringRef> words, cpus;
  text.split(words, ',');
  llvm::X86::fillValidCPUArchList(cpus, /*Only64Bit=*/true);
  if (words.front() == "host") {
    target = host();
  }
  std::string known = "; known: host, x86-64-v3, x86-64-v4 and LLVM's names of CPUs, each with "
                      "features: x86-64-v3,+avx512f";
  if (words.front().empty()) {
    return "no CPU is named" + known;
  }
  llvm::StringMap<bool> features;
  bool isCpu = words.front() == "host" || llvm::is_contained(cpus, words.front());
  features = featuresOf(words.front() == "host" ? target.levelName()
                        : isCpu                 ? words.front()
                                                : kLevel3);
  for (StringRef word : ArrayRef(words).drop_front(isCpu)) {
    StringRef name = word;
    bool on = !name.consume_front("-");
    if (on) {
      name.consume_front("+");
    }
    if (!llvm::is_contained(kFeatureNames, name)) {
      bool mayBeCpu = word.data() == words.front().data() && name == word;
      SmallVector<StringRef> names(kFeatureNames, std::end(kFeatureNames));
      if (mayBeCpu) {
        names.append({"host"});
        llvm::append_range(names, cpus);
      }
      std::string close = nearest(name, names);
      return "'" + name.take_front(100).str() +
             (mayBeCpu ? "' is neither a CPU nor a feature" : "' is no feature") +
             " that LLVM knows" + (close.empty() ? known : close);
    }
    features[name] = on;
    llvm::X86::updateImpliedFeatures(name, on, features);
  }
  if (std::string missing = lacking(features, kLevel3); !missing.empty()) {
    return "'" + text.take_front(100).str() +
           "' is below x86-64-v3, the least that kernels are compiled for: it lacks " + missing;
  }
  target.level = lacking(features, kLevel4).empty() ? CpuLevel::X86_64_V4 : CpuLevel::X86_64_V3;
  target.features.clear();
  llvm::StringMap<bool> base = featuresOf(target.levelName());
  for (StringRef name : kUsable) {
    if (features.lookup(name) && !base.lookup(name)) {
      target.features.push_back(name.str());
    }
  }
  return "";
}
