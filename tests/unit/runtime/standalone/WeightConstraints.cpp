// The numbered rules of docs/Artifact.md for weights and constants, one test per number.

#include "tests/unit/runtime/standalone/BrokenArtifact.h"

#include <fstream>
#include <unistd.h>

using namespace frit;

TEST(ArtifactConstraint, A11_WeightsLieInsideOfTheirSection) {
  expectRefused("weight 'w' lies outside", [](Small &s) { s.artifact.weights[0]->offset = 1; });
  expectRefused("weight 'w' lies outside",
                [](Small &s) { s.artifact.weights[0]->bytes = UINT64_MAX; });
  expectRefused("has no digest", [](Small &s) { s.artifact.weights[0]->sha256.pop_back(); });
  expectRefused("unknown dtype",
                [](Small &s) { s.artifact.weights[0]->dtype = static_cast<format::Dtype>(99); });
  expectRefused("sizes and strides", [](Small &s) { s.artifact.weights[0]->strides = {1, 1}; });
  expectRefused("sizes and strides", [](Small &s) {
    s.artifact.weights[0]->sizes.assign(65, 1), s.artifact.weights[0]->strides.assign(65, 1);
  });
}

TEST(ArtifactConstraint, A13_WeightsAreComparedOnRequest) {
  Small small;
  // A gap of four bytes; the first four bytes belong to two weights.
  auto &second = *small.artifact.weights.emplace_back(
      std::make_unique<format::WeightT>(*small.artifact.weights[0]));
  second.name = "v", second.offset = 0, second.bytes = 4, second.sizes = {1};
  Digest digest = sha256(bytesOfString(kSmallWeights.substr(0, 4)));
  second.sha256.assign(digest.begin(), digest.end());
  auto &first = *small.artifact.weights[0];
  std::string weights =
      "0123" + std::string(4, '\0') + std::string(kSmallWeights) + std::string(8, '\0');
  first.offset = 8;
  std::string file = small.pack(weights);
  auto good = Artifact::fromBytes(bytesOfString(file));
  ASSERT_TRUE(good.isOk()) << good.status().message();
  EXPECT_TRUE((*good)->checkWeights().isOk());
  for (size_t at = headerOf(file).weightsOffset; at < file.size(); ++at) {
    std::string altered = file;
    altered[at] = static_cast<char>(altered[at] ^ 0x10);
    auto artifact = Artifact::fromBytes(bytesOfString(altered));
    ASSERT_TRUE(artifact.isOk());
    size_t place = at - headerOf(file).weightsOffset;
    expectError((*artifact)->checkWeights(), place < 4                  ? "'v' does not match"
                                             : place >= 8 && place < 24 ? "'w' does not match"
                                                                        : "not zero");
  }
}

TEST(ArtifactConstraint, A27_ConstantsLieInsideOfTheirWeight) {
  expectRefused("reaches beyond its weight", [](Small &s) { s.artifact.weights[0]->sizes = {5}; });
  expectRefused("reaches beyond its weight",
                [](Small &s) { s.artifact.weights[0]->strides = {2}; });
  expectRefused("reaches beyond its weight",
                [](Small &s) { s.artifact.weights[0]->strides = {-1}; });
  expectRefused("reaches beyond its weight",
                [](Small &s) { s.artifact.weights[0]->sizes = {INT64_MAX}; });
  expectRefused("begins inside of an element", [](Small &s) {
    auto &w = *s.artifact.weights[0];
    w.sizes = {3}, w.offset = 2, w.bytes = 12;
  });
  Small none;
  none.plan().constants[0]->weight = 7;
  expectError(use(none.pack()), "is not in the file", ErrorKind::BadInput);
}

TEST(ArtifactConstraint, A31_ConstantsAreWhatThePlanExpects) {
  expectRefused("constant 0 ('w'): its size along dimension 0 is 3, compiled for 4",
                [](Small &s) { s.artifact.weights[0]->sizes = {3}; });
  expectRefused("its stride along dimension 0 is 0, compiled for 1",
                [](Small &s) { s.artifact.weights[0]->strides = {0}; });
  expectRefused("its dtype is int32, compiled for float32",
                [](Small &s) { s.artifact.weights[0]->dtype = format::Dtype::I32; });
  expectRefused("it has 2 dimensions, compiled for 1", [](Small &s) {
    s.artifact.weights[0]->sizes = {2, 2}, s.artifact.weights[0]->strides = {2, 1};
  });
  expectRefused("constant 0: a size or stride is not fixed",
                [](Small &s) { s.plan().tensors[s.w]->sizes = {s.s0}; });
  expectRefused("constant 0: a size or stride is not fixed",
                [](Small &s) { s.plan().tensors[s.w]->strides = {s.s0}; });
  // The stride of a dimension with one element is not checked.
  Small one;
  one.plan().tensors[one.w]->sizes = {one.one};
  one.artifact.weights[0]->sizes = {1}, one.artifact.weights[0]->strides = {7};
  EXPECT_TRUE(use(one.pack()).isOk());
}

