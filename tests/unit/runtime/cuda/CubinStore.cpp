// Cubins that an earlier process made: the format of their entries, which Python's disk cache
// shares, whom they are trusted from, and that a process which finds them links nothing.

#include "runtime/cuda/CubinStore.h"
#include "tests/unit/runtime/cuda/FakeLinker.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace fakecuda;
namespace fs = std::filesystem;

namespace {

struct Cubins : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    linking = FakeLinker();
    std::string name = "/tmp/frit-cubins-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    root = name + "/cache/v3";
  }
  void TearDown() override { fs::remove_all(folder); }

  CubinStore store(uint64_t limit = 1 << 20) const { return {root, limit}; }
  fs::path pathOf(const std::string &key) const {
    return root + "/" + key.substr(0, 2) + "/" + key;
  }
  static std::string bytesOf(const fs::path &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void write(const fs::path &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        found.push_back(entry.path());
      }
    }
    return found;
  }

  /// Runs a graph as a process of its own would.
  struct Process : Session {
    Process(const Cubins &of, const std::string &text, JitLinkerSource linker = scripted)
        : Session(text, std::move(linker)) {
      backend->keepCubins(of.store());
    }
    uint64_t kept() const { return backend->counters()[4].second; }
  };

  std::string folder, root;
  const std::string key = std::string(64, 'a');
  const std::vector<LinkedCubin> two = {{std::string("one\0two", 7), {"k0", "k2"}},
                                        {"three", {"k1"}}};
  const std::string text = artifactWith({{kPtx, 90, "ptx90"}});
};

bool operator==(const std::vector<LinkedCubin> &a, const std::vector<LinkedCubin> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LinkedCubin &x, const LinkedCubin &y) {
                      return x.bytes == y.bytes && x.entries == y.entries;
                    });
}

TEST_F(Cubins, AreReadAsTheyWereWritten) {
  EXPECT_FALSE(store().read(key));
  ASSERT_TRUE(store().write(key, two));
  auto read = store().read(key);
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read == two);
  EXPECT_FALSE(store().read(std::string(64, 'b')));
  store().drop(key);
  EXPECT_FALSE(store().read(key));
  EXPECT_TRUE(files().empty());
}

