// Bytes of a .frit file in a test: as a span for the reader, or in a temporary file for the
// duration of a test.

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
