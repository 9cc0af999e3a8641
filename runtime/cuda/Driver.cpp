#include "runtime/cuda/Driver.h"

#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace frit {

namespace {

constexpr int kOldestDriver = 12000;

Status unavailable(const std::string &what) {
  return Status::error(ErrorKind::Unsupported, "no usable CUDA driver: " + what + "; compile for the CPU or fix the driver");
}

using GetProcAddress = DriverCode (*)(const char *, void **, int, uint64_t, void *);

/// Fills the table from the library the driver installs.
Result<DriverTable> loadTable() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return unavailable("libcuda.so.1 cannot be opened");
  }
  auto find = reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress_v2"));
  if (!find) {
    return unavailable("it is older than CUDA 12.0");
  }
  DriverTable table;
#define FRIT_DRIVER_SYMBOL(name, version, parameters)                                                                           \
  if (find(#name, reinterpret_cast<void **>(&table.name), version, 0, nullptr) != 0 || !table.name) {                           \
    return unavailable("it has no " #name);                                                                                     \
  }
#include "runtime/cuda/DriverSymbols.inc"
#undef FRIT_DRIVER_SYMBOL
  return table;
}

} // namespace

Result<std::shared_ptr<Driver>> Driver::create(const DriverTable &table) {
  std::shared_ptr<Driver> driver(new Driver(table));
  driver->owner = ::getpid();
  if (DriverCode code = table.cuInit(0); code != 0) {
    return unavailable(driver->describe(code));
  }
  int version = 0;
  if (table.cuDriverGetVersion(&version) != 0 || version < kOldestDriver) {
    return unavailable("it supports CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
                       ", frit needs 12.0");
  }
  return driver;
}

Result<std::shared_ptr<Driver>> Driver::system() {
  static std::mutex lock;
  static std::shared_ptr<Driver> *driver = nullptr;
  std::lock_guard<std::mutex> guard(lock);
  if (driver) {
    return *driver;
  }
  Result<DriverTable> table = loadTable();
  if (!table.isOk()) {
    return table.status();
  }
  auto created = create(*table);
  if (created.isOk()) {
    // Never destroyed: modules may be alive when the process ends.
    driver = new std::shared_ptr<Driver>(*created);
  }
  return created;
}

std::string Driver::describe(DriverCode code) const {
  const char *name = nullptr, *text = nullptr;
  table.cuGetErrorName(code, &name);
  table.cuGetErrorString(code, &text);
  return std::string(name ? name : "CUDA error") + " (" + std::to_string(code) + ")" + (text ? std::string(": ") + text : "");
}

Status Driver::usable() const {
  if (lost.load(std::memory_order_acquire)) {
    return Status::error(ErrorKind::Runtime, lostReason);
  }
  if (::getpid() != owner) {
    return Status::error(ErrorKind::Runtime, "CUDA was initialised before this process was forked and cannot be used in it; "
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
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  if (!lost.load()) {
    lostReason = std::move(reason);
    lost.store(true, std::memory_order_release);
  }
}

} // namespace frit
