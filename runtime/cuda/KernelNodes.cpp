#include "runtime/cuda/KernelNodes.h"

namespace frit {

Status KernelNodes::launch(const KernelArguments &arguments, TensorHost &host) {
  if (mode != Mode::Count) {
    return backend.launchInto(this, arguments, host);
  }
  constexpr size_t kLongestNames = 120;
  launches += arguments.site->launchesOf(*arguments.variant);
  if (names.size() < kLongestNames) {
    names += (names.empty() ? "" : ", ") + backend.kernelName(arguments.site->kernel);
  }
  return Status::ok();
}

DriverCode KernelNodes::launch(const DriverKernelNode &launch, DriverStream stream) {
  const DriverTable &call = backend.call();
  if (mode == Mode::Update) {
    // If there are more launches than nodes the graph does not fit, which `fits` reports at the
    // end.
    return visited++ < known.size()
               ? call.cuGraphExecKernelNodeSetParams(graph, known[visited - 1], &launch)
               : 0;
  }
  DriverCode code = call.cuLaunchKernel(launch.function, launch.gridX, launch.gridY, launch.gridZ,
                                        launch.blockX, launch.blockY, launch.blockZ,
                                        launch.sharedBytes, stream, launch.parameters, nullptr);
  int status = 0;
  const DriverGraphNode *last = nullptr;
  size_t count = 0;
  // The node that the next launch would depend on is that of this launch.
  code =
      code ? code : call.cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &count);
  constexpr DriverCode kUnknown = 999;
  if (code == 0 && count != 1) {
    return kUnknown;
  }
  if (code == 0) {
    nodes.push_back(*last);
  }
  return code;
}

void KernelNodes::count() {
  mode = Mode::Count;
  launches = 0;
  names.clear();
}

void KernelNodes::capture() {
  mode = Mode::Capture;
  nodes.clear();
}

void KernelNodes::update(DriverGraphExec made, std::span<const DriverGraphNode> ofIt) {
  mode = Mode::Update;
  graph = made;
  known = ofIt;
  visited = 0;
}

} // namespace frit
