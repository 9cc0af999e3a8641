#include "runtime/cuda/CubinStore.h"

#include "runtime/artifact/Artifact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>

namespace frit {

namespace {

/// As in disk_cache.py: the magic, the length and the digest of the description, the description,
/// the content.
constexpr std::string_view kEntryMagic = "frit-entry-3\n";
/// Where the description's "body" lies in the content.
constexpr size_t kBodyBegin = 40, kBodyEnd = 72;
/// The last use, which evictions go by, is written at most once a minute.
constexpr std::time_t kUseSeconds = 60;

Digest digestOf(std::string_view bytes) {
  return sha256({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

std::string hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (char byte : bytes) {
    text += digits[static_cast<uint8_t>(byte) >> 4];
    text += digits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

std::string hexDigest(std::string_view bytes) {
  Digest digest = digestOf(bytes);
  return hex({reinterpret_cast<const char *>(digest.data()), digest.size()});
}

template <typename T> void put(std::string &to, T number) {
  to.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

void putText(std::string &to, std::string_view text) {
  put(to, static_cast<uint64_t>(text.size()));
  to += text;
}

std::string contentOf(const std::vector<LinkedCubin> &cubins) {
  std::string content;
  put(content, static_cast<uint64_t>(cubins.size()));
  for (const LinkedCubin &cubin : cubins) {
    put(content, static_cast<uint64_t>(cubin.entries.size()));
    for (const std::string &entry : cubin.entries) {
      putText(content, entry);
    }
    putText(content, cubin.bytes);
  }
  return content;
}

/// Reads what contentOf has written, from bytes that are to be believed no more than their length.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}

  bool number(uint64_t &to) {
    if (rest.size() < sizeof(to)) {
      return false;
    }
    std::memcpy(&to, rest.data(), sizeof(to));
    rest.remove_prefix(sizeof(to));
    return true;
  }
  bool text(std::string &to) {
    uint64_t size;
    if (!number(size) || size > rest.size()) {
      return false;
    }
    to = rest.substr(0, size);
    rest.remove_prefix(size);
    return true;
  }
  bool isAtEnd() const { return rest.empty(); }

private:
  std::string_view rest;
};

std::optional<std::vector<LinkedCubin>> cubinsOf(std::string_view content) {
  std::vector<LinkedCubin> cubins;
  Reader reader(content);
  uint64_t count;
  if (!reader.number(count)) {
    return std::nullopt;
  }
  while (count-- > 0) {
    LinkedCubin &cubin = cubins.emplace_back();
    uint64_t entries;
    if (!reader.number(entries)) {
      return std::nullopt;
    }
    while (entries-- > 0) {
      if (!reader.text(cubin.entries.emplace_back())) {
        return std::nullopt;
      }
    }
    if (!reader.text(cubin.bytes)) {
      return std::nullopt;
    }
  }
  return reader.isAtEnd() && !cubins.empty() ? std::optional(std::move(cubins)) : std::nullopt;
}

/// All of an entry before its content. It follows from key and content, so an entry is good if it
/// begins like this.
std::string headOf(const std::string &key, std::string_view content) {
  std::string_view body = content.substr(std::min(kBodyBegin, content.size()));
  std::string described = "{\"artifact\": \"" + hexDigest(content) + "\", \"body\": \"" +
                          hex(body.substr(0, kBodyEnd - kBodyBegin)) +
                          "\", \"bytes\": " + std::to_string(content.size()) + ", \"key\": \"" +
                          key + "\", \"kind\": \"cubins\", \"source\": \"" + hexDigest("") + "\"}";
  std::string head(kEntryMagic);
  put(head, static_cast<uint32_t>(described.size()));
  Digest digest = digestOf(described);
  head.append(reinterpret_cast<const char *>(digest.data()), digest.size());
  return head + described;
}

bool isTrusted(const struct stat &status) {
  return (status.st_uid == ::geteuid() || status.st_uid == 0) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool isTrustedFolder(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && isTrusted(status);
}

struct File {
  explicit File(int number) : number(number) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (number >= 0) {
      ::close(number);
    }
  }
  int number;
};

/// The bytes of a trusted file; nullopt if it cannot be read or is not trusted.
std::optional<std::string> readTrusted(const std::string &path, uint64_t limit) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status;
  if (file.number < 0 || ::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode) ||
      !isTrusted(status) || static_cast<uint64_t>(status.st_size) > limit) {
    return std::nullopt;
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  for (size_t at = 0; at < bytes.size();) {
    ssize_t got = ::read(file.number, bytes.data() + at, bytes.size() - at);
    if (got <= 0) {
      return std::nullopt;
    }
    at += static_cast<size_t>(got);
  }
  if (std::time(nullptr) - status.st_mtime > kUseSeconds) {
    ::futimens(file.number, nullptr);
  }
  return bytes;
}

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

} // namespace

std::string CubinStore::keyOf(std::string_view ptx, uint32_t arch, std::string_view linker) {
  std::string text = "frit cubins 1";
  putText(text, linker);
  put(text, arch);
  text += ptx;
  return hexDigest(text);
}

std::optional<std::vector<LinkedCubin>> CubinStore::read(const std::string &key) const {
  if (!isTrustedFolder(root) || !isTrustedFolder(folderOf(key))) {
    return std::nullopt;
  }
  // An entry has its content and a head of less than a kilobyte.
  constexpr uint64_t kMostHead = 1024;
  std::optional<std::string> bytes = readTrusted(
      pathOf(key),
      limit > std::numeric_limits<uint64_t>::max() - kMostHead ? limit : limit + kMostHead);
  if (!bytes) {
    return std::nullopt;
  }
  constexpr size_t kFixed = kEntryMagic.size() + sizeof(uint32_t) + sizeof(Digest);
  uint32_t described = 0;
  if (bytes->size() >= kFixed) {
    std::memcpy(&described, bytes->data() + kEntryMagic.size(), sizeof(described));
  }
  std::optional<std::vector<LinkedCubin>> cubins;
  if (bytes->size() >= kFixed && described <= bytes->size() - kFixed) {
    std::string_view content = std::string_view(*bytes).substr(kFixed + described);
    std::string_view head = std::string_view(*bytes).substr(0, kFixed + described);
    cubins = head == headOf(key, content) ? cubinsOf(content) : std::nullopt;
  }
  if (!cubins) {
    drop(key);
  }
  return cubins;
}

bool CubinStore::write(const std::string &key, const std::vector<LinkedCubin> &cubins) const {
  std::string content = contentOf(cubins);
  if (content.size() > limit) {
    return false;
  }
  for (const std::string &folder : {root.substr(0, root.find_last_of('/')), root, folderOf(key)}) {
    ::mkdir(folder.c_str(), 0700);
  }
  if (!isTrustedFolder(root) || !isTrustedFolder(folderOf(key))) {
    return false;
  }
  static std::atomic<uint64_t> made{0};
  std::string aside = folderOf(key) + "/." + key.substr(0, 8) + "-" + std::to_string(::getpid()) +
                      "-" + std::to_string(made.fetch_add(1));
  bool isWritten = false;
  {
    File file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.number < 0) {
      return false;
    }
    isWritten = writeAll(file.number, headOf(key, content)) && writeAll(file.number, content);
  }
  if (!isWritten || std::rename(aside.c_str(), pathOf(key).c_str()) != 0) {
    ::unlink(aside.c_str());
    return false;
  }
  return true;
}

void CubinStore::drop(const std::string &key) const { ::unlink(pathOf(key).c_str()); }

} // namespace frit
