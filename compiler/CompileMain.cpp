// The command line of frit-compile. The few flags are parsed by hand: LLVM's option parser would
// list two hundred of LLVM's own.

#include "compiler/Compiler.h"
#include "compiler/Cubins.h"

#include "codegen/Codegen.h"
#include "passes/BucketPolicy.h"
#include "runtime/artifact/Artifact.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace frit {

static constexpr const char *kUsage =
    R"(usage: frit-compile INPUT -o OUTPUT.frit [options]

INPUT is a .pt2 archive (torch.export.save), the JSON inside of one, or IR (.mlir).

  -o FILE                 where the artifact goes ('-': standard output)
  --model=NAME            which model of an archive that holds several

what it runs on:
  --target=T              cpu, cpu:CPU, simt, sm_80, sm_90 or sm_100; repeat for several (default cpu). Of several CPUs a machine takes
                          the best it can run: --target=cpu:x86-64-v3 --target=cpu:x86-64-v4
  --cpu=CPU               what cpu alone stands for (default host). A CPU is host, x86-64-v3, x86-64-v4 or a name of LLVM's
                          (skylake-avx512), with features after it: x86-64-v3,+avx512f; features alone add to x86-64-v3: avx2,fma
  --fallback=aten|error   what becomes of operators without a kernel
  --require-standalone    an artifact that would need libtorch is an error, which lists what needs it

weights:
  --weights=embed         in the artifact (default)
  --weights=external      in a file of their own beside it, named by its digest; its folder is an argument of load
  --weights=none          parameters and buffers are given to load by name

how:
  --numerics=MODE         default, eager, or batch-invariant (for CPUs: a row's bits do not depend on the other rows)
  --ptx-only              leaves out the cubins for GPUs that ptxas makes ($FRIT_PTXAS, or the one in PATH or CUDA's folder)
  --random=auto|torch|philox  whose random numbers: eager's (torch) or those that kernels make (philox; auto where every target is a GPU)
  --no-fusion             one kernel an operator
  --buckets=KEY=LIST      sizes that a dimension rounds up to: --buckets='x[0]=8,16,32', 'x[0]=ramp' or 'x[0]=off'; repeat for several
  --bucket-policy=P       what other sizes that vary get: auto (the ramp where it gains), ramp or off
  --sizes=FILE.json       lists computed from sizes that were counted: {"x[0]": {"17": 120, "64": 3}}
  --bucket-count=K        entries of each computed list (default 8)

what it shows:
  --report[=FILE]         the report as JSON, on standard output or in a file;
                          `frit report INPUT` makes a page
  --dump=DIR              every stage in a folder inside of DIR, in numbered files: IR, kernel programs, LLVM IR, PTX, the plan;
                          FRIT_DUMP=DIR does the same
  --emit=imported|outlined  print this stage instead of an artifact
  --diagnostics-format=F  text, or json: each error and note is a line of JSON on standard error
  --list-targets          the values of --target, and what the host's CPU is
  --version

A value may also be the next word: --target cpu.

exit status: 0 success, 1 the input cannot be read or compiled, 2 a wrong command line, 70 a mistake of frit's own
)";

static constexpr const char *kHiddenUsage = "\nfor developers:\n  --crash-in=PHASE        crash in "
                                            "import, parse, passes, codegen or artifact\n";

namespace {
enum ExitStatus { kSuccess = 0, kFailed = 1, kWrongUsage = 2, kOwnMistake = 70 };

/// The exit status and the text for the user, and what the compiler reported, if it did.
struct Outcome {
  int status = kSuccess;
  std::string text;
  std::vector<Diagnostic> diagnostics;
};

struct CommandLine {
  std::string input, output;
  CompileOptions options;
  /// A file of counted sizes, and how many buckets to derive from them.
  std::string sizes;
  unsigned bucketCount = 8;
  std::string reportFile;
  bool report = false, help = false, hidden = false, version = false, cpuGiven = false;
  bool listsTargets = false, ptxOnly = false;
  std::string diagnosticsFormat = "text";
  std::vector<std::string> targets;
};
} // namespace

/// Adds bucket lists derived from counted sizes to those given by hand.
static std::string readSizes(CommandLine &line) {
  if (line.sizes.empty()) {
    return "";
  }
  auto buffer = llvm::MemoryBuffer::getFile(line.sizes);
  if (!buffer) {
    return line.sizes + ": " + buffer.getError().message();
  }
  std::vector<mlir::frit::BucketRequest> requests;
  if (std::string wrong =
          mlir::frit::readHistogram((*buffer)->getBuffer(), line.bucketCount, requests);
      !wrong.empty()) {
    return line.sizes + ": " + wrong;
  }
  line.options.buckets +=
      (line.options.buckets.empty() ? "" : ";") + mlir::frit::writeBuckets(requests);
  return "";
}

/// One line per value of --target.
static std::string listTargets() {
  return "cpu            this machine: " + mlir::frit::CpuTarget::host().text() + R"(
cpu:x86-64-v3  CPUs with AVX2 and FMA
cpu:x86-64-v4  CPUs with AVX-512
cpu:CPU        a name of LLVM's (cpu:skylake-avx512), with features after it: cpu:x86-64-v3,+avx512f
sm_80          NVIDIA GPUs since Ampere
sm_90          NVIDIA GPUs since Hopper
sm_100         NVIDIA GPUs since Blackwell
simt           the kernels of GPUs, emulated on the CPU with every access checked
)";
}

