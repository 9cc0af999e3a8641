// Cubins that nvJitLink made, kept on disk for the next process. An entry belongs to a PTX text, an
// architecture and a version of the linker, and to nothing else: every graph with that text finds
// it, on every device of the architecture.
//
// Entries are files of Python's disk cache (python/frit/cache/disk_cache.py), which evicts, checks
// and clears them, and have its format and its rules of trust: a file and its folders belong to the
// caller or to root, and nobody else may write them.

#pragma once

#include "runtime/cuda/JitLinker.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

class CubinStore {
public:
  /// `root` is the folder with the version of the format; an entry of more than `limit` bytes is
  /// not written.
  CubinStore(std::string root, uint64_t limit) : root(std::move(root)), limit(limit) {}

  /// The name of an entry: 64 hexadecimal digits.
  static std::string keyOf(std::string_view ptx, uint32_t arch, std::string_view linker);

  /// The cubins of an entry; nullopt if there is none, or if it is damaged or not trusted, which
  /// removes it if that is allowed.
  std::optional<std::vector<LinkedCubin>> read(const std::string &key) const;
  /// Writes an entry, complete or not at all; whether it did. A bad disk is no error.
  bool write(const std::string &key, const std::vector<LinkedCubin> &cubins) const;
  void drop(const std::string &key) const;

private:
  std::string folderOf(const std::string &key) const { return root + "/" + key.substr(0, 2); }
  std::string pathOf(const std::string &key) const { return folderOf(key) + "/" + key; }

  std::string root;
  uint64_t limit;
};

} // namespace frit
