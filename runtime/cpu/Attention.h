// Attention of f32 tensors on the CPU: softmax(scale q k^T + mask) v for each batch and head, with
// the tiles of Product.h. The scores of a block of queries and keys are on the stack; if there are
// several blocks of keys, the softmax is rescaled from block to block (online softmax).
//
// Blocks begin at the first query and the first key. A row of the result has the same bits for
// every number of threads, queries, heads and batches.

#pragma once

#include "runtime/cpu/Product.h"

namespace frit {

/// Elements from one batch, head or row to the next; rows are contiguous.
struct AttentionStrides {
  int64_t batch = 0, head = 0, row = 0;
};

struct Attention {
  int64_t batches = 0, heads = 0, queries = 0, keys = 0, depth = 0;
  const float *query = nullptr, *key = nullptr, *value = nullptr;
  AttentionStrides queryStrides, keyStrides, valueStrides;
  /// Null: nothing is added to the scores.
  const float *mask = nullptr;
  AttentionStrides maskStrides;
  int64_t maskColumnStride = 0;
  /// Query i attends only to keys up to i.
  bool causal = false;
  float scale = 1;
  float *result = nullptr;
  AttentionStrides resultStrides;
};

/// Whether the machine's kernel is faster than ATen's for these sizes.
bool isAttentionFaster(const Attention &attention, ProductMachine machine);

/// Computes attention; productLanes() must not be 0.
void runAttention(const Attention &attention, ParallelFor parallelFor);

} // namespace frit
