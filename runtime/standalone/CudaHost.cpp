#include "runtime/standalone/CudaHost.h"

#include "runtime/plan/StorageSpan.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace frit {

namespace {

uint64_t address(const void *memory) { return reinterpret_cast<uint64_t>(memory); }

} // namespace

uint64_t bytesUnder(const HostTensor &tensor) {
  return spanOf(tensor.sizes, tensor.strides).value_or(0) * bytesOf(tensor.dtype);
}

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(const std::string &name) {
  auto driver = Driver::system();
  FRIT_RETURN_IF_ERROR(driver.status());
  return open(name, std::move(*driver));
}

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(const std::string &name,
                                                     std::shared_ptr<Driver> driver) {
  char *end = nullptr;
  const char *number = name.size() > 5 ? name.c_str() + 5 : "0";
  long index = std::strtol(number, &end, 10);
  if (name.rfind("cuda", 0) != 0 || (name.size() > 4 && (name[4] != ':' || name.size() == 5)) ||
      *end != 0 || index < 0) {
    return Status::error(ErrorKind::BadInput,
                         "unknown device '" + name + "'; GPUs are called cuda, cuda:0, cuda:1 ...");
  }
  FRIT_RETURN_IF_ERROR(driver->usable());
  const DriverTable &call = driver->call();
  int count = 0, device = 0;
  DriverContext context = nullptr;
  if (DriverCode code = call.cuDeviceGetCount(&count); code != 0) {
    return Status::error(ErrorKind::Unsupported,
                         "the GPUs cannot be counted: " + driver->describe(code));
  }
  if (index >= count) {
    return Status::error(ErrorKind::Unsupported,
                         "no device '" + name + "': there are " + std::to_string(count) + " GPUs");
  }
  DriverCode code = call.cuDeviceGet(&device, static_cast<int>(index));
  code = code ? code : call.cuDevicePrimaryCtxRetain(&context, device);
  if (code != 0) {
    return Status::error(ErrorKind::Runtime,
                         "device '" + name + "' cannot be used: " + driver->describe(code));
  }
  return std::shared_ptr<CudaDevice>(
      new CudaDevice(std::move(driver), device, static_cast<int>(index), context));
}

Result<std::shared_ptr<CudaDevice>> (*openDevice)(const std::string &name) = &CudaDevice::open;

CudaDevice::~CudaDevice() {
  if (driver->usable().isOk()) {
    driver->call().cuDevicePrimaryCtxRelease(device);
  }
}

CudaDevice::Scope::Scope(const CudaDevice &device) : device(device) {
  device.driver->call().cuCtxGetCurrent(&before);
  device.driver->call().cuCtxSetCurrent(device.context);
}

CudaDevice::Scope::~Scope() { device.driver->call().cuCtxSetCurrent(before); }

char *CudaDevice::allocate(uint64_t bytes) const {
  uint64_t memory = 0;
  return driver->call().cuMemAlloc(&memory, std::max<uint64_t>(bytes, 1)) == 0
             ? reinterpret_cast<char *>(memory)
             : nullptr;
}

void CudaDevice::free(void *memory) const {
  if (driver->usable().isOk()) {
    Scope scope(*this);
    driver->call().cuMemFree(address(memory));
  }
}

Status CudaDevice::check(DriverCode code, const char *what, uint64_t bytes) const {
  if (code == 0) {
    return Status::ok();
  }
  std::string message =
      std::string(what) + " " + std::to_string(bytes) + " bytes failed: " + driver->describe(code);
  if (Driver::isSticky(code)) {
    message += "; a kernel of this call or an earlier one is at fault (FRIT_CUDA_SYNC=1 says "
               "which); restart the process";
    driver->markLost(message);
  }
  return Status::error(code == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::Runtime, message);
}

Status CudaDevice::bring(void *to, const void *from, uint64_t bytes) const {
  return check(bytes ? driver->call().cuMemcpyHtoD(address(to), from, bytes) : 0,
               "bringing to the GPU", bytes);
}

Status CudaDevice::fetch(void *to, const void *from, uint64_t bytes) const {
  return check(bytes ? driver->call().cuMemcpyDtoH(to, address(from), bytes) : 0,
               "fetching from the GPU", bytes);
}

Status CudaDevice::move(void *to, const void *from, uint64_t bytes) const {
  return check(bytes ? driver->call().cuMemcpyDtoDAsync(address(to), address(from), bytes, nullptr)
                     : 0,
               "copying on the GPU", bytes);
}

Result<std::unique_ptr<CudaHost>> CudaHost::create(const DecodedPlan &plan,
                                                   std::shared_ptr<CudaDevice> device) {
  FRIT_RETURN_IF_ERROR(refuseCalls(plan));
  if (!plan.atenCalls.empty()) {
    return Status::error(ErrorKind::Unsupported,
                         "graph '" + std::string(plan.artifact->graphName()) +
                             "' branches or loops by a value, which on a GPU needs libtorch: run "
                             "it with frit-run-torch, in Python (frit.load) or in C++ with "
                             "frit::torch");
  }
  return std::unique_ptr<CudaHost>(new CudaHost(std::move(device)));
}

