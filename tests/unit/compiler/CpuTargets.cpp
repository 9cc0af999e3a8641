// Parses the names of CPUs, and checks that the compiler, the runtime and LLVM agree on names.

#include "codegen/Codegen.h"
#include "runtime/artifact/HostFeatures.h"

#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <gtest/gtest.h>

namespace frit {
namespace {

using mlir::frit::CpuTarget;

std::string read(llvm::StringRef text) {
  CpuTarget target;
  std::string wrong = CpuTarget::parse(text, target);
  if (wrong.empty()) {
    CpuTarget again;
    EXPECT_EQ(CpuTarget::parse(target.text(), again), "");
    EXPECT_EQ(again.text(), target.text());
  }
  return wrong.empty() ? target.text() : "wrong: " + wrong;
}

TEST(CpuTargets, LevelsFeaturesAndNamesOfCpus) {
  EXPECT_EQ(read("x86-64-v3"), "x86-64-v3");
  EXPECT_EQ(read("x86-64-v4"), "x86-64-v4");
  EXPECT_EQ(read("host"), CpuTarget::host().text());
  // Features alone are added to the lowest level; those that it has, or that no kernel uses, are
  // dropped.
  EXPECT_EQ(read("avx2,fma"), "x86-64-v3");
  EXPECT_EQ(read("+avx2,+aes,+clwb"), "x86-64-v3");
  EXPECT_EQ(read("avx512f"), "x86-64-v3,+avx512f");
  EXPECT_EQ(read("x86-64-v3,+gfni,+avx512vbmi2,avx512f"),
            "x86-64-v3,+avx512bw,+avx512f,+avx512vbmi2,+gfni");
  // The features of a level, in any order, become the level.
  EXPECT_EQ(read("x86-64-v3,+avx512vl,+avx512dq,+avx512cd,+avx512bw"), "x86-64-v4");
  EXPECT_EQ(read("x86-64-v4,-avx512dq"), "x86-64-v3,+avx512bw,+avx512cd,+avx512f,+avx512vl");
  EXPECT_EQ(read("x86-64-v4,-avx512f"), "x86-64-v3");
  EXPECT_EQ(read("skylake-avx512"), "x86-64-v4");
  EXPECT_EQ(read("cascadelake"), "x86-64-v4,+avx512vnni");
  EXPECT_EQ(read("haswell"), "x86-64-v3");
  EXPECT_EQ(read("alderlake"), "x86-64-v3,+avxvnni,+gfni");
  EXPECT_EQ(read("skylake-avx512,-avx512bw,+avxvnni"),
            "x86-64-v3,+avx512cd,+avx512dq,+avx512f,+avx512vl,+avxvnni");
  // Conversions to bf16 in hardware flush denormals.
  EXPECT_EQ(read("x86-64-v4,+avx512bf16"), "x86-64-v4");
}

TEST(CpuTargets, WhatIsWrongIsSaidWithTheWayOut) {
  std::string known = "; known: host, x86-64-v3, x86-64-v4 and LLVM's names of CPUs, each with "
                      "features: x86-64-v3,+avx512f";
  EXPECT_EQ(read(""), "wrong: no CPU is named" + known);
  EXPECT_EQ(read("x86-64-v5"), "wrong: 'x86-64-v5' is neither a CPU nor a feature that LLVM knows; "
                               "did you mean 'x86-64-v2'?");
  EXPECT_EQ(read("skylake-avx51"), "wrong: 'skylake-avx51' is neither a CPU nor a feature that "
                                   "LLVM knows; did you mean 'skylake-avx512'?");
  EXPECT_EQ(read("hots"),
            "wrong: 'hots' is neither a CPU nor a feature that LLVM knows; did you mean 'host'?");
  EXPECT_EQ(read("x86-64-v3,+avx512_vnni"),
            "wrong: 'avx512_vnni' is no feature that LLVM knows; did you mean 'avx512vnni'?");
  EXPECT_EQ(read("x86-64-v3,"), "wrong: '' is no feature that LLVM knows" + known);
  EXPECT_EQ(read("quantum"),
            "wrong: 'quantum' is neither a CPU nor a feature that LLVM knows" + known);
  EXPECT_EQ(read("nehalem"), "wrong: 'nehalem' is below x86-64-v3, the least that kernels are "
                             "compiled for: it lacks avx, avx2, bmi, bmi2, f16c, fma, "
                             "lzcnt, movbe, xsave");
  EXPECT_EQ(read("x86-64-v3,-bmi2"), "wrong: 'x86-64-v3,-bmi2' is below x86-64-v3, the least that "
                                     "kernels are compiled for: it lacks bmi2");
  EXPECT_LT(read(std::string(5000, 'a')).size(), 400u);
}

TEST(CpuTargets, WhateverLlvmKnowsTheRuntimeCanCheck) {
  std::vector<std::string_view> checked = kernelFeatures();
  auto isChecked = [&](llvm::StringRef name) {
    return llvm::is_contained(checked, std::string_view(name));
  };
  for (llvm::StringRef name : CpuTarget::usableFeatures()) {
    EXPECT_TRUE(isChecked(name)) << name.str();
  }
  llvm::SmallVector<llvm::StringRef> cpus;
  llvm::X86::fillValidCPUArchList(cpus, /*Only64Bit=*/true);
  unsigned usable = 0;
  for (llvm::StringRef cpu : cpus) {
    CpuTarget target;
    std::string wrong = CpuTarget::parse(cpu, target);
    EXPECT_TRUE(wrong.empty() || wrong.find("is below x86-64-v3") != std::string::npos) << wrong;
    usable += wrong.empty();
    EXPECT_TRUE(llvm::all_of(target.features, isChecked)) << target.text();
  }
  EXPECT_GT(usable, 20u);
  // The features of a level are LLVM's, restricted to those that kernels use.
  for (llvm::StringRef level : {"x86-64-v3", "x86-64-v4"}) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::X86::getFeaturesForCPU(level, names);
    llvm::StringMap<bool> all;
    for (llvm::StringRef name : names) {
      all[name] = true;
      llvm::X86::updateImpliedFeatures(name, true, all);
    }
    std::vector<std::string_view> ours(levelFeatures(level).begin(), levelFeatures(level).end());
    EXPECT_FALSE(ours.empty());
    for (std::string_view name : checked) {
      EXPECT_EQ(llvm::is_contained(ours, name), all.lookup(name)) << level.str() << " " << name;
    }
  }
}

TEST(CpuTargets, TheRuntimeReadsThisMachineAsLlvmDoes) {
  llvm::StringMap<bool> theirs = llvm::sys::getHostCPUFeatures();
  for (std::string_view name : kernelFeatures()) {
    EXPECT_EQ(llvm::is_contained(hostFeatures(), name), theirs.lookup(name)) << name;
  }
  EXPECT_EQ(missingFeatures("x86-64-v4", {}).empty(),
            CpuTarget::host().level == mlir::frit::CpuLevel::X86_64_V4);
}

} // namespace
} // namespace frit
