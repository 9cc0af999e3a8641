// Decides from made-up CPUID results which code a machine can run, so that it is right on machines
// that are not available for tests.

#include "runtime/artifact/HostFeatures.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace frit {
namespace {

CpuLeaves everything() {
  CpuLeaves leaves;
  for (auto leaf :
       {&CpuLeaves::one, &CpuLeaves::seven, &CpuLeaves::sevenOne, &CpuLeaves::extended}) {
    std::fill(std::begin(leaves.*leaf), std::end(leaves.*leaf), 0xffffffffu);
  }
  leaves.kept = 0xe7;
  return leaves;
}

TEST(HostFeatures, AMachineWithEverythingRunsEverything) {
  std::vector<std::string_view> host = featuresOf(everything());
  EXPECT_EQ(host, kernelFeatures());
  EXPECT_TRUE(std::is_sorted(host.begin(), host.end()));
  EXPECT_EQ(missingFeatures("x86-64-v4", host, host), "");
}

TEST(HostFeatures, ASystemThatKeepsNoWideRegistersHasNone) {
  CpuLeaves leaves = everything();
  leaves.kept = 0x07;
  EXPECT_EQ(missingFeatures("x86-64-v3", {"avxvnni"}, featuresOf(leaves)), "");
  EXPECT_EQ(missingFeatures("x86-64-v4", {}, featuresOf(leaves)),
            "avx512bw, avx512cd, avx512dq, avx512f, avx512vl");
  // The mask registers of AVX-512 alone are not enough.
  leaves.kept = 0x27;
  EXPECT_EQ(missingFeatures("x86-64-v3", {"avx512f"}, featuresOf(leaves)), "avx512f");
  leaves.kept = 0x03;
  EXPECT_EQ(missingFeatures("x86-64-v3", {}, featuresOf(leaves)), "avx, avx2, f16c, fma");
  EXPECT_EQ(featuresOf({}), std::vector<std::string_view>());
}

TEST(HostFeatures, TheVendorIsTwelveLetters) {
  auto vendor = [](std::string_view name) {
    CpuLeaves leaves;
    for (auto [reg, at] : {std::pair(1, 0u), {3, 4u}, {2, 8u}}) {
      std::memcpy(&leaves.zero[reg], name.data() + at, 4);
    }
    return leaves;
  };
  EXPECT_TRUE(isIntel(vendor("GenuineIntel")));
  EXPECT_FALSE(isIntel(vendor("AuthenticAMD")));
  EXPECT_FALSE(isIntel(vendor("GenuineIotel")));
  EXPECT_FALSE(isIntel({}));
}

TEST(HostFeatures, EachFeatureIsOneBit) {
  for (std::string_view name : kernelFeatures()) {
    unsigned bits = 0;
    for (auto leaf :
         {&CpuLeaves::one, &CpuLeaves::seven, &CpuLeaves::sevenOne, &CpuLeaves::extended}) {
      for (int reg = 0; reg < 4; ++reg) {
        for (int bit = 0; bit < 32; ++bit) {
          CpuLeaves leaves = everything();
          (leaves.*leaf)[reg] &= ~(1u << bit);
          std::vector<std::string_view> host = featuresOf(leaves);
          bool has = std::find(host.begin(), host.end(), name) != host.end();
          bits += !has;
          EXPECT_TRUE(has || host.size() + 1 == kernelFeatures().size()) << name;
        }
      }
    }
    EXPECT_EQ(bits, 1u) << name;
  }
}

TEST(HostFeatures, WhatIsNotKnownIsLacking) {
  std::vector<std::string_view> host = kernelFeatures();
  EXPECT_EQ(missingFeatures("x86-64-v9", {}, host), "x86-64-v9");
  EXPECT_EQ(missingFeatures("", {}, {}), "");
  EXPECT_EQ(missingFeatures("x86-64", {"gfni", "apx"}, host), "apx");
}

} // namespace
} // namespace frit
