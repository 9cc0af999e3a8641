#include "runtime/cpu/ConvolutionKernels.h"

#include "runtime/artifact/HostFeatures.h"
#include "runtime/cpu/Pieces.h"
#include "runtime/cpu/ProductKernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace frit {

std::span<const ConvolutionKernel *const> convolutionKernels() {
  static const std::vector<const ConvolutionKernel *> kernels = [] {
    std::vector<const ConvolutionKernel *> found;
#ifdef FRIT_PRODUCT_KERNELS
    for (auto [level, kernel] :
         {std::pair("x86-64-v4", &kConvolutionAvx512), {"x86-64-v3", &kConvolutionAvx2}}) {
      if (missingFeatures(level, {}).empty()) {
        found.push_back(kernel);
      }
    }
#endif
    return found;
  }();
  return kernels;
}

void AlignedFloats::Delete::operator()(float *memory) const {
  ::operator delete[](memory, kAlignment);
}

AlignedFloats::AlignedFloats(int64_t floats)
    : memory(new (kAlignment) float[static_cast<size_t>(floats)]) {}

float *panelOfThread(int64_t floats) {
  thread_local AlignedFloats memory;
  thread_local int64_t size = 0;
  if (size < floats) {
    memory = AlignedFloats(floats);
    size = floats;
  }
  return memory.get();
}

int convolutionLanes() {
  return convolutionKernels().empty() ? 0 : convolutionKernels().front()->lanes;
}

bool isConvolutionFaster(const Convolution &of, int lanes) {
  return lanes != 0 && (!of.isDepthwise() || of.channels >= lanes);
}

const ProductKernel *kernelOfFewPixels(const Convolution &of, int lanes) {
  Product product;
  product.rows = of.pixels();
  product.columns = of.outputs;
  product.depth = of.depth();
  if (of.inOneOrder || of.groups != 1 || of.isWeightAcross() || product.rows > kProductBlock ||
      !isProductFaster(product, {.lanes = lanes})) {
    return nullptr;
  }
  for (const ProductKernel *kernel : productKernels()) {
    if (kernel->lanes == lanes) {
      return kernel;
    }
  }
  return nullptr;
}

void runConvolution(const Convolution &convolution, ParallelFor parallelFor) {
  runConvolution(convolution, *convolutionKernels().front(), parallelFor);
}

