#include "runtime/standalone/RunMain.h"

#include "runtime/plan/DecodedPlan.h"
#include "runtime/standalone/Compare.h"
#include "runtime/standalone/CudaHost.h"
#include "runtime/standalone/Model.h"
#include "runtime/standalone/Npy.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace frit {

namespace {

const char *const kUsage = R"(usage: frit-run MODEL.frit [options]
  --input=@FILE.npy     an array, in the order of the model's inputs; --input=5 and --input=2.5 for sizes and numbers
  --output=@FILE.npy    where a result goes, in order; results without a place are printed as shapes
  --expected-output=@FILE.npy   what a result must be, in order, within
  --rtol=R --atol=A     |result - expected| <= A + R * |expected| (default 1e-5 and 1e-6); integers must be equal
  --device=cpu|cuda[:N]|simt   run on the CPU, on a GPU, or emulate the GPU's kernels with every access checked (default cpu)
  --threads=N           threads of the CPU kernels (default: all processors)
  --allow-host-code     map machine code from a file that others own or can write
  --weights=FOLDER      where the file of the weights lies (frit-compile --weights=external)
  --weight=NAME=@FILE.npy   a weight by its name (frit-compile --weights=none); repeat for each
  --check-weights       compare all weights with their digests first
  --report              print what the compiler says about the model, as JSON
  --print-statistics    print to stderr what was done, and the time of loading and running
  --version

A value may also be the next word: --input @x.npy.

exit status: 0 success, 1 a file or a call that failed, 2 a wrong command line, 3 a result that is not the expected one,
4 no device of the kind that was asked for
)";

/// The exit status and the message for the user.
struct Failure {
  int exit = 0;
  std::string message;
};

struct Settings {
  std::string model;
  LoadOptions load;
  std::vector<std::string> inputs, outputs, expected;
  /// Files by the name of the weight.
  std::map<std::string, std::string> weights;
  double rtol = 1e-5, atol = 1e-6;
  bool report = false, statistics = false, help = false, version = false;
};

Failure failed(const Status &status) {
  return status.isOk() ? Failure() : Failure{1, status.message()};
}
Failure usage(std::string message) { return {2, std::move(message)}; }

/// Appends the file name of "@file.npy"; false if the value has another form.
bool takeFile(const std::string &value, std::vector<std::string> &files) {
  if (value.size() < 2 || value[0] != '@') {
    return false;
  }
  files.push_back(value.substr(1));
  return true;
}

bool takeNumber(const std::string &value, double &number) {
  char *end;
  number = std::strtod(value.c_str(), &end);
  return !value.empty() && *end == 0 && number >= 0;
}

Failure set(Settings &settings, const std::string &flag, const std::string &value) {
  Failure wrong = usage(flag + " cannot be '" + value + "'; frit-run --help shows what it takes");
  double number;
  if (flag == "--input") {
    settings.inputs.push_back(value);
  } else if (flag == "--output" || flag == "--expected-output") {
    return takeFile(value, flag == "--output" ? settings.outputs : settings.expected) ? Failure()
                                                                                      : wrong;
  } else if (flag == "--rtol" || flag == "--atol") {
    return takeNumber(value, flag == "--rtol" ? settings.rtol : settings.atol) ? Failure() : wrong;
  } else if (flag == "--weights") {
    settings.load.weightsFolder = value;
  } else if (flag == "--weight") {
    size_t equals = value.find("=@");
    if (equals == std::string::npos || equals == 0) {
      return wrong;
    }
    settings.weights[value.substr(0, equals)] = value.substr(equals + 2);
  } else if (flag == "--threads") {
    if (!takeNumber(value, number) || number > 4096) {
      return wrong;
    }
    settings.load.threads = static_cast<unsigned>(number);
  } else {
    settings.load.device = value;
    if (value != "cpu" && value != "simt" && value.rfind("cuda", 0) != 0) {
      return usage("unknown device '" + value + "'; known: cpu, simt, cuda");
    }
  }
  return {};
}

