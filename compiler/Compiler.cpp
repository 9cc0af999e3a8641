// The entry points of the compiler, each of which makes compilations (Compilation.h) until one
// succeeds (Retry.h). The diagnostics are collected in the result; nothing is printed.

#include "compiler/Compiler.h"

#include "compiler/Compilation.h"
#include "compiler/Registration.h"

namespace frit {
using namespace mlir;

/// The number of compiles after which a context is replaced, because it keeps every attribute it
/// ever made.
static constexpr unsigned kCompilesPerContext = 256;

static MLIRContext &threadContext() {
  thread_local std::unique_ptr<MLIRContext> context;
  thread_local unsigned compiles = 0;
  if (!context || ++compiles == kCompilesPerContext) {
    DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    // An error is a line for the user, so the IR is not printed with it.
    context->printOpOnDiagnostic(false);
    compiles = 0;
  }
  return *context;
}

CompileResult compile(std::string_view json, const CompileOptions &options) {
  return compileWithRetries(
      options, [&](const CompileOptions &asked, const Relaxation &relaxation) {
        return Compilation(threadContext(), asked, relaxation).fromJson(json, nullptr, "<json>");
      });
}

CompileResult compileIr(std::string_view text, const CompileOptions &options) {
  return Compilation(threadContext(), options, {}).fromIr(text).result;
}

CompileResult compileArchive(const std::string &path, const CompileOptions &options) {
  return compileWithRetries(
      options, [&](const CompileOptions &asked, const Relaxation &relaxation) -> Attempt {
        // Opened again for each try, since a compilation consumes the weights.
        std::string error;
        std::optional<Archive> archive = Archive::open(path, asked.model, error);
        if (!archive) {
          CompileResult result;
          result.diagnostics.push_back({DiagnosticKind::BadInput, path + " " + error, "", {}});
          return {std::move(result)};
        }
        return Compilation(threadContext(), asked, relaxation)
            .fromJson(archive->model(), &*archive, path);
      });
}

void forgetKernels() { mlir::frit::forgetKernels(); }

void CompileResult::addCalls(const std::string &name, unsigned count) {
  for (auto &[known, times] : calls) {
    if (known == name) {
      times += count;
      return;
    }
  }
  calls.emplace_back(name, count);
}

std::string CompileResult::callsText() const {
  std::string text;
  for (const auto &[name, count] : calls) {
    text += (text.empty() ? "" : ", ") + name +
            (count > 1 ? " " + std::to_string(count) + " times" : "");
  }
  return text;
}

std::string CompileResult::errorText() const {
  std::string text;
  for (const Diagnostic &one : diagnostics) {
    text += (text.empty() ? "" : "\n") + one.message +
            (one.source.empty() ? "" : " (" + one.source + ")");
    for (const std::string &note : one.notes) {
      text += "\n  " + note;
    }
  }
  return text;
}

} // namespace frit
