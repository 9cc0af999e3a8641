// The executor's host on a GPU without torch: memory of the device's primary context from the
// driver's allocator, the default stream (so that copies wait for kernels), and copies of arguments
// and results around a call. It is for running and comparing a model, not for speed: a program that
// calls often should keep its tensors on the device, with libtorch.

#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/standalone/StandaloneHost.h"

namespace frit {

/// The primary context of a device, held for the lifetime of this object.
class CudaDevice {
public:
  /// "cuda" or "cuda:1", with the machine's driver; an error if there is no such device.
  static Result<std::shared_ptr<CudaDevice>> open(const std::string &name);
  static Result<std::shared_ptr<CudaDevice>> open(const std::string &name,
                                                  std::shared_ptr<Driver> driver);
  ~CudaDevice();

  /// Makes the context current on this thread until the end of the scope.
  class Scope {
  public:
    explicit Scope(const CudaDevice &device);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    const CudaDevice &device;
    DriverContext before = nullptr;
  };

  /// Must be called in a Scope. Null if there is no memory.
  char *allocate(uint64_t bytes) const;
  /// May be called from any thread.
  void free(void *memory) const;
  /// Copy to, from and within the device. Must be called in a Scope.
  Status bring(void *to, const void *from, uint64_t bytes) const;
  Status fetch(void *to, const void *from, uint64_t bytes) const;
  Status move(void *to, const void *from, uint64_t bytes) const;

  const std::shared_ptr<Driver> &getDriver() const { return driver; }
  int getIndex() const { return index; }

private:
  CudaDevice(std::shared_ptr<Driver> driver, int device, int index, DriverContext context)
      : driver(std::move(driver)), device(device), index(index), context(context) {}
  Status check(DriverCode code, const char *what, uint64_t bytes) const;

  std::shared_ptr<Driver> driver;
  int device, index;
  DriverContext context;
};

/// Opens the device of a model; tests replace it.
extern Result<std::shared_ptr<CudaDevice>> (*openDevice)(const std::string &name);

class CudaHost : public StandaloneHost {
public:
  static Result<std::unique_ptr<CudaHost>> create(const DecodedPlan &plan,
                                                  std::shared_ptr<CudaDevice> device);

  /// Copies a tensor's storage to the device; the caller owns the reference.
  Result<HostTensor *> bring(const HostTensor &tensor);
  /// Copies the memory of a device tensor, from its first element on, to host memory with the same
  /// strides.
  Status fetch(const HostTensor &tensor, void *to);

  void *allocateRaw(format::Device device, uint64_t bytes) override;
  void freeRaw(format::Device device, void *memory) override;
  TensorView viewOf(void *handle) override;
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override;
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override;

  const CudaDevice &getDevice() const { return *device; }

protected:
  std::shared_ptr<char> own(format::Device device, char *memory) override;
  Result<HostTensor *> place(HostTensor *tensor, format::Device device) override;

private:
  explicit CudaHost(std::shared_ptr<CudaDevice> device)
      : StandaloneHost(std::make_shared<ThreadPool>(1)), device(std::move(device)) {}

  std::shared_ptr<CudaDevice> device;
};

/// Bytes from a tensor's first element to the end of its last.
uint64_t bytesUnder(const HostTensor &tensor);

} // namespace frit
