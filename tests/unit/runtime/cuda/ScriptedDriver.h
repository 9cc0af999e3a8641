// A fake CUDA driver that follows a script. Launches run a loop instead of the kernel. It needs no
// GPU, no driver and no CUDA headers.

#pragma once

#include "runtime/artifact/Artifact_generated.h"
#include "runtime/cuda/Driver.h"
#include "tests/unit/runtime/Cubin.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fakecuda {

using namespace frit;

/// Parameters of a launch, copied at the launch: addresses, then numbers.
using Parameters = std::vector<uint64_t>;

/// A CUDA graph: what was launched and copied while a stream was captured.
using FakeGraph = std::vector<std::function<void()>>;
/// Nodes are numbers that identify their graph too: the graph's number times this, plus the node's.
constexpr uintptr_t kMostNodes = 1 << 16;

struct FakeDriver {
  int version = 13000, major = 9, minor = 0;
  void *context = reinterpret_cast<void *>(0x1000);
  /// Devices of other contexts: number and compute capability.
  std::map<void *, std::array<int, 3>> devices;
  int capturing = 0;
  DriverCode initCode = 0, launchCode = 0;
  /// The result of querying a stream, and the number of launches after which every launch fails
  /// with `lateCode`.
  DriverCode queryCode = 0, lateCode = 0;
  int lateAfter = -1;
  /// The result of loading an image, by its label.
  std::map<std::string, DriverCode> loadCodes;
  /// The k-th call that may fail for lack of memory fails.
  int failMemoryAt = -1, memoryCalls = 0;
  std::vector<std::string> log;
  /// Labels of loaded modules; if a label lists entries ("linked: one, two"), the module has no
  /// others. Launched entries.
  std::map<DriverModule, std::string> modules;
  uintptr_t moduleNumber = 0;
  std::map<DriverFunction, std::string> functions;
  std::vector<std::string> launched;
  int launches = 0;
  /// Of the last launch.
  Parameters parameters;
  unsigned grid[3] = {};
  void *stream = nullptr;
  /// The effect of a kernel; nothing if null.
  void (*kernel)(const Parameters &) = nullptr;
  /// The parameters of every launch: addresses, then numbers.
  size_t pointers = 2, numbers = 1;
  /// The words of the table that a launch passes instead of parameters; 0 if none.
  size_t tableWords = 0;
  /// The captured stream and its recorded work; results of beginning and ending a capture, and of
  /// instantiating and launching a graph.
  void *captured = nullptr;
  std::thread::id capturedBy;
  FakeGraph recorded;
  DriverCode beginCode = 0, endCode = 0, makeCode = 0, graphCode = 0;
  /// The result of updating the k-th node since it was set.
  DriverCode nodeCode = 0;
  int nodeCodeAfter = 0;
  uintptr_t graphNumber = 0;
  /// Memory and graphs are owned by the driver, because they are not freed after a sticky error.
  std::map<uint64_t, std::shared_ptr<void>> memory;
  std::map<void *, std::unique_ptr<FakeGraph>> graphs;
  void *lastNode = nullptr;
  /// The numbers of graphs that have not been destroyed.
  std::map<void *, uintptr_t> templates;
  /// Describes an action during a capture that would invalidate it.
  std::string broken;
  /// The capture is invalid because an operator waited. It must be ended, and ends with an error.
  bool isInvalid = false;
  /// torch captures, so memory may be allocated: it comes from a pool.
  bool hasPool = false;
  int liveGraphs = 0;
  /// For models without torch: the number of GPUs, allocated blocks, and the result of copies to
  /// the host.
  int deviceCount = 1;
  int blocks = 0;
  DriverCode fetchCode = 0;
};
inline FakeDriver fake;
inline std::mutex fakeLock;

inline void say(const std::string &line) {
  std::lock_guard<std::mutex> guard(fakeLock);
  fake.log.push_back(line);
}

inline bool isCaptured(void *stream) {
  std::lock_guard<std::mutex> guard(fakeLock);
  return stream && stream == fake.captured;
}

/// Records an action that the capturing thread must not make; other threads may.
inline void notWhileCapturing(const char *what) {
  std::lock_guard<std::mutex> guard(fakeLock);
  if (fake.captured && fake.capturedBy == std::this_thread::get_id() && !fake.hasPool) {
    fake.broken = what;
  }
}

