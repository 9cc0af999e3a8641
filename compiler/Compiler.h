// The compiler as its users see it: text in, artifact out, no MLIR and no torch in sight. `_C`
// (Python) and the tools call nothing else of the compiler.
//
//   frit::CompileOptions options;
//   options.targets = {"cpu"};
//   frit::CompileResult result = frit::compile(json, options);
//   if (!result.ok()) { ... result.diagnostics[0].message ... }
//   store(result.artifact);
//
// A call may come from any thread; each thread keeps a context of its own between compiles, because
// loading the dialects costs more than a small graph.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define FRIT_EXPORT __attribute__((visibility("default")))

namespace frit {

/// What a graph means, whatever it was written like.
struct CanonicalForm {
  /// Hexadecimal SHA-256. The options are not in it.
  std::string digest;
  /// The program's names of the sizes that vary, in an order that the digest fixes.
  std::vector<std::string> symbols;
};

struct CompileOptions {
  /// Name of the graph in the artifact, the report and the logs.
  std::string name = "main";
  /// "cpu", "cpu:CPU", "simt", "sm_80", "sm_90", "sm_100"; one artifact holds them all. Of several
  /// CPUs a machine takes the best it can run.
  std::vector<std::string> targets = {"cpu"};
  /// What "cpu" alone stands for: "host", "x86-64-v3", "x86-64-v4" or LLVM's name of a CPU, with
  /// features: "x86-64-v3,+avx512f".
  std::string cpu = "host";
  /// "default" or "eager".
  std::string numerics = "default";
  /// "aten" or "error": what becomes of operators that have no kernel.
  std::string fallback = "aten";
  /// Merge operators into kernels; without, each is a kernel of its own.
  bool fusion = true;
  /// Calls of libraries may work in another order of dims than the program's; without, all keep the
  /// program's.
  bool relay = true;
  /// "auto", "torch" or "philox": whose random numbers. "auto" is "philox", numbers that kernels
  /// make from a seed of torch's generator, where every target is a GPU, and torch's own elsewhere.
  std::string random = "auto";
  /// "auto", "off" or "force": which library calls get padded operands.
  std::string padding = "auto";
  /// Padded lanes that nobody may depend on hold NaN, large numbers or the least integer.
  bool poison = false;
  /// "x[0]=8,16,32;n=ramp": what is asked for, by argument and dimension; '%' before a symbol the
  /// caller has resolved itself.
  std::string buckets;
  /// "auto", "ramp", "specialize" or "off": what other sizes that vary get. To the compiler
  /// "specialize" is "ramp": who calls it asks again, with ranges.
  std::string bucketPolicy = "auto";
  /// "s0=9:16;s1=1:8": sizes that stay within these ranges. The results of kernels are bit for bit
  /// those of the graph for all sizes.
  std::string symbolRanges;
  /// "2=1;5=1": candidate 1 of the schedules of regions 2 and 5 in place of the first, in the order
  /// of the graph. With it, or where it is "list", the report says in `schedule_candidates` how
  /// many each region has.
  std::string scheduleChoices;
  /// The first result that only a backward graph sees, whose strides are free; -1 for none. The
  /// report's `channels_last_results` names those that are not as the input says.
  int64_t firstKept = -1;
  /// In a backward graph, the inputs that are so.
  std::vector<int64_t> channelsLastInputs;
  /// What becomes of an archive's weights: "embed" (into the artifact), "external" (a file of their
  /// own, CompileResult::weights) or "none" (the artifact's caller gives parameters and buffers by
  /// name).
  std::string weights = "embed";
  /// Memory is used again and written in place where that is proven. Without, every value has
  /// storage of its own.
  bool reuse = true;
  /// An artifact that would need libtorch is an error.
  bool requireStandalone = false;
  /// A folder for the IR after each pass.
  std::string dumpFolder;
  /// Where the imported IR is kept before anything else is done, so that who outlives a crash has
  /// it.
  std::string *keptIr = nullptr;
  /// Crash in this phase: what becomes of crashes is tested too.
  std::string crashIn;
  /// Asked when a graph is in its canonical form, a fifth of the way: whether its like was compiled
  /// before. Then that is all, and `CompileResult::isKept` says so.
  std::function<bool(const CanonicalForm &)> isKept;
  /// Which model of an archive; none: the only one.
  std::string model;
  /// What frit itself fails at is an error; otherwise it becomes calls of ATen, and the report's
  /// `retries` says so.
  bool strict = false;
  /// Fail on purpose, to test what becomes of that: "kernel:TEXT" (no code for kernels with TEXT in
  /// their names), "pass:ARGUMENT" (that pass, in all tries but the last), "plan" (likewise),
  /// "always" (before any pass, in every try).
  std::string failAt;
  /// A legalisation rule with a mistake: 'OPERATOR:PLACE' as in passes/legalize/Mutants.h. To test
  /// tests.
  std::string mutant;
  /// Stop after this stage and hand out its IR as `CompileResult::ir`: "imported", "outlined", or
  /// empty for the artifact.
  std::string stopAfter;
};

/// Reads options from a JSON object of strings, booleans and lists, as Python's option registry
/// writes it; names that are Python's alone ("mode", "dump_dir" ...) are ignored. Returns an empty
/// string or what is wrong.
FRIT_EXPORT std::string readOptions(std::string_view json, CompileOptions &options);

/// Empty, or which option has a value that nobody knows.
FRIT_EXPORT std::string checkOptions(const CompileOptions &options);

enum class DiagnosticKind {
  /// The input says something wrong or malformed.
  BadInput,
  /// The input is fine and frit cannot do it.
  Unsupported,
  /// A stage of frit broke its own contract.
  Internal
};

struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::BadInput;
  /// One line with place, value and way out.
  std::string message;
  /// The user's source line, if known.
  std::string source;
  std::vector<std::string> notes;
};

