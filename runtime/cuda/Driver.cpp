#include "runtime/cuda/Driver.h"

#include "runtime/plan/Host.h"

#include <cstdlib>
#include <dlfcn.h>

namespace frit {

namespace {

constexpr int kOldestDriver = 12000;

Status unavailable(const std::string &what) {
  return Status::error(ErrorKind::Unsupported, "no usable CUDA driver: " + what +
                                                   "; compile for the CPU or fix the driver");
}

/// Advice for errors when the driver starts.
std::string adviceFor(DriverCode code) {
  switch (code) {
  case 34:
    return ", which is the toolkit's stub and no driver: take its folder from LD_LIBRARY_PATH";
  case 100:
    return " (is CUDA_VISIBLE_DEVICES empty, or the container without its GPU?)";
  case 3:
  case 35:
  case 803:
    return " (the driver does not fit its kernel module or is too old: install it anew or restart "
           "the machine)";
  default:
    return "";
  }
}

/// Set when the process ends: from then on the driver may already be shut down, although modules
/// still exist.
std::atomic<bool> isEnding{false};

using GetProcAddress = DriverCode (*)(const char *, void **, int, uint64_t, void *);

} // namespace

Result<DriverTable> Driver::open(const char *library) {
  void *opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    return unavailable(std::string(library) + " cannot be opened");
  }
  auto find = reinterpret_cast<GetProcAddress>(::dlsym(opened, "cuGetProcAddress_v2"));
  if (!find) {
    return unavailable("it is older than CUDA 12.0");
  }
  DriverTable table;
#define FRIT_DRIVER_SYMBOL(name, version, parameters)                                              \
  if (find(#name, reinterpret_cast<void **>(&table.name), version, 0, nullptr) != 0 ||             \
      !table.name) {                                                                               \
    return unavailable("it has no " #name);                                                        \
  }
#include "runtime/cuda/DriverSymbols.inc"
#undef FRIT_DRIVER_SYMBOL
  return table;
}

Result<std::shared_ptr<Driver>> Driver::create(const DriverTable &table) {
  std::shared_ptr<Driver> driver(new Driver(table));
  if (DriverCode code = table.cuInit(0); code != 0) {
    return unavailable(driver->describe(code) + adviceFor(code));
  }
  // Registered after cuInit, so that it runs before the driver's own exit handlers.
  [[maybe_unused]] static const int isRegistered = std::atexit([] { isEnding.store(true); });
  int version = 0;
  if (table.cuDriverGetVersion(&version) != 0 || version < kOldestDriver) {
    return unavailable("it supports CUDA " + std::to_string(version / 1000) + "." +
                       std::to_string(version % 1000 / 10) + ", frit needs 12.0");
  }
  return driver;
}

Result<std::shared_ptr<Driver>> Driver::system() {
  static ForkSafeLock lock;
  static std::shared_ptr<Driver> *driver = nullptr;
  ForkSafeGuard guard(lock);
  if (!guard.held) {
    return unavailable("this process was forked while another thread initialised CUDA; start "
                       "workers with the 'spawn' method");
  }
  if (driver) {
    return *driver;
  }
  Result<DriverTable> table = open("libcuda.so.1");
  if (!table.isOk()) {
    return table.status();
  }
  auto created = create(*table);
  if (created.isOk()) {
    // Leaked, because modules may be alive when the process ends.
    driver = new std::shared_ptr<Driver>(*created);
  }
  return created;
}

std::string Driver::describe(DriverCode code) const {
  const char *name = nullptr, *text = nullptr;
  table.cuGetErrorName(code, &name);
  table.cuGetErrorString(code, &text);
  return std::string(name ? name : "CUDA error") + " (" + std::to_string(code) + ")" +
         (text ? std::string(": ") + text : "");
}

Result<DriverContext> Driver::currentContext(TensorHost &host) const {
  DriverContext context = nullptr;
  DriverCode code = table.cuCtxGetCurrent(&context);
  int device = -1;
  if (code == 0 && !context) {
    int number = 0;
    device = host.currentDevice();
    code = table.cuDeviceGet(&number, device);
    code = code ? code : table.cuDevicePrimaryCtxRetain(&context, number);
    if (code == 0) {
      code = table.cuCtxSetCurrent(context);
      // Whoever made the tensors keeps it.
      table.cuDevicePrimaryCtxRelease(number);
    }
  }
  if (code != 0) {
    return Status::error(ErrorKind::Runtime,
                         (device < 0 ? std::string("the GPU") : "GPU " + std::to_string(device)) +
                             " has no context for this thread: " + describe(code));
  }
  return context;
}

Status Driver::usable() const {
  if (lost.load(std::memory_order_acquire)) {
    return Status::error(ErrorKind::Runtime, lostReason);
  }
  if (isEnding.load(std::memory_order_relaxed)) {
    return Status::error(ErrorKind::Runtime, "the process is ending and its CUDA driver with it");
  }
  if (forkGeneration() != generation) {
    return Status::error(
        ErrorKind::Runtime,
        "CUDA was initialised before this process was forked and cannot be used in it; "
        "start workers with the 'spawn' method");
  }
  return Status::ok();
}

bool Driver::isSticky(DriverCode code) {
  switch (code) {
  case 4:   // deinitialised
  case 46:  // device unavailable
  case 214: // uncorrectable ECC error
  case 219: // NVLink error
  case 700: // illegal address
  case 702: // launch timeout
  case 709: // context destroyed
  case 710: // device-side assert
  case 714: // hardware stack error
  case 715: // illegal instruction
  case 716: // misaligned address
  case 717: // invalid address space
  case 718: // invalid program counter
  case 719: // launch failure
    return true;
  default:
    return false;
  }
}

void Driver::markLost(std::string reason) {
  ForkSafeGuard guard(lock);
  if (guard.held && !lost.load()) {
    lostReason = std::move(reason);
    lost.store(true, std::memory_order_release);
  }
}

} // namespace frit
