// The facade of the compiler: text in, artifact out, without MLIR or torch in this header. `_C`
// (Python) and the tools call nothing else of the compiler.
//
//   frit::CompileOptions options;
//   options.targets = {"cpu"};
//   frit::CompileResult result = frit::compile(json, options);
//   if (!result.ok()) { ... result.diagnostics[0].message ... }
//   store(result.artifact);
//
// Thread-safe; each thread keeps its own context between compiles, because loading the dialects
// costs more than a small graph.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define FRIT_EXPORT __attribute__((visibility("default")))

namespace frit {

/// The meaning of a graph, independent of how it was written.
struct CanonicalForm {
  /// Hexadecimal SHA-256; excludes the options.
  std::string digest;
  /// The program's names of its dynamic sizes, in an order that follows from the canonical form.
  std::vector<std::string> symbols;
};

struct CompileOptions {
  /// Name of the graph in the artifact, the report and the logs.
  std::string name = "main";
  /// "cpu", "cpu:CPU", "simt", "sm_80", "sm_90", "sm_100". One artifact serves all targets; of
  /// several CPUs a machine uses the best that it can run.
  std::vector<std::string> targets = {"cpu"};
  /// The meaning of plain "cpu": "host", "x86-64-v3", "x86-64-v4" or LLVM's name of a CPU, with
  /// features: "x86-64-v3,+avx512f".
  std::string cpu = "host";
  /// "default", "eager", or "batch-invariant": as "eager", and the bits of a row do not depend on
  /// the number of rows.
  std::string numerics = "default";
  /// On GPUs, sort the rows that index_add, index_put, scatter_add and gradients of embeddings add,
  /// however few they are, so that every call gives the same bits. Otherwise where sorting pays.
  bool deterministic = false;
  /// What happens to operators without a kernel: "aten" (a call) or "error".
  std::string fallback = "aten";
  /// Fuse operators into kernels; otherwise each operator is a kernel.
  bool fusion = true;
  /// Allow relayout: library calls may use another order of dims than the program. Otherwise all
  /// keep the program's order.
  bool relay = true;
  /// Let the runtime's own kernel run products of f32 matrices on the CPU where it is faster than
  /// ATen. Off with `numerics` "eager", because it adds in another order.
  bool products = true;
  /// The same for convolutions of f32 images, with their epilogues.
  bool convolutions = true;
  /// The source of random numbers: "auto", "torch" or "philox". "philox" generates them in kernels
  /// from a seed of torch's generator. "auto" is "philox" if every target is a GPU, and "torch"
  /// otherwise.
  std::string random = "auto";
  /// Which library calls get padded operands: "auto", "off" or "force".
  std::string padding = "auto";
  /// Fill padded lanes that no result may depend on with NaN, large numbers or the least integer.
  bool poison = false;
  /// "x[0]=8,16,32;n=ramp": bucket lists by argument and dimension; '%' marks a symbol that the
  /// caller has already resolved.
  std::string buckets;
  /// The policy for other dynamic sizes: "auto", "ramp", "specialize" or "off". The compiler treats
  /// "specialize" as "ramp"; its caller compiles again, with `symbolRanges`.
  std::string bucketPolicy = "auto";
  /// "s0=9:16;s1=1:8": ranges that sizes are known to stay in. Kernels give bitwise the same
  /// results as those for all sizes.
  std::string symbolRanges;
  /// "2=1;5=1": uses candidate 1 of the schedules of regions 2 and 5, numbered in the order of the
  /// graph, instead of candidate 0. If this is set, or "list", the report's `schedule_candidates`
  /// has the number of candidates of each region.
  std::string scheduleChoices;
  /// The first result that only a backward graph sees, so its strides are free; -1 for none. The
  /// report's `channels_last_results` lists those results that are channels-last.
  int64_t firstKept = -1;
  /// In a backward graph, the inputs that are channels-last.
  std::vector<int64_t> channelsLastInputs;
  /// Where an archive's weights go: "embed" (into the artifact), "external" (a separate file,
  /// CompileResult::weights) or "none" (the artifact's caller passes parameters and buffers by
  /// name).
  std::string weights = "embed";
  /// Reuse memory and write in place where that is proven safe; otherwise every value has its own
  /// storage.
  bool reuse = true;
  /// Fail if the artifact would need libtorch.
  bool requireStandalone = false;
  /// A folder for every stage: the compilation makes a folder of its own in it, with a file for
  /// each (StageDump.h).
  std::string dumpFolder;
  /// Receives the imported IR before anything else happens, so that it is available after a crash.
  std::string *importedIr = nullptr;
  /// Crash in this phase, to test crash handling.
  std::string crashIn;
  /// Called with the canonical form, after a fifth of the compilation. If it returns true because
  /// an equivalent graph is in a cache, compilation stops and `CompileResult::isCached` is set.
  std::function<bool(const CanonicalForm &)> isCached;
  /// The model of an archive with several; empty: the only one.
  std::string model;
  /// Make failures of frit itself errors. Otherwise they become calls of ATen, and the report's
  /// `retries` lists them.
  bool strict = false;
  /// Fail on purpose, for tests: "kernel:TEXT" (no code for kernels with TEXT in their names),
  /// "pass:ARGUMENT" (this pass fails, in all tries but the last), "plan" (likewise), "always"
  /// (before any pass, in every try).
  std::string failAt;
  /// Plants a mistake in a legalisation rule, to test the tests: 'OPERATOR:PLACE' as in
  /// passes/legalize/Mutants.h.
  std::string mutant;
  /// The ptxas that makes cubins for targets that are GPUs, beside the PTX; empty: the file has PTX
  /// alone, which each process assembles when it loads the file.
  std::string ptxas;
  /// Stop after this stage and return its IR as `CompileResult::ir`: "imported", "outlined", or
  /// empty for the artifact.
  std::string stopAfter;
};

/// Reads options from a JSON object of strings, booleans and lists, as Python's option registry
/// writes it. Names that only Python uses ("mode", "cache" ...) are ignored. Returns an empty
/// string or an error.
FRIT_EXPORT std::string readOptions(std::string_view json, CompileOptions &options);

/// Returns an empty string, or an error that names the option with an invalid value.
FRIT_EXPORT std::string checkOptions(const CompileOptions &options);

enum class DiagnosticKind {
  /// The input is wrong or malformed.
  BadInput,
  /// The input is valid, but frit does not support it.
  Unsupported,
  /// A stage of frit broke its own contract.
  Internal
};

struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::BadInput;
  /// One line: the location, the value and what the user can do.
  std::string message;
  /// The user's source line, if known.
  std::string source;
  std::vector<std::string> notes;
};

