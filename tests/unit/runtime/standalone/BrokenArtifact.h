// Helpers of the tests of numbered rules, which damage one field of a file that can be loaded,
// decoded and run.

#pragma once

#include "runtime/cpu/CpuBackend.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/plan/PlanWeights.h"
#include "runtime/plan/Signature.h"
#include "runtime/standalone/StandaloneHost.h"
#include "tests/unit/runtime/standalone/SmallArtifact.h"

#include <functional>
#include <gtest/gtest.h>

namespace frit {

/// Loads, decodes and runs a CPU file on `count` floats, or on the tensor after `change`.
inline Status useCpu(const std::shared_ptr<const Artifact> &artifact, int64_t count,
                     const std::function<void(HostTensor &)> &change = {}, size_t given = 1) {
  auto decoded = DecodedPlan::decode(artifact, *artifact->plan(format::Target::Cpu));
  FRIT_RETURN_IF_ERROR(decoded.status());
  EXPECT_FALSE(signatureOf(**decoded).empty());
  auto host = StandaloneHost::create(**decoded, 1);
  FRIT_RETURN_IF_ERROR(host.status());
  auto backend = CpuBackend::create(**decoded);
  FRIT_RETURN_IF_ERROR(backend.status());
  PlanExecutor executor(*decoded, **host, **backend);
  FRIT_RETURN_IF_ERROR((*host)->bindWeights(**decoded, executor));
  auto memory = std::shared_ptr<char>(static_cast<char *>(std::aligned_alloc(64, 4096)), std::free);
  std::memset(memory.get(), 0, 4096);
  std::vector<InputValue> inputs(given);
  for (InputValue &input : inputs) {
    auto *tensor = new HostTensor{memory, memory.get(), 0, {count}, {1}, format::Dtype::F32, 4096};
    if (change) {
      change(*tensor);
    }
    input.kind = InputValue::Kind::Tensor;
    input.handle = tensor;
  }
  std::vector<OutputValue> outputs(executor.outputCount());
  Status status = executor.run(inputs, outputs);
  for (OutputValue &output : outputs) {
    if (output.handle) {
      (*host)->releaseTensor(output.handle);
    }
  }
  return status;
}

inline Status use(std::string_view bytes, int64_t count = 3) {
  auto artifact = Artifact::fromBytes(bytesOfString(bytes));
  FRIT_RETURN_IF_ERROR(artifact.status());
  if ((*artifact)->plan(format::Target::Cpu)) {
    return useCpu(*artifact, count);
  }
  if (const format::Plan *gpu = (*artifact)->plan(format::Target::Gpu)) {
    return DecodedPlan::decode(*artifact, *gpu).status();
  }
  return Status::ok();
}

/// Expects an error of one line, not too long for a terminal, that contains `part`.
inline void expectError(const Status &status, std::string_view part,
                        ErrorKind kind = ErrorKind::BadArtifact) {
  ASSERT_FALSE(status.isOk()) << "accepted, expected: " << part;
  EXPECT_EQ(status.kind(), kind) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  EXPECT_LT(status.message().size(), 8192u);
}

inline void expectRefused(std::string_view part, const std::function<void(Small &)> &damage,
                          format::Target target = format::Target::Cpu) {
  Small small(target);
  damage(small);
  expectError(use(small.pack()), part);
}

} // namespace frit
