// The CUDA graph of one key, with the copies around its launch: arguments into its memory, results
// out of it.

#pragma once

#include "runtime/cuda/GraphPool.h"
#include "runtime/cuda/OperatorCapture.h"
#include "runtime/cuda/RecordingHost.h"
#include "runtime/plan/PlanExecutor.h"

#include <memory>
#include <string>
#include <vector>

namespace frit {

/// Numbers that distinguish the calls of a plan: context, stream, types, addresses, sizes.
using GraphKey = std::vector<int64_t>;

/// A copy into the graph's memory: argument, address there, bytes.
struct ArgumentCopy {
  uint32_t input;
  char *to;
  uint64_t bytes;
};

/// A tensor that each call allocates and fills from the graph's memory; results are this tensor or
/// views of it. A saved one (for the backward) is not copied out.
struct ResultStorage {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  format::Dtype dtype;
  format::Device device;
  const char *from;
  uint64_t bytes;
  std::shared_ptr<KeptTensor> kept;
};

struct GraphResult {
  OutputValue::Kind kind = OutputValue::Kind::None;
  int64_t integer = 0;
  double real = 0;
  /// The location of a tensor. `number` is that of a ResultStorage or of an argument; a constant is
  /// `original`.
  RecordedStorage::Kind storage = RecordedStorage::Kind::Allocated;
  uint32_t number = 0;
  void *original = nullptr;
  /// Whether it is the tensor of the storage itself or a view of it.
  bool isWhole = true;
  int64_t viewOffset = 0;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  format::Dtype dtype = {};
  format::Device device = {};
  /// Of the result's base, as in OutputValue.
  std::vector<int64_t> baseSizes, baseStrides;
};

/// The state of a key: it was seen, has a graph, or cannot have one for a reason.
struct GraphEntry {
  bool isCaptured() const { return graph || ofOperators.object; }
  bool keeps() const { return keptBytes != 0; }

  uint64_t lastUse = 0, calls = 0;
  /// The arguments that the graph reads at the addresses in the key.
  std::vector<bool> fixed;
  /// The graph's capture number among those that share its memory, and the bytes of its saved
  /// results.
  uint64_t order = 0, keptBytes = 0;
  std::string refused;
  DriverGraphExec graph = nullptr;
  /// The argument values that `graph` is currently set to.
  GraphKey exact;
  /// The graph that `graph` was instantiated from; its nodes identify those of `graph` in updates.
  DriverGraph source = nullptr;
  std::vector<DriverGraphNode> nodes;
  /// The owner of `graph` if it contains operators of torch.
  OperatorCapture::Graph ofOperators;
  std::shared_ptr<GraphLane> lane;
  std::vector<ArgumentCopy> copies;
  std::vector<ResultStorage> storages;
  std::vector<GraphResult> results;
  /// Addresses of saved results that are part of a parameter.
  std::vector<const void *> keptInParameters;
  /// Arguments whose version counters a call bumps.
  std::vector<uint32_t> bumps;
  /// The graph's name in messages.
  std::string kernels;
};

} // namespace frit
