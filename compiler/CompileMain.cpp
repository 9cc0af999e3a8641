// The command line of frit-compile. Flags are few and hand-read: LLVM's option parser would show two hundred of LLVM's own.

#include "compiler/Compiler.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {

static constexpr const char *kUsage =
    R"(usage: frit-compile INPUT -o OUTPUT.frit [options]

INPUT is a .pt2 archive (torch.export.save), the JSON inside of one, or IR (.mlir).

  -o FILE                 where the artifact goes ('-': standard output)
  --target=T              cpu, simt, sm_80, sm_90 or sm_100; repeat for several (default cpu)
  --cpu=LEVEL             host, x86-64-v3 or x86-64-v4 (default host)
  --numerics=MODE         default or eager
  --fallback=aten|error   what becomes of operators without a kernel
  --no-fusion             one kernel an operator
  --emit=imported|outlined  print this stage instead of an artifact
  --report                print the report as JSON
)";

namespace {
struct CommandLine {
  std::string input, output;
  CompileOptions options;
  bool report = false, help = false;
};
} // namespace

static std::string readFlags(int argc, char **argv, CommandLine &line) {
  std::vector<std::string> targets;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    auto [flag, value] = word.split('=');
    if (word == "-h" || word == "--help") {
      line.help = true;
    } else if (word == "-o") {
      if (++i == argc) {
        return "-o needs a file name";
      }
      line.output = argv[i];
    } else if (flag == "--target") {
      targets.push_back(value.str());
    } else if (flag == "--cpu") {
      line.options.cpu = value.str();
    } else if (flag == "--numerics") {
      line.options.numerics = value.str();
    } else if (flag == "--fallback") {
      line.options.fallback = value.str();
    } else if (word == "--no-fusion") {
      line.options.fusion = false;
    } else if (flag == "--emit") {
      line.options.stopAfter = value.str();
    } else if (word == "--report") {
      line.report = true;
    } else if (word.starts_with("-") && word != "-") {
      return "unknown flag '" + word.str() + "'; --help lists them";
    } else if (!line.input.empty()) {
      return "one input at a time; got '" + line.input + "' and '" + word.str() + "'";
    } else {
      line.input = word.str();
    }
  }
  if (line.help) {
    return "";
  }
  if (!targets.empty()) {
    line.options.targets = targets;
  }
  if (line.input.empty() || (line.output.empty() && line.options.stopAfter.empty())) {
    return line.input.empty() ? "no input; --help shows the usage" : "no output; name it with -o";
  }
  return checkOptions(line.options);
}

/// All or nothing: the bytes go to a temporary beside the output, which is then renamed.
static std::string store(const std::string &path, llvm::StringRef bytes) {
  if (path == "-") {
    llvm::outs() << bytes;
    return "";
  }
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    stream << bytes;
    return llvm::Error::success();
  });
  return error ? path + ": " + llvm::toString(std::move(error)) : "";
}

static CompileResult compileFile(const CommandLine &line, std::string &error) {
  llvm::StringRef input = line.input;
  if (!input.ends_with(".json") && !input.ends_with(".mlir") && input != "-") {
    return compileArchive(line.input, line.options);
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(line.input);
  if (!buffer) {
    error = line.input + ": " + buffer.getError().message();
    return {};
  }
  llvm::StringRef text = (*buffer)->getBuffer();
  return input.ends_with(".json") ? compile(text, line.options) : compileIr(text, line.options);
}

int compileMain(int argc, char **argv) {
  CommandLine line;
  std::string error = readFlags(argc, argv, line);
  if (line.help) {
    llvm::outs() << kUsage;
    return 0;
  }
  if (error.empty()) {
    CompileResult result = compileFile(line, error);
    if (error.empty()) {
      error = result.errorText();
    }
    if (error.empty()) {
      llvm::outs() << result.ir;
      error = line.options.stopAfter.empty() ? store(line.output, result.artifact) : "";
    }
    if (error.empty() && line.report) {
      llvm::outs() << result.report << "\n";
    }
  }
  if (!error.empty()) {
    llvm::errs() << "frit-compile: " << error << "\n";
  }
  return error.empty() ? 0 : 1;
}

} // namespace frit
