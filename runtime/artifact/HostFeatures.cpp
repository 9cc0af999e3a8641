#include "runtime/artifact/HostFeatures.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace frit {

namespace {

enum Register { Eax, Ebx, Ecx, Edx };

/// The registers that the operating system must save: those of AVX, and the masks and wide
/// registers of AVX-512.
constexpr uint64_t kNothing = 0, kAvx = 0x06, kAvx512 = 0xe6;

struct Feature {
  std::string_view name;
  uint32_t (CpuLeaves::*leaf)[4];
  Register reg;
  unsigned bit;
  uint64_t kept;
};

constexpr Feature kFeatures[] = {
    {"avx", &CpuLeaves::one, Ecx, 28, kAvx},
    {"avx2", &CpuLeaves::seven, Ebx, 5, kAvx},
    {"avx512bitalg", &CpuLeaves::seven, Ecx, 12, kAvx512},
    {"avx512bw", &CpuLeaves::seven, Ebx, 30, kAvx512},
    {"avx512cd", &CpuLeaves::seven, Ebx, 28, kAvx512},
    {"avx512dq", &CpuLeaves::seven, Ebx, 17, kAvx512},
    {"avx512f", &CpuLeaves::seven, Ebx, 16, kAvx512},
    {"avx512fp16", &CpuLeaves::seven, Edx, 23, kAvx512},
    {"avx512ifma", &CpuLeaves::seven, Ebx, 21, kAvx512},
    {"avx512vbmi", &CpuLeaves::seven, Ecx, 1, kAvx512},
    {"avx512vbmi2", &CpuLeaves::seven, Ecx, 6, kAvx512},
    {"avx512vl", &CpuLeaves::seven, Ebx, 31, kAvx512},
    {"avx512vnni", &CpuLeaves::seven, Ecx, 11, kAvx512},
    {"avx512vpopcntdq", &CpuLeaves::seven, Ecx, 14, kAvx512},
    {"avxifma", &CpuLeaves::sevenOne, Eax, 23, kAvx},
    {"avxvnni", &CpuLeaves::sevenOne, Eax, 4, kAvx},
    {"avxvnniint16", &CpuLeaves::sevenOne, Edx, 10, kAvx},
    {"avxvnniint8", &CpuLeaves::sevenOne, Edx, 4, kAvx},
    {"bmi", &CpuLeaves::seven, Ebx, 3, kNothing},
    {"bmi2", &CpuLeaves::seven, Ebx, 8, kNothing},
    {"f16c", &CpuLeaves::one, Ecx, 29, kAvx},
    {"fma", &CpuLeaves::one, Ecx, 12, kAvx},
    {"gfni", &CpuLeaves::seven, Ecx, 8, kNothing},
    {"lzcnt", &CpuLeaves::extended, Ecx, 5, kNothing},
    {"movbe", &CpuLeaves::one, Ecx, 22, kNothing},
    {"popcnt", &CpuLeaves::one, Ecx, 23, kNothing},
    {"sse4.2", &CpuLeaves::one, Ecx, 20, kNothing},
};

/// The first kLevel3Count of them are x86-64-v3, all of them x86-64-v4.
constexpr std::string_view kLevel4[] = {"avx",      "avx2",     "bmi",      "bmi2",    "f16c",
                                        "fma",      "lzcnt",    "movbe",    "popcnt",  "sse4.2",
                                        "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};
constexpr size_t kLevel3Count = 10;

CpuLeaves readLeaves() {
  CpuLeaves leaves;
#if defined(__x86_64__)
  auto read = [](unsigned leaf, unsigned part, uint32_t (&to)[4]) {
    uint32_t from[4];
    if (__get_cpuid_count(leaf, part, &from[0], &from[1], &from[2], &from[3])) {
      std::copy(std::begin(from), std::end(from), std::begin(to));
    }
  };
  read(0, 0, leaves.zero);
  read(1, 0, leaves.one);
  read(7, 0, leaves.seven);
  if (leaves.seven[Eax] >= 1) {
    read(7, 1, leaves.sevenOne);
  }
  read(0x80000001, 0, leaves.extended);
  constexpr uint32_t kSystemUsesXsave = 1u << 27;
  if (leaves.one[Ecx] & kSystemUsesXsave) {
    uint32_t low, high;
    // xgetbv as bytes: its intrinsic needs a compiler flag.
    __asm__(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
    leaves.kept = uint64_t(high) << 32 | low;
  }
#endif
  return leaves;
}

} // namespace

std::vector<std::string_view> kernelFeatures() {
  std::vector<std::string_view> names;
  std::transform(std::begin(kFeatures), std::end(kFeatures), std::back_inserter(names),
                 [](const Feature &one) { return one.name; });
  return names;
}

std::span<const std::string_view> levelFeatures(std::string_view level) {
  std::span<const std::string_view> all = kLevel4;
  return level == "x86-64-v4" ? all : level == "x86-64-v3" ? all.first(kLevel3Count) : all.first(0);
}

std::vector<std::string_view> featuresOf(const CpuLeaves &leaves) {
  std::vector<std::string_view> features;
  for (const Feature &one : kFeatures) {
    if (((leaves.*one.leaf)[one.reg] >> one.bit & 1) && (leaves.kept & one.kept) == one.kept) {
      features.push_back(one.name);
    }
  }
  return features;
}

bool isIntel(const CpuLeaves &leaves) {
  // "GenuineIntel", four letters a register.
  constexpr uint32_t genu = 0x756e6547, inei = 0x49656e69, ntel = 0x6c65746e;
  return leaves.zero[Ebx] == genu && leaves.zero[Edx] == inei && leaves.zero[Ecx] == ntel;
}

static const CpuLeaves &hostLeaves() {
  static const CpuLeaves leaves = readLeaves();
  return leaves;
}

bool isHostIntel() { return isIntel(hostLeaves()); }

const std::vector<std::string_view> &hostFeatures() {
  static const std::vector<std::string_view> features = featuresOf(hostLeaves());
  return features;
}

std::string missingFeatures(std::string_view level, const std::vector<std::string_view> &features,
                            const std::vector<std::string_view> &host) {
  std::string missing;
  auto want = [&](std::string_view name) {
    if (std::find(host.begin(), host.end(), name) == host.end()) {
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    }
  };
  std::span<const std::string_view> base = levelFeatures(level);
  if (base.empty() && level != "x86-64") {
    want(level);
  }
  std::for_each(base.begin(), base.end(), want);
  std::for_each(features.begin(), features.end(), want);
  return missing;
}

} // namespace frit