struct CompileResult {
  std::string artifact;
  /// With external weights: their file and what it must be called.
  std::string weights, weightsName;
  /// JSON: kernels, aten_calls, retries, phases.
  std::string report;
  std::string ir;
  std::vector<Diagnostic> diagnostics;
  /// Milliseconds of each phase, in order.
  std::vector<std::pair<std::string, double>> phases;
  /// Kernels that became code, those that this process had compiled before, for this graph or
  /// another, and older ones that had to leave its memory for them. A kernel counts once for each
  /// target it is compiled for.
  unsigned kernelsCompiled = 0, kernelsReused = 0, kernelsForgotten = 0;
  /// `CompileOptions::isKept` knew the graph; there is no artifact.
  bool isKept = false;
  /// The operators left to ATen with how often each is called, in order: an artifact with any needs
  /// libtorch.
  std::vector<std::pair<std::string, unsigned>> calls;

  bool ok() const { return diagnostics.empty(); }
  /// The diagnostics as one text, a line each.
  FRIT_EXPORT std::string errorText() const;
  /// "aten.mm.default (a library has the kernel) 2 times, aten.sort.default".
  FRIT_EXPORT std::string callsText() const;
};

/// Compiles the JSON of a torch.export program.
FRIT_EXPORT CompileResult compile(std::string_view json, const CompileOptions &options);

/// Compiles a module given as IR text, in the imported or the outlined form: for tests and for
/// looking at stages.
FRIT_EXPORT CompileResult compileIr(std::string_view text, const CompileOptions &options);

/// Compiles a `.pt2` archive; its parameters, buffers and constants become the artifact's weights.
FRIT_EXPORT CompileResult compileArchive(const std::string &path, const CompileOptions &options);

/// Forgets the kernels that would be reused.
FRIT_EXPORT void forgetKernels();

/// The build of this compiler, its LLVM and the level that "host" means here: what a cached
/// artifact depends on beside the graph and the options. Empty where the library carries no build
/// id, and nothing may be cached.
FRIT_EXPORT std::string compilerIdentity();

/// The command line of frit-compile; returns the exit status.
FRIT_EXPORT int compileMain(int argc, char **argv);

} // namespace frit
