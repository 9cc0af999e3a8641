#include "runtime/artifact/GpuCode.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace frit {

namespace {

Status unusable(const std::string &what) {
  return Status::error(ErrorKind::BadArtifact,
                       "not a usable .frit artifact: " + what + "; compile it again");
}

/// Splits PTX into words and single characters; skips comments and the bodies of functions.
class PtxWords {
public:
  explicit PtxWords(std::string_view text) : text(text) {}

  /// The next word; empty at the end.
  std::string_view next() {
    skipBlanks();
    size_t start = at;
    while (at < text.size() && isOfWord(text[at])) {
      ++at;
    }
    at += at == start && at < text.size();
    return text.substr(start, at - start);
  }

  /// Skips past the brace that matches the one just read.
  void skipBody() {
    for (size_t depth = 1; depth != 0;) {
      skipBlanks();
      if (at == text.size()) {
        return;
      }
      char sign = text[at++];
      depth += sign == '{';
      depth -= sign == '}';
    }
  }

private:
  std::string_view text;
  size_t at = 0;

  static bool isOfWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '$' || c == '%';
  }
  void skipBlanks() {
    while (at < text.size()) {
      if (text.compare(at, 2, "//") == 0) {
        at = std::min(text.find('\n', at), text.size());
      } else if (text.compare(at, 2, "/*") == 0) {
        size_t end = text.find("*/", at + 2);
        at = end == std::string_view::npos ? text.size() : end + 2;
      } else if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
        ++at;
      } else {
        return;
      }
    }
  }
};

uint64_t readNumber(std::string_view word) {
  uint64_t number = 0;
  for (char digit : word) {
    number = digit >= '0' && digit <= '9' && number < (1u << 20)
                 ? number * 10 + static_cast<uint64_t>(digit - '0')
                 : 1u << 20;
  }
  return number;
}

/// Reads `4, 2, 1`; returns the word after it. Anything but a number, and numbers beyond the
/// limits of devices, become a large number.
std::string_view readProduct(PtxWords &words, uint64_t &product) {
  product = 1;
  std::string_view word;
  do {
    product = std::min<uint64_t>(product * readNumber(words.next()), 1u << 20);
    word = words.next();
  } while (word == ",");
  return word;
}

/// Reads `.param .align 8 .b8 name[bytes]`, starting after `.align`.
Status readTable(PtxWords &words, GpuEntry &entry, const std::string &place) {
  bool isTable = readNumber(words.next()) == 8 && words.next() == ".b8" && !words.next().empty() &&
                 words.next() == "[";
  uint64_t bytes = isTable ? readNumber(words.next()) : 0;
  if (bytes == 0 || bytes % 8 != 0 || words.next() != "]") {
    return unusable(place + "takes a parameter that is no table of numbers of 8 bytes");
  }
  entry.parameters += 't';
  entry.tableBytes += bytes;
  return Status::ok();
}

/// Reads from after `.entry` to the opening brace of the body.
Status readEntry(PtxWords &words, GpuEntry &entry) {
  entry.name = words.next();
  std::string place = "the PTX of entry '" + std::string(entry.name.substr(0, 200)) + "' ";
  std::string_view word = words.next();
  if (word == "(") {
    while ((word = words.next()) != ")") {
      if (word == ".param") {
        word = words.next();
        if (word == ".align") {
          FRIT_RETURN_IF_ERROR(readTable(words, entry, place));
          continue;
        }
        bool isFloat = word == ".f64";
        if (!isFloat && word != ".u64" && word != ".s64" && word != ".b64") {
          return unusable(place + "takes a parameter that is no number of 8 bytes");
        }
        entry.parameters += isFloat ? 'f' : 'i';
      } else if (word.empty() || word == "[") {
        return unusable(place + "has a list of parameters that does not end or holds an array");
      }
    }
    word = words.next();
  }
  while (word != "{") {
    if (word.empty() || word == ";" || word == "}") {
      return unusable(place + "has no body");
    }
    if (word == ".maxntid" || word == ".reqntid") {
      word = readProduct(words, entry.threads);
      continue;
    }
    if (word == ".reqnctapercluster") {
      word = readProduct(words, entry.cluster);
      continue;
    }
    word = words.next();
  }
  words.skipBody();
  return Status::ok();
}

} // namespace

Result<std::vector<GpuEntry>> readPtx(std::string_view text, uint32_t arch) {
  // The text may end in the zero that the driver needs.
  while (!text.empty() && text.back() == '\0') {
    text.remove_suffix(1);
  }
  if (text.find('\0') != std::string_view::npos) {
    return unusable("its PTX holds a zero byte");
  }
  PtxWords words(text);
  if (words.next() != ".version") {
    return unusable("its PTX does not begin with .version");
  }
  std::vector<GpuEntry> entries;
  bool isForArch = false;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".target") {
      isForArch |= words.next() == "sm_" + std::to_string(arch);
    } else if (word == ".entry") {
      FRIT_RETURN_IF_ERROR(readEntry(words, entries.emplace_back()));
    } else if (word == "{") {
      words.skipBody();
    }
  }
  if (!isForArch) {
    return unusable("its PTX is not for sm_" + std::to_string(arch));
  }
  return entries;
}

std::vector<PtxPart> splitPtx(std::string_view text, size_t most) {
  std::vector<std::string_view> kernels;
  size_t head = std::min(text.find(kPtxKernelMark), text.size());
  for (size_t at = head; at < text.size();) {
    size_t next = std::min(text.find(kPtxKernelMark, at + 1), text.size());
    kernels.push_back(text.substr(at, next - at));
    at = next;
  }
  std::vector<PtxPart> parts;
  if (most < 2 || kernels.size() < 2) {
    parts.push_back({std::string(text), {}});
  } else {
    // Assigns kernels to parts, the longest first, each to the part that is shortest so far: the
    // time for a part grows with its length.
    std::vector<size_t> order(kernels.size()), partOf(kernels.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(kernels[b].size(), a) < std::pair(kernels[a].size(), b);
    });
    std::vector<size_t> lengths(std::min(most, kernels.size()), 0);
    for (size_t kernel : order) {
      partOf[kernel] =
          static_cast<size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
      lengths[partOf[kernel]] += kernels[kernel].size();
    }
    constexpr size_t kUnknown = SIZE_MAX;
    std::vector<size_t> numbers(lengths.size(), kUnknown);
    for (size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      size_t &number = numbers[partOf[kernel]];
      if (number == kUnknown) {
        number = parts.size();
        parts.push_back({std::string(text.substr(0, head)), {}});
      }
      parts[number].text += kernels[kernel];
    }
  }
  for (PtxPart &part : parts) {
    PtxWords words(part.text);
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (word == ".entry") {
        part.entries.emplace_back(words.next());
      } else if (word == "{") {
        words.skipBody();
      }
    }
  }
  return parts;
}

std::string listed(const std::vector<std::string> &entries) {
  std::string text;
  for (const std::string &entry : entries) {
    text += (text.empty() ? "" : ", ") + entry;
  }
  return text;
}

} // namespace frit
