// Every kernel of tests/codegen/Inputs/kernels.mlir as on a GPU: emitted by its schedule, emulated
// with checks of bounds, races, first writes and barriers, and compared with an interpreter of its
// text. Sizes are around those of vectors, warps, blocks and tiles; pointers are multiples of 16
// bytes or not.

#include "codegen/Codegen.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "kernel/KernelProgram.h"
#include "runtime/cpu/MathCallbacks.h"
#include "runtime/simt/SimtGrid.h"
#include "tests/unit/codegen/simt/EmulatedKernels.h"
#include "tests/unit/codegen/simt/KernelReference.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace mlir::frit::test;
namespace simt = ::frit;
using mlir::frit::KernelOp;
using mlir::frit::SizeExpr;

namespace {

/// A tensor in memory with a kernel's strides, `shift` elements after a 256-byte boundary.
struct Buffer {
  std::vector<char> storage;
  char *data = nullptr;
  int64_t bytes = 0;
  unsigned elementBytes = 0;
  std::vector<int64_t> offsets;
  Type element;

  Buffer(RankedTensorType type, ArrayRef<SizeExpr> strides, const Lookup &parameters,
         unsigned shift)
      : elementBytes(mlir::frit::getElementBytes(type.getElementType())),
        element(type.getElementType()) {
    std::vector<int64_t> sizes = evaluateSizes(type, parameters), steps;
    int64_t count = 1, last = 0;
    for (auto [size, stride] : llvm::zip(sizes, strides)) {
      steps.push_back(*stride.evaluate(parameters));
      count *= size;
      last += (size - 1) * steps.back();
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, offset = 0;
      for (size_t d = sizes.size(); d-- > 0;) {
        offset += rest % sizes[d] * steps[d];
        rest /= sizes[d];
      }
      offsets.push_back(offset);
    }
    bytes = count ? (last + 1) * elementBytes : 0;
    storage.assign(bytes + 512, 0x5b);
    auto base = (reinterpret_cast<uintptr_t>(storage.data()) + 255) & ~uintptr_t(255);
    data = reinterpret_cast<char *>(base) + shift * elementBytes;
  }
  void write(int64_t i, double real, int64_t integer) {
    char *at = data + offsets[i] * elementBytes;
    if (auto type = dyn_cast<FloatType>(element)) {
      llvm::APFloat value(real);
      bool lost;
      value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
      uint64_t bits = value.bitcastToAPInt().getZExtValue();
      std::memcpy(at, &bits, elementBytes);
    } else {
      std::memcpy(at, &integer, elementBytes);
    }
  }
  double readReal(int64_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, data + offsets[i] * elementBytes, elementBytes);
    auto type = cast<FloatType>(element);
    llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(type.getWidth(), bits));
    bool lost;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  }
  int64_t readInteger(int64_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, data + offsets[i] * elementBytes, elementBytes);
    unsigned spare = 64 - 8 * elementBytes;
    return static_cast<int64_t>(bits << spare) >> spare;
  }
};

struct Case {
  const char *kernel;
  std::vector<std::vector<int64_t>> sizes;
  /// Of the result's type, in units in the last place of the largest operand.
  double tolerance = 1e-6;
};

void PrintTo(const Case &example, std::ostream *stream) { *stream << example.kernel; }

/// The variant to run, and its results.
struct Choice {
  Kernels &kernels = Kernels::get();
  /// Null: the generic kernel. None: the first variant for all sizes whose pointers are aligned, or
  /// else the generic kernel.
  std::optional<const mlir::frit::VariantDesc *> variant = {};
  std::vector<std::vector<char>> results = {};
  simt::SimtTraffic traffic = {};
};

/// The check of the runtime before it launches a variant.
bool isAligned(const mlir::frit::VariantDesc &variant, const simt::SimtArguments &arguments) {
  return llvm::all_of(variant.aligned, [&](const mlir::frit::AlignedTensor &one) {
    return reinterpret_cast<uintptr_t>(arguments.buffers[one.number].data) % one.bytes == 0;
  });
}