struct CompileResult {
  std::string artifact;
  /// With external weights: the contents of their file and its required name.
  std::string weights, weightsName;
  /// JSON: kernels, aten_calls, retries, phases.
  std::string report;
  std::string ir;
  std::vector<Diagnostic> diagnostics;
  /// Milliseconds of each phase, in order.
  std::vector<std::pair<std::string, double>> phases;
  /// Kernels that were compiled, kernels reused from this process's cache, and older kernels
  /// evicted from it. A kernel counts once per target.
  unsigned kernelsCompiled = 0, kernelsReused = 0, kernelsForgotten = 0;
  /// `CompileOptions::isCached` returned true; there is no artifact.
  bool isCached = false;
  /// The operators left to ATen and how often each is called, in order. An artifact with any needs
  /// libtorch.
  std::vector<std::pair<std::string, unsigned>> calls;

  void addCalls(const std::string &name, unsigned count);

  /// What the user should know though nothing failed: its kind, and a sentence.
  std::vector<std::pair<std::string, std::string>> notes;

  bool ok() const { return diagnostics.empty(); }
  /// The diagnostics as one text, one line each.
  FRIT_EXPORT std::string errorText() const;
  /// "aten.mm.default (a library has the kernel) 2 times, aten.sort.default".
  FRIT_EXPORT std::string callsText() const;
};

/// Compiles the JSON of a torch.export program.
FRIT_EXPORT CompileResult compile(std::string_view json, const CompileOptions &options);

/// Compiles a module given as IR text, in the imported or the outlined form; for tests and for
/// inspecting stages.
FRIT_EXPORT CompileResult compileIr(std::string_view text, const CompileOptions &options);

/// Compiles a `.pt2` archive; its parameters, buffers and constants become the artifact's weights.
FRIT_EXPORT CompileResult compileArchive(const std::string &path, const CompileOptions &options);

/// Clears the cache of compiled kernels.
FRIT_EXPORT void forgetKernels();

/// Identifies this build of the compiler, its LLVM, and the CPU level of "host" on this machine:
/// what a cached artifact depends on besides the graph and the options. Empty if the library has no
/// build id; then nothing may be cached.
FRIT_EXPORT std::string compilerIdentity();

/// The command line of frit-compile; returns the exit status.
FRIT_EXPORT int compileMain(int argc, char **argv);

} // namespace frit