// tests/python/cache/test_cubins.py writes the same bytes, and reads them as an entry of its cache.
TEST_F(Cubins, HaveTheFormatOfTheDiskCache) {
  ASSERT_TRUE(store().write(key, two));
  std::string bytes = bytesOf(pathOf(key));
  Digest digest = sha256({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  std::string shown;
  for (uint8_t byte : digest) {
    char pair[3];
    std::snprintf(pair, sizeof(pair), "%02x", byte);
    shown += pair;
  }
  EXPECT_EQ(shown, "3a113517e06d38a774285e9b03d20a31038e9a4cd4190e962b295078dfbb47e1");
}

TEST_F(Cubins, AreGoneIfAnyByteIsDamaged) {
  ASSERT_TRUE(store().write(key, two));
  std::string good = bytesOf(pathOf(key));
  for (size_t at = 0; at <= good.size(); ++at) {
    std::string bad = good;
    if (at < good.size()) {
      bad[at] ^= 1;
    } else {
      bad += '\0';
    }
    write(pathOf(key), bad);
    EXPECT_FALSE(store().read(key)) << at;
    EXPECT_FALSE(fs::exists(pathOf(key))) << at;
    write(pathOf(key), good.substr(0, at));
    EXPECT_EQ(store().read(key).has_value(), at == good.size()) << at;
  }
}

TEST_F(Cubins, OfAnotherKeyAreNotTaken) {
  ASSERT_TRUE(store().write(key, two));
  std::string other = std::string(63, 'a') + "b";
  fs::copy(pathOf(key), pathOf(other));
  EXPECT_FALSE(store().read(other));
}

TEST_F(Cubins, AreTrustedOnlyIfNobodyElseMayWriteThem) {
  ASSERT_TRUE(store().write(key, two));
  for (const fs::path &path : {pathOf(key), pathOf(key).parent_path(), fs::path(root)}) {
    fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
    EXPECT_FALSE(store().read(key)) << path;
    EXPECT_TRUE(fs::exists(pathOf(key)));
    if (fs::is_directory(path)) {
      EXPECT_FALSE(store().write(key, two));
    }
    fs::permissions(path, before);
    EXPECT_TRUE(store().read(key));
  }
  fs::path aside = folder + "/aside";
  fs::rename(pathOf(key), aside);
  fs::create_symlink(aside, pathOf(key));
  EXPECT_FALSE(store().read(key)) << "a link";
}

TEST_F(Cubins, LargerThanTheLimitAreNotWritten) {
  EXPECT_FALSE(store(20).write(key, two));
  EXPECT_FALSE(CubinStore("/proc/none/v3", 1 << 20).write(key, two));
  EXPECT_TRUE(files().empty());
}

TEST_F(Cubins, OfAnEarlierProcessAreNotLinkedAgain) {
  {
    Process first(*this, text);
    ASSERT_TRUE(first.run().isOk());
    EXPECT_EQ(linking.links, 1);
    EXPECT_EQ(first.kept(), 0u);
    EXPECT_EQ(files().size(), 1u);
  }
  Process second(*this, text);
  ASSERT_TRUE(second.run().isOk());
  EXPECT_EQ(linking.links, 1);
  EXPECT_EQ(second.kept(), 1u);
  EXPECT_EQ(count("load linked"), 2);
  EXPECT_EQ(second.host().notes,
            std::vector<std::string>{"graph 'layer' on sm_90: PTX for sm_90, of which an earlier "
                                     "process made a cubin by nvJitLink 13.0 (fake)"});
  // Rank 1 of a job has another device of the same architecture.
  fake.context = reinterpret_cast<void *>(0x2000);
  ASSERT_TRUE(second.run().isOk());
  EXPECT_EQ(linking.links, 1);
}

TEST_F(Cubins, OfAnotherArchitectureTextOrLinkerAreOthers) {
  ASSERT_TRUE(Process(*this, text).run().isOk());
  fake.minor = 3;
  ASSERT_TRUE(Process(*this, text).run().isOk());
  EXPECT_EQ(linking.links, 2);
  fake.minor = 0;
  static const JitLinker other(linkerTable(), "another library");
  ASSERT_TRUE(Process(*this, text, [] { return &other; }).run().isOk());
  EXPECT_EQ(linking.links, 3);
  ASSERT_TRUE(Process(*this, artifactWith({{kPtx, 90, "other90"}})).run().isOk());
  EXPECT_EQ(linking.links, 4);
  EXPECT_EQ(files().size(), 4u);
}

TEST_F(Cubins, ThatTheDriverRefusesAreLinkedAgainOnce) {
  ASSERT_TRUE(Process(*this, text).run().isOk());
  fake.loadCodes["linked"] = 209;
  Process process(*this, text);
  ASSERT_TRUE(process.run().isOk()) << "compiled by the driver";
  EXPECT_EQ(linking.links, 2);
  EXPECT_EQ(process.kept(), 0u);
  EXPECT_TRUE(files().empty()) << "what a driver refuses is not kept";
}

TEST_F(Cubins, WithoutMemoryAreKeptForTheNextTry) {
  ASSERT_TRUE(Process(*this, text).run().isOk());
  fake = FakeDriver();
  fake.failMemoryAt = 0;
  Process process(*this, text);
  process.host().hasCache = false;
  EXPECT_EQ(process.run().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(files().size(), 1u);
  fake.failMemoryAt = -1;
  ASSERT_TRUE(process.run().isOk());
  EXPECT_EQ(linking.links, 1);
}

} // namespace