simt::Status runKernel(StringRef name, const std::vector<int64_t> &sizes, unsigned shift,
                       double tolerance, int64_t indexLimit, Choice &choice) {
  Kernels &kernels = choice.kernels;
  KernelOp kernel = kernels.find(name);
  std::vector<std::string> names;
  for (auto symbol : kernel.getSymbols().getAsRange<mlir::frit::SymbolAttr>()) {
    names.push_back(symbol.getName().str());
  }
  Lookup parameters = [&](StringRef symbol) -> std::optional<int64_t> {
    auto at = llvm::find(names, symbol);
    return at == names.end() ? std::nullopt : std::optional(sizes[at - names.begin()]);
  };
  std::mt19937_64 random(sizes.empty() ? 7 : sizes[0] * 31 + sizes.back());
  simt::SimtArguments arguments;
  arguments.ints = sizes;
  arguments.callbacks = &simt::mathCallbacks();
  arguments.traffic = &choice.traffic;
  std::vector<ReferenceTensor> inputs;
  std::vector<std::unique_ptr<Buffer>> operands, results;
  auto strides = [&](RankedTensorType type, DictionaryAttr attributes) {
    return mlir::frit::getKernelStrides(kernel, type, attributes);
  };
  auto attributesOf = [](ArrayAttr all, unsigned i) {
    return all ? cast<DictionaryAttr>(all[i]) : DictionaryAttr();
  };
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    ReferenceTensor input;
    auto tensor = dyn_cast<RankedTensorType>(type);
    input.element = tensor ? tensor.getElementType() : type;
    if (tensor) {
      input.sizes = evaluateSizes(tensor, parameters);
    }
    for (int64_t k = 0; k < input.numElements(); ++k) {
      if (input.isFloat()) {
        double value = std::uniform_real_distribution<double>(-3, 3)(random);
        input.reals.push_back(
            roundToType(value, tensor ? input.element : Float32Type::get(&kernels.context)));
      } else if (input.element.isInteger(1)) {
        input.integers.push_back(random() % 2);
      } else {
        int64_t limit = indexLimit ? indexLimit : 1000;
        input.integers.push_back(static_cast<int64_t>(random() % (2 * limit)) - limit);
      }
    }
    if (tensor) {
      operands.push_back(std::make_unique<Buffer>(
          tensor, strides(tensor, attributesOf(kernel.getArgAttrsAttr(), i)), parameters, shift));
      for (int64_t k = 0; k < input.numElements(); ++k) {
        operands.back()->write(k, input.isFloat() ? input.reals[k] : 0,
                               input.isFloat() ? 0 : input.integers[k]);
      }
      arguments.buffers.push_back({"operand " + std::to_string(i), operands.back()->data,
                                   static_cast<uint64_t>(operands.back()->bytes)});
    } else if (input.isFloat()) {
      arguments.floats.push_back(input.reals[0]);
    } else {
      arguments.ints.push_back(input.integers[0]);
    }
    inputs.push_back(std::move(input));
  }
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    results.push_back(std::make_unique<Buffer>(
        tensor, strides(tensor, attributesOf(kernel.getResAttrsAttr(), i)), parameters, shift));
    arguments.buffers.push_back({"result " + std::to_string(i), results.back()->data,
                                 static_cast<uint64_t>(results.back()->bytes), true, false});
  }
  const mlir::frit::KernelDesc &description = kernels.describe(name);
  const mlir::frit::VariantDesc *variant = choice.variant.value_or(nullptr);
  if (!choice.variant) {
    auto holds = [&](const auto &one) { return !one.number && isAligned(one, arguments); };
    auto first = llvm::find_if(description.variants, holds);
    variant = first == description.variants.end() ? nullptr : &*first;
  }
  arguments.workspaceBytes =
      *SizeExpr(variant ? variant->workspaceBytes : description.workspaceBytes)
           .evaluate(parameters);
  std::vector<simt::SimtLaunch> launches;
  for (const mlir::frit::LaunchDesc &launch : variant ? variant->launches : description.launches) {
    simt::SimtLaunch next{launch.entry,
                          reinterpret_cast<simt::SimtFunction>(kernels.code + launch.offset)};
    for (int axis = 0; axis < 3; ++axis) {
      next.grid[axis] = *SizeExpr(launch.grid[axis]).evaluate(parameters);
      next.block[axis] = launch.block[axis];
    }
    next.sharedBytes = launch.sharedBytes;
    next.cluster = launch.cluster;
    launches.push_back(next);
  }
  simt::Status status = runSimtKernel(arguments, launches);
  if (!status.isOk()) {
    return status;
  }
  for (auto &result : results) {
    choice.results.emplace_back(result->data, result->data + result->bytes);
  }
  std::vector<ReferenceTensor> expected = evaluateKernel(kernel, inputs, parameters);
  for (auto [r, result] : llvm::enumerate(results)) {
    const ReferenceTensor &want = expected[r];
    int wrong = 0;
    for (int64_t k = 0; k < want.numElements() && wrong < 4; ++k) {
      auto near = [&](double found, double real) {
        return found == real || (std::isnan(found) && std::isnan(real)) ||
               std::abs(found - real) <= tolerance * (1 + std::abs(real));
      };
      bool same = want.isFloat() ? near(result->readReal(k), want.reals[k])
                                 : result->readInteger(k) == want.integers[k];
      if (!same) {
        ++wrong;
        ADD_FAILURE() << name.str() << " result " << r << " element " << k << ": expected "
                      << (want.isFloat() ? want.reals[k] : want.integers[k]) << ", found "
                      << (want.isFloat() ? result->readReal(k) : result->readInteger(k));
      }
    }
  }
  return status;
}

