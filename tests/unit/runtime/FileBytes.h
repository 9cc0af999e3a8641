// Bytes of a .frit file in a test: seen as the reader takes them, or on the disk for as long as a
// test wants to load them from there.

#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

namespace frit {

inline std::span<const uint8_t> bytesOfString(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const std::string &content)
      : path(testing::TempDir() + "frit-test-XXXXXX") {
    int file = mkstemp(path.data());
    EXPECT_EQ(write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    close(file);
  }
  ~TemporaryFile() { unlink(path.c_str()); }
};

} // namespace frit