Failure parse(int argc, char **argv, Settings &settings) {
  static const std::set<std::string> valued = {"--input",   "--output",  "--expected-output",
                                               "--rtol",    "--atol",    "--device",
                                               "--threads", "--weights", "--weight"};
  const std::pair<const char *, bool *> switches[] = {
      {"--allow-host-code", &settings.load.allowHostCode},
      {"--check-weights", &settings.load.checkWeights},
      {"--report", &settings.report},
      {"--print-statistics", &settings.statistics},
      {"--help", &settings.help},
      {"-h", &settings.help},
      {"--version", &settings.version}};
  for (int at = 1; at < argc; ++at) {
    std::string word = argv[at], flag = word.substr(0, word.find('='));
    if (valued.count(flag)) {
      bool inside = flag.size() != word.size();
      if (!inside && at + 1 == argc) {
        return usage(flag + " needs a value");
      }
      Failure wrong = set(settings, flag, inside ? word.substr(flag.size() + 1) : argv[++at]);
      if (wrong.exit) {
        return wrong;
      }
      continue;
    }
    bool known = false;
    for (auto [name, value] : switches) {
      known |= word == name;
      *value |= word == name;
    }
    if (known) {
      continue;
    }
    if (word.rfind("-", 0) == 0 || !settings.model.empty()) {
      return usage("unknown option '" + word + "'; frit-run --help lists them");
    }
    settings.model = word;
  }
  bool asks = settings.help || settings.version;
  return settings.model.empty() && !asks ? usage("no model given; frit-run --help shows how")
                                         : Failure();
}

Result<Tensor> readArray(const std::string &file) {
  auto array = readNpy(file);
  FRIT_RETURN_IF_ERROR(array.status());
  std::shared_ptr<void> memory(std::aligned_alloc(64, (array->data.size() + 64) / 64 * 64),
                               std::free);
  if (!memory) {
    return Status::error(ErrorKind::OutOfMemory, "no memory for '" + file + "'");
  }
  std::memcpy(memory.get(), array->data.data(), array->data.size());
  return Tensor{static_cast<DataType>(array->dtype), array->sizes, array->strides, memory.get(),
                memory};
}

Result<Value> readInput(const std::string &text) {
  if (text.rfind('@', 0) == 0) {
    auto array = readArray(text.substr(1));
    FRIT_RETURN_IF_ERROR(array.status());
    return Value(std::move(*array));
  }
  char *end;
  int64_t integer = std::strtoll(text.c_str(), &end, 10);
  if (*end == 0 && !text.empty()) {
    return Value(integer);
  }
  double real = std::strtod(text.c_str(), &end);
  if (*end != 0 || text.empty()) {
    return Status::error(ErrorKind::BadInput,
                         "--input=" + text + " is neither @file.npy nor a number");
  }
  return Value(real);
}

NpyArray arrayOf(const Tensor &tensor) {
  NpyArray array;
  array.dtype = static_cast<format::Dtype>(tensor.dtype);
  array.sizes = tensor.sizes;
  size_t count = 1;
  for (int64_t size : tensor.sizes) {
    count *= static_cast<size_t>(size);
  }
  array.data.resize(count * bytesOf(tensor.dtype));
  copyElements(tensor, array.data.data());
  return array;
}

void print(size_t number, const Value &value) {
  std::string text = "None";
  if (const auto *tensor = std::get_if<Tensor>(&value)) {
    std::string shape;
    for (int64_t size : tensor->sizes) {
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    }
    text = std::string(nameOf(tensor->dtype)) + " (" + shape + ")";
  } else if (const auto *integer = std::get_if<int64_t>(&value)) {
    text = std::to_string(*integer);
  } else if (const auto *real = std::get_if<double>(&value)) {
    text = std::to_string(*real);
  } else if (const auto *flag = std::get_if<bool>(&value)) {
    text = std::to_string(*flag);
  }
  std::printf("result %zu: %s\n", number, text.c_str());
}

