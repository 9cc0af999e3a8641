// Options arrive as JSON from Python and as flags from the tools; both end in the same checks.

#include "compiler/Compiler.h"

#include <gtest/gtest.h>

namespace frit {
namespace {

TEST(CompileOptions, ReadsWhatPythonWrites) {
  CompileOptions options;
  EXPECT_EQ(readOptions(R"({"name": "g", "numerics": "eager", "fusion": false, "targets": ["cpu", "sm_90"], "mode": "default",
                            "dump_dir": ""})",
                        options),
            "");
  EXPECT_EQ(options.name, "g");
  EXPECT_EQ(options.numerics, "eager");
  EXPECT_FALSE(options.fusion);
  EXPECT_EQ(options.targets, (std::vector<std::string>{"cpu", "sm_90"}));
}

TEST(CompileOptions, NamesTheWrongValueAndTheKnownOnes) {
  CompileOptions options;
  EXPECT_EQ(readOptions(R"({"numerics": "fast"})", options), "option 'numerics' cannot be 'fast'; known: default, eager");
  EXPECT_EQ(readOptions(R"({"cpu": 3})", options), "option 'cpu' takes a string");
  EXPECT_EQ(readOptions(R"({"fusion": "yes"})", options), "option 'fusion' takes true or false");
  EXPECT_EQ(readOptions(R"({"targets": []})", options), "option 'targets' takes a list of targets");
  EXPECT_NE(readOptions(R"({"targets": ["sm_75"]})", options).find("'sm_75'"), std::string::npos);
  EXPECT_EQ(readOptions("[1]", options), "options must be a JSON object");
  EXPECT_NE(readOptions("{", options).find("not JSON"), std::string::npos);
}

} // namespace
} // namespace frit
