// The table is text, a line for each operator, that is parsed on demand: an operator that is not
// looked up costs no more than an entry of the index.
#include "ir/AtenSchemas.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir::frit;
using llvm::StringRef;

static constexpr char tableText[] =
#include "ir/AtenSchemas.def"
    ;

/// Where the line of each operator is, by name.
static llvm::StringMap<StringRef> indexLines() {
  llvm::StringMap<StringRef> lines;
  for (StringRef rest(tableText, sizeof(tableText) - 1); !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    auto [name, schema] = line.split(' ');
    lines.try_emplace(name, schema);
  }
  return lines;
}

/// The line of an operator after its name, or an empty string.
static StringRef findLine(StringRef name) {
  static const llvm::StringMap<StringRef> lines = indexLines();
  return lines.lookup(name);
}

static AtenEffects parseEffects(StringRef flags) {
  AtenEffects effects;
  effects.random = flags.contains('r');
  effects.ordered = flags.contains('o');
  effects.mutates = flags.contains('m');
  effects.view = flags.contains('v');
  return effects;
}

AtenEffects AtenSchema::lookupEffects(StringRef name) {
  StringRef line = findLine(name);
  if (line.empty()) {
    AtenEffects unknown;
    unknown.ordered = true;
    return unknown;
  }
  return parseEffects(line.take_until([](char c) { return c == ' '; }));
}

/// Removes the text up to the next comma outside of brackets and quotes, and returns it.
static StringRef takeItem(StringRef &text) {
  int depth = 0;
  char quote = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    char c = text[end];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      if (depth-- == 0) {
        break;
      }
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  StringRef item = text.take_front(end).trim();
  text = text.drop_front(end);
  text.consume_front(",");
  return item;
}

/// `Tensor(a! -> *)[]? name=default`; returns lack the name.
static AtenArgument parseItem(StringRef text) {
  AtenArgument result;
  size_t typeEnd = 0;
  int depth = 0;
  for (; typeEnd < text.size() && (depth > 0 || text[typeEnd] != ' '); ++typeEnd) {
    depth += text[typeEnd] == '(' ? 1 : text[typeEnd] == ')' ? -1 : 0;
  }
  StringRef type = text.take_front(typeEnd), rest = text.drop_front(typeEnd).trim();
  if (size_t open = type.find('('); open != StringRef::npos) {
    size_t close = type.find(')', open);
    result.alias = type.slice(open + 1, close).take_while([](char c) {
      return llvm::StringRef("abcdefghijklmnopqrstuvwxyz0123456789").contains(c);
    });
    result.isWrite = type.slice(open, close).contains('!');
    // The annotation is at the end, except in `Tensor(a)[]` and `Tensor(a)?`, whose base is
    // Tensor.
    StringRef tail = type.drop_front(close + 1);
    type = tail.empty() ? type.take_front(open) : tail == "?" ? "Tensor?" : "Tensor[]";
  }
  result.type = type;
  auto [name, defaultValue] = rest.split('=');
  result.name = name;
  if (rest.contains('=')) {
    result.defaultValue = defaultValue;
  }
  return result;
}

std::optional<AtenSchema> AtenSchema::lookup(StringRef name) {
  StringRef line = findLine(name);
  if (line.empty()) {
    return std::nullopt;
  }
  AtenSchema schema;
  auto [flags, text] = line.split(' ');
  schema.effects = parseEffects(flags);
  text.consume_front("(");
  bool keywordOnly = false;
  while (!text.starts_with(")")) {
    StringRef item = takeItem(text);
    if (item == "*") {
      keywordOnly = true;
    } else {
      AtenArgument argument = parseItem(item);
      argument.keywordOnly = keywordOnly;
      schema.arguments.push_back(argument);
    }
    text = text.ltrim();
  }
  text.consume_front(") -> ");
  bool several = text.consume_front("(");
  while (!text.empty() && !text.starts_with(")")) {
    schema.returns.push_back(parseItem(takeItem(text)));
    text = text.ltrim();
    if (!several) {
      break;
    }
  }
  return schema;
}
