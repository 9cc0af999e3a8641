// Compares convolutions by every kernel that this machine can run with f64.

#include "runtime/cpu/ConvolutionKernels.h"
#include "tests/unit/runtime/cpu/InPieces.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace frit;

namespace {

enum Order { ChannelsFirst, ChannelsLast };

struct Shape {
  int64_t images, channels, height, width, outputs, kernel[2], stride[2], padding[2], dilation[2];
  int64_t groups;
  /// Beyond the padding before the image.
  int64_t morePadding[2] = {0, 0};
};

struct Case {
  Convolution convolution;
  std::vector<float> input, weight, bias, scale, shift, added, result;

  Case(const Shape &shape, Order order, Order filters, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<float> &numbers, int64_t count) {
      numbers.resize(static_cast<size_t>(count));
      std::generate(numbers.begin(), numbers.end(), [&] { return normal(random); });
      return numbers.data();
    };
    Convolution &of = convolution;
    of.images = shape.images;
    of.channels = shape.channels;
    of.height = shape.height;
    of.width = shape.width;
    of.outputs = shape.outputs;
    of.kernelHeight = shape.kernel[0];
    of.kernelWidth = shape.kernel[1];
    of.groups = shape.groups;
    for (int dim : {0, 1}) {
      of.stride[dim] = shape.stride[dim];
      of.padding[dim] = shape.padding[dim];
      of.paddingBehind[dim] = shape.padding[dim] + shape.morePadding[dim];
      of.dilation[dim] = shape.dilation[dim];
    }
    auto size = [&](int64_t from, int dim) {
      return (from + 2 * shape.padding[dim] + shape.morePadding[dim] -
              shape.dilation[dim] * (shape.kernel[dim] - 1) - 1) /
                 shape.stride[dim] +
             1;
    };
    of.resultHeight = size(of.height, 0);
    of.resultWidth = size(of.width, 1);
    bool isLast = order == ChannelsLast;
    of.channelStride = isLast ? 1 : of.height * of.width;
    of.columnStride = isLast ? of.channels : 1;
    of.rowStride = of.width * of.columnStride;
    of.imageStride = of.channels * of.height * of.width;
    of.input = fill(input, of.images * of.imageStride);
    int64_t depth = of.channels / of.groups;
    bool isFilterLast = filters == ChannelsLast;
    of.weightStrides[0] = of.depth();
    of.weightStrides[1] = isFilterLast ? 1 : of.kernelHeight * of.kernelWidth;
    of.weightStrides[3] = isFilterLast ? depth : 1;
    of.weightStrides[2] = of.kernelWidth * of.weightStrides[3];
    of.weight = fill(weight, of.outputs * of.depth());
    if (seed % 2 == 0) {
      of.bias = fill(bias, of.outputs);
    }
    if (seed % 3 != 0) {
      of.scale = fill(scale, of.outputs);
    }
    if (seed % 5 != 0) {
      of.shift = fill(shift, of.outputs);
    }
    if (seed % 4 < 2) {
      of.added = fill(added, of.pixels() * of.outputs);
    }
    of.isLimited = seed % 7 < 3;
    of.low = -0.5;
    of.high = seed % 7 == 0 ? 0.75f : std::numeric_limits<float>::infinity();
    result.assign(static_cast<size_t>(of.pixels() * of.outputs), 7);
    of.result = result.data();
  }

