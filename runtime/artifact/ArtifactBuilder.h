// Writes a .frit file. The caller fills FlatBuffers' object form of Artifact.fbs
// (`format::ArtifactT`, plain structs with vectors), and packArtifact puts it behind a header with
// its digest. Header-only, so of the runtime the compiler needs only this and the digest in
// Artifact.cpp (libcrypto).
//
//   format::ArtifactT artifact;
//   artifact.graph = "layer";
//   PlanBuilder plan;
//   uint32_t eight = plan.intConstant(8);
//   uint32_t s0 = plan.newInt();   // then plan.plan.symbols, inputs, kernels,
//   plan.step<format::AllocT>() ...
//   artifact.plans.push_back(plan.take());
//   std::string bytes = packArtifact(artifact);

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace frit {

/// The bytes of the body, without a header.
inline std::string packBody(const format::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  format::FinishArtifactBuffer(builder, format::Artifact::Pack(builder, &artifact));
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
}

/// Joins header, body and weights (laid out as the body's Weight offsets say) to a file.
inline std::string frameArtifact(std::string_view body, std::string_view weights = {}) {
  Header header = {};
  header.magic = kMagic;
  header.version = kFormatVersion;
  header.headerBytes = sizeof(Header);
  header.bodyBytes = body.size();
  size_t end = sizeof(Header) + body.size();
  if (!weights.empty()) {
    header.weightsOffset = (end + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment;
    header.weightsBytes = weights.size();
  }
  std::string file(end, '\0');
  std::memcpy(file.data(), &header, sizeof(Header));
  std::copy(body.begin(), body.end(), file.begin() + sizeof(Header));
  header.sha256 = sha256({reinterpret_cast<const uint8_t *>(file.data()), file.size()});
  std::memcpy(file.data(), &header, sizeof(Header));
  if (!weights.empty()) {
    file.resize(header.weightsOffset, '\0');
    file.append(weights);
  }
  return file;
}

inline std::string packArtifact(const format::ArtifactT &artifact, std::string_view weights = {}) {
  return frameArtifact(packBody(artifact), weights);
}

/// Bytes of one element.
inline int64_t bytesOfElement(format::Dtype dtype) {
  using format::Dtype;
  switch (dtype) {
  case Dtype::I16:
  case Dtype::U16:
  case Dtype::F16:
  case Dtype::BF16:
    return 2;
  case Dtype::I32:
  case Dtype::U32:
  case Dtype::F32:
  case Dtype::C32:
    return 4;
  case Dtype::I64:
  case Dtype::U64:
  case Dtype::F64:
  case Dtype::C64:
    return 8;
  case Dtype::C128:
    return 16;
  default:
    return 1;
  }
}

/// Allocates registers and appends steps; constants are interned.
class PlanBuilder {
public:
  explicit PlanBuilder(format::Target target = format::Target::Cpu) { plan.target = target; }

  uint32_t newInt() { return plan.int_count++; }
  uint32_t newFloat() { return plan.float_count++; }

  uint32_t intConstant(int64_t value) {
    auto [it, isNew] = intConstants.try_emplace(value, plan.int_count);
    if (isNew) {
      plan.int_constants.emplace_back(value, newInt());
    }
    return it->second;
  }
  uint32_t floatConstant(double value) {
    auto [it, isNew] = floatConstants.try_emplace(std::bit_cast<uint64_t>(value), plan.float_count);
    if (isNew) {
      plan.float_constants.emplace_back(value, newFloat());
    }
    return it->second;
  }

  /// A tensor register with known sizes and strides (int registers).
  uint32_t newTensor(format::Dtype dtype, std::vector<uint32_t> sizes,
                     std::vector<uint32_t> strides, format::Device device = format::Device::Cpu) {
    uint32_t number = newOpaqueTensor(dtype, device);
    format::TensorT &tensor = *plan.tensors[number];
    tensor.rank = static_cast<int32_t>(sizes.size());
    tensor.sizes = std::move(sizes);
    tensor.strides = std::move(strides);
    return number;
  }
  /// A tensor register whose shape is known only after the call that makes it.
  uint32_t newOpaqueTensor(format::Dtype dtype, format::Device device = format::Device::Cpu) {
    auto tensor = std::make_unique<format::TensorT>();
    tensor->dtype = dtype;
    tensor->device = device;
    plan.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(plan.tensors.size() - 1);
  }

  uint32_t newProgram() {
    plan.programs.push_back(std::make_unique<format::ProgramT>());
    return static_cast<uint32_t>(plan.programs.size() - 1);
  }
  /// Appends an instruction that writes a new int register (use emitTo for the float file) and
  /// returns the register.
  uint32_t emit(uint32_t program, format::Op op, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
    return emitTo(program, newInt(), op, a, b, c);
  }
  uint32_t emitTo(uint32_t program, uint32_t dst, format::Op op, uint32_t a, uint32_t b = 0,
                  uint32_t c = 0) {
    plan.programs[program]->code.emplace_back(op, dst, a, b, c);
    return dst;
  }

  /// Appends a step, whose fields the caller fills: `builder.step<format::FreeT>().tensor = t;`
  template <typename T> T &step() {
    plan.steps.push_back(std::make_unique<format::StepT>());
    format::ActionUnion &action = plan.steps.back()->action;
    action.Set(T());
    return *static_cast<T *>(action.value);
  }

  std::unique_ptr<format::PlanT> take() { return std::make_unique<format::PlanT>(std::move(plan)); }

  /// The caller fills fields without a helper directly: symbols, inputs, outputs, constants,
  /// kernels, size_program.
  format::PlanT plan;

private:
  std::map<int64_t, uint32_t> intConstants;
  std::map<uint64_t, uint32_t> floatConstants;
};

} // namespace frit
