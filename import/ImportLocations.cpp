// The location of a node: the user's source line.
#include "import/GraphImporter.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

/// `file.py:12 in fn: code` as frit's capture writes it.
static Location parseSource(MLIRContext *context, StringRef source) {
  auto [file, rest] = source.split(':');
  unsigned line = 0;
  rest.consumeInteger(10, line);
  return NameLoc::get(StringAttr::get(context, source),
                      FileLineColLoc::get(context, file, line, 0));
}

/// The innermost frame of a Python traceback, in the same form.
static Location parseStackTrace(MLIRContext *context, StringRef trace) {
  size_t at = trace.rfind("File \"");
  if (at == StringRef::npos) {
    return UnknownLoc::get(context);
  }
  auto [file, rest] = trace.drop_front(at + 6).split('"');
  unsigned line = 0;
  rest.consume_front(", line ");
  rest.consumeInteger(10, line);
  rest.consume_front(", in ");
  auto [function, code] = rest.split('\n');
  file = file.substr(file.rfind('/') + 1); // npos + 1 == 0
  std::string text = (file + ":" + Twine(line) + " in " + function.trim()).str();
  if (StringRef shown = code.split('\n').first.trim(); !shown.empty()) {
    text += (": " + shown).str();
  }
  return NameLoc::get(StringAttr::get(context, text), FileLineColLoc::get(context, file, line, 0));
}

Location GraphImporter::here() {
  if (!current) {
    return builder.getUnknownLoc();
  }
  if (!current->source.empty()) {
    return parseSource(context, current->source);
  }
  if (!current->stackTrace.empty()) {
    return parseStackTrace(context, current->stackTrace);
  }
  return current->name.empty() ? Location(builder.getUnknownLoc())
                               : NameLoc::get(builder.getStringAttr(current->name));
}
