// Reads the zip. Sizes are limited before memory is allocated, so that a small hostile file cannot
// allocate much.

#include "compiler/Archive.h"

#include "ir/BoundedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <minizip/unzip.h>

#include <vector>

namespace frit {

static constexpr uint64_t kMaxEntries = 1 << 16;
static constexpr uint64_t kMaxModelBytes = uint64_t(512) << 20;
static constexpr uint64_t kMaxStorageBytes = uint64_t(64) << 30;

/// Deflate shrinks by a factor of about a thousand at most. An entry that claims more than that is
/// refused before it is read.
static constexpr uint64_t kMaxRatio = 1100;

/// A name from the file, escaped and shortened to fit in one line of a message.
static std::string quoted(llvm::StringRef name) {
  constexpr size_t kMostSaid = 200;
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::printEscapedString(name.take_front(kMostSaid), stream);
  return "'" + text + (name.size() > kMostSaid ? "...'" : "'");
}

static bool readEntry(unzFile zip, const std::string &name, uint64_t limit, std::string &bytes,
                      std::string &error) {
  unz_file_info64 info;
  if (unzLocateFile(zip, name.c_str(), 1) != UNZ_OK ||
      unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) {
    error = "has no entry " + quoted(name);
    return false;
  }
  if (info.uncompressed_size > limit ||
      info.uncompressed_size > (info.compressed_size + 1) * kMaxRatio) {
    error = "entry " + quoted(name) + " claims " + std::to_string(info.uncompressed_size) +
            " bytes, more than it can hold";
    return false;
  }
  if (unzOpenCurrentFile(zip) != UNZ_OK) {
    error = "entry " + quoted(name) + " cannot be read; the archive is damaged";
    return false;
  }
  bytes.resize(info.uncompressed_size);
  size_t done = 0;
  while (done != bytes.size()) {
    int got = unzReadCurrentFile(zip, bytes.data() + done,
                                 std::min<size_t>(bytes.size() - done, 1 << 30));
    if (got <= 0) {
      break;
    }
    done += got;
  }
  if (unzCloseCurrentFile(zip) != UNZ_OK || done != bytes.size()) {
    error = "entry " + quoted(name) + " is truncated or its checksum is wrong";
    return false;
  }
  return true;
}

bool Archive::readConfig(const std::string &text, const std::string &folder, std::string &error) {
  llvm::Expected<llvm::json::Value> parsed = mlir::frit::parseBoundedJson(text);
  if (!parsed) {
    error = "the list of tensors in " + quoted(folder) +
            " is not JSON: " + llvm::toString(parsed.takeError());
    return false;
  }
  const llvm::json::Object *root = parsed->getAsObject();
  const llvm::json::Object *config = root ? root->getObject("config") : nullptr;
  if (!config) {
    error = "the list of tensors in " + quoted(folder) + " has no 'config'";
    return false;
  }
  for (const auto &[name, value] : *config) {
    const llvm::json::Object *entry = value.getAsObject();
    auto path = entry ? entry->getString("path_name") : std::nullopt;
    if (!path) {
      error = "tensor " + quoted(name) + " has no path_name";
      return false;
    }
    if (entry->getBoolean("use_pickle").value_or(false)) {
      error =
          "tensor " + quoted(name) + " is pickled, which frit does not read; export plain tensors";
      return false;
    }
    pathOfName[name.str()] = folder + path->str();
    if (llvm::StringRef(folder).ends_with("/constants/")) {
      constants.insert(name.str());
    }
  }
  return true;
}

/// Describes a zip without models/*.json, judging by its entries.
static std::string describeOther(llvm::ArrayRef<std::string> names) {
  auto any = [&](llvm::StringRef part) {
    return llvm::any_of(names, [&](llvm::StringRef name) {
      return ("/" + name).str().find(part) != std::string::npos;
    });
  };
  if (any("/serialized_exported_program.json")) {
    return "holds an exported program in the layout of torch before 2.8; write it again: "
           "torch.export.save(torch.export.load(OLD), NEW) with torch 2.11 to 2.13";
  }
  if (any("/data/aotinductor/")) {
    return "is a package of AOTInductor: compiled code without the program it was made from; write "
           "the program with torch.export.save";
  }
  if (any("/data.pkl")) {
    return "is a file of torch.save or torch.jit.save, which frit does not read; write the program "
           "with torch.export.save";
  }
  return "holds no exported model (models/*.json): torch.export.save did not write it, or failed";
}

/// The requested model, or the only one; empty and `error` set if there is none.
static std::string chooseModel(const std::vector<std::string> &models, const std::string &wanted,
                               std::string &error) {
  constexpr size_t kMostListed = 8;
  bool found = wanted.empty() ? models.size() == 1 : llvm::is_contained(models, wanted);
  if (!found) {
    llvm::ArrayRef<std::string> listed = llvm::ArrayRef(models).take_front(kMostListed);
    error = (wanted.empty() ? "" : "has no model " + quoted(wanted) + "; it ") +
            "holds the models " + llvm::join(llvm::map_range(listed, quoted), ", ") +
            (models.size() > listed.size()
                 ? " and " + std::to_string(models.size() - listed.size()) + " more"
                 : "") +
            "; name one with --model=NAME";
  }
  return found ? (wanted.empty() ? models.front() : wanted) : "";
}

std::optional<Archive> Archive::open(const std::string &path, const std::string &wanted,
                                     std::string &error) {
  unzFile zip = unzOpen64(path.c_str());
  if (!zip) {
    error = "cannot be opened as a zip archive; torch.export.save writes one";
    return std::nullopt;
  }
  auto close = llvm::scope_exit([&] { unzClose(zip); });
  std::vector<std::string> names;
  for (int at = unzGoToFirstFile(zip); at == UNZ_OK; at = unzGoToNextFile(zip)) {
    char name[4096];
    if (names.size() == kMaxEntries || unzGetCurrentFileInfo64(zip, nullptr, name, sizeof(name),
                                                               nullptr, 0, nullptr, 0) != UNZ_OK) {
      error = "has a damaged directory or more than 65536 entries";
      return std::nullopt;
    }
    name[sizeof(name) - 1] = '\0';
    names.push_back(name);
  }
  // All entries are in one folder with an arbitrary name.
  std::string root = names.empty() ? "" : names.front().substr(0, names.front().find('/') + 1);
  std::vector<std::string> models;
  for (const std::string &name : names) {
    llvm::StringRef inside = llvm::StringRef(name).substr(root.size());
    if (name.starts_with(root) && inside.consume_front("models/") && inside.consume_back(".json") &&
        !inside.empty()) {
      models.push_back(inside.str());
    }
  }
  if (models.empty()) {
    error = describeOther(names);
    return std::nullopt;
  }
  llvm::sort(models);
  std::string model = chooseModel(models, wanted, error);
  Archive archive;
  if (model.empty() ||
      !readEntry(zip, root + "models/" + model + ".json", kMaxModelBytes, archive.json, error)) {
    return std::nullopt;
  }
  for (const char *kind : {"weights", "constants"}) {
    std::string folder = root + "data/" + kind + "/";
    std::string config = folder + model + "_" + kind + "_config.json";
    if (unzLocateFile(zip, config.c_str(), 1) != UNZ_OK) {
      continue;
    }
    std::string text;
    if (!readEntry(zip, config, kMaxModelBytes, text, error) ||
        !archive.readConfig(text, folder, error)) {
      return std::nullopt;
    }
  }
  uint64_t total = 0;
  for (const auto &[name, entry] : archive.pathOfName) {
    if (archive.storages.contains(entry)) {
      continue;
    }
    if (!readEntry(zip, entry, kMaxStorageBytes - total, archive.storages[entry], error)) {
      return std::nullopt;
    }
    total += archive.storages[entry].size();
  }
  return archive;
}

uint64_t Archive::bytes(uint64_t alignment) const {
  uint64_t sum = 0;
  for (const auto &[path, storage] : storages) {
    sum += llvm::alignTo(storage.size(), alignment);
  }
  return sum;
}

const std::string *Archive::storage(const std::string &name) const {
  auto path = pathOfName.find(name);
  if (path == pathOfName.end()) {
    return nullptr;
  }
  return &storages.at(path->second);
}

} // namespace frit