namespace {

/// A piece of a parallel loop takes at least about 10 us; starting a shorter one would not pay off.
constexpr int64_t kPieceOperations = 640000, kPieceFloats = 20000;
/// Fewer units are not enough for the threads of a machine.
constexpr int64_t kFewUnits = 16;

/// Copies the inputs of each pixel beside each other, in the order of the offsets.
struct Gather {
  const Convolution *of;
  const int32_t *offsets;
  float *to;
  int64_t stride;
};

void gatherPixels(void *argument, int64_t begin, int64_t end) {
  const Gather &gather = *static_cast<const Gather *>(argument);
  PixelCursor cursor(*gather.of, gather.of->input, begin);
  int64_t depth = gather.of->depth();
  float *to = gather.to + begin * gather.stride;
  for (; begin < end; ++begin, to += gather.stride) {
    const float *from = cursor.next();
    for (int64_t at = 0; at < depth; ++at) {
      to[at] = from[gather.offsets[at]];
    }
  }
}

/// A convolution without padding, as a product.
void runFewPixels(const Convolution &of, const int32_t *offsets, const ProductKernel &kernel,
                  ParallelFor parallelFor) {
  Product product;
  static_cast<Epilogue &>(product) = of;
  product.rows = of.pixels();
  product.columns = of.outputs;
  product.depth = of.depth();
  product.leftStride = (product.depth + kernel.lanes - 1) / kernel.lanes * kernel.lanes;
  product.right = of.weight;
  product.rightStride = of.weightStrides[0];
  product.added = of.added;
  product.addedRowStride = product.resultStride = of.outputs;
  product.addedColumnStride = 1;
  product.result = of.result;
  AlignedFloats gathered(product.rows * product.leftStride);
  product.left = gathered.get();
  Gather gather = {&of, offsets, gathered.get(), product.leftStride};
  parallelFor(product.rows, std::max<int64_t>(kPieceFloats / product.depth, 1), gatherPixels,
              &gather);
  runProduct(product, kernel, parallelFor);
}

/// Pads the input with zeros, into a dense copy.
struct Pad {
  const Convolution *of;
  float *to;
  int64_t height, width;
};

void padRows(void *argument, int64_t begin, int64_t end) {
  const Pad &pad = *static_cast<const Pad *>(argument);
  const Convolution &of = *pad.of;
  for (int64_t row = begin; row < end; ++row) {
    float *to = pad.to + row * pad.width * of.channels;
    int64_t y = row % pad.height - of.padding[0];
    if (y < 0 || y >= of.height) {
      std::fill(to, to + pad.width * of.channels, 0.0f);
      continue;
    }
    const float *from = of.input + row / pad.height * of.imageStride + y * of.rowStride;
    float *inside = to + of.padding[1] * of.channels;
    float *after = inside + of.width * of.channels;
    std::fill(to, inside, 0.0f);
    if (of.channelStride == 1 && of.columnStride == of.channels) {
      std::copy(from, from + of.width * of.channels, inside);
    } else {
      for (int64_t x = 0; x < of.width; ++x) {
        for (int64_t c = 0; c < of.channels; ++c) {
          inside[x * of.channels + c] = from[x * of.columnStride + c * of.channelStride];
        }
      }
    }
    std::fill(after, to + pad.width * of.channels, 0.0f);
  }
}

/// Whether a row of floats has no infinity and no NaN.
bool areFinite(const float *from, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t largest = 0;
  for (int64_t at = 0; at < count; ++at) {
    largest = std::max(largest, std::bit_cast<uint32_t>(from[at]) & kExponent);
  }
  return largest != kExponent;
}

bool anyNaN(const float *from, int64_t count) {
  uint32_t found = 0;
  for (int64_t at = 0; at < count; ++at) {
    found |= std::isnan(from[at]);
  }
  return found != 0;
}

/// Whether `holds(row, length)` of all rows.
template <typename Holds>
bool allRows(ParallelFor parallelFor, int64_t rows, int64_t length, const Holds &holds) {
  std::atomic<bool> all = true;
  inPieces(parallelFor, rows, kPieceFloats / std::max<int64_t>(length, 1),
           [&](int64_t begin, int64_t end) {
             for (int64_t row = begin; row < end; ++row) {
               if (!holds(row, length)) {
                 all.store(false, std::memory_order_relaxed);
               }
             }
           });
  return all.load();
}

void runDepthwise(const Convolution &of, const ConvolutionKernel &kernel, ParallelFor parallelFor) {
  int64_t taps = of.kernelHeight * of.kernelWidth;
  auto fill = [&](float *to) {
    for (int64_t y = 0; y < of.kernelHeight; ++y) {
      for (int64_t x = 0; x < of.kernelWidth; ++x) {
        const float *from = of.weight + y * of.weightStrides[2] + x * of.weightStrides[3];
        for (int64_t channel = 0; channel < of.channels; ++channel) {
          *to++ = from[channel * of.weightStrides[0]];
        }
      }
    }
  };
  DepthwiseWork work = {&of, nullptr};
  AlignedFloats own;
  if (of.packed) {
    work.taps = of.packed->get(of.channels, taps * of.channels, fill);
  }
  if (!work.taps) {
    own = AlignedFloats(taps * of.channels);
    fill(own.get());
    work.taps = own.get();
  }
  // Loads of the input bound it, not additions.
  int64_t cost = of.resultWidth * of.channels * (taps + 4) * 4;
  inPieces(parallelFor, of.images * of.resultHeight, kPieceOperations / std::max<int64_t>(cost, 1),
           [&](int64_t begin, int64_t end) { kernel.runDepthwise(work, begin, end); });
}

/// The panels of a weight that keeps its values; null if they are kept for another width.
const float *packedPanels(const ConvolutionWork &work, const ConvolutionKernel &kernel,
                          ParallelFor parallelFor) {
  int64_t panels = work.convolution->groups * work.panels;
  int64_t each = work.panelFloats(kernel.lanes);
  return work.convolution->packed->get(
      int64_t(work.vectors) * kernel.lanes, panels * each, [&](float *to) {
        inPieces(parallelFor, panels, kPieceFloats / std::max<int64_t>(each, 1),
                 [&](int64_t begin, int64_t end) { kernel.pack(work, to, begin, end); });
      });
}

} // namespace