  /// The exact element, and the sum of magnitudes to which its error is relative.
  std::pair<double, double> exact(int64_t pixel, int64_t output) const {
    const Convolution &of = convolution;
    int64_t x = pixel % of.resultWidth, y = pixel / of.resultWidth % of.resultHeight;
    int64_t image = pixel / of.resultWidth / of.resultHeight, depth = of.channels / of.groups;
    int64_t first = output / (of.outputs / of.groups) * depth;
    double sum = 0, magnitude = 0;
    for (int64_t c = 0; c < depth; ++c) {
      for (int64_t j = 0; j < of.kernelHeight; ++j) {
        for (int64_t i = 0; i < of.kernelWidth; ++i) {
          int64_t row = y * of.stride[0] + j * of.dilation[0] - of.padding[0];
          int64_t column = x * of.stride[1] + i * of.dilation[1] - of.padding[1];
          if (row < 0 || row >= of.height || column < 0 || column >= of.width) {
            continue;
          }
          double term = double(of.input[image * of.imageStride + (first + c) * of.channelStride +
                                        row * of.rowStride + column * of.columnStride]) *
                        of.weight[output * of.weightStrides[0] + c * of.weightStrides[1] +
                                  j * of.weightStrides[2] + i * of.weightStrides[3]];
          sum += term;
          magnitude += std::abs(term);
        }
      }
    }
    auto add = [&](double value) {
      sum += value;
      magnitude += std::abs(value);
    };
    add(of.bias ? of.bias[output] : 0);
    double scale = of.scale ? of.scale[output] : 1;
    sum *= scale;
    magnitude *= std::abs(scale);
    add(of.shift ? of.shift[output] : 0);
    add(of.added ? of.added[pixel * of.outputs + output] : 0);
    if (of.isLimited) {
      sum = std::clamp(sum, double(of.low), double(of.high));
    }
    return {sum, magnitude};
  }

  void check() const {
    const Convolution &of = convolution;
    for (int64_t pixel = 0; pixel < of.pixels(); ++pixel) {
      for (int64_t output = 0; output < of.outputs; ++output) {
        auto [value, magnitude] = exact(pixel, output);
        ASSERT_LE(std::abs(result[pixel * of.outputs + output] - value),
                  magnitude * double(of.depth() + 8) * 6e-8)
            << "pixel " << pixel << ", output " << output;
      }
    }
  }
};

