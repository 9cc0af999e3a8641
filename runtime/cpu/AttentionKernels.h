// The softmax kernels of Attention.h, a file for each instruction set as in ProductKernels.h.

#pragma once

#include "runtime/cpu/Attention.h"
#include "runtime/cpu/ProductKernels.h"

namespace frit {

/// Rows of scores have room for a multiple of kScoreRow numbers.
constexpr int64_t kScoreRow = 16;

struct SoftmaxKernel {
  /// Multiplies `count` scores by `scale`, adds a mask with the stride `maskStride` unless it is
  /// null, sets the scores up to `padded` to -inf, and returns the largest one. NaN does not count.
  float (*scaleScores)(float *scores, int64_t count, int64_t padded, float scale, const float *mask,
                       int64_t maskStride);
  /// Replaces scores by exp(score - most), and returns their sum. `padded` is a multiple of
  /// kScoreRow.
  float (*exponentials)(float *scores, int64_t padded, float most);
  void (*multiply)(float *numbers, int64_t count, float factor);
};

struct AttentionKernel {
  const ProductKernel *product;
  const SoftmaxKernel *softmax;
};

/// The kernels that this machine can run, in the order of productKernels().
std::span<const AttentionKernel> attentionKernels();

/// Runs attention with this kernel.
void runAttention(const Attention &attention, const AttentionKernel &kernel,
                  ParallelFor parallelFor);

/// Needs x86-64-v4.
extern const SoftmaxKernel kSoftmaxAvx512;
/// Needs x86-64-v3.
extern const SoftmaxKernel kSoftmaxAvx2;

} // namespace frit
