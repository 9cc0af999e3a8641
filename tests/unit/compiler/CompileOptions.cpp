// Options are JSON from Python, and flags of the tools; both have the same checks.

#include "compiler/Compiler.h"

#include <gtest/gtest.h>

namespace frit {
namespace {

TEST(CompileOptions, ReadsWhatPythonWrites) {
  CompileOptions options;
  EXPECT_EQ(
      readOptions(
          R"({"name": "g", "numerics": "eager", "fusion": false, "targets": ["cpu", "sm_90"], "mode": "default",
                            "dump_dir": "stages", "cache": true})",
          options),
      "");
  EXPECT_EQ(options.name, "g");
  EXPECT_EQ(options.numerics, "eager");
  EXPECT_FALSE(options.fusion);
  EXPECT_EQ(options.dumpFolder, "stages");
  EXPECT_EQ(options.targets, (std::vector<std::string>{"cpu", "sm_90"}));
}

/// The error of these options, which would otherwise be valid.
std::string wrong(const char *json) {
  CompileOptions options;
  return readOptions(json, options);
}

TEST(CompileOptions, NamesTheWrongValueAndTheKnownOnes) {
  EXPECT_EQ(wrong(R"({"numerics": "fast"})"),
            "option 'numerics' cannot be 'fast'; known: default, eager, batch-invariant");
  EXPECT_EQ(wrong(R"({"numerics": "batch-invariant", "targets": ["cpu"]})"), "");
  EXPECT_EQ(wrong(R"({"numerics": "batch-invariant", "targets": ["cpu", "sm_90"]})"),
            "option 'numerics' is 'batch-invariant' only for CPUs: kernels for 'sm_90' divide rows "
            "by how many there are");
  EXPECT_EQ(wrong(R"({"cpu": 3})"), "option 'cpu' takes a string");
  EXPECT_EQ(wrong(R"({"fusion": "yes"})"), "option 'fusion' takes true or false");
  EXPECT_EQ(wrong(R"({"targets": []})"), "option 'targets' takes a list of targets");
  EXPECT_EQ(wrong(R"({"targets": ["sm_75"]})"),
            "option 'target' cannot be 'sm_75'; known: cpu, simt, sm_80, sm_90, sm_100");
  EXPECT_EQ(wrong("[1]"), "options must be a JSON object");
  EXPECT_NE(wrong("{").find("not JSON"), std::string::npos);
}

} // namespace
} // namespace frit
