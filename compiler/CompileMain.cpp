// The command line of frit-compile. Flags are few and hand-read: LLVM's option parser would show two hundred of LLVM's own.

#include "compiler/Compiler.h"

#include "passes/BucketPolicy.h"

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
  --buckets=KEY=LIST      sizes that a dimension rounds up to: --buckets='x[0]=8,16,32', 'x[0]=ramp' or 'x[0]=off'; repeat for several
  --bucket-policy=P       what other sizes that vary get: auto (the ramp where it gains), ramp or off
  --sizes=FILE.json       lists computed from sizes that were counted: {"x[0]": {"17": 120, "64": 3}}
  --bucket-count=K        entries of each computed list (default 8)
  --emit=imported|outlined  print this stage instead of an artifact
  --report                print the report as JSON
)";

namespace {
struct CommandLine {
  std::string input, output;
  CompileOptions options;
  /// A file of counted sizes, and how many buckets to make of them.
  std::string sizes;
  unsigned bucketCount = 8;
  bool report = false, help = false;
};
} // namespace

/// Counted sizes become lists among those given by hand.
static std::string readSizes(CommandLine &line) {
  if (line.sizes.empty()) {
    return "";
  }
  auto buffer = llvm::MemoryBuffer::getFile(line.sizes);
  if (!buffer) {
    return line.sizes + ": " + buffer.getError().message();
  }
  std::vector<mlir::frit::BucketRequest> requests;
  if (std::string wrong = mlir::frit::readHistogram((*buffer)->getBuffer(), line.bucketCount, requests); !wrong.empty()) {
    return line.sizes + ": " + wrong;
  }
  line.options.buckets += (line.options.buckets.empty() ? "" : ";") + mlir::frit::writeBuckets(requests);
  return "";
}

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
    } else if (flag == "--buckets") {
      line.options.buckets += (line.options.buckets.empty() ? "" : ";") + value.str();
    } else if (flag == "--bucket-policy") {
      line.options.bucketPolicy = value.str();
    } else if (flag == "--sizes") {
      line.sizes = value.str();
    } else if (flag == "--bucket-count") {
      if (value.getAsInteger(10, line.bucketCount) || line.bucketCount < 1 || line.bucketCount > mlir::frit::kMaxBuckets) {
        return "--bucket-count takes a number from 1 to " + std::to_string(mlir::frit::kMaxBuckets) + ", got '" + value.str() + "'";
      }
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
  if (line.options.bucketPolicy == "specialize") {
    return "bucket policy 'specialize' compiles while a program runs, which a file cannot; use 'ramp'";
  }
  if (std::string wrong = readSizes(line); !wrong.empty()) {
    return wrong;
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
