// Strict JSON: input that no conforming writer produces is an error.
#include "import/JsonReader.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <limits>

using namespace mlir::frit::exported;
using llvm::StringRef;
using llvm::Twine;

StringRef mlir::frit::exported::stringify(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Syntax:
    return "syntax";
  case ErrorKind::Schema:
    return "schema";
  case ErrorKind::Semantic:
    return "semantic";
  case ErrorKind::Limit:
    return "limit";
  case ErrorKind::Unsupported:
    return "unsupported";
  }
  return "";
}

bool JsonReader::fail(ErrorKind kind, const Twine &message) {
  if (!broken) {
    broken = true;
    error.kind = kind;
    error.message = message.str();
    size_t end = std::min(position, text.size());
    StringRef before = text.take_front(end);
    error.line = before.count('\n') + 1;
    error.column = end - (before.rfind('\n') + 1) + 1; // npos + 1 == 0
  }
  return false;
}

void JsonReader::space() {
  while (position < text.size() && StringRef(" \t\r\n").contains(text[position])) {
    ++position;
  }
}

/// A description of the text at `position`, for messages.
static std::string shown(StringRef text, size_t position) {
  if (position >= text.size()) {
    return "the end of the text";
  }
  char c = text[position];
  switch (c) {
  case '{':
    return "an object";
  case '[':
    return "a list";
  case '"':
    return "a string";
  case 't':
  case 'f':
    return "a boolean";
  case 'n':
    return "null";
  }
  if (c == '-' || llvm::isDigit(c)) {
    return "a number";
  }
  return llvm::isPrint(c) ? ("'" + Twine(c) + "'").str() : "a control or non-ASCII character";
}

bool JsonReader::expect(char c, StringRef what) {
  if (broken) {
    return false;
  }
  space();
  if (position >= text.size() || text[position] != c) {
    // A well-formed value of another kind is an error of the schema.
    bool kind = StringRef("{[\"").contains(c) && position < text.size() &&
                StringRef("{[\"tfn-0123456789").contains(text[position]);
    return fail(kind ? ErrorKind::Schema : ErrorKind::Syntax,
                "expected " + what + ", found " + shown(text, position));
  }
  ++position;
  return true;
}

bool JsonReader::object(llvm::function_ref<bool(StringRef)> field) {
  if (!expect('{', "an object")) {
    return false;
  }
  if (++depth > maxDepth) {
    return fail(ErrorKind::Limit, "values are nested deeper than " + Twine(maxDepth));
  }
  llvm::SmallSet<StringRef, 16> keys;
  space();
  bool first = true;
  while (position >= text.size() || text[position] != '}') {
    if (!first && !expect(',', "',' or '}'")) {
      return false;
    }
    first = false;
    space();
    StringRef key;
    if (position >= text.size() || text[position] != '"') {
      return fail(ErrorKind::Syntax, "expected a key, found " + shown(text, position));
    }
    if (!string(key) || !expect(':', "':'")) {
      return false;
    }
    if (!keys.insert(key).second) {
      return fail(ErrorKind::Schema, "key '" + key.take_front(80) + "' stands twice in one object");
    }
    if (!field(key) || broken) {
      return false;
    }
    space();
  }
  ++position;
  --depth;
  return true;
}

bool JsonReader::array(llvm::function_ref<bool()> item) {
  if (!expect('[', "a list")) {
    return false;
  }
  if (++depth > maxDepth) {
    return fail(ErrorKind::Limit, "values are nested deeper than " + Twine(maxDepth));
  }
  space();
  bool first = true;
  while (position >= text.size() || text[position] != ']') {
    if (!first && !expect(',', "',' or ']'")) {
      return false;
    }
    first = false;
    if (!item() || broken) {
      return false;
    }
    space();
  }
  ++position;
  --depth;
  return true;
}

bool JsonReader::unescape(StringRef raw, StringRef &value) {
  llvm::SmallString<128> out;
  auto unit = [&](size_t at, unsigned &code) {
    return at + 4 <= raw.size() && !raw.substr(at, 4).getAsInteger(16, code) &&
           llvm::all_of(raw.substr(at, 4), llvm::isHexDigit);
  };
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out.push_back(raw[i]);
      continue;
    }
    switch (raw[++i]) {
    case '"':
      out.push_back('"');
      break;
    case '\\':
      out.push_back('\\');
      break;
    case '/':
      out.push_back('/');
      break;
    case 'b':
      out.push_back('\b');
      break;
    case 'f':
      out.push_back('\f');
      break;
    case 'n':
      out.push_back('\n');
      break;
    case 'r':
      out.push_back('\r');
      break;
    case 't':
      out.push_back('\t');
      break;
    case 'u': {
      unsigned code, low;
      if (!unit(i + 1, code)) {
        return fail(ErrorKind::Syntax, "\\u needs four hexadecimal digits");
      }
      i += 4;
      if (code >= 0xD800 && code < 0xDC00 && raw.substr(i + 1).starts_with("\\u") &&
          unit(i + 3, low) && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
      if (code >= 0xD800 && code < 0xE000) {
        code = 0xFFFD; // a lone surrogate is not a character
      }
      char buffer[4], *end = buffer;
      llvm::ConvertCodePointToUTF8(code, end);
      out.append(buffer, end);
      break;
    }
    default:
      return fail(ErrorKind::Syntax, "unknown escape in a string");
    }
  }
  value = out.str().copy(storage);
  return true;
}