void *CudaHost::allocateRaw(format::Device where, uint64_t bytes) {
  return where == format::Device::Cuda ? device->allocate(bytes)
                                       : StandaloneHost::allocateRaw(where, bytes);
}

void CudaHost::freeRaw(format::Device where, void *memory) {
  if (where == format::Device::Cuda) {
    device->free(memory);
  } else {
    StandaloneHost::freeRaw(where, memory);
  }
}

std::shared_ptr<char> CudaHost::own(format::Device where, char *memory) {
  if (where != format::Device::Cuda) {
    return StandaloneHost::own(where, memory);
  }
  return std::shared_ptr<char>(memory, [kept = device](char *gone) { kept->free(gone); });
}

TensorView CudaHost::viewOf(void *handle) {
  TensorView view = StandaloneHost::viewOf(handle);
  view.deviceIndex = view.device == format::Device::Cuda ? device->getIndex() : 0;
  return view;
}

Result<HostTensor *> CudaHost::bring(const HostTensor &tensor) {
  uint64_t bytes = bytesUnder(tensor);
  char *memory = device->allocate(bytes);
  if (!memory) {
    return Status::error(ErrorKind::OutOfMemory,
                         "out of memory: cannot allocate " + std::to_string(bytes) +
                             " bytes on cuda:" + std::to_string(device->getIndex()));
  }
  auto storage = own(format::Device::Cuda, memory);
  FRIT_RETURN_IF_ERROR(device->bring(memory, tensor.data, bytes));
  auto *made =
      new HostTensor{storage, memory, 0, tensor.sizes, tensor.strides, tensor.dtype, bytes};
  made->device = format::Device::Cuda;
  return made;
}

Status CudaHost::fetch(const HostTensor &tensor, void *to) {
  return device->fetch(to, tensor.data, bytesUnder(tensor));
}

Result<HostTensor *> CudaHost::place(HostTensor *tensor, format::Device where) {
  return where == format::Device::Cuda ? bring(*tensor) : StandaloneHost::place(tensor, where);
}

Status CudaHost::copyInto(const TensorSlot &destination, const TensorSlot &source) {
  HostTensor &to = *hostTensor(destination.handle), &from = *hostTensor(source.handle);
  if (to.device == format::Device::Cpu && from.device == format::Device::Cpu) {
    return StandaloneHost::copyInto(destination, source);
  }
  uint64_t elements = 1;
  for (int64_t size : to.sizes) {
    elements *= static_cast<uint64_t>(size);
  }
  bool isDense = elements * bytesOf(to.dtype) == bytesUnder(to);
  if (isDense && to.dtype == from.dtype && to.sizes == from.sizes && to.strides == from.strides &&
      to.device == from.device) {
    return device->move(to.data, from.data, bytesUnder(to));
  }
  // Other copies go through the host: both tensors are copied there, and the destination is copied
  // back.
  auto onHost = [&](HostTensor &tensor, std::vector<char> &memory) {
    memory.resize(bytesUnder(tensor));
    Status status = Status::ok();
    if (tensor.device == format::Device::Cuda) {
      status = fetch(tensor, memory.data());
    } else {
      std::copy_n(tensor.data, memory.size(), memory.data());
    }
    return status;
  };
  std::vector<char> toMemory, fromMemory;
  FRIT_RETURN_IF_ERROR(onHost(to, toMemory));
  FRIT_RETURN_IF_ERROR(onHost(from, fromMemory));
  auto lookAt = [](std::vector<char> &memory, const HostTensor &tensor) {
    return HostTensor{std::shared_ptr<char>(memory.data(), [](char *) {}),
                      memory.data(),
                      0,
                      tensor.sizes,
                      tensor.strides,
                      tensor.dtype,
                      memory.size()};
  };
  HostTensor toLook = lookAt(toMemory, to), fromLook = lookAt(fromMemory, from);
  TensorSlot toSlot, fromSlot;
  toSlot.handle = &toLook, toSlot.data = toLook.data;
  fromSlot.handle = &fromLook, fromSlot.data = fromLook.data;
  FRIT_RETURN_IF_ERROR(StandaloneHost::copyInto(toSlot, fromSlot));
  if (to.device == format::Device::Cuda) {
    return device->bring(to.data, toMemory.data(), toMemory.size());
  }
  std::copy(toMemory.begin(), toMemory.end(), to.data);
  return Status::ok();
}

Status CudaHost::readItem(const TensorSlot &slot, int64_t *integer, double *real) {
  HostTensor &tensor = *hostTensor(slot.handle);
  if (tensor.device == format::Device::Cpu) {
    return StandaloneHost::readItem(slot, integer, real);
  }
  char item[16];
  FRIT_RETURN_IF_ERROR(device->fetch(item, slot.data, bytesOf(tensor.dtype)));
  TensorSlot onHost = slot;
  onHost.data = item;
  return StandaloneHost::readItem(onHost, integer, real);
}

} // namespace frit