inline int count(const std::string &start) {
  std::lock_guard<std::mutex> guard(fakeLock);
  int found = 0;
  for (const std::string &line : fake.log) {
    found += line.rfind(start, 0) == 0;
  }
  return found;
}

inline void *makeGraph(FakeGraph nodes) {
  auto graph = std::make_unique<FakeGraph>(std::move(nodes));
  void *handle = graph.get();
  ++fake.liveGraphs;
  fake.graphs[handle] = std::move(graph);
  return handle;
}

inline void destroyGraph(void *graph) {
  --fake.liveGraphs;
  if (fake.graphs.erase(graph) == 0) {
    fake.broken = "a graph is destroyed twice";
  }
}

constexpr size_t kElfHeader = 64;

/// The label of a piece of code: the first comment of PTX, or the text after the header of a cubin.
inline std::string labelOf(const char *image) {
  return *image == '\x7f' ? image + kElfHeader : std::string(image + 3, std::strchr(image, '\n'));
}

/// Code with one entry that a reader accepts.
inline std::string codeOf(format::GpuCodeKind kind, uint32_t arch, const std::string &label,
                          size_t parameters = 3, uint32_t tableBytes = 0) {
  if (kind == format::GpuCodeKind::Cubin) {
    std::vector<uint32_t> bytes(parameters, 8);
    return cubinWith(CubinEntry{"frit_add_entry", tableBytes ? std::vector{tableBytes} : bytes},
                     label);
  }
  std::string list;
  for (size_t at = 0; at < parameters; ++at) {
    list += (at ? ", .param .u64 p" : ".param .u64 p") + std::to_string(at);
  }
  return "// " + label + "\n.version 8.0\n.target sm_" + std::to_string(arch) +
         "\n.address_size 64\n.visible .entry frit_add_entry(" + list +
         ")\n.maxntid 128, 1, 1\n{ ret; }\n";
}

inline bool noMemory() {
  std::lock_guard<std::mutex> guard(fakeLock);
  return fake.memoryCalls++ == fake.failMemoryAt;
}

inline Parameters parametersOf(void **parameters) {
  if (fake.tableWords) {
    auto *table = static_cast<uint64_t *>(parameters[0]);
    return Parameters(table, table + fake.tableWords);
  }
  Parameters values;
  for (size_t at = 0; at < fake.pointers + fake.numbers; ++at) {
    values.push_back(*static_cast<uint64_t *>(parameters[at]));
  }
  return values;
}

inline std::function<void()> nodeOf(void **parameters) {
  return [values = parametersOf(parameters)] { fake.kernel ? fake.kernel(values) : void(); };
}

