// Reads options from JSON. Unknown names are ignored, because Python's option registry has checked
// them; wrong types and values are errors.

#include "codegen/Codegen.h"
#include "compiler/Compiler.h"

#include "ir/BoundedJson.h"

#include "passes/BucketPolicy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace frit {

static std::string choose(llvm::StringRef name, llvm::StringRef value,
                          llvm::ArrayRef<llvm::StringRef> known) {
  if (llvm::is_contained(known, value)) {
    return "";
  }
  return ("option '" + name + "' cannot be '" + value + "'; known: " + llvm::join(known, ", "))
      .str();
}

static std::string checkCpu(llvm::StringRef option, llvm::StringRef text) {
  mlir::frit::CpuTarget target;
  std::string wrong = mlir::frit::CpuTarget::parse(text, target);
  return wrong.empty() ? "" : ("option '" + option + "': " + wrong).str();
}

std::string checkOptions(const CompileOptions &options) {
  std::string wrong = checkCpu("cpu", options.cpu);
  wrong = !wrong.empty()
              ? wrong
              : choose("numerics", options.numerics, {"default", "eager", "batch-invariant"});
  wrong = !wrong.empty() ? wrong : choose("fallback", options.fallback, {"aten", "error"});
  wrong = !wrong.empty() ? wrong : choose("random", options.random, {"auto", "torch", "philox"});
  wrong = !wrong.empty() ? wrong : choose("padding", options.padding, {"auto", "off", "force"});
  wrong = !wrong.empty() ? wrong
                         : choose("bucket_policy", options.bucketPolicy,
                                  {"auto", "ramp", "specialize", "off"});
  wrong =
      !wrong.empty() ? wrong : choose("weights", options.weights, {"embed", "external", "none"});
  wrong = !wrong.empty() ? wrong : choose("emit", options.stopAfter, {"", "imported", "outlined"});
  std::vector<mlir::frit::BucketRequest> requests;
  wrong = !wrong.empty() ? wrong : mlir::frit::readBuckets(options.buckets, requests);
  for (const std::string &target : options.targets) {
    if (llvm::StringRef cpu = target; cpu.consume_front("cpu:")) {
      wrong = !wrong.empty() ? wrong : checkCpu("target", cpu);
    } else {
      wrong = !wrong.empty()
                  ? wrong
                  : choose("target", target, {"cpu", "simt", "sm_80", "sm_90", "sm_100"});
    }
    if (wrong.empty() && options.numerics == "batch-invariant" &&
        !llvm::StringRef(target).starts_with("cpu")) {
      wrong = "option 'numerics' is 'batch-invariant' only for CPUs: kernels for '" + target +
              "' divide rows by how many there are";
    }
  }
  return wrong;
}

std::string readOptions(std::string_view json, CompileOptions &options) {
  llvm::Expected<llvm::json::Value> parsed = mlir::frit::parseBoundedJson(json);
  if (!parsed) {
    return "options are not JSON: " + llvm::toString(parsed.takeError());
  }
  const llvm::json::Object *object = parsed->getAsObject();
  if (!object) {
    return "options must be a JSON object";
  }
  for (auto [name, field] :
       {std::pair("name", &options.name), std::pair("cpu", &options.cpu),
        std::pair("numerics", &options.numerics), std::pair("fallback", &options.fallback),
        std::pair("padding", &options.padding), std::pair("random", &options.random),
        std::pair("bucket_policy", &options.bucketPolicy),
        std::pair("symbol_buckets", &options.buckets),
        std::pair("symbol_ranges", &options.symbolRanges),
        std::pair("schedule_choices", &options.scheduleChoices),
        std::pair("stop_after", &options.stopAfter), std::pair("fail_at", &options.failAt),
        std::pair("mutant", &options.mutant), std::pair("dump_dir", &options.dumpFolder)}) {
    if (const llvm::json::Value *value = object->get(name)) {
      auto text = value->getAsString();
      if (!text) {
        return std::string("option '") + name + "' takes a string";
      }
      *field = text->str();
    }
  }
  for (auto [name, field] :
       {std::pair("fusion", &options.fusion), std::pair("deterministic", &options.deterministic),
        std::pair("poison", &options.poison), std::pair("products", &options.products),
        std::pair("convolutions", &options.convolutions), std::pair("relay", &options.relay),
        std::pair("reuse", &options.reuse), std::pair("strict", &options.strict)}) {
    if (const llvm::json::Value *value = object->get(name)) {
      auto flag = value->getAsBoolean();
      if (!flag) {
        return std::string("option '") + name + "' takes true or false";
      }
      *field = *flag;
    }
  }
  if (const llvm::json::Value *kept = object->get("first_kept")) {
    auto number = kept->getAsInteger();
    if (!number) {
      return "option 'first_kept' takes the number of a result";
    }
    options.firstKept = *number;
  }
  if (const llvm::json::Value *inputs = object->get("channels_last_inputs")) {
    const llvm::json::Array *list = inputs->getAsArray();
    for (const llvm::json::Value &input : list ? *list : llvm::json::Array()) {
      options.channelsLastInputs.push_back(input.getAsInteger().value_or(-1));
    }
    if (!list || llvm::is_contained(options.channelsLastInputs, -1)) {
      return "option 'channels_last_inputs' takes a list of numbers of inputs";
    }
  }
  if (const llvm::json::Value *targets = object->get("targets")) {
    const llvm::json::Array *list = targets->getAsArray();
    if (!list || list->empty()) {
      return "option 'targets' takes a list of targets";
    }
    options.targets.clear();
    for (const llvm::json::Value &target : *list) {
      options.targets.push_back(target.getAsString().value_or("").str());
    }
  }
  return checkOptions(options);
}

} // namespace frit
