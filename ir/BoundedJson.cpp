// Bounds the nesting of JSON before LLVM's recursive parser sees it.
#include "ir/BoundedJson.h"

namespace mlir::frit {

static constexpr unsigned kMaxDepth = 64;

static bool isNestedTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (inString) {
      at += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) {
        return true;
      }
    } else if (c == ']' || c == '}') {
      depth -= depth != 0;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> parseBoundedJson(llvm::StringRef text) {
  if (isNestedTooDeep(text)) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "nested deeper than %u levels",
                                   kMaxDepth);
  }
  return llvm::json::parse(text);
}

} // namespace mlir::frit