static std::string setFlag(CommandLine &line, llvm::StringRef flag, llvm::StringRef value) {
  CompileOptions &options = line.options;
  for (auto [name, field] :
       {std::pair("-o", &line.output), std::pair("--model", &options.model),
        std::pair("--numerics", &options.numerics), std::pair("--fallback", &options.fallback),
        std::pair("--random", &options.random), std::pair("--weights", &options.weights),
        std::pair("--bucket-policy", &options.bucketPolicy), std::pair("--sizes", &line.sizes),
        std::pair("--dump", &options.dumpFolder), std::pair("--emit", &options.stopAfter),
        std::pair("--diagnostics-format", &line.diagnosticsFormat),
        std::pair("--crash-in", &options.crashIn)}) {
    if (flag == name) {
      *field = value.str();
      return value.empty() ? flag.str() + " needs a value" : "";
    }
  }
  if (flag == "--cpu") {
    bool differs = line.cpuGiven && options.cpu != value;
    std::string both = "'" + options.cpu + "' and '" + value.str() + "'";
    line.cpuGiven = true;
    options.cpu = value.str();
    return differs ? "--cpu is one CPU, got " + both + "; name several by --target=cpu:CPU" : "";
  }
  if (flag == "--target") {
    line.targets.push_back(value.str());
    return value.contains(':') && !value.starts_with("cpu:")
               ? "only cpu has levels, got '" + value.str() + "'"
               : "";
  }
  if (flag == "--buckets") {
    options.buckets += (options.buckets.empty() ? "" : ";") + value.str();
    return "";
  }
  if (value.getAsInteger(10, line.bucketCount) || line.bucketCount < 1 ||
      line.bucketCount > mlir::frit::kMaxBuckets) {
    return "--bucket-count takes a number from 1 to " + std::to_string(mlir::frit::kMaxBuckets) +
           ", got '" + value.str() + "'";
  }
  return "";
}

