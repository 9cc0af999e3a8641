// Runs the compiler's fuzz targets over their corpus, like tests/fuzz/Corpus.cpp for the runtime's.

#include "tests/fuzz/CompilerTargets.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace {

void runOver(void (*target)(std::string_view), const std::string &folder) {
  size_t inputs = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(FRIT_SOURCE_DIR "/tests/" + folder)) {
    if (!entry.is_regular_file()) {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    target(text);
    for (size_t length = 0; length < text.size(); length += 1 + length / 8) {
      target(std::string_view(text).substr(0, length));
    }
    ++inputs;
  }
  EXPECT_GT(inputs, 0u);
}

} // namespace

TEST(FuzzCorpus, Sizes) { runOver(frit::fuzzSizes, "fuzz/corpus/sizes"); }
TEST(FuzzCorpus, ProgramJson) {
  runOver(frit::fuzzProgramJson, "fuzz/corpus/program_json");
  runOver(frit::fuzzProgramJson, "import/Inputs");
}
TEST(FuzzCorpus, Options) { runOver(frit::fuzzOptions, "fuzz/corpus/options"); }
TEST(FuzzCorpus, Archive) { runOver(frit::fuzzArchive, "fuzz/corpus/archive"); }
