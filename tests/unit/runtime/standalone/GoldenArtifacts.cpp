// Every plan of the golden files, including those for a GPU, can still be decoded, or the file is
// refused because of its version. (tests/python/runtime/test_golden_artifacts.py runs the others.)

#include "runtime/plan/DecodedPlan.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace frit;

TEST(GoldenArtifacts, EveryPlanIsDecoded) {
  size_t files = 0, gpuPlans = 0;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(FRIT_SOURCE_DIR "/tests/golden/artifacts")) {
    if (entry.path().extension() != ".frit") {
      continue;
    }
    auto artifact = Artifact::fromFile(entry.path().string());
    if (entry.path().parent_path().filename() != "v" + std::to_string(kFormatVersion)) {
      ASSERT_FALSE(artifact.isOk());
      EXPECT_NE(artifact.status().message().find("its format version is"), std::string::npos)
          << artifact.status().message();
      continue;
    }
    ++files;
    ASSERT_TRUE(artifact.isOk()) << entry.path() << ": " << artifact.status().message();
    for (const format::Plan *plan : *(*artifact)->root().plans()) {
      auto decoded = DecodedPlan::decode(*artifact, *plan);
      EXPECT_TRUE(decoded.isOk()) << entry.path() << ": " << decoded.status().message();
      gpuPlans += plan->target() == format::Target::Gpu;
    }
  }
  EXPECT_GE(files, 4u);
  EXPECT_GE(gpuPlans, 1u);
}
