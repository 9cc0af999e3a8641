// The fuzz targets over everything they have ever been interested in, and over the files below with
// each byte changed and at each length. New inputs come from scripts/fuzz; one that crashed stays
// in the corpus under a name that says why.

#include "tests/fuzz/Targets.h"
#include "tests/unit/runtime/standalone/SmallArtifact.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace frit;

namespace {

using Target = void (*)(std::span<const uint8_t>);

std::vector<std::string> corpusOf(const std::string &name) {
  std::vector<std::string> inputs;
  for (const auto &entry :
       std::filesystem::directory_iterator(FRIT_SOURCE_DIR "/tests/fuzz/corpus/" + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void runOver(Target target, const std::string &name) {
  std::vector<std::string> inputs = corpusOf(name);
  EXPECT_FALSE(inputs.empty());
  for (const std::string &input : inputs) {
    target(bytesOfString(input));
  }
  target({});
}

void runOverChanges(Target target, const std::string &input) {
  for (size_t length = 0; length < input.size(); length += 1 + length / 64) {
    target(bytesOfString(std::string_view(input).substr(0, length)));
  }
  for (size_t at = 0; at < input.size(); ++at) {
    for (int value : {0x00, 0x03, 0x80, 0xff}) {
      std::string altered = input;
      altered[at] = static_cast<char>(value);
      target(bytesOfString(altered));
    }
  }
}

} // namespace

TEST(Fuzz, Artifact) { runOver(fuzzArtifact, "artifact"); }

TEST(Fuzz, Program) { runOver(fuzzProgram, "program"); }

TEST(Fuzz, ArtifactsWithEachByteChanged) {
  for (format::Target target : {format::Target::Cpu, format::Target::Gpu}) {
    Small small(target);
    small.artifact.weights.clear();
    small.plan().constants.clear();
    runOverChanges(fuzzArtifact, small.pack({}));
  }
}
