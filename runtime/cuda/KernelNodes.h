// The backend for the kernels of a call that becomes a CUDA graph. It has three modes: it counts
// launches while memory is assigned, launches on a stream that is being captured, or writes the
// launches into the nodes of an existing graph.

#pragma once

#include "runtime/cuda/CudaBackend.h"

#include <span>
#include <string>
#include <vector>

namespace frit {

class KernelNodes : public KernelBackend, private CudaBackend::LaunchSink {
public:
  explicit KernelNodes(CudaBackend &backend) : backend(backend) {}
  Status ready() override { return backend.ready(); }
  Status launch(const KernelArguments &arguments, TensorHost &host) override;

  // Each begins a walk of the plan in its mode.
  void count();
  void capture();
  void update(DriverGraphExec graph, std::span<const DriverGraphNode> nodes);
  /// Whether an update visited exactly the existing nodes.
  bool fits() const { return visited == known.size(); }

  /// Of the last count: the launches, and the names of the kernels.
  uint64_t launches = 0;
  std::string names;
  /// The nodes of a capture.
  std::vector<DriverGraphNode> nodes;

private:
  DriverCode launch(const DriverKernelNode &launch, DriverStream stream) override;

  CudaBackend &backend;
  enum class Mode : uint8_t { Count, Capture, Update } mode = Mode::Count;
  DriverGraphExec graph = nullptr;
  std::span<const DriverGraphNode> known;
  size_t visited = 0;
};

} // namespace frit
