#include "runtime/artifact/Artifact_generated.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/plan/Signature.h"
#include "runtime/standalone/StandaloneHost.h"
#include "tests/fuzz/Targets.h"

#include <cstdlib>
#include <cstring>

namespace frit {

namespace {

constexpr int64_t kSomeSize = 3, kMostElements = 1 << 12;

/// Kernels are machine code of whoever wrote the file; everything around them is the reader's.
struct NoKernels : KernelBackend {
  Status launch(const KernelArguments &, TensorHost &) override { return Status::ok(); }
};

/// A tensor of the sizes that are constants of the plan, and of some size where they are not.
void *makeTensor(const DecodedPlan &plan, uint32_t reg) {
  const TensorType &type = plan.tensors[reg];
  std::vector<int64_t> sizes, strides(type.sizes.size());
  int64_t count = 1;
  for (uint32_t size : type.sizes) {
    int64_t value = plan.initialInts[size];
    sizes.push_back(value > 0 && value <= kMostElements ? value : kSomeSize);
  }
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = count;
    if (sizes[dim] * count > kMostElements) {
      sizes[dim] = 1;
    }
    count *= sizes[dim];
  }
  uint64_t bytes = static_cast<uint64_t>(count) * bytesOf(type.dtype);
  auto *memory = static_cast<char *>(std::calloc(bytes, 1));
  return new HostTensor{
      std::shared_ptr<char>(memory, std::free), memory, 0, sizes, strides, type.dtype, bytes};
}

void call(const std::shared_ptr<const DecodedPlan> &plan) {
  // A copy may be of 2^60 elements that are all the same one: slow, and nobody's error.
  for (const DecodedStep &step : plan->steps) {
    if (step.kind == StepKind::CopyInto) {
      return;
    }
  }
  auto host = StandaloneHost::create(*plan, 1);
  if (!host.isOk()) {
    return;
  }
  NoKernels backend;
  PlanExecutor executor(plan, **host, backend);
  if (!(*host)->bindWeights(*plan, executor).isOk()) {
    return;
  }
  std::vector<InputValue> inputs(executor.inputCount());
  for (size_t number = 0; number < inputs.size(); ++number) {
    const format::Input &input = *plan->source->inputs()->Get(static_cast<uint32_t>(number));
    inputs[number].integer = kSomeSize;
    switch (input.kind()) {
    case format::InputKind::Tensor:
    case format::InputKind::ScalarTensor:
      inputs[number].kind = InputValue::Kind::Tensor;
      inputs[number].handle = makeTensor(*plan, input.reg());
      break;
    case format::InputKind::Float:
      inputs[number].kind = InputValue::Kind::Float;
      break;
    default:
      inputs[number].kind = InputValue::Kind::Int;
    }
  }
  std::vector<OutputValue> outputs(executor.outputCount());
  for (int repeat = 0; repeat < 2; ++repeat) {
    (void)executor.bucketKey(inputs);
    Status status = executor.run(inputs, outputs);
    for (OutputValue &output : outputs) {
      if (output.handle) {
        (*host)->releaseTensor(std::exchange(output.handle, nullptr));
      }
    }
    if (!status.isOk() || !inputs.empty()) {
      break;
    }
  }
}

void read(std::span<const uint8_t> bytes) {
  auto artifact = Artifact::fromBytes(bytes);
  if (!artifact.isOk()) {
    return;
  }
  (void)(*artifact)->checkWeights();
  (void)(*artifact)->graphName();
  (void)(*artifact)->report();
  if (!(*artifact)->root().plans()) {
    return;
  }
  for (const format::Plan *plan : *(*artifact)->root().plans()) {
    auto decoded = DecodedPlan::decode(*artifact, *plan);
    if (decoded.isOk()) {
      (void)signatureOf(**decoded);
      call(*decoded);
    }
  }
}

} // namespace

void fuzzArtifact(std::span<const uint8_t> bytes) {
  read(bytes);
  Header header;
  if (bytes.size() <= sizeof(Header)) {
    return;
  }
  // The same with lengths and a digest that fit: what is behind them is never met otherwise.
  std::vector<uint8_t> repaired(bytes.begin(), bytes.end());
  std::memcpy(&header, repaired.data(), sizeof(Header));
  header.magic = kMagic;
  header.version = kFormatVersion;
  header.headerBytes = sizeof(Header);
  header.sha256 = {};
  header.reserved = {};
  if (header.weightsOffset == 0 || header.weightsOffset > bytes.size()) {
    header.bodyBytes = bytes.size() - sizeof(Header);
    header.weightsOffset = header.weightsBytes = 0;
  }
  if (header.bodyBytes > bytes.size() - sizeof(Header)) {
    return;
  }
  std::memcpy(repaired.data(), &header, sizeof(Header));
  header.sha256 = sha256(std::span(repaired).first(sizeof(Header) + header.bodyBytes));
  std::memcpy(repaired.data(), &header, sizeof(Header));
  read(repaired);
}

} // namespace frit
