// A file with one element of most kinds, from which tests of the reader start: they damage its
// fields.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"
#include "tests/unit/runtime/FileBytes.h"

#include <functional>

namespace frit {

inline constexpr std::string_view kSmallWeights = "0123456789abcdef";

inline const char *const kSmallPtx = R"(// made by hand
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(
  .param .u64 .ptr .global .align 1 k_param_0, /* x */
  .param .u64 .ptr .global .align 1 k_param_1,
  .param .u64 k_param_2,
  .param .f64 k_param_3
)
.maxntid 128, 1, 1
{ { ret; } }
)";

/// The same over a list of three items.
inline const char *const kListPtx = R"(// made by hand
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(
  .param .align 8 .b8 k_param_0[120]
)
.maxntid 128, 1, 1
{ ret; }
)";

/// y = k(x, w) for x of s0 elements, and a view of y.
struct Small {
  format::ArtifactT artifact;
  PlanBuilder builder;
  uint32_t one, four, s0, holds, half, x, w, y, z, program;

  explicit Small(format::Target target = format::Target::Cpu) : builder(target) {
    format::Device device =
        target == format::Target::Gpu ? format::Device::Cuda : format::Device::Cpu;
    artifact.graph = "small";
    artifact.sources = {"model.py:3 in forward: k(x)"};
    one = builder.intConstant(1), four = builder.intConstant(4), s0 = builder.newInt(),
    half = builder.floatConstant(0.5);
    program = builder.newProgram();
    uint32_t bytes = builder.emit(program, format::Op::Mul, s0, four);
    holds = builder.emit(program, format::Op::Ge, s0, one);
    plan().size_program = program;
    x = builder.newTensor(format::Dtype::F32, {s0}, {one}, device),
    w = builder.newTensor(format::Dtype::F32, {four}, {one}, device);
    y = builder.newTensor(format::Dtype::F32, {s0}, {one}, device),
    z = builder.newTensor(format::Dtype::F32, {one}, {one}, device);
    auto &input = *plan().inputs.emplace_back(std::make_unique<format::InputT>());
    input.name = "x", input.reg = x;
    auto &symbol = *plan().symbols.emplace_back(std::make_unique<format::SymbolT>());
    symbol.name = "s0", symbol.reg = s0, symbol.dim = 0;
    auto &guard = *plan().guards.emplace_back(std::make_unique<format::GuardT>());
    guard.kind = format::GuardKind::Range, guard.holds = holds, guard.symbols = {0},
    guard.requirement = "s0 must be at least 1";
    auto &constant = *plan().constants.emplace_back(std::make_unique<format::ConstantT>());
    constant.name = "w", constant.tensor = w, constant.weight = 0;
    auto &kernel = *plan().kernels.emplace_back(std::make_unique<format::KernelT>());
    kernel.name = "k", kernel.access = "rw", kernel.sources = {0};
    auto &variant = *kernel.variants.emplace_back(std::make_unique<format::KernelVariantT>());
    auto &launch = *variant.launches.emplace_back(std::make_unique<format::KernelLaunchT>());
    launch.entry = "k", launch.block_x = 128;
    auto &alloc = builder.step<format::AllocT>();
    alloc.tensor = y, alloc.bytes = bytes, alloc.storage = format::StorageClass::Output;
    auto &use = builder.step<format::LaunchT>();
    use.tensors = {x, y}, use.ints = {s0}, use.floats = {half};
    auto &sizes = *use.variants.emplace_back(std::make_unique<format::VariantSizesT>());
    sizes.launches.emplace_back(std::make_unique<format::LaunchSizesT>())->x = s0;
    auto &view = builder.step<format::ViewT>();
    view.tensor = z, view.source = y, view.offset = builder.intConstant(0);
    for (uint32_t reg : {y, z}) {
      plan().outputs.emplace_back(std::make_unique<format::OutputT>())->reg = reg;
    }
    addImage("x86-64-v3");
    auto &module = *artifact.gpu_modules.emplace_back(std::make_unique<format::GpuModuleT>());
    module.arch = 90, module.entries = {"k"};
    setCode(kSmallPtx);
    auto &weight = *artifact.weights.emplace_back(std::make_unique<format::WeightT>());
    weight.name = "w", weight.dtype = format::Dtype::F32, weight.sizes = {4}, weight.strides = {1},
    weight.bytes = kSmallWeights.size();
    Digest digest = sha256(bytesOfString(kSmallWeights));
    weight.sha256.assign(digest.begin(), digest.end());
  }

  format::PlanT &plan() { return builder.plan; }
  template <typename T> T &step(size_t number) {
    return *static_cast<T *>(plan().steps[number]->action.value);
  }
  /// Removes everything that uses tensors, for inputs of other kinds.
  void withoutTensors() {
    plan().steps.clear(), plan().outputs.clear(), plan().constants.clear(), plan().symbols.clear(),
        plan().guards.clear();
  }
  void addImage(const char *level) {
    auto &image = *artifact.images.emplace_back(std::make_unique<format::CodeImageT>());
    // xor eax, eax; ret
    image.level = level, image.bytes = {0x31, 0xc0, 0xc3};
    image.entries.emplace_back(std::make_unique<format::EntryT>())->name = "k";
  }
  void setCode(std::string_view text) {
    artifact.gpu_modules[0]->bytes.assign(text.begin(), text.end());
  }

  std::string pack(std::string_view weights = kSmallWeights) {
    artifact.plans.insert(artifact.plans.begin(), builder.take());
    return packArtifact(artifact, weights);
  }
};

inline Header headerOf(const std::string &file) {
  Header header;
  std::memcpy(&header, file.data(), sizeof(Header));
  return header;
}

/// The same file with another header and a valid digest.
inline std::string withHeader(std::string file, const std::function<void(Header &)> &change) {
  Header header = headerOf(file);
  size_t end = sizeof(Header) + header.bodyBytes;
  change(header);
  header.sha256 = {};
  std::memcpy(file.data(), &header, sizeof(Header));
  header.sha256 = sha256(bytesOfString(std::string_view(file).substr(0, end)));
  std::memcpy(file.data(), &header, sizeof(Header));
  return file;
}

} // namespace frit
