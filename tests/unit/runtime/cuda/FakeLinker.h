// A table of nvJitLink's functions that makes cubins which FakeDriver.h loads, and counts them.

#pragma once

#include "runtime/artifact/GpuCode.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"

#include <set>
#include <thread>

namespace fakecuda {

/// Several threads may link at once, so `options` and `texts` of the calls are in any order.
struct FakeLinker {
  int createCode = 0, completeCode = 0, links = 0, open = 0;
  /// Texts that contain this are refused when the link is completed.
  std::string refused;
  std::vector<std::vector<std::string>> options;
  std::vector<std::string> texts;
  std::set<std::thread::id> threads;
};
inline FakeLinker linking;
inline std::mutex linkingLock;

struct FakeLink {
  std::string text, label;
};

inline JitLinkerTable linkerTable() {
  JitLinkerTable table;
  table.nvJitLinkCreate = [](LinkHandle *handle, uint32_t count, const char **options) {
    std::lock_guard<std::mutex> guard(linkingLock);
    linking.options.emplace_back(options, options + count);
    linking.threads.insert(std::this_thread::get_id());
    if (linking.createCode == 0) {
      ++linking.open;
      *handle = new FakeLink;
    }
    return linking.createCode;
  };
  table.nvJitLinkDestroy = [](LinkHandle *handle) {
    std::lock_guard<std::mutex> guard(linkingLock);
    delete static_cast<FakeLink *>(*handle);
    return --linking.open, *handle = nullptr, 0;
  };
  table.nvJitLinkAddData = [](LinkHandle handle, int kind, const void *data, size_t size,
                              const char *) {
    std::lock_guard<std::mutex> guard(linkingLock);
    auto &link = *static_cast<FakeLink *>(handle);
    link.text.assign(static_cast<const char *>(data), size);
    linking.texts.push_back(link.text);
    return kind == 2 ? 0 : 3;
  };
  table.nvJitLinkComplete = [](LinkHandle handle) {
    std::lock_guard<std::mutex> guard(linkingLock);
    auto &link = *static_cast<FakeLink *>(handle);
    ++linking.links;
    if (!linking.refused.empty() && link.text.find(linking.refused) != std::string::npos) {
      return 4;
    }
    // If there are several cubins, the label lists the entries for the driver.
    link.label = link.text.find(kPtxKernelMark) == std::string::npos
                     ? "linked"
                     : "linked: " + listed(splitPtx(link.text, 1)[0].entries);
    return linking.completeCode;
  };
  table.nvJitLinkGetLinkedCubinSize = [](LinkHandle handle, size_t *size) {
    return *size = codeOf(kCubin, 90, static_cast<FakeLink *>(handle)->label).size() + 1, 0;
  };
  table.nvJitLinkGetLinkedCubin = [](LinkHandle handle, void *cubin) {
    std::string bytes = codeOf(kCubin, 90, static_cast<FakeLink *>(handle)->label);
    std::memcpy(cubin, bytes.c_str(), bytes.size() + 1);
    return 0;
  };
  table.nvJitLinkGetErrorLogSize = [](LinkHandle, size_t *size) { return *size = 14, 0; };
  table.nvJitLinkGetErrorLog = [](LinkHandle, char *log) {
    return std::memcpy(log, "line 7:\nsyntax", 14), 0;
  };
  table.nvJitLinkVersion = [](unsigned *major, unsigned *minor) {
    return *major = 13, *minor = 0, 0;
  };
  return table;
}

inline const JitLinker *scripted() {
  static const JitLinker linker(linkerTable(), "fake");
  return &linker;
}

/// A linker as on a machine with four processors.
inline const JitLinker *scriptedOnFour() {
  static const JitLinker linker(linkerTable(), "fake", 4);
  return &linker;
}

} // namespace fakecuda
