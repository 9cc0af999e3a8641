#include "tests/fuzz/CompilerTargets.h"

#include "compiler/Archive.h"
#include "compiler/Compiler.h"
#include "import/Importer.h"
#include "import/SympyText.h"
#include "ir/FritDialect.h"
#include "ir/SizeExpr.h"
#include "passes/BucketPolicy.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace frit {

using namespace mlir;
using namespace mlir::frit;

namespace {

void require(bool holds, const char *what) {
  if (!holds) {
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
  }
}

/// Attributes are never freed, so a context serves for a while only.
MLIRContext &contextOf() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 1024 == 0) {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    context->loadDialect<FritDialect>();
  }
  return *context;
}

} // namespace

void fuzzSizes(std::string_view text) {
  MLIRContext &context = contextOf();
  std::string error;
  SizeExpr size = SizeExpr::parse(&context, StringRef(text), error);
  require(static_cast<bool>(size) != !error.empty(), "a size or a reason");
  if (size) {
    std::string again, written = size.str();
    bool same = SizeExpr::parse(&context, written, again) == size;
    require(same,
            ("a size is read as it is written: " + written.substr(0, 200) + " " + again).c_str());
    SizeFacts facts(&context);
    facts.setRange("s0", 0, 1024, 2);
    (void)facts.simplify(size);
    (void)facts.lowerBound(size);
    (void)facts.upperBound(size);
  }
  bool malformed = false;
  std::string reason;
  SizeExpr sympy =
      parseSympyText(&context, StringRef(text), SizeFacts(&context), reason, malformed);
  require(static_cast<bool>(sympy) != !reason.empty(), "a sympy size or a reason");
}

void fuzzProgramJson(std::string_view text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  unsigned diagnostics = 0;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    ++diagnostics;
    require(diagnostic.str().size() < 8192, "a diagnostic is bounded");
    return success();
  });
  OwningOpRef<ModuleOp> module = importExportedProgram(&context, StringRef(text));
  require(diagnostics == (module ? 0u : 1u), "a module or one diagnostic");
}

void fuzzOptions(std::string_view text) {
  CompileOptions options;
  if (readOptions(text, options).empty()) {
    (void)checkOptions(options);
  }
  std::vector<BucketRequest> requests;
  (void)readHistogram(StringRef(text), 8, requests);
}

void fuzzArchive(std::string_view bytes) {
  int file = memfd_create("archive", MFD_CLOEXEC);
  require(file >= 0 && write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size()),
          "memory for a file");
  std::string error;
  std::optional<Archive> archive =
      Archive::open("/proc/self/fd/" + std::to_string(file), "", error);
  close(file);
  require(archive.has_value() == error.empty(), "an archive or a reason");
  require(error.size() < 8192 && error.find('\n') == std::string::npos,
          "a reason is one bounded line");
  if (archive) {
    fuzzProgramJson(archive->model());
  }
}

} // namespace frit