simt::Status runKernel(StringRef name, const std::vector<int64_t> &sizes, unsigned shift,
                       double tolerance, int64_t indexLimit = 0) {
  Choice choice;
  return runKernel(name, sizes, shift, tolerance, indexLimit, choice);
}

class GpuKernel : public ::testing::TestWithParam<Case> {};

TEST_P(GpuKernel, runsAsWritten) {
  const Case &example = GetParam();
  for (const std::vector<int64_t> &sizes : example.sizes) {
    for (unsigned shift : {0, 1}) {
      std::string text;
      for (int64_t size : sizes) {
        text += " " + std::to_string(size);
      }
      SCOPED_TRACE("sizes" + text + " shift " + std::to_string(shift));
      simt::Status status = runKernel(example.kernel, sizes, shift, example.tolerance,
                                      example.kernel == StringRef("embedding") ? sizes[0] : 0);
      ASSERT_TRUE(status.isOk()) << status.message();
      if (HasFailure()) {
        return;
      }
    }
  }
}

void compareVariants(const Case &example, Kernels &kernels, const std::vector<int64_t> &sizes,
                     unsigned shift) {
  int64_t limit = example.kernel == StringRef("embedding") ? sizes[0] : 0;
  Choice generic{kernels, nullptr};
  simt::Status status = runKernel(example.kernel, sizes, shift, example.tolerance, limit, generic);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (const mlir::frit::VariantDesc &variant : kernels.describe(example.kernel).variants) {
    if (shift && !variant.aligned.empty()) {
      continue;
    }
    Choice chosen{kernels, &variant};
    status = runKernel(example.kernel, sizes, shift, example.tolerance, limit, chosen);
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(generic.results, chosen.results)
        << "shift " << shift << " of " << sizes.size() << " sizes";
  }
}