static std::string readFlags(int argc, char **argv, CommandLine &line) {
  constexpr llvm::StringRef valued[] = {"-o",
                                        "--model",
                                        "--target",
                                        "--cpu",
                                        "--fallback",
                                        "--weights",
                                        "--numerics",
                                        "--buckets",
                                        "--bucket-policy",
                                        "--sizes",
                                        "--bucket-count",
                                        "--dump",
                                        "--emit",
                                        "--crash-in",
                                        "--random",
                                        "--diagnostics-format"};
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    auto [flag, value] = word.split('=');
    if (llvm::is_contained(valued, flag)) {
      if (flag.size() == word.size()) {
        if (++i == argc) {
          return flag == "-o" ? "-o needs a file name" : flag.str() + " needs a value";
        }
        value = argv[i];
      }
      if (std::string wrong = setFlag(line, flag, value); !wrong.empty()) {
        return wrong;
      }
    } else if (word == "-h" || word == "--help" || word == "--help-hidden") {
      line.help = true;
      line.hidden = word == "--help-hidden";
    } else if (word == "--version") {
      line.version = true;
    } else if (word == "--list-targets") {
      line.listsTargets = true;
    } else if (word == "--no-fusion") {
      line.options.fusion = false;
    } else if (word == "--ptx-only") {
      line.ptxOnly = true;
    } else if (word == "--require-standalone") {
      line.options.requireStandalone = true;
    } else if (flag == "--report") {
      line.report = true;
      line.reportFile = value.str();
    } else if (word.starts_with("-") && word != "-") {
      return "unknown flag '" + word.str() + "'; --help lists them";
    } else if (!line.input.empty()) {
      return "one input at a time; got '" + line.input + "' and '" + word.str() + "'";
    } else {
      line.input = word.str();
    }
  }
  if (line.diagnosticsFormat != "text" && line.diagnosticsFormat != "json") {
    return "--diagnostics-format is text or json, got '" + line.diagnosticsFormat + "'";
  }
  if (line.help || line.version || line.listsTargets) {
    return "";
  }
  if (!line.targets.empty()) {
    line.options.targets = line.targets;
  }
  if (line.cpuGiven && !llvm::is_contained(line.options.targets, "cpu") &&
      llvm::any_of(line.targets,
                   [](llvm::StringRef target) { return target.starts_with("cpu:"); })) {
    return "--cpu=" + line.options.cpu +
           " is what --target=cpu stands for, but the targets name their CPUs; leave it out";
  }
  bool writes = line.options.stopAfter.empty();
  if (line.input.empty() || (line.output.empty() && writes)) {
    return line.input.empty() ? "no input; --help shows the usage" : "no output; name it with -o";
  }
  if (line.output == "-" && writes &&
      (line.options.weights == "external" || (line.report && line.reportFile.empty()))) {
    return line.options.weights == "external"
               ? "--weights=external writes a file beside the output; name that with -o"
               : "the artifact goes to standard output; name a file for the report: --report=FILE";
  }
  if (llvm::StringRef report = line.reportFile;
      report.ends_with_insensitive(".html") || report.ends_with_insensitive(".htm")) {
    return "the report is JSON, not HTML: --report=" +
           (report.substr(0, report.rfind('.')) + ".json").str() + "; for HTML run: frit report " +
           line.input + " --out " + report.str();
  }
  if (line.options.bucketPolicy == "specialize") {
    return "bucket policy 'specialize' compiles while a program runs, which a file cannot; use "
           "'ramp'";
  }
  return checkOptions(line.options);
}

/// Atomic: writes to a temporary file beside the output, which is then renamed.
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

static CompileResult compileFile(const CommandLine &line, const CompileOptions &options,
                                 std::string &error) {
  llvm::StringRef input = line.input;
  if (!input.ends_with(".json") && !input.ends_with(".mlir") && input != "-") {
    return compileArchive(line.input, options);
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(line.input);
  if (!buffer) {
    error = line.input + ": " + buffer.getError().message();
    return {};
  }
  llvm::StringRef text = (*buffer)->getBuffer();
  return input.ends_with(".json") ? compile(text, options) : compileIr(text, options);
}

/// Writes the command line and the imported IR, for reports of bugs in frit. Returns the name of
/// the file; empty if it cannot be written.
static std::string writeReproducer(int argc, char **argv, llvm::StringRef ir) {
  llvm::SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("frit-compile-crash", "mlir", file, path)) {
    return "";
  }
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << "// frit-compile " << FRIT_VERSION << ", LLVM " << LLVM_VERSION_STRING << ":";
  for (int i = 1; i < argc; ++i) {
    stream << " '" << argv[i] << "'";
  }
  stream << "\n"
         << (ir.empty() ? "// It had imported nothing yet; the input is needed too." : ir) << "\n";
  return path.str().str();
}

static llvm::StringRef kindOf(const Diagnostic &diagnostic) {
  switch (diagnostic.kind) {
  case DiagnosticKind::BadInput:
    return "input";
  case DiagnosticKind::Unsupported:
    return "unsupported";
  case DiagnosticKind::Internal:
    return "internal";
  }
  llvm_unreachable("no such kind");
}

/// A line of JSON on standard error.
static void sayAsJson(llvm::StringRef severity, llvm::StringRef kind, llvm::StringRef message,
                      llvm::StringRef source = "", llvm::ArrayRef<std::string> notes = {}) {
  // Invalid UTF-8 comes from names of files.
  auto text = [](llvm::StringRef bytes) { return llvm::json::fixUTF8(bytes); };
  llvm::json::Array lines;
  for (const std::string &note : notes) {
    lines.push_back(text(note));
  }
  llvm::errs() << llvm::json::Value(llvm::json::Object{{"severity", severity},
                                                       {"kind", kind},
                                                       {"message", text(message)},
                                                       {"source", text(source)},
                                                       {"notes", std::move(lines)}})
               << "\n";
}

