#include "runtime/cuda/JitLinker.h"

#include "runtime/artifact/GpuCode.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace frit {

namespace {

constexpr int kPtxInput = 2;

/// Where to search the library: the wheels that come with torch's CUDA builds, then the system's
/// paths.
std::vector<std::string> candidates() {
  std::vector<std::string> found;
  if (void *torch = ::dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD)) {
    char folder[4096] = {};
    if (::dlinfo(torch, RTLD_DI_ORIGIN, folder) == 0) {
      std::string packages = std::string(folder) + "/../../nvidia/";
      found.push_back(packages + "cu13/lib/libnvJitLink.so.13");
      found.push_back(packages + "nvjitlink/lib/libnvJitLink.so.12");
    }
    ::dlclose(torch);
  }
  found.push_back("libnvJitLink.so.13");
  found.push_back("libnvJitLink.so.12");
  return found;
}

const JitLinker *find() {
  const char *named = ::secure_getenv("FRIT_NVJITLINK");
  if (named && std::string_view(named) == "off") {
    return nullptr;
  }
  for (const std::string &library :
       named && *named ? std::vector<std::string>{named} : candidates()) {
    if (auto table = JitLinker::open(library); table.isOk()) {
      // Leaked, like the driver.
      return new JitLinker(*table, library.substr(library.rfind('/') + 1));
    }
  }
  return nullptr;
}

/// Destroys a link at the end of its scope.
struct Link {
  const JitLinkerTable &call;
  LinkHandle handle = nullptr;
  ~Link() {
    if (handle) {
      call.nvJitLinkDestroy(&handle);
    }
  }
};

} // namespace

const JitLinker *JitLinker::system() {
  static const JitLinker *const linker = find();
  return linker;
}

Result<JitLinkerTable> JitLinker::open(const std::string &library) {
  void *opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    return Status::error(ErrorKind::Unsupported, library + " cannot be opened");
  }
  JitLinkerTable table;
#define FRIT_LINKER_SYMBOL(name, parameters)                                                       \
  table.name = reinterpret_cast<int(*) parameters>(::dlsym(opened, #name));                        \
  if (!table.name) {                                                                               \
    ::dlclose(opened);                                                                             \
    return Status::error(ErrorKind::Unsupported, library + " has no " #name);                      \
  }
#include "runtime/cuda/JitLinkerSymbols.inc"
#undef FRIT_LINKER_SYMBOL
  return table;
}

std::string JitLinker::name() const {
  unsigned major = 0, minor = 0;
  call.nvJitLinkVersion(&major, &minor);
  return "nvJitLink " + std::to_string(major) + "." + std::to_string(minor) + " (" + shown + ")";
}

Result<std::vector<LinkedCubin>> JitLinker::link(const std::string &ptx, uint32_t arch) const {
  // ptxas takes most of the time of a first call. nvJitLink's own threads (-split-compile) leave a
  // fifth or more of it to the calling thread; separate links are nearly independent
  // (docs/Rationale.md). More than 16 threads would only wait for each other.
  constexpr uint32_t mostThreads = 16;
  std::vector<PtxPart> parts =
      splitPtx(ptx, threads ? threads
                            : std::min<uint32_t>(std::thread::hardware_concurrency(), mostThreads));
  std::vector<Result<std::string>> made(parts.size(),
                                        Status::error(ErrorKind::OutOfMemory, "out of memory"));
  auto linkAt = [&](size_t at) {
    try {
      made[at] = linkOne(parts[at].text, arch,
                         parts.size() > 1 ? "PTX of " + listed(parts[at].entries) : "PTX");
    } catch (const std::bad_alloc &) { // `made` says so already
    }
  };
  // The longest starts first, because later ones wait a little for locks that links share.
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(parts[b].text.size(), a) < std::pair(parts[a].text.size(), b);
  });
  {
    std::vector<std::jthread> others;
    others.reserve(parts.size());
    for (size_t number = 0; number + 1 < order.size(); ++number) {
      try {
        others.emplace_back(linkAt, order[number]);
      } catch (const std::system_error &) { // the machine has no more threads
        linkAt(order[number]);
      }
    }
    linkAt(order.back());
  }
  // The error of the first part in the text is reported, whichever failed first.
  std::vector<LinkedCubin> cubins;
  for (size_t at = 0; at < parts.size(); ++at) {
    if (!made[at].isOk()) {
      return made[at].status();
    }
    cubins.push_back({std::move(*made[at]), std::move(parts[at].entries)});
  }
  return cubins;
}

Result<std::string> JitLinker::linkOne(const std::string &ptx, uint32_t arch,
                                       const std::string &what) const {
  Link link{call};
  auto failed = [&](int code) {
    std::string log;
    size_t size = 0;
    constexpr size_t kMostLog = 2000;
    if (link.handle && call.nvJitLinkGetErrorLogSize(link.handle, &size) == 0 && size > 1) {
      log.resize(size);
      call.nvJitLinkGetErrorLog(link.handle, log.data());
      log.resize(std::min({log.find('\0'), log.size(), kMostLog}));
      for (char &c : log) {
        c = c == '\n' || c == '\r' ? ' ' : c;
      }
    }
    return Status::error(ErrorKind::Unsupported, name() + " refuses " + what + " for sm_" +
                                                     std::to_string(arch) + " (error " +
                                                     std::to_string(code) + ")" +
                                                     (log.empty() ? "" : ": " + log));
  };
  std::string target = "-arch=sm_" + std::to_string(arch);
  const char *options[] = {target.c_str()};
  if (int code = call.nvJitLinkCreate(&link.handle, 1, options); code != 0) {
    link.handle = nullptr;
    return failed(code);
  }
  // Without the terminating zero, since the size is passed.
  int code = call.nvJitLinkAddData(link.handle, kPtxInput, ptx.data(), ptx.size(), "frit");
  code = code ? code : call.nvJitLinkComplete(link.handle);
  size_t size = 0;
  code = code ? code : call.nvJitLinkGetLinkedCubinSize(link.handle, &size);
  if (code != 0) {
    return failed(code);
  }
  std::string cubin(size, '\0');
  if (code = call.nvJitLinkGetLinkedCubin(link.handle, cubin.data()); code != 0) {
    return failed(code);
  }
  return cubin;
}

} // namespace frit