bool JsonReader::string(StringRef &value) {
  if (!expect('"', "a string")) {
    return false;
  }
  size_t begin = position;
  bool escapes = false, ascii = true;
  while (position < text.size() && text[position] != '"') {
    unsigned char c = text[position];
    if (c < 0x20) {
      return fail(ErrorKind::Syntax, "control character in a string");
    }
    ascii &= c < 0x80;
    if (c == '\\') {
      escapes = true;
      ++position;
    }
    ++position;
  }
  if (position >= text.size()) {
    position = text.size();
    return fail(ErrorKind::Syntax, "string without an end");
  }
  StringRef raw = text.slice(begin, position++);
  if (raw.size() > maxString) {
    return fail(ErrorKind::Limit, "string longer than 16 MiB");
  }
  if (!ascii && !llvm::json::isUTF8(raw)) {
    return fail(ErrorKind::Syntax, "string is not UTF-8");
  }
  if (!escapes) {
    value = raw;
    return true;
  }
  return unescape(raw, value);
}

StringRef JsonReader::number() {
  space();
  StringRef rest = text.drop_front(position);
  StringRef token =
      rest.take_while([](char c) { return llvm::isAlnum(c) || StringRef("+-.").contains(c); });
  StringRef digits = token;
  digits.consume_front("-");
  bool valid = !digits.empty() && llvm::isDigit(digits[0]) &&
               (digits[0] != '0' || digits.size() == 1 || !llvm::isDigit(digits[1]));
  return valid ? token : StringRef();
}

bool JsonReader::integer(int64_t &value) {
  if (broken) {
    return false;
  }
  StringRef token = number();
  if (token.empty()) {
    return fail(ErrorKind::Schema, "expected an integer, found " + shown(text, position));
  }
  if (token.getAsInteger(10, value)) {
    bool whole = llvm::all_of(token.drop_front(token.starts_with("-")), llvm::isDigit);
    return whole
               ? fail(ErrorKind::Limit, "integer " + token.take_front(40) + " does not fit 64 bits")
               : fail(ErrorKind::Schema, "expected an integer, found " + token.take_front(40));
  }
  position += token.size();
  return true;
}

bool JsonReader::real(double &value) {
  if (broken) {
    return false;
  }
  space();
  if (position < text.size() && text[position] == '"') {
    StringRef name;
    if (!string(name)) {
      return false;
    }
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (name == "Infinity" || name == "-Infinity") {
      value = name[0] == '-' ? -infinity : infinity;
    } else if (name == "NaN") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      return fail(ErrorKind::Schema,
                  "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", found \"" +
                      name.take_front(40) + "\"");
    }
    return true;
  }
  StringRef token = number();
  if (token.empty() || token.contains_insensitive("x") ||
      token.getAsDouble(value, /*AllowInexact=*/true) || !std::isfinite(value)) {
    return fail(ErrorKind::Schema,
                "expected a finite number, found " +
                    (token.empty() ? shown(text, position) : token.take_front(40).str()));
  }
  position += token.size();
  return true;
}

bool JsonReader::boolean(bool &value) {
  if (broken) {
    return false;
  }
  space();
  StringRef rest = text.drop_front(position);
  value = rest.starts_with("true");
  if (!value && !rest.starts_with("false")) {
    return fail(ErrorKind::Schema, "expected a boolean, found " + shown(text, position));
  }
  position += value ? 4 : 5;
  return true;
}

bool JsonReader::consumeNull() {
  if (broken) {
    return false;
  }
  space();
  if (!text.drop_front(position).starts_with("null")) {
    return false;
  }
  position += 4;
  return true;
}

bool JsonReader::skip() {
  // `open` holds the brackets that are still to be closed; nothing recurses.
  llvm::SmallString<64> open;
  do {
    space();
    if (position >= text.size()) {
      return fail(ErrorKind::Syntax, "the text ends inside a value");
    }
    char c = text[position];
    StringRef ignored;
    if (c == '{' || c == '[') {
      open.push_back(c == '{' ? '}' : ']');
      ++position;
      if (open.size() + depth > maxDepth) {
        return fail(ErrorKind::Limit, "values are nested deeper than " + Twine(maxDepth));
      }
      continue;
    }
    if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) {
        return fail(ErrorKind::Syntax, "unmatched '" + Twine(c) + "'");
      }
      open.pop_back();
      ++position;
      continue;
    }
    if (c == '"') {
      if (!string(ignored)) {
        return false;
      }
    } else if (!open.empty() && (c == ',' || c == ':')) {
      ++position;
    } else {
      StringRef rest = text.drop_front(position);
      StringRef token = number();
      double ignoredNumber;
      if (!token.empty() && !token.contains_insensitive("x") &&
          !token.getAsDouble(ignoredNumber, true)) {
        position += token.size();
      } else if (rest.starts_with("true") || rest.starts_with("null")) {
        position += 4;
      } else if (rest.starts_with("false")) {
        position += 5;
      } else {
        return fail(ErrorKind::Syntax, "expected a value, found " + shown(text, position));
      }
    }
  } while (!open.empty());
  return true;
}

bool JsonReader::atEnd() {
  space();
  return position == text.size() ||
         fail(ErrorKind::Syntax, "text after the end of the program: " + shown(text, position));
}