/// The errors of an outcome for the user.
static void say(const CommandLine &line, const Outcome &outcome) {
  if (line.diagnosticsFormat != "json") {
    llvm::errs() << "frit-compile: " << outcome.text << "\n";
    return;
  }
  for (const Diagnostic &one : outcome.diagnostics) {
    sayAsJson("error", kindOf(one), one.message, one.source, one.notes);
  }
  if (outcome.diagnostics.empty() || outcome.status == kOwnMistake) {
    sayAsJson("error",
              outcome.status == kWrongUsage   ? "usage"
              : outcome.status == kOwnMistake ? "internal"
                                              : "input",
              outcome.text);
  }
}

static void note(const CommandLine &line, llvm::StringRef kind, const std::string &text) {
  if (line.diagnosticsFormat == "json") {
    sayAsJson("note", kind, text);
  } else {
    llvm::errs() << "frit-compile: note: " << text << "\n";
  }
}

/// Writes the requested outputs.
static Outcome give(const CommandLine &line, const CompileResult &result) {
  llvm::outs() << result.ir;
  std::string error;
  if (!result.weights.empty()) {
    llvm::SmallString<128> path(llvm::sys::path::parent_path(line.output));
    llvm::sys::path::append(path, result.weightsName);
    error = store(path.str().str(), result.weights);
  }
  if (error.empty() && line.options.stopAfter.empty()) {
    error = store(line.output, result.artifact);
  }
  if (error.empty() && line.report) {
    error = line.reportFile.empty() ? store("-", result.report + "\n")
                                    : store(line.reportFile, result.report + "\n");
  }
  for (const auto &[kind, text] : result.notes) {
    note(line, kind, text);
  }
  if (error.empty() && line.options.stopAfter.empty() && !result.calls.empty()) {
    note(line, "libtorch", line.output + " needs libtorch, for " + result.callsText());
    if (line.options.numerics == "batch-invariant") {
      note(line, "numerics", "'batch-invariant' does not hold for what libtorch computes");
    }
  }
  return {error.empty() ? kSuccess : kFailed, error};
}

static Outcome run(const CommandLine &line, int argc, char **argv) {
  std::string error, imported;
  CompileOptions options = line.options;
  if (const char *folder = std::getenv("FRIT_DUMP"); folder && options.dumpFolder.empty()) {
    options.dumpFolder = folder;
  }
  options.importedIr = &imported;
  bool wantsCubins = !line.ptxOnly && options.stopAfter.empty() &&
                     llvm::any_of(options.targets,
                                  [](llvm::StringRef target) { return target.starts_with("sm_"); });
  if (wantsCubins && (options.ptxas = findPtxas()).empty()) {
    note(line, "ptxas",
         "there is no ptxas, so each process that loads " + line.output +
             " assembles its kernels; name it by FRIT_PTXAS, or say --ptx-only");
  }
  CompileResult result;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext guarded;
  bool survived = guarded.RunSafely([&] { result = compileFile(line, options, error); });
  llvm::CrashRecoveryContext::Disable();
  bool own = !survived;
  if (survived && error.empty()) {
    error = result.errorText();
    own = !result.ok() && result.diagnostics.front().kind == DiagnosticKind::Internal;
  }
  if (own) {
    std::string file = writeReproducer(argc, argv, imported);
    return {kOwnMistake,
            (survived ? error + "\n" : std::string("crashed; ")) +
                "this is a mistake of frit's own; please report it" +
                (file.empty() ? "" : " with " + file),
            result.diagnostics};
  }
  return error.empty() ? give(line, result) : Outcome{kFailed, error, result.diagnostics};
}

int compileMain(int argc, char **argv) {
  CommandLine line;
  Outcome outcome;
  // A wrong flag may come before this one.
  for (int i = 1; i < argc; ++i) {
    if (llvm::StringRef(argv[i]) == "--diagnostics-format=json") {
      line.diagnosticsFormat = "json";
    }
  }
  if (std::string wrong = readFlags(argc, argv, line); !wrong.empty()) {
    outcome = {kWrongUsage, wrong};
  } else if (line.help) {
    llvm::outs() << kUsage << (line.hidden ? kHiddenUsage : "");
  } else if (line.version) {
    llvm::outs() << "frit-compile " << FRIT_VERSION << ", LLVM " << LLVM_VERSION_STRING
                 << ", artifact format " << kFormatVersion << "\n";
  } else if (line.listsTargets) {
    llvm::outs() << listTargets();
  } else if (std::string wrong = readSizes(line); !wrong.empty()) {
    outcome = {kFailed, wrong};
  } else {
    outcome = run(line, argc, argv);
  }
  if (outcome.status != kSuccess) {
    say(line, outcome);
  }
  return outcome.status;
}

} // namespace frit
