// The reader accepts only exactly what the writer wrote, and refuses everything else without a
// crash.

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ArtifactBuilder.h"
#include "tests/unit/runtime/FileBytes.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit;

namespace {

/// A small artifact with one element of most kinds.
std::string smallArtifact(std::string_view weights = {}) {
  format::ArtifactT artifact;
  artifact.graph = "layer";
  artifact.report = "{\"kernels\": 1}";
  artifact.sources = {"model.py:3 in forward: x + 1"};
  PlanBuilder builder;
  uint32_t eight = builder.intConstant(8), one = builder.intConstant(1);
  uint32_t tensor = builder.newTensor(format::Dtype::F32, {eight}, {one});
  builder.step<format::FreeT>().tensor = tensor;
  artifact.plans.push_back(builder.take());
  auto image = std::make_unique<format::CodeImageT>();
  image->level = "x86-64-v3";
  image->bytes = {0xc3};
  artifact.images.push_back(std::move(image));
  if (!weights.empty()) {
    auto weight = std::make_unique<format::WeightT>();
    weight->name = "w";
    weight->bytes = weights.size();
    Digest digest = sha256(bytesOfString(std::string(weights)));
    weight->sha256.assign(digest.begin(), digest.end());
    artifact.weights.push_back(std::move(weight));
  }
  return packArtifact(artifact, weights);
}

} // namespace

TEST(Artifact, RoundTrip) {
  std::string bytes = smallArtifact();
  auto artifact = Artifact::fromBytes(bytesOfString(bytes));
  ASSERT_TRUE(artifact.isOk()) << artifact.status().message();
  EXPECT_EQ((*artifact)->graphName(), "layer");
  EXPECT_EQ((*artifact)->report(), "{\"kernels\": 1}");
  ASSERT_NE((*artifact)->plan(format::Target::Cpu), nullptr);
  EXPECT_EQ((*artifact)->plan(format::Target::Gpu), nullptr);
  EXPECT_EQ((*artifact)->plan(format::Target::Cpu)->int_count(), 2u);
  EXPECT_TRUE((*artifact)->hostCodeTrusted().isOk());
}

TEST(Artifact, SameContentSameBytes) { EXPECT_EQ(smallArtifact(), smallArtifact()); }

TEST(Artifact, MisalignedBytesAreFine) {
  std::string bytes = "x" + smallArtifact();
  EXPECT_TRUE(Artifact::fromBytes(bytesOfString(bytes).subspan(1)).isOk());
}

TEST(Artifact, TruncatedAnywhereIsRefused) {
  std::string bytes = smallArtifact();
  for (size_t length = 0; length < bytes.size(); ++length) {
    auto artifact = Artifact::fromBytes(bytesOfString(bytes).first(length));
    ASSERT_FALSE(artifact.isOk()) << length;
    EXPECT_EQ(artifact.status().kind(), ErrorKind::BadArtifact);
  }
}

TEST(Artifact, TrailingBytesAreRefused) {
  EXPECT_FALSE(Artifact::fromBytes(bytesOfString(smallArtifact() + "x")).isOk());
}

TEST(Artifact, EveryFlippedBitIsRefused) {
  std::string bytes = smallArtifact();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string altered = bytes;
      altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
      ASSERT_FALSE(Artifact::fromBytes(bytesOfString(altered)).isOk()) << at << "." << bit;
    }
  }
}

// With a valid digest only the body's verifier checks it: no byte may lead to a read outside.
TEST(Artifact, AlteredBodyWithFittingDigestNeverCrashes) {
  std::string body = smallArtifact().substr(sizeof(Header));
  for (size_t at = 0; at < body.size(); ++at) {
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string altered = body;
      altered[at] = static_cast<char>(value);
      auto artifact = Artifact::fromBytes(bytesOfString(frameArtifact(altered)));
      if (artifact.isOk()) {
        (void)(*artifact)->graphName();
        (void)(*artifact)->report();
      }
    }
  }
}

TEST(Artifact, MessagesNameThePlace) {
  std::string bytes = smallArtifact();
  bytes[8] = 9;
  auto artifact = Artifact::fromBytes(bytesOfString(bytes));
  EXPECT_NE(artifact.status().message().find("format version is 9"), std::string::npos);
  bytes = smallArtifact();
  bytes[0] = 'P';
  EXPECT_NE(Artifact::fromBytes(bytesOfString(bytes)).status().message().find("magic"),
            std::string::npos);
}

TEST(Artifact, WeightsAreCheckedOnRequest) {
  std::string bytes = smallArtifact("0123456789");
  TemporaryFile file(bytes);
  auto good = Artifact::fromFile(file.path);
  ASSERT_TRUE(good.isOk()) << good.status().message();
  EXPECT_EQ((*good)->weights().size(), 10u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*good)->weights().data()) % kWeightsAlignment, 0u);
  EXPECT_TRUE((*good)->checkWeights().isOk());
  bytes.back() = 'x';
  auto bad = Artifact::fromBytes(bytesOfString(bytes));
  ASSERT_TRUE(bad.isOk());
  EXPECT_NE((*bad)->checkWeights().message().find("weight 'w'"), std::string::npos);
  EXPECT_FALSE(Artifact::fromBytes(bytesOfString(bytes).first(bytes.size() - 1)).isOk());
}

TEST(Artifact, HostCodeOfFilesOthersCanWriteIsNotTrusted) {
  TemporaryFile file(smallArtifact());
  chmod(file.path.c_str(), 0622);
  auto artifact = Artifact::fromFile(file.path);
  ASSERT_TRUE(artifact.isOk());
  EXPECT_NE((*artifact)->hostCodeTrusted().message().find("written by others"), std::string::npos);
  EXPECT_TRUE((*Artifact::fromFile(file.path, true))->hostCodeTrusted().isOk());
  chmod(file.path.c_str(), 0600);
  EXPECT_TRUE((*Artifact::fromFile(file.path))->hostCodeTrusted().isOk());
}

TEST(Artifact, FilesThatAreNone) {
  EXPECT_NE(Artifact::fromFile("/nonexistent/a.frit").status().message().find("cannot open"),
            std::string::npos);
  EXPECT_FALSE(Artifact::fromFile("/tmp").isOk());
  TemporaryFile empty("");
  EXPECT_FALSE(Artifact::fromFile(empty.path).isOk());
  std::string link = empty.path + "-link";
  ASSERT_EQ(symlink(empty.path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(Artifact::fromFile(link).isOk());
  unlink(link.c_str());
}
