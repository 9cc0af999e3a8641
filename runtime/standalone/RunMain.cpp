#include "runtime/standalone/RunMain.h"

#include "runtime/cpu/CpuBackend.h"
#include "runtime/simt/SimtBackend.h"
#include "runtime/standalone/Npy.h"
#include "runtime/standalone/StandaloneHost.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace frit {

namespace {

const char *const kUsage = R"(usage: frit-run MODEL.frit [options]
  --input=@FILE.npy     an array, in the order of the graph's inputs; --input=5 and --input=2.5 for sizes and numbers
  --output=@FILE.npy    where a result goes, in order; results without a place are printed as shapes
  --device=cpu|simt     run on the CPU, or emulate the GPU kernels with every access checked (default cpu)
  --threads=N           threads of the CPU kernels (default: all processors)
  --allow-host-code     map machine code from a file that others own or can write
  --check-weights       compare all weights with their digests first
  --report              print what the compiler says about the graph, as JSON
)";

struct Settings {
  std::string model, device = "cpu";
  std::vector<std::string> inputs, outputs;
  unsigned threads = 0;
  bool allowHostCode = false, checkWeights = false, report = false;
};

Status bad(std::string message) { return Status::error(ErrorKind::BadInput, std::move(message)); }

Status parse(int argc, char **argv, Settings &settings) {
  for (int at = 1; at < argc; ++at) {
    std::string word = argv[at];
    auto value = [&](const char *name) -> const char * {
      size_t length = std::strlen(name);
      return word.compare(0, length, name) == 0 ? word.c_str() + length : nullptr;
    };
    if (const char *text = value("--input=")) {
      settings.inputs.push_back(text);
    } else if (const char *text = value("--output=@")) {
      settings.outputs.push_back(text);
    } else if (const char *text = value("--device=")) {
      settings.device = text;
      if (settings.device != "cpu" && settings.device != "simt") {
        return bad("unknown device '" + settings.device + "'; frit-run knows cpu and simt");
      }
    } else if (const char *text = value("--threads=")) {
      settings.threads = static_cast<unsigned>(std::max(0, std::atoi(text)));
    } else if (word == "--allow-host-code") {
      settings.allowHostCode = true;
    } else if (word == "--check-weights") {
      settings.checkWeights = true;
    } else if (word == "--report") {
      settings.report = true;
    } else if (word.rfind("--", 0) == 0 || !settings.model.empty()) {
      return bad("unknown option '" + word + "'; frit-run --help lists them");
    } else {
      settings.model = word;
    }
  }
  return settings.model.empty() ? bad("no model given; frit-run --help shows how") : Status::ok();
}

Result<InputValue> readInput(const std::string &text) {
  InputValue value;
  if (text.rfind('@', 0) == 0) {
    auto array = readNpy(text.substr(1));
    if (!array.isOk()) {
      return array.status();
    }
    auto *memory = static_cast<char *>(std::aligned_alloc(64, (array->data.size() + 64) / 64 * 64));
    std::memcpy(memory, array->data.data(), array->data.size());
    value.kind = InputValue::Kind::Tensor;
    value.handle = new HostTensor{std::shared_ptr<char>(memory, std::free), memory, 0,
                                  array->sizes, array->strides, array->dtype, array->data.size()};
    return value;
  }
  char *end;
  value.kind = InputValue::Kind::Int;
  value.integer = std::strtoll(text.c_str(), &end, 10);
  if (*end != 0 || text.empty()) {
    value.kind = InputValue::Kind::Float;
    value.real = std::strtod(text.c_str(), &end);
    if (*end != 0 || text.empty()) {
      return bad("--input=" + text + " is neither @file.npy nor a number");
    }
  }
  return value;
}

NpyArray contiguous(const HostTensor &tensor) {
  NpyArray array;
  array.dtype = tensor.dtype;
  array.sizes = tensor.sizes;
  std::vector<int64_t> strides(tensor.sizes.size());
  int64_t count = 1;
  for (size_t dim = tensor.sizes.size(); dim-- > 0;) {
    strides[dim] = count;
    count *= tensor.sizes[dim];
  }
  array.data.resize(static_cast<size_t>(count) * bytesOf(tensor.dtype));
  copyStrided(tensor, array.data.data(), strides);
  return array;
}