constexpr Shape kShapes[] = {
    {1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {2, 3, 9, 11, 5, {3, 3}, {2, 1}, {1, 1}, {1, 1}, 1},
    {1, 16, 7, 7, 17, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {3, 5, 6, 5, 33, {3, 2}, {1, 2}, {2, 0}, {2, 1}, 1},
    {1, 130, 9, 8, 70, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, // deeper than a panel
    {1, 130, 5, 5, 70, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, // few pixels, as are the next two
    {3, 64, 3, 3, 41, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {2, 40, 6, 5, 13, {2, 3}, {2, 1}, {1, 0}, {1, 2}, 1},
    {2, 12, 6, 6, 36, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 3},
    {1, 8, 1, 30, 130, {1, 5}, {1, 1}, {0, 2}, {1, 1}, 1},
    {2, 4, 13, 13, 100, {7, 7}, {2, 2}, {3, 3}, {1, 1}, 1},
    {2, 20, 9, 19, 20, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 20}, // a filter for each channel
    {1, 33, 7, 16, 33, {5, 2}, {2, 1}, {2, 0}, {1, 2}, 33},
    {2, 48, 3, 4, 48, {7, 7}, {1, 1}, {3, 3}, {1, 1}, 48},
    {1, 17, 11, 20, 17, {3, 3}, {2, 2}, {0, 2}, {2, 1}, 17},
    {1, 5, 6, 6, 5, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 5},
    {2, 3, 14, 18, 24, {3, 3}, {2, 2}, {0, 0}, {1, 1}, 1, {1, 1}}, // padded behind the image
    {1, 9, 5, 6, 40, {2, 4}, {1, 1}, {0, 1}, {1, 1}, 1, {1, 1}},
    {2, 40, 12, 15, 40, {3, 3}, {2, 2}, {0, 0}, {1, 1}, 40, {1, 2}},
    {1, 36, 10, 9, 36, {4, 4}, {1, 1}, {1, 1}, {1, 1}, 36, {1, 1}},
};

class Convolutions : public testing::TestWithParam<size_t> {
protected:
  void SetUp() override {
    if (GetParam() >= convolutionKernels().size()) {
      GTEST_SKIP() << "this machine lacks the instructions";
    }
    pieces = 1;
  }
  static void run(const Convolution &convolution) {
    runConvolution(convolution, *convolutionKernels()[GetParam()], inPieces);
  }
};

TEST_P(Convolutions, AreWithinTheirErrorBound) {
  unsigned seed = 0;
  for (const Shape &shape : kShapes) {
    for (Order order : {ChannelsFirst, ChannelsLast}) {
      for (Order filters : {ChannelsFirst, ChannelsLast}) {
        for (int round = 0; round < 3; ++round) {
          SCOPED_TRACE(testing::Message() << "shape " << &shape - kShapes << ", seed " << seed);
          Case one(shape, order, filters, seed++);
          run(one.convolution);
          one.check();
        }
      }
    }
  }
}

// Few pixels and many have kernels of their own, so the numbers of images are on one side of that
// border.
TEST_P(Convolutions, HaveTheSameBitsForEveryNumberOfThreadsAndImages) {
  int compared = 0;
  for (const Shape &shape : kShapes) {
    Case one(shape, ChannelsLast, ChannelsFirst, 1);
    run(one.convolution);
    std::vector<float> expected = one.result;
    for (int64_t count : {2, 3, 7, 100}) {
      pieces = count;
      std::fill(one.result.begin(), one.result.end(), 0.0f);
      run(one.convolution);
      ASSERT_EQ(one.result, expected);
    }
    pieces = 1;
    int64_t elements = one.convolution.pixels() / shape.images * shape.outputs;
    auto isOfFewPixels = [&] {
      return kernelOfFewPixels(one.convolution, convolutionKernels()[GetParam()]->lanes) != nullptr;
    };
    bool wasOfFewPixels = isOfFewPixels();
    one.convolution.input += (shape.images - 1) * one.convolution.imageStride;
    if (one.convolution.added) {
      one.convolution.added += (shape.images - 1) * elements;
    }
    one.convolution.images = 1;
    if (shape.images == 1 || isOfFewPixels() != wasOfFewPixels) {
      continue;
    }
    ++compared;
    run(one.convolution);
    one.result.resize(static_cast<size_t>(elements));
    expected.erase(expected.begin(), expected.end() - elements);
    ASSERT_EQ(one.result, expected);
  }
  EXPECT_GE(compared, 3);
}

TEST_P(Convolutions, PackTheWeightOnce) {
  int packedCount = 0;
  for (const Shape &shape : kShapes) {
    for (Order filters : {ChannelsFirst, ChannelsLast}) {
      Case one(shape, ChannelsLast, filters, 2);
      run(one.convolution);
      std::vector<float> expected = one.result;
      PackedWeight packed;
      one.convolution.packed = &packed;
      pieces = 3;
      run(one.convolution);
      EXPECT_EQ(one.result, expected);
      pieces = 1;
      if (packed.bytes() == 0) {
        continue; // read as it lies, or there are too few units for whole panels
      }
      // From then on nobody reads it.
      ++packedCount;
      one.convolution.weight = nullptr;
      std::fill(one.result.begin(), one.result.end(), 0.0f);
      run(one.convolution);
      EXPECT_EQ(one.result, expected);
    }
  }
  EXPECT_GE(packedCount, 4);
}

TEST_P(Convolutions, KeepWhatIsNotFinite) {
  Case one({1, 4, 4, 4, 20, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}, ChannelsLast, ChannelsFirst, 1);
  one.convolution.isLimited = true;
  one.input[0] = std::numeric_limits<float>::quiet_NaN();
  run(one.convolution);
  for (int64_t pixel = 0; pixel < 16; ++pixel) {
    bool isReached = pixel / 4 < 2 && pixel % 4 < 2;
    EXPECT_EQ(std::isnan(one.result[pixel * 20]), isReached) << pixel;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Convolutions, testing::Values(0, 1));

} // namespace