namespace {

/// A folder with one file in it, or none.
struct WeightsFolder {
  std::string path = testing::TempDir() + "frit-weights-XXXXXX", file;
  WeightsFolder() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  void put(const std::string &name, std::string_view content) {
    file = path + "/" + name;
    std::ofstream(file, std::ios::binary) << content;
  }
  ~WeightsFolder() {
    unlink(file.c_str());
    rmdir(path.c_str());
  }
};

/// A file with a separate weights file.
std::string apart(const std::function<void(Small &)> &change = [](Small &) {}) {
  Small small;
  small.artifact.weights_file = std::make_unique<format::WeightsFileT>();
  small.artifact.weights_file->bytes = kSmallWeights.size();
  small.artifact.weights_file->sha256 = small.artifact.weights[0]->sha256;
  change(small);
  return small.pack({});
}

} // namespace

TEST(ArtifactConstraint, A32_WeightsOfTheirOwnFileHaveItsDigestAndLength) {
  std::string name = weightsFileName(sha256(bytesOfString(kSmallWeights)));
  TemporaryFile file(apart());
  auto from = [&](const TemporaryFile &artifact, const std::string &folder) {
    return Artifact::fromFile(artifact.path, false, folder);
  };
  expectError(Artifact::fromBytes(bytesOfString(apart())).status(), name + "'; name its folder",
              ErrorKind::BadInput);
  expectError(from(file, "").status(), name + "'; name its folder", ErrorKind::BadInput);
  {
    WeightsFolder folder;
    expectError(from(file, folder.path).status(), "cannot open '" + folder.path + "/" + name + "'");
    folder.put(name, kSmallWeights.substr(1));
    expectError(from(file, folder.path).status(), "has 15 bytes, the artifact's weights have 16");
    folder.put(name, "");
    expectError(from(file, folder.path).status(), "has 0 bytes");
    folder.put(name, "0123456789abcdeX");
    auto altered = from(file, folder.path);
    ASSERT_TRUE(altered.isOk()) << altered.status().message();
    expectError((*altered)->checkWeights(), "weight 'w' does not match its SHA-256");
    folder.put(name, kSmallWeights);
    auto good = from(file, folder.path);
    ASSERT_TRUE(good.isOk());
    EXPECT_TRUE((*good)->checkWeights().isOk());
    EXPECT_TRUE(useCpu(*good, 3).isOk());
    TemporaryFile whole(Small().pack());
    expectError(from(whole, folder.path).status(), "has no file of weights", ErrorKind::BadInput);
  }
  WeightsFolder linked;
  TemporaryFile target{std::string(kSmallWeights)};
  linked.file = linked.path + "/" + name;
  ASSERT_EQ(symlink(target.path.c_str(), linked.file.c_str()), 0);
  expectError(from(file, linked.path).status(), "cannot open");
  expectError(use(apart([](Small &s) { s.artifact.weights_file->sha256.pop_back(); })),
              "its file of weights has no digest");
  Small both;
  both.artifact.weights_file = std::make_unique<format::WeightsFileT>();
  expectError(use(both.pack()), "it has weights inside, and names a file of them");
}

TEST(ArtifactConstraint, A33_GivenWeightsHaveANameAndNoBytes) {
  auto given = [](Small &s) {
    format::WeightT &weight = *s.artifact.weights[0];
    weight.given = true, weight.bytes = 0, weight.sha256.clear();
  };
  Small good;
  given(good);
  auto artifact = Artifact::fromBytes(bytesOfString(good.pack({})));
  ASSERT_TRUE(artifact.isOk()) << artifact.status().message();
  EXPECT_TRUE((*artifact)->checkWeights().isOk());
  expectError(useCpu(*artifact, 3), "was compiled without weights; missing: 'w'",
              ErrorKind::BadInput);
  for (auto damage : {+[](Small &s) { s.artifact.weights[0]->name.clear(); },
                      +[](Small &s) { s.artifact.weights[0]->bytes = 4; },
                      +[](Small &s) { s.artifact.weights[0]->offset = 4; },
                      +[](Small &s) { s.artifact.weights[0]->sha256.assign(32, 0); }}) {
    expectRefused("a name and neither bytes nor a digest", [&](Small &s) { given(s), damage(s); });
  }
}