/// The order of a reduction depends only on sizes, so narrow indices and vectors change no bit.
/// Padding between elements is never written, so whole buffers are compared.
TEST_P(GpuKernel, everyVariantGivesTheSameBits) {
  const Case &example = GetParam();
  for (const std::vector<int64_t> &sizes : example.sizes) {
    for (bool isWide : {false, true}) {
      if (isWide && llvm::is_contained(sizes, 0)) {
        continue;
      }
      for (unsigned shift : {0, 1}) {
        compareVariants(example, Kernels::get(isWide), sizes, shift);
        if (HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

const std::vector<std::vector<int64_t>> kNone(1);
const std::vector<std::vector<int64_t>> kOne = {{0},  {1},  {2},    {3},    {4},    {7},    {31},
                                                {32}, {33}, {1023}, {1024}, {1025}, {2047}, {4099}};
const std::vector<std::vector<int64_t>> kTwo = {{0, 5},   {5, 0},  {1, 1},    {3, 8},   {4, 7},
                                                {33, 16}, {5, 33}, {130, 24}, {2, 257}, {17, 128}};

const std::vector<std::vector<int64_t>> kThree = {
    {0, 3, 5},   {3, 0, 5},   {3, 5, 0},   {1, 1, 1},   {2, 2, 2},    {1, 2, 3},    {3, 1, 5},
    {5, 7, 33},  {2, 3, 256}, {3, 5, 257}, {2, 2, 511}, {1, 1, 1025}, {1025, 1, 1}, {1, 1023, 1},
    {171, 3, 2}, {9, 16, 16}, {40, 40, 4}, {33, 3, 64}, {3, 300, 8}};

std::vector<std::vector<int64_t>> both(std::vector<std::vector<int64_t>> sizes,
                                       const std::vector<std::vector<int64_t>> &more) {
  sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes;
}

const Case kCases[] = {
    {"mul_add", kOne},
    {"unbounded", kOne},
    {"bias_gelu", kTwo, 0.01},
    // Steps of a thread within a row, of whole rows, and over several dims at once.
    {"broadcasts",
     {{0, 3, 5},   {3, 0, 5},    {3, 5, 0},    {1, 1, 1},    {2, 2, 2},    {1, 2, 3},
      {2, 3, 1},   {3, 1, 5},    {7, 5, 3},    {5, 7, 33},   {3, 5, 255},  {3, 5, 256},
      {3, 5, 257}, {2, 2, 511},  {1, 1, 1025}, {1025, 1, 1}, {1, 1023, 1}, {3, 343, 1},
      {171, 3, 2}, {2, 2, 1023}, {9, 16, 16},  {5, 128, 2}}},
    {"flat", both(kTwo, {{300, 7}, {7, 300}, {1, 5000}, {5000, 1}, {1023, 3}})},
    {"pairs", kThree},
    {"repeated", kThree},
    {"flat_transpose", kTwo},
    {"enlarged",
     {{3, 0, 1, 1},
      {1, 1, 1, 1},
      {2, 9, 3, 2},
      {7, 33, 5, 1},
      {3, 257, 1, 7},
      {5, 1024, 7, 3},
      {40, 31, 64, 5},
      {3, 255, 2, 64}}},
    // Not empty, because eager refuses argmax of no elements.
    {"channels_full",
     {{1, 1, 1},
      {2, 2, 2},
      {3, 1, 5},
      {5, 7, 33},
      {3, 5, 257},
      {1, 1025, 1},
      {40, 40, 4},
      {3, 7, 1024},
      {7, 9, 333},
      {70, 3, 128},
      {900, 3, 5}},
     1e-4},
    {"channels_one", both(kTwo, {{70, 1001}, {1000, 72}, {900, 4}, {4, 5000}}), 1e-4},
    {"channels_kept",
     {{3, 0, 5},
      {1, 1, 1},
      {2, 2, 2},
      {3, 1, 5},
      {5, 7, 33},
      {2, 3, 256},
      {3, 5, 257},
      {171, 3, 2},
      {9, 16, 16},
      {40, 4, 40}},
     1e-4},
    {"channels_columns",
     {{3, 5, 0},
      {1, 1, 1},
      {2, 2, 2},
      {3, 1, 5},
      {5, 7, 33},
      {3, 43, 32},
      {43, 3, 40},
      {300, 1, 8},
      {1, 300, 8},
      {9, 90, 36}},
     1e-4},
    {"channels_flat", kThree},
    {"strides", kTwo},
    {"moves", {{0, 0}, {1, 0}, {0, 1}, {5, 9}, {40, 257}, {1000, 31}}},
    {"difference", kOne},
    {"mixed", kOne},
    {"functions", kOne, 4e-6},
    {"embedding", {{1, 1, 1}, {10, 0, 3}, {10, 8, 0}, {10, 8, 5}, {7, 33, 40}}},
    {"scalar", kNone},
    {"softmax",
     {{0, 3}, {3, 0}, {1, 1}, {3, 4}, {2, 31}, {2, 1024}, {3, 1025}, {1, 5000}, {2, 4096}}},
    {"softmax_warp", {{0}, {1}, {3}, {4}, {5}, {9}}},
    {"softmax_odd", {{0}, {1}, {5}}},
    {"layer_norm", {{0}, {1}, {3}}, 0.01},
    {"siblings", {{0}, {1}, {15}, {16}, {17}, {100}}},
    {"around", {{0, 4}, {4, 0}, {1, 1}, {5, 7}, {3, 64}, {40, 33}}, 1e-5},
    {"column_sum",
     {{0, 3}, {3, 0}, {1, 1}, {7, 8}, {9, 33}, {40, 128}, {100, 257}, {33, 260}},
     1e-5},
    // Not empty, because eager refuses argmax of no elements.
    {"column_max", {{3, 0}, {1, 1}, {7, 8}, {9, 33}, {40, 128}, {17, 257}, {33, 260}}},
    {"similarity", {{0, 3}, {1, 1}, {5, 8}, {7, 33}, {20, 40}}},
    {"full_sum", {{0}, {1}, {255}, {1024}, {4097}, {70000}}, 1e-5},
    {"full_center", {{1}, {255}, {1024}, {4097}, {30000}}, 1e-5},
    {"full_small", kNone},
    {"one_point", kNone},
    {"both_ways", {{0, 5}, {5, 0}, {1, 1}, {2, 3}, {31, 33}, {32, 32}, {33, 31}, {40, 70}}},
    // Not empty, because eager refuses argmax of no elements.
    {"split_rows", {{0, 5}, {1, 1}, {3, 8}, {2, 1023}, {2, 4097}, {3, 8192}, {1, 20001}}, 1e-4},
    {"split_softmax", {{0, 5}, {3, 0}, {1, 1}, {3, 8}, {2, 1023}, {2, 4097}, {3, 8192}}, 1e-5},
    {"split_sum", {{0, 3}, {1, 1}, {257, 5}, {600, 264}}, 1e-4},
    {"rows_at_once", {{0}, {1}, {7}, {8}, {31}, {32}, {33}, {100}}, 1e-5},
    {"partial_rows_at_once", {{0}, {1}, {2}, {3}, {4}, {5}, {9}}, 1e-5},
    {"square_halves", {{0}, {1}, {2}}, 0.01},
    {"square_results", {{0}, {1}, {3}}},
    {"square_floats", {{0}, {1}, {3}}},
    {"cluster_softmax", {{0}, {1}, {3}}},
    {"cluster_odd", {{0}, {1}, {2}}, 2e-4},
    {"cluster_norm", {{1}}},
    {"cluster_none", {{1}}},
    {"unrolled",
     {{0},
      {1},
      {3},
      {33},
      {1023},
      {1024},
      {2047},
      {2048},
      {2049},
      {4095},
      {4096},
      {4100},
      {8192},
      {10001}}},
    {"unrolled_rows",
     {{0, 5},
      {1, 1},
      {3, 8},
      {33, 16},
      {5, 33},
      {130, 24},
      {2, 257},
      {17, 128},
      {64, 64},
      {65, 128}}},
    {"lanes", {{0}, {1}, {15}, {16}, {33}}},
    // Fewer rows than a block has, as many, and more than the grid.
    {"norm_block", {{0}, {1}, {2}, {3}, {4}, {7}}, 0.02},
    {"norm_groups", {{0}, {1}, {2}, {3}, {4}, {5}, {8}, {9}, {17}}, 1e-4},
    {"norm_warps", {{0, 3}, {3, 0}, {1, 1}, {3, 1}, {4, 1}, {5, 1}, {3, 3}, {4, 7}, {5, 20}}, 0.02},
    {"norm_odd", {{0}, {1}, {2}, {3}, {9}, {10}, {11}, {32}}, 1e-4},
    {"softmax_columns", {{0}, {1}, {2}, {8}, {31}, {32}, {33}, {100}}, 1e-5},
    {"split_columns", {{3, 0}, {1, 1}, {7, 8}, {255, 33}, {256, 40}, {257, 264}, {2100, 24}}, 1e-4},
    {"narrow_columns",
     {{3, 0}, {1, 1}, {7, 8}, {127, 33}, {128, 32}, {129, 40}, {300, 8}, {700, 36}},
     1e-4},
    {"shared_full", {{1}, {1023}, {4096}, {4097}, {8192}, {20001}, {70000}}, 1e-4},
    {"unrolled_columns",
     {{0, 5}, {3, 0}, {1, 1}, {15, 32}, {31, 33}, {32, 34}, {33, 64}, {100, 30}},
     1e-5},
    {"variance_columns",
     {{0, 3}, {3, 0}, {1, 1}, {7, 8}, {127, 33}, {128, 32}, {129, 40}, {300, 8}, {700, 36}},
     1e-4},
    {"variance_among_others", {{3, 0}, {1, 1}, {15, 32}, {16, 33}, {17, 264}, {100, 30}}, 1e-4},
    {"variance_of_doubles", {{0, 3}, {1, 1}, {7, 8}, {40, 129}}, 1e-12},
    {"variance_rows", {{0, 5}, {3, 0}, {1, 1}, {3, 8}, {2, 1023}, {2, 4097}}, 1e-3},
    {"variance_kept", {{0}, {1}, {3}}, 1e-3},
    {"variance_split_rows",
     {{0, 5}, {3, 0}, {1, 1}, {3, 8}, {2, 1023}, {2, 4097}, {3, 8192}, {1, 20001}},
     1e-2},
    {"variance_of_all", {{0}, {1}, {1023}, {4096}, {4097}, {20001}, {70000}}, 1e-4},
    {"scan_rows",
     {{0, 5}, {3, 0}, {1, 1}, {3, 8}, {5, 33}, {2, 257}, {2, 511}, {2, 512}, {1, 5000}, {2, 4096}},
     1e-3},
    {"scan_short_rows", both(kTwo, {{3, 1}, {4, 32}, {5, 32}, {5, 31}})},
    {"scan_whole", {{0}, {1}, {3}}, 1e-10},
    {"scan_columns", kThree, 1e-3},
    {"scan_long_columns", {{0, 3}, {3, 0}, {1, 1}, {255, 2}, {257, 3}, {300, 1}}, 1e-3},
    {"segments", {{0, 5}, {3, 0}, {1, 1}, {3, 8}, {66, 33}, {90, 40}, {100, 4}}, 1e-5},
    {"segments_across", {{0}, {1}, {40}, {64}, {128}}},
};

INSTANTIATE_TEST_SUITE_P(All, GpuKernel, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.kernel); });

TEST(GpuKernel, everyKernelOfTheFileIsRun) {
  for (KernelOp kernel : Kernels::get().module->getOps<KernelOp>()) {
    EXPECT_TRUE(llvm::any_of(kCases, [&](const Case &example) {
      return kernel.getName() == example.kernel;
    })) << kernel.getName().str();
  }
}

bool isForSomeSizes(const mlir::frit::VariantDesc &variant) { return variant.number.has_value(); }

TEST(GpuKernel, unboundedSizesHaveAVariantOf32BitIndices) {
  std::vector<std::string> without;
  for (const mlir::frit::KernelDesc &kernel : Kernels::get(true).image.kernels) {
    bool isStatic = Kernels::get(true).find(kernel.name).getSymbols().empty();
    bool isForSizes = llvm::any_of(kernel.variants, isForSomeSizes);
    if (!isForSizes && !isStatic) {
      without.push_back(kernel.name);
    }
    EXPECT_TRUE(!isStatic || !isForSizes) << kernel.name;
  }
  // The assumptions here do not cover strides of three, iotas with steps of two and three, and a
  // divisor that is not a size.
  EXPECT_EQ(without, (std::vector<std::string>{"strides", "mixed", "enlarged", "segments"}));
  for (const mlir::frit::KernelDesc &kernel : Kernels::get().image.kernels) {
    EXPECT_FALSE(llvm::any_of(kernel.variants, isForSomeSizes)) << kernel.name;
  }
}

/// Each byte is moved once: no value is read again, and threads do not read the same bytes. Rows
/// fill their blocks here, because a group of threads without a row reads the last one again.
struct Moved {
  const char *kernel;
  std::vector<int64_t> sizes;
};
const Moved kMoved[] = {
    {"mul_add", {1}},
    {"mul_add", {4099}},
    {"unbounded", {1025}},
    {"bias_gelu", {1, 1000}},
    {"mixed", {1023}},
    {"functions", {2047}},
    {"strides", {33, 16}},
    {"softmax_warp", {32}},
    {"softmax_warp", {8}},
    {"softmax_odd", {3}},
    {"layer_norm", {1}},
    {"siblings", {96}},
    {"around", {40, 33}},
    {"column_sum", {40, 256}},
    {"column_sum", {33, 255}},
    {"full_sum", {70000}},
    {"full_small", {}},
    {"split_rows", {3, 32768}},
    {"split_sum", {2048, 256}},
    {"both_ways", {33, 70}},
    {"rows_at_once", {64}},
    {"square_halves", {2}},
    {"square_results", {2}},
    {"square_floats", {3}},
    {"cluster_softmax", {3}},
    {"cluster_odd", {2}},
    {"cluster_norm", {1}},
    {"unrolled", {10001}},
    {"unrolled_rows", {65, 128}},
    {"lanes", {32}},
    {"flat_transpose", {33, 70}},
    {"unrolled_columns", {100, 64}},
};

TEST(GpuKernel, movesNoByteTwice) {
  for (const Moved &example : kMoved) {
    for (unsigned shift : {0, 1}) {
      SCOPED_TRACE(std::string(example.kernel) + " shift " + std::to_string(shift));
      Choice choice;
      simt::Status status = runKernel(example.kernel, example.sizes, shift, 0.01, 0, choice);
      simt::SimtTraffic traffic = choice.traffic;
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_GT(traffic.mandatory, 0u);
      EXPECT_LE(traffic.moved, traffic.mandatory * 1.02)
          << traffic.moved << " bytes moved, " << traffic.mandatory << " have to be";
    }
  }
}

TEST(GpuKernel, anIndexOutOfRangeIsEagersError) {
  simt::Status status = runKernel("embedding", {2, 4, 64}, 0, 1e-6, /*indexLimit=*/5);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.kind(), simt::ErrorKind::Index);
  EXPECT_NE(status.message().find("is out of bounds for dimension 0 with size 2"),
            std::string::npos)
      << status.message();
}

} // namespace