inline DriverTable fakeTable() {
  DriverTable table;
  table.cuInit = [](unsigned) { return fake.initCode; };
  table.cuDriverGetVersion = [](int *version) { return *version = fake.version, 0; };
  table.cuGetErrorName = [](DriverCode code, const char **text) {
    *text = code == 700   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                          : "CUDA_ERROR";
    return 0;
  };
  table.cuGetErrorString = [](DriverCode, const char **text) { return *text = "as scripted", 0; };
  table.cuCtxGetCurrent = [](DriverContext *context) { return *context = fake.context, 0; };
  table.cuCtxGetDevice = [](int *device) {
    auto own = fake.devices.find(fake.context);
    return *device = own == fake.devices.end() ? 0 : own->second[0], 0;
  };
  table.cuDeviceGetAttribute = [](int *value, int attribute, int device) {
    for (const auto &[context, own] : fake.devices) {
      if (own[0] == device) {
        return *value = own[attribute == 75 ? 1 : 2], 0;
      }
    }
    return *value = attribute == 75 ? fake.major : fake.minor, 0;
  };
  table.cuModuleLoadDataEx = [](DriverModule *module, const void *image, unsigned, int *,
                                void **values) -> DriverCode {
    notWhileCapturing("a module is loaded");
    std::string text = labelOf(static_cast<const char *>(image));
    say("load " + text);
    if (noMemory()) {
      return 2;
    }
    auto found = fake.loadCodes.find(text);
    if (found != fake.loadCodes.end() && found->second != 0) {
      std::strcpy(static_cast<char *>(values[0]), "line 3: syntax\nerror");
      return found->second;
    }
    std::lock_guard<std::mutex> guard(fakeLock);
    *module = reinterpret_cast<DriverModule>(0x5000 + 16 * ++fake.moduleNumber);
    fake.modules[*module] = text;
    return 0;
  };
  table.cuModuleUnload = [](DriverModule module) {
    say("unload");
    std::lock_guard<std::mutex> guard(fakeLock);
    return fake.modules.erase(module), 0;
  };
  table.cuModuleGetFunction = [](DriverFunction *function, DriverModule module,
                                 const char *name) -> DriverCode {
    say(std::string("function ") + name);
    std::lock_guard<std::mutex> guard(fakeLock);
    std::string list = fake.modules[module] + ",";
    if (size_t colon = list.find(':');
        colon != std::string::npos &&
        list.find(" " + std::string(name) + ",", colon) == std::string::npos) {
      fake.broken = "a module is asked for what it does not have";
      return 500;
    }
    *function = reinterpret_cast<DriverFunction>(0x9000 + fake.functions.size());
    fake.functions[*function] = name;
    return 0;
  };
  table.cuFuncSetAttribute = [](DriverFunction, int attribute, int value) {
    return say("attribute " + std::to_string(attribute) + " = " + std::to_string(value)), 0;
  };
  table.cuLaunchKernel = [](DriverFunction function, unsigned x, unsigned y, unsigned z,
                            unsigned bx, unsigned, unsigned, unsigned shared, DriverStream stream,
                            void **parameters, void **) -> DriverCode {
    if (isCaptured(stream)) {
      say("record " + std::to_string(x) + " x " + std::to_string(bx) + " shared " +
          std::to_string(shared));
      fake.recorded.push_back(nodeOf(parameters));
      return fake.launchCode;
    }
    say("launch " + std::to_string(x) + " x " + std::to_string(bx) + " shared " +
        std::to_string(shared));
    if (noMemory()) {
      return 2;
    }
    {
      std::lock_guard<std::mutex> guard(fakeLock);
      fake.grid[0] = x, fake.grid[1] = y, fake.grid[2] = z;
      fake.stream = stream;
      fake.parameters = parametersOf(parameters);
      fake.launched.push_back(fake.functions[function]);
      if (fake.lateAfter >= 0 && fake.launches >= fake.lateAfter) {
        return fake.lateCode;
      }
      ++fake.launches;
    }
    if (fake.launchCode == 0) {
      nodeOf(parameters)();
    }
    return fake.launchCode;
  };
  table.cuDeviceGetCount = [](int *count) { return *count = fake.deviceCount, 0; };
  table.cuDeviceGet = [](int *device, int index) { return *device = index, 0; };
  table.cuDevicePrimaryCtxRetain = [](DriverContext *context, int) {
    return say("retain"), *context = reinterpret_cast<void *>(0x1000), 0;
  };
  table.cuDevicePrimaryCtxRelease = [](int) { return say("release"), 0; };
  table.cuCtxSetCurrent = [](DriverContext context) { return fake.context = context, 0; };
  table.cuMemAlloc = [](uint64_t *memory, size_t bytes) -> DriverCode {
    if (!fake.context || noMemory()) {
      return fake.context ? 2 : 201;
    }
    ++fake.blocks;
    void *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    *memory = reinterpret_cast<uint64_t>(block);
    std::lock_guard<std::mutex> guard(fakeLock);
    fake.memory[*memory] = {block, std::free};
    return 0;
  };
  table.cuMemFree = [](uint64_t memory) {
    --fake.blocks;
    std::lock_guard<std::mutex> guard(fakeLock);
    fake.memory.erase(memory);
    return 0;
  };
  table.cuMemcpyHtoD = [](uint64_t to, const void *from, size_t bytes) {
    say("bring " + std::to_string(bytes));
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return fake.context ? 0 : 201;
  };
  table.cuMemcpyDtoH = [](void *to, uint64_t from, size_t bytes) -> DriverCode {
    say("fetch " + std::to_string(bytes));
    if (fake.fetchCode == 0) {
      std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    }
    return fake.context ? fake.fetchCode : 201;
  };
  table.cuStreamQuery = [](DriverStream) {
    return notWhileCapturing("a stream is waited for"), say("query"), fake.queryCode;
  };
  table.cuStreamIsCapturing = [](DriverStream stream, int *status) {
    return *status =
               isCaptured(stream) && fake.isInvalid ? 2 : fake.capturing || isCaptured(stream),
           0;
  };
  table.cuStreamCreate = [](DriverStream *stream, unsigned) {
    notWhileCapturing("a stream is made");
    return say("make stream"), *stream = reinterpret_cast<void *>(0x900), 0;
  };
  table.cuStreamDestroy = [](DriverStream) { return say("destroy stream"), 0; };
  table.cuStreamBeginCapture = [](DriverStream stream, int mode) -> DriverCode {
    say("begin " + std::to_string(mode));
    if (fake.beginCode == 0) {
      std::lock_guard<std::mutex> guard(fakeLock);
      fake.captured = stream;
      fake.capturedBy = std::this_thread::get_id();
      fake.recorded.clear();
      ++fake.graphNumber;
    }
    return fake.beginCode;
  };
  table.cuStreamEndCapture = [](DriverStream, DriverGraph *graph) -> DriverCode {
    say("end");
    std::lock_guard<std::mutex> guard(fakeLock);
    fake.captured = nullptr;
    if (fake.endCode != 0 || fake.isInvalid) {
      return std::exchange(fake.isInvalid, false) ? 901 : fake.endCode;
    }
    *graph = makeGraph(std::move(fake.recorded));
    fake.templates[*graph] = fake.graphNumber;
    return 0;
  };
  table.cuStreamGetCaptureInfo = [](DriverStream stream, int *, uint64_t *, DriverGraph *,
                                    const DriverGraphNode **last, size_t *count) {
    *count = isCaptured(stream) && !fake.recorded.empty();
    fake.lastNode =
        reinterpret_cast<void *>(fake.graphNumber * kMostNodes + fake.recorded.size() - 1);
    return *last = &fake.lastNode, 0;
  };
  table.cuGraphExecKernelNodeSetParams = [](DriverGraphExec graph, DriverGraphNode node,
                                            const DriverKernelNode *launch) -> DriverCode {
    say("node " + std::to_string(launch->gridX) + " x " + std::to_string(launch->blockX));
    auto number = reinterpret_cast<uintptr_t>(node);
    bool isThere = std::any_of(fake.templates.begin(), fake.templates.end(),
                               [&](auto &one) { return one.second == number / kMostNodes; });
    if (!isThere) {
      fake.broken = "a node of a graph that is destroyed";
    }
    if (fake.nodeCode != 0 && fake.nodeCodeAfter-- <= 0) {
      return fake.nodeCode;
    }
    static_cast<FakeGraph *>(graph)->at(number % kMostNodes) = nodeOf(launch->parameters);
    return 0;
  };
  table.cuGraphInstantiateWithFlags = [](DriverGraphExec *made, DriverGraph graph,
                                         unsigned long long) -> DriverCode {
    say("make graph");
    if (noMemory()) {
      return 2;
    }
    if (fake.makeCode == 0) {
      *made = makeGraph(*static_cast<FakeGraph *>(graph));
    }
    return fake.makeCode;
  };
  table.cuGraphLaunch = [](DriverGraphExec graph, DriverStream stream) -> DriverCode {
    say("graph");
    fake.stream = stream;
    if (noMemory()) {
      return 2;
    }
    for (const auto &node : fake.graphCode == 0 ? *static_cast<FakeGraph *>(graph) : FakeGraph()) {
      node();
    }
    return fake.graphCode;
  };
  table.cuGraphDestroy = [](DriverGraph graph) {
    return fake.templates.erase(graph), destroyGraph(graph), 0;
  };
  table.cuGraphExecDestroy = [](DriverGraphExec graph) {
    return say("destroy graph"), destroyGraph(graph), 0;
  };
  table.cuMemcpyDtoDAsync = [](uint64_t to, uint64_t from, size_t bytes, DriverStream stream) {
    auto copy = [=] {
      std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
    };
    if (isCaptured(stream)) {
      fake.recorded.push_back(copy);
    } else {
      say("copy " + std::to_string(bytes));
      copy();
    }
    return 0;
  };
  return table;
}

} // namespace fakecuda
