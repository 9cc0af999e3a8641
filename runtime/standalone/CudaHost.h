// The executor's world on a GPU without torch: memory of the device's primary context by the
// driver's own allocator, one stream (the default one, so that copies wait for kernels), arguments
// brought and results fetched around a call. For running and comparing a model, not for speed: a
// program that calls often keeps its tensors on the device, with libtorch.

#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/standalone/StandaloneHost.h"

namespace frit {

/// A device's primary context, held as long as this lives.
class CudaDevice {
public:
  /// "cuda" or "cuda:1", on the machine's driver; an error where there is none of this kind.
  static Result<std::shared_ptr<CudaDevice>> open(const std::string &name);
  static Result<std::shared_ptr<CudaDevice>> open(const std::string &name,
                                                  std::shared_ptr<Driver> driver);
  ~CudaDevice();

  /// Makes the context this thread's until the end of the scope.
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

  /// In a scope. Null where there is no memory.
  char *allocate(uint64_t bytes) const;
  /// From any thread.
  void free(void *memory) const;
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

/// How models find their device; a test puts a driver of its own behind it.
extern Result<std::shared_ptr<CudaDevice>> (*openDevice)(const std::string &name);

class CudaHost : public StandaloneHost {
public:
  static Result<std::unique_ptr<CudaHost>> create(const DecodedPlan &plan,
                                                  std::shared_ptr<CudaDevice> device);

  /// A copy of a tensor's storage on the device, with a reference for the caller.
  Result<HostTensor *> bring(const HostTensor &tensor);
  /// What lies under a tensor on the device, from its first element on, to host memory of the same
  /// strides.
  Status fetch(const HostTensor &tensor, void *to);

  void *allocateRaw(format::Device device, uint64_t bytes) override;
  void freeRaw(format::Device device, void *memory) override;
  TensorView look(void *handle) override;
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override;
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override;

  const CudaDevice &getDevice() const { return *device; }

protected:
  std::shared_ptr<char> own(format::Device device, char *memory) override;
  Result<HostTensor *> place(HostTensor *tensor, format::Device device) override;

private:
  explicit CudaHost(std::shared_ptr<CudaDevice> device)
      : StandaloneHost(1), device(std::move(device)) {}

  std::shared_ptr<CudaDevice> device;
};

/// Bytes from a tensor's first element to behind its last.
uint64_t bytesUnder(const HostTensor &tensor);

} // namespace frit
