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

/// Whether a file is one of torch's own, by the rule of python/frit/capture/sources.py.
static bool isOfTorch(StringRef file) {
  return file.contains("/site-packages/torch/") || file.contains("/dist-packages/torch/");
}

/// The innermost frame of a Python traceback outside of torch's modules, in the same form.
static Location parseStackTrace(MLIRContext *context, StringRef trace) {
  StringRef start = "File \"";
  size_t innermost = trace.rfind(start), at = innermost;
  if (innermost == StringRef::npos) {
    return UnknownLoc::get(context);
  }
  while (at != StringRef::npos && isOfTorch(trace.substr(at + start.size()).split('"').first)) {
    at = trace.take_front(at).rfind(start);
  }
  if (at == StringRef::npos) {
    at = innermost;
  }
  auto [file, rest] = trace.drop_front(at + start.size()).split('"');
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
