#include "runtime/cpu/AttentionKernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace frit {

namespace {

/// Queries of a unit of work, and keys of a block: their scores take 16 KB.
constexpr int64_t kQueryBlock = 16, kKeyBlock = 256;
static_assert(kQueryBlock <= kProductBlock && kKeyBlock % kScoreRow == 0);

/// A piece of a parallel loop takes at least about 20 us. Per nanosecond, a thread does 32
/// operations of the two products, or two scores of the softmax.
constexpr double kAttentionPieceNanoseconds = 20000, kAttentionOperationsPerNanosecond = 32,
                 kNanosecondsPerScore = 0.5;

constexpr float kNoScore = -std::numeric_limits<float>::infinity();

int64_t offsetOf(const AttentionStrides &strides, int64_t batch, int64_t head, int64_t row) {
  return batch * strides.batch + head * strides.head + row * strides.row;
}

void runTiles(const ProductTiles &tiles, const Product &product) {
  tiles.run(product, 0, (product.columns + tiles.columns - 1) / tiles.columns);
}

/// The state of a block of queries, by row: the largest scores and the sums of exponentials so far.
struct SoftmaxState {
  float most[kQueryBlock];
  float sum[kQueryBlock];
};

struct Block {
  const Attention &attention;
  const AttentionKernel &kernel;
  int64_t batch, head, row, rows;

  float *resultRow(int64_t at) const {
    return attention.result + offsetOf(attention.resultStrides, batch, head, row + at);
  }
  /// Replaces the scores of `count` keys from `begin` on by exponentials, and rescales earlier
  /// results.
  void softmax(float *scores, int64_t begin, int64_t count, SoftmaxState &state) const;
  void run() const;
};

void Block::softmax(float *scores, int64_t begin, int64_t count, SoftmaxState &state) const {
  const SoftmaxKernel &rowsOf = *kernel.softmax;
  int64_t padded = (count + kScoreRow - 1) / kScoreRow * kScoreRow;
  for (int64_t at = 0; at < rows; ++at, scores += kKeyBlock) {
    int64_t seen = attention.causal ? std::clamp<int64_t>(row + at + 1 - begin, 0, count) : count;
    const float *mask =
        attention.mask ? attention.mask + offsetOf(attention.maskStrides, batch, head, row + at) +
                             begin * attention.maskColumnStride
                       : nullptr;
    float largest =
        rowsOf.scaleScores(scores, seen, padded, attention.scale, mask, attention.maskColumnStride);
    float most = std::max(state.most[at], largest);
    // Without any score all exponentials are 0; those of NaN are NaN.
    float base = most == kNoScore ? 0 : most;
    float sum = rowsOf.exponentials(scores, padded, base);
    if (begin != 0) {
      float factor = std::exp(state.most[at] - base);
      if (factor != 1) {
        rowsOf.multiply(resultRow(at), attention.depth, factor);
      }
      sum += state.sum[at] * factor;
    }
    state.most[at] = most;
    state.sum[at] = sum;
  }
}

void Block::run() const {
  alignas(64) float scores[kQueryBlock * kKeyBlock];
  SoftmaxState state;
  std::fill_n(state.most, rows, kNoScore);
  Product toScores;
  toScores.rows = rows;
  toScores.depth = attention.depth;
  toScores.left = attention.query + offsetOf(attention.queryStrides, batch, head, row);
  toScores.leftStride = attention.queryStrides.row;
  toScores.rightStride = attention.keyStrides.row;
  toScores.result = scores;
  toScores.resultStride = kKeyBlock;
  Product toResult;
  toResult.rows = rows;
  toResult.columns = attention.depth;
  toResult.left = scores;
  toResult.leftStride = kKeyBlock;
  toResult.rightStride = attention.valueStrides.row;
  toResult.form = ProductForm::AlongColumns;
  toResult.result = resultRow(0);
  toResult.resultStride = attention.resultStrides.row;
  int64_t keys = attention.causal ? std::min(attention.keys, row + rows) : attention.keys;
  for (int64_t begin = 0; begin < keys; begin += kKeyBlock) {
    int64_t count = std::min(keys - begin, kKeyBlock);
    toScores.columns = count;
    toScores.right = attention.key + offsetOf(attention.keyStrides, batch, head, begin);
    runTiles(kernel.product->alongDepth, toScores);
    softmax(scores, begin, count, state);
    toResult.depth = count;
    toResult.right = attention.value + offsetOf(attention.valueStrides, batch, head, begin);
    runTiles(kernel.product->alongColumns, toResult);
    // The products of further blocks are added.
    toResult.added = toResult.result;
    toResult.addedRowStride = toResult.resultStride;
    toResult.addedColumnStride = 1;
  }
  for (int64_t at = 0; at < rows; ++at) {
    // A row without any score is 0, as in ATen.
    kernel.softmax->multiply(resultRow(at), attention.depth,
                             1 / (state.sum[at] == 0 ? 1 : state.sum[at]));
  }
}

} // namespace

std::span<const AttentionKernel> attentionKernels() {
  static const std::vector<AttentionKernel> kernels = [] {
    std::vector<AttentionKernel> found;
#ifdef FRIT_PRODUCT_KERNELS
    for (const ProductKernel *product : productKernels()) {
      found.push_back({product, product == &kProductAvx512 ? &kSoftmaxAvx512 : &kSoftmaxAvx2});
    }
#endif
    return found;
  }();
  return kernels;
}

/// Measured against torch's flash kernel with one and two threads, on Zen 4 and on Sapphire Rapids
/// (docs/Rationale.md).
bool isAttentionFaster(const Attention &attention, ProductMachine machine) {
  bool isFew = attention.queries <= 32;
  if (machine.lanes != 16) {
    return machine.lanes == 8 && isFew;
  }
  if (machine.isIntel) {
    return isFew || (attention.causal && attention.keys <= 256);
  }
  // Every block of queries reads all keys; with many queries, torch uses larger blocks.
  return attention.queries <= 64 || attention.keys <= (attention.causal ? 1024 : 512);
}

void runAttention(const Attention &attention, ParallelFor parallelFor) {
  runAttention(attention, attentionKernels().front(), parallelFor);
}

void runAttention(const Attention &attention, const AttentionKernel &kernel,
                  ParallelFor parallelFor) {
  struct Work {
    const Attention *attention;
    const AttentionKernel *kernel;
    int64_t blocks;
  } work = {&attention, &kernel, (attention.queries + kQueryBlock - 1) / kQueryBlock};
  int64_t units = attention.batches * attention.heads * work.blocks;
  if (units == 0) {
    return;
  }
  double scores = double(std::min(attention.queries, kQueryBlock)) * double(attention.keys);
  double cost = scores * (4 * double(attention.depth) / kAttentionOperationsPerNanosecond +
                          kNanosecondsPerScore);
  parallelFor(
      units,
      std::max<int64_t>(static_cast<int64_t>(kAttentionPieceNanoseconds / std::max(cost, 1.0)), 1),
      [](void *argument, int64_t begin, int64_t end) {
        auto *work = static_cast<Work *>(argument);
        const Attention &attention = *work->attention;
        for (int64_t unit = begin; unit < end; ++unit) {
          int64_t head = unit / work->blocks, row = unit % work->blocks * kQueryBlock;
          Block{attention,
                *work->kernel,
                head / attention.heads,
                head % attention.heads,
                row,
                std::min(kQueryBlock, attention.queries - row)}
              .run();
        }
      },
      &work);
}

} // namespace frit
