// A `.pt2` archive: the model's JSON and the raw storages of its parameters, buffers and constants. Entries are read by name through
// the zip's directory; nothing in it is unpickled, and a tensor that was pickled is refused.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace frit {

class Archive {
public:
  /// Null and `error` (one line) when the file is not an archive that holds one exported model.
  static std::optional<Archive> open(const std::string &path, std::string &error);

  const std::string &model() const { return json; }

  /// The bytes of the storage that parameter, buffer or constant `name` looks at, null when the archive has none of that name.
  const std::string *storage(const std::string &name) const;

private:
  bool readConfig(const std::string &text, const std::string &folder, std::string &error);

  std::string json;
  /// Entry path -> bytes; several names may share one.
  std::map<std::string, std::string> storages;
  std::map<std::string, std::string> pathOfName;
};

} // namespace frit
