// GPU graphs under torch with several devices (row 9 of "GPU faults" in tests/README.md): a call
// runs on the device of its arguments, on the stream and with the memory of that device, and always
// restores the caller's device. torch may be built without CUDA, so the parts that a call uses are
// fakes: the device guard, the allocator, and one operator.

#include "runtime/torch/Bridge.h"
#include "runtime/torch/TorchExecutable.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"
#include "tests/unit/runtime/torch/ScriptedCuda.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

using fakecuda::addOnHost;
using fakecuda::chainOf;
using namespace frit;

namespace {

constexpr c10::DeviceIndex kDevices = 2;

fakecuda::FakeDriver &driver() { return *fritScriptedDriver(); }
void *contextOf(c10::DeviceIndex device) { return reinterpret_cast<void *>(0x1000 * (device + 1)); }
void *streamOf(c10::DeviceIndex device) { return reinterpret_cast<void *>(0x70 + device); }

/// The thread's current device, which determines the driver's current context.
struct Devices : c10::impl::DeviceGuardImplInterface {
  explicit Devices(c10::DeviceType = c10::DeviceType::CUDA) {}
  static inline thread_local c10::DeviceIndex current = 0;

  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {c10::DeviceType::CUDA, current}; }
  void setDevice(c10::Device device) const override { uncheckedSetDevice(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current = device.index();
    driver().context = contextOf(current);
  }
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  void *getStreamNativeHandle(const c10::Stream stream) const override {
    return streamOf(stream.device_index());
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
};

/// Memory of the current device.
struct Memory : c10::Allocator {
  static inline std::vector<int> taken = std::vector<int>(kDevices);
  static inline bool isFull = false;

  static void giveBack(void *memory) { std::free(memory); }
  c10::DataPtr allocate(size_t bytes) override {
    TORCH_CHECK_WITH(OutOfMemoryError, !isFull, "CUDA out of memory");
    ++taken[static_cast<size_t>(Devices::current)];
    void *memory = std::aligned_alloc(256, (bytes + 256) / 256 * 256);
    return {memory, memory, &giveBack, c10::Device(c10::DeviceType::CUDA, Devices::current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &giveBack; }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};
Memory memory;

at::Tensor emptyStrided(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                        std::optional<at::ScalarType> type, std::optional<at::Layout>,
                        std::optional<at::Device>, std::optional<bool>) {
  return at::Tensor(at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides), &memory,
      c10::DispatchKeySet(c10::DispatchKey::CUDA), *type));
}

C10_REGISTER_GUARD_IMPL(CUDA, Devices)
TORCH_LIBRARY_IMPL(aten, CUDA, library) { library.impl("empty_strided", &emptyStrided); }

struct TorchDevices : testing::Test {
  void SetUp() override {
    driver() = fakecuda::FakeDriver();
    driver().devices[contextOf(1)] = {1, 9, 0};
    driver().kernel = addOnHost;
    driver().pointers = 3;
    c10::SetAllocator(c10::DeviceType::CUDA, &memory);
    Memory::isFull = false;
    onDevice(0);
    std::string bytes = chainOf(2);
    auto loaded = TorchExecutable::load(*Artifact::fromBytes(bytesOf(bytes)), {});
    ASSERT_TRUE(loaded.isOk()) << loaded.status().message();
    executable = std::move(*loaded);
  }
  static std::span<const uint8_t> bytesOf(const std::string &bytes) {
    return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
  }
  static void onDevice(c10::DeviceIndex device) {
    Devices().setDevice({c10::DeviceType::CUDA, device});
    Memory::taken.assign(kDevices, 0);
  }
  static at::TensorBase newOn(c10::DeviceIndex device, const std::vector<float> &values) {
    c10::DeviceIndex before = Devices::current;
    Devices().setDevice({c10::DeviceType::CUDA, device});
    at::TensorBase tensor =
        at::detail::empty_strided_generic({static_cast<int64_t>(values.size())}, {1}, &memory,
                                          c10::DispatchKeySet(c10::DispatchKey::CUDA), at::kFloat);
    std::copy(values.begin(), values.end(), static_cast<float *>(tensor.mutable_data_ptr()));
    Devices().setDevice({c10::DeviceType::CUDA, before});
    Memory::taken.assign(kDevices, 0);
    return tensor;
  }
  /// x + w + w.
  at::TensorBase run(at::TensorBase x, at::TensorBase w) {
    InputValue inputs[2];
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = handleOf(std::move(x));
    inputs[1].handle = handleOf(std::move(w));
    OutputValue output;
    executable->run(inputs, {&output, 1});
    return takeTensor(output.handle);
  }
  at::TensorBase runOn(c10::DeviceIndex device) {
    return run(newOn(device, {1, 2, 3}), newOn(device, {10, 20, 30}));
  }

  std::unique_ptr<TorchExecutable> executable;
};

TEST_F(TorchDevices, Row09ACallRunsOnTheDeviceOfItsArgumentsAndLeavesTheCallersAlone) {
  for (c10::DeviceIndex current : {0, 1}) {
    for (c10::DeviceIndex device : {1, 0, 1}) {
      onDevice(current);
      at::TensorBase result = runOn(device);
      EXPECT_EQ(Devices::current, current);
      EXPECT_EQ(driver().context, contextOf(current));
      EXPECT_EQ(driver().stream, streamOf(device));
      EXPECT_EQ(result.device(), c10::Device(c10::DeviceType::CUDA, device));
      EXPECT_GT(Memory::taken[static_cast<size_t>(device)], 1)
          << "the result and what lies between";
      EXPECT_EQ(Memory::taken[static_cast<size_t>(1 - device)], 0);
      const auto *values = static_cast<const float *>(result.const_data_ptr());
      EXPECT_EQ(std::vector<float>(values, values + 3), (std::vector<float>{21, 42, 63}));
    }
  }
  EXPECT_EQ(std::count_if(driver().log.begin(), driver().log.end(),
                          [](const std::string &line) { return line.starts_with("load"); }),
            2)
      << "a module for each device's context";
}

TEST_F(TorchDevices, Row09TheCallersDeviceIsRestoredWhereACallFails) {
  at::TensorBase x = newOn(1, {1}), w = newOn(1, {2});
  Memory::isFull = true;
  EXPECT_THROW(run(x, w), c10::OutOfMemoryError);
  EXPECT_EQ(Devices::current, 0);
  Memory::isFull = false;
  driver().launchCode = 1;
  EXPECT_ANY_THROW(run(x, w));
  EXPECT_EQ(Devices::current, 0);
  EXPECT_EQ(driver().context, contextOf(0));
  driver().launchCode = 0;
  EXPECT_EQ(run(x, w).device().index(), 1) << "the next call works";
}

TEST_F(TorchDevices, Row09ArgumentsOfTwoDevicesAreRefusedBeforeAnythingIsDone) {
  try {
    run(newOn(0, {1}), newOn(1, {2}));
    FAIL() << "it ran";
  } catch (const std::exception &error) {
    EXPECT_NE(
        std::string(error.what())
            .find("input 1 ('w'): it lies on cuda:1, others on cuda:0; move all to one device"),
        std::string::npos)
        << error.what();
  }
  EXPECT_EQ(Devices::current, 0);
  EXPECT_TRUE(driver().log.empty());
}

} // namespace
