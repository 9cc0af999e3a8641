// A `.pt2` archive: the model's JSON and the raw storages of its parameters, buffers and constants.
// Entries are read by name through the zip's directory. Nothing is unpickled; a pickled tensor is
// refused.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace frit {

class Archive {
public:
  /// `model` selects one of several. Returns null, with a one-line `error`, if the file is not an
  /// archive that holds such an exported model.
  static std::optional<Archive> open(const std::string &path, const std::string &model,
                                     std::string &error);

  const std::string &model() const { return json; }

  /// The bytes of the storage of the parameter, buffer or constant `name`; null if the archive has
  /// none of that name.
  const std::string *storage(const std::string &name) const;

  /// Whether the archive lists it among the constants of the program, which are not in the
  /// state_dict.
  bool isConstant(const std::string &name) const { return constants.contains(name); }
  /// The bytes of all storages, each rounded up to `alignment`.
  uint64_t bytes(uint64_t alignment) const;
  /// Frees all storages, which are the larger part of a model.
  void forgetStorages() { storages.clear(); }

private:
  bool readConfig(const std::string &text, const std::string &folder, std::string &error);

  std::string json;
  /// Entry path -> bytes; several names may share one.
  std::map<std::string, std::string> storages;
  std::map<std::string, std::string> pathOfName;
  std::set<std::string> constants;
};

} // namespace frit