Failure give(const std::vector<Value> &results, const Settings &settings) {
  size_t wanted = std::max(settings.outputs.size(), settings.expected.size());
  if (wanted > results.size()) {
    return usage("the model has " + std::to_string(results.size()) + " results, " +
                 std::to_string(wanted) +
                 " --output or "
                 "--expected-output were given");
  }
  Failure mismatch;
  for (size_t number = 0; number < results.size(); ++number) {
    const auto *tensor = std::get_if<Tensor>(&results[number]);
    if (!tensor) {
      print(number, results[number]);
      continue;
    }
    NpyArray array = arrayOf(*tensor);
    if (number < settings.outputs.size()) {
      if (Failure wrong = failed(writeNpy(settings.outputs[number], array)); wrong.exit) {
        return wrong;
      }
    } else if (number >= settings.expected.size()) {
      print(number, results[number]);
    }
    if (number < settings.expected.size()) {
      auto expected = readNpy(settings.expected[number]);
      if (!expected.isOk()) {
        return failed(expected.status());
      }
      std::string differs = difference(array, *expected, settings.rtol, settings.atol);
      if (!differs.empty() && !mismatch.exit) {
        mismatch = {3, "result " + std::to_string(number) + " is not '" +
                           settings.expected[number] + "': " + differs};
      }
    }
  }
  return mismatch;
}

Failure run(const Settings &settings, const Loader &load) {
  using Clock = std::chrono::steady_clock;
  auto milliseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  std::map<std::string, Tensor> weights;
  for (const auto &[name, file] : settings.weights) {
    auto weight = readArray(file);
    if (!weight.isOk()) {
      return failed(weight.status());
    }
    weights[name] = std::move(*weight);
  }
  Clock::time_point start = Clock::now();
  auto model = load(settings.model, settings.load, weights);
  if (!model.isOk()) {
    return failed(model.status());
  }
  Clock::duration loading = Clock::now() - start;
  if (settings.report) {
    std::printf("%s\n", model->report.c_str());
  }
  std::vector<Value> inputs;
  for (const std::string &text : settings.inputs) {
    auto input = readInput(text);
    if (!input.isOk()) {
      return failed(input.status());
    }
    inputs.push_back(std::move(*input));
  }
  start = Clock::now();
  auto results = model->run(inputs);
  if (!results.isOk()) {
    return failed(results.status());
  }
  if (settings.statistics) {
    Statistics done = model->statistics();
    std::fprintf(stderr,
                 "load_ms %.3f\nrun_ms %.3f\ncalls %llu\nkernel_launches %llu\nallocations "
                 "%llu\npeak_bytes %llu\n",
                 milliseconds(loading), milliseconds(Clock::now() - start),
                 static_cast<unsigned long long>(done.calls),
                 static_cast<unsigned long long>(done.kernelLaunches),
                 static_cast<unsigned long long>(done.allocations),
                 static_cast<unsigned long long>(done.peakBytes));
  }
  return give(*results, settings);
}

} // namespace

int runMain(int argc, char **argv, const Loader &load, const DeviceCheck &checkDevice) {
  Settings settings;
  Failure failure = parse(argc, argv, settings);
  if (settings.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (settings.version) {
    std::printf("frit-run %s, artifact format %u\n", FRIT_VERSION, kFormatVersion);
    return 0;
  }
  if (!failure.exit && settings.load.device.rfind("cuda", 0) == 0) {
    std::string missing = checkDevice(settings.load.device);
    failure = missing.empty() ? Failure() : Failure{4, missing};
  }
  if (!failure.exit) {
    failure = run(settings, load);
  }
  if (failure.exit) {
    std::fprintf(stderr, "frit-run: error: %s\n", failure.message.c_str());
  }
  return failure.exit;
}

int runMain(int argc, char **argv) {
  Loader load = [](const std::string &path, const LoadOptions &options,
                   const std::map<std::string, Tensor> &weights) -> Result<Runner> {
    auto loaded = Model::load(path, options, weights);
    FRIT_RETURN_IF_ERROR(loaded.status());
    auto model = std::make_shared<Model>(std::move(*loaded));
    return Runner{[model](std::span<const Value> inputs) { return model->run(inputs); },
                  [model] { return model->statistics(); }, model->report()};
  };
  return runMain(argc, argv, load, [](const std::string &device) {
    auto opened = openDevice(device);
    return opened.isOk() ? std::string() : opened.status().message();
  });
}

} // namespace frit