Status writeOutputs(std::span<OutputValue> outputs, const Settings &settings) {
  if (settings.outputs.size() > outputs.size()) {
    return bad("the graph has " + std::to_string(outputs.size()) + " results, " + std::to_string(settings.outputs.size()) +
               " --output were given");
  }
  for (size_t number = 0; number < outputs.size(); ++number) {
    const OutputValue &output = outputs[number];
    if (output.kind != OutputValue::Kind::Tensor) {
      std::printf("result %zu: %s\n", number,
                  output.kind == OutputValue::Kind::None    ? "None"
                  : output.kind == OutputValue::Kind::Float ? std::to_string(output.real).c_str()
                                                            : std::to_string(output.integer).c_str());
      continue;
    }
    NpyArray array = contiguous(*static_cast<HostTensor *>(output.handle));
    if (number < settings.outputs.size()) {
      FRIT_RETURN_IF_ERROR(writeNpy(settings.outputs[number], array));
    } else {
      std::string shape;
      for (int64_t size : array.sizes) {
        shape += (shape.empty() ? "" : ", ") + std::to_string(size);
      }
      std::printf("result %zu: %s (%s)\n", number, nameOf(array.dtype), shape.c_str());
    }
  }
  return Status::ok();
}

Status run(const Settings &settings) {
  auto artifact = Artifact::fromFile(settings.model, settings.allowHostCode);
  if (!artifact.isOk()) {
    return artifact.status();
  }
  if (settings.report) {
    std::printf("%s\n", std::string((*artifact)->report()).c_str());
  }
  if (settings.checkWeights) {
    FRIT_RETURN_IF_ERROR((*artifact)->checkWeights());
  }
  bool simt = settings.device == "simt";
  const format::Plan *plan = (*artifact)->plan(simt ? format::Target::Simt : format::Target::Cpu);
  if (!plan) {
    return bad("'" + settings.model + "' has no plan for " + settings.device + "; compile it with --target=" + settings.device);
  }
  auto decoded = DecodedPlan::decode(*artifact, *plan);
  if (!decoded.isOk()) {
    return decoded.status();
  }
  auto host = StandaloneHost::create(**decoded, settings.threads);
  if (!host.isOk()) {
    return host.status();
  }
  std::unique_ptr<KernelBackend> backend;
  if (simt) {
    auto created = SimtBackend::create(*decoded);
    FRIT_RETURN_IF_ERROR(created.isOk() ? Status::ok() : created.status());
    backend = std::move(*created);
  } else {
    auto created = CpuBackend::create(**decoded);
    FRIT_RETURN_IF_ERROR(created.isOk() ? Status::ok() : created.status());
    backend = std::move(*created);
  }
  PlanExecutor executor(*decoded, **host, *backend);
  FRIT_RETURN_IF_ERROR((*host)->bindWeights(**decoded, executor));
  std::vector<InputValue> inputs;
  auto dropInputs = [&] {
    for (InputValue &input : inputs) {
      if (input.handle) {
        (*host)->releaseTensor(std::exchange(input.handle, nullptr));
      }
    }
  };
  for (const std::string &text : settings.inputs) {
    auto input = readInput(text);
    if (!input.isOk()) {
      dropInputs();
      return input.status();
    }
    inputs.push_back(*input);
  }
  std::vector<OutputValue> outputs(executor.outputCount());
  FRIT_RETURN_IF_ERROR(executor.run(inputs, outputs));
  Status status = writeOutputs(outputs, settings);
  for (OutputValue &output : outputs) {
    if (output.handle) {
      (*host)->releaseTensor(output.handle);
    }
  }
  return status;
}

} // namespace

int runMain(int argc, char **argv) {
  for (int at = 1; at < argc; ++at) {
    if (std::strcmp(argv[at], "--help") == 0) {
      std::fputs(kUsage, stdout);
      return 0;
    }
  }
  Settings settings;
  Status status = parse(argc, argv, settings);
  if (status.isOk()) {
    status = run(settings);
  }
  if (!status.isOk()) {
    std::fprintf(stderr, "frit-run: error: %s\n", status.message().c_str());
    return 1;
  }
  return 0;
}

} // namespace frit