bool isPaddingNeutral(const Convolution &of, ParallelFor parallelFor) {
  auto isWeightFinite = [&] {
    bool isAcross = of.isWeightAcross();
    int64_t rows = isAcross ? of.channels / of.groups : of.outputs;
    return allRows(parallelFor, rows, isAcross ? of.outputs : of.depth(),
                   [&](int64_t row, int64_t length) {
                     return areFinite(of.weight + row * of.weightStrides[isAcross], length);
                   });
  };
  if (!of.isPadded()) {
    return true;
  }
  if (of.packed) {
    return of.packed->isChecked(isWeightFinite);
  }
  // The result is smaller than the weight, or takes longer to compute.
  return allRows(parallelFor, of.pixels(), of.outputs,
                 [&](int64_t pixel, int64_t length) {
                   return !anyNaN(of.result + pixel * length, length);
                 }) ||
         isWeightFinite();
}

void runConvolution(const Convolution &convolution, const ConvolutionKernel &kernel,
                    ParallelFor parallelFor) {
  if (convolution.pixels() == 0 || convolution.outputs == 0) {
    return;
  }
  Convolution of = convolution;
  bool isDepthwise = of.isDepthwise() && of.channels >= kernel.lanes;
  if (isDepthwise && of.channelStride == 1) {
    return runDepthwise(of, kernel, parallelFor);
  }
  std::unique_ptr<float[]> padded;
  if (isDepthwise || of.isPadded()) {
    Convolution from = convolution;
    if (isDepthwise) {
      // Only the order of the image changes.
      std::fill(from.padding, from.padding + 2, 0);
      std::fill(from.paddingBehind, from.paddingBehind + 2, 0);
    }
    Pad pad = {&from, nullptr, from.paddedHeight(), from.paddedWidth()};
    padded.reset(new float[of.images * pad.height * pad.width * of.channels]);
    pad.to = padded.get();
    parallelFor(of.images * pad.height,
                std::max<int64_t>(kPieceFloats / (pad.width * of.channels + 1), 1), padRows, &pad);
    of.input = pad.to;
    of.channelStride = 1;
    of.columnStride = of.channels;
    of.rowStride = pad.width * of.channels;
    of.imageStride = pad.height * of.rowStride;
    if (isDepthwise) {
      return runDepthwise(of, kernel, parallelFor);
    }
  }
  ConvolutionWork work;
  work.convolution = &of;
  work.outputStride = of.weightStrides[0];
  work.depthStride = of.isWeightAcross() ? of.weightStrides[1] : 1;
  // The steps along the depth are in the order of the weight's memory.
  std::vector<int32_t> offsets(static_cast<size_t>(of.depth()));
  for (int64_t c = 0; c < of.channels / of.groups; ++c) {
    for (int64_t y = 0; y < of.kernelHeight; ++y) {
      for (int64_t x = 0; x < of.kernelWidth; ++x) {
        int64_t at = of.isWeightAcross() ? c
                                         : c * of.weightStrides[1] + y * of.weightStrides[2] +
                                               x * of.weightStrides[3];
        offsets[static_cast<size_t>(at)] =
            static_cast<int32_t>(c * of.channelStride + y * of.dilation[0] * of.rowStride +
                                 x * of.dilation[1] * of.columnStride);
      }
    }
  }
  if (const ProductKernel *few = kernelOfFewPixels(of, kernel.lanes)) {
    return runFewPixels(of, offsets.data(), *few, parallelFor);
  }
  work.offsets = offsets.data();
  int64_t outputs = of.outputs / of.groups;
  int64_t wanted = (outputs + kernel.lanes - 1) / kernel.lanes;
  work.blocks = (of.pixels() + kBlockPixels - 1) / kBlockPixels;
  // Wide panels read the input less often; narrow ones give more units.
  work.vectors = int(std::min<int64_t>(wanted, kernel.vectors));
  auto panels = [&] { return (wanted + work.vectors - 1) / work.vectors; };
  while (work.vectors > 1 && of.groups * panels() * work.blocks < kFewUnits) {
    --work.vectors;
  }
  work.panels = panels();
  if (of.packed && work.vectors == std::min<int64_t>(wanted, kernel.vectors)) {
    work.packed = packedPanels(work, kernel, parallelFor);
  }
  int64_t cost = of.depth() * work.vectors * kernel.lanes * kBlockPixels * 2;
  inPieces(parallelFor, of.groups * work.panels * work.blocks,
           kPieceOperations / std::max<int64_t>(cost, 1),
           [&](int64_t begin, int64_t end) { kernel.run(work, begin, end); });
}

} // namespace frit
