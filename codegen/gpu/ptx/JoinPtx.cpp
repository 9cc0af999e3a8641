// Joins the PTX texts of a graph's kernels. Kernels are compiled one by one, so that known ones can
// be reused, but a file holds one text. Names inside of a function (registers, labels, its stack)
// are local to it, and whatever else a module defines is named after its kernel (PtxEmitter.cpp).
// So only declarations can clash: each kernel with dynamic shared memory declares it.

#include "codegen/gpu/ptx/JoinPtx.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <tuple>

using namespace llvm;

namespace {
struct Version {
  unsigned major = 0, minor = 0;
  bool operator<(const Version &other) const {
    return std::tie(major, minor) < std::tie(other.major, other.minor);
  }
};

/// The parts of a PTX text.
struct Parts {
  StringRef comment;
  Version version;
  /// From after the version up to and including the address size.
  StringRef target;
  SmallVector<StringRef> declarations;
  SmallVector<StringRef> definitions;
};
} // namespace

/// The end of the line that starts with `word`; npos if there is none.
static size_t findEndOfLine(StringRef text, StringRef word, size_t from) {
  size_t at = text.find(word, from);
  return at == StringRef::npos ? at : text.find('\n', at);
}

static bool takeApart(StringRef text, Parts &parts) {
  constexpr StringRef versionWord = "\n.version ";
  size_t start = text.find(versionWord), end = findEndOfLine(text, versionWord.drop_front(), 0);
  size_t body = findEndOfLine(text, "\n.address_size ", 0);
  body = body == StringRef::npos ? body : findEndOfLine(text, ".address_size ", 0);
  if (start == StringRef::npos || end == StringRef::npos || body == StringRef::npos || body < end) {
    return false;
  }
  parts.comment = text.take_front(start + 1);
  auto [major, minor] = text.slice(start + versionWord.size(), end).split('.');
  parts.target = text.slice(end + 1, body);
  if (major.getAsInteger(10, parts.version.major) || minor.getAsInteger(10, parts.version.minor)) {
    return false;
  }
  // The bodies of functions are indented, so a line that begins with the word belongs to the
  // module.
  StringRef rest = text.drop_front(body + 1);
  while (true) {
    size_t at = rest.starts_with(".extern ") ? 0 : rest.find("\n.extern ");
    if (at == StringRef::npos) {
      parts.definitions.push_back(rest);
      return true;
    }
    at += rest[at] == '\n';
    size_t last = rest.find(';', at);
    if (last == StringRef::npos) {
      return false;
    }
    parts.definitions.push_back(rest.take_front(at));
    parts.declarations.push_back(rest.slice(at, last + 1));
    rest = rest.drop_front(last + 1);
    rest.consume_front("\n");
  }
}

/// The name in `.extern .shared .align 16 .b8 NAME[];`; empty for other declarations.
static StringRef getSharedName(StringRef declaration) {
  return declaration.starts_with(".extern .shared ")
             ? declaration.take_until([](char c) { return c == '['; }).rsplit(' ').second
             : "";
}

std::string mlir::frit::joinPtx(ArrayRef<StringRef> texts, std::string &joined) {
  joined.clear();
  SmallVector<Parts> modules;
  Version version;
  SmallVector<StringRef> declarations;
  StringMap<StringRef> declared;
  for (StringRef text : texts) {
    Parts &parts = modules.emplace_back();
    if (!takeApart(text, parts)) {
      return "PTX does not begin with .version, .target and .address_size, or has a declaration "
             "without an end";
    }
    if (parts.target != modules.front().target) {
      return ("PTX for different targets: " + parts.target + " and " + modules.front().target)
          .str();
    }
    version = std::max(version, parts.version);
    for (StringRef one : parts.declarations) {
      StringRef name = getSharedName(one);
      if (name.empty()) {
        return ("PTX needs what nothing defines: " + one).str();
      }
      auto [known, isNew] = declared.try_emplace(name, one);
      if (isNew) {
        declarations.push_back(one);
      } else if (known->second != one) {
        return ("PTX declares '" + name + "' in two ways: " + known->second + " " + one).str();
      }
    }
  }
  if (modules.empty()) {
    return "";
  }
  joined += modules.front().comment;
  joined +=
      ".version " + std::to_string(version.major) + "." + std::to_string(version.minor) + "\n";
  joined += modules.front().target;
  joined += "\n";
  for (StringRef one : declarations) {
    joined += one;
    joined += "\n";
  }
  for (const Parts &parts : modules) {
    if (modules.size() != 1) {
      joined += mlir::frit::kPtxKernelMark;
    }
    for (StringRef one : parts.definitions) {
      joined += one;
    }
  }
  return "";
}
