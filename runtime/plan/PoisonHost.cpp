#include "runtime/plan/PoisonHost.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace frit {

namespace {

constexpr uint64_t kGuardBytes = 128;
constexpr unsigned char kGuardByte = 0xA5;

/// The poison for a turn as the bits of one element; integers and bytes hold their least value.
uint64_t poisonBits(format::Dtype dtype, uint32_t turn) {
  const float singles[] = {std::numeric_limits<float>::quiet_NaN(), 1e30F, -1e30F};
  const double doubles[] = {std::numeric_limits<double>::quiet_NaN(), 1e30, -1e30};
  // 1e30 as bf16, infinity as f16.
  const uint16_t brains[] = {0x7fc0, 0x714a, 0xf14a}, halves[] = {0x7e00, 0x7c00, 0xfc00};
  switch (dtype) {
  case format::Dtype::F32:
  case format::Dtype::C64:
    return std::bit_cast<uint32_t>(singles[turn % 3]);
  case format::Dtype::F64:
  case format::Dtype::C128:
    return std::bit_cast<uint64_t>(doubles[turn % 3]);
  case format::Dtype::BF16:
    return brains[turn % 3];
  case format::Dtype::F16:
  case format::Dtype::C32:
    return halves[turn % 3];
  default:
    return uint64_t(1) << (8 * bytesOf(dtype) - 1);
  }
}

uint64_t elementBytes(format::Dtype dtype) {
  bool isComplex =
      dtype == format::Dtype::C32 || dtype == format::Dtype::C64 || dtype == format::Dtype::C128;
  return bytesOf(dtype) / (isComplex ? 2 : 1);
}

} // namespace

void PoisonHost::guard(const void *owner, void *begin, uint64_t bytes, format::Dtype dtype) {
  auto *first = static_cast<unsigned char *>(begin);
  std::lock_guard<std::mutex> held(lock);
  uint64_t bits = poisonBits(dtype, turn++), step = elementBytes(dtype);
  for (uint64_t at = 0; at < bytes; at += step) {
    std::memcpy(first + at, &bits, std::min(step, bytes - at));
  }
  std::memset(first + bytes, kGuardByte, kGuardBytes);
  guarded.push_back({owner, first + bytes, std::this_thread::get_id()});
}

Status PoisonHost::check(const std::string &culprit) {
  std::lock_guard<std::mutex> held(lock);
  if (!broken.isOk()) {
    return std::exchange(broken, Status::ok());
  }
  for (const Guarded &one : guarded) {
    if (one.thread != std::this_thread::get_id()) {
      continue;
    }
    for (uint64_t at = 0; at < kGuardBytes; ++at) {
      if (one.end[at] != kGuardByte) {
        return Status::error(ErrorKind::Runtime,
                             "poison: " + culprit + " of graph '" +
                                 std::string(plan.artifact->graphName()) + "' wrote " +
                                 std::to_string(at) +
                                 " bytes past the end of a buffer; report it with the graph");
      }
    }
  }
  return Status::ok();
}

Status PoisonHost::forget(const void *owner) {
  Status status = check("a step");
  std::lock_guard<std::mutex> held(lock);
  std::erase_if(guarded, [&](const Guarded &one) { return one.owner == owner; });
  return status;
}

Status PoisonHost::finish() {
  Status status = check("a step");
  std::lock_guard<std::mutex> held(lock);
  std::erase_if(guarded,
                [](const Guarded &one) { return one.thread == std::this_thread::get_id(); });
  return status;
}

void *PoisonHost::allocateRaw(format::Device device, uint64_t bytes) {
  if (device != format::Device::Cpu) {
    return inner.allocateRaw(device, bytes);
  }
  void *memory = inner.allocateRaw(device, bytes + kGuardBytes);
  if (memory) {
    guard(memory, memory, bytes, format::Dtype::F32);
  }
  return memory;
}

void PoisonHost::freeRaw(format::Device device, void *memory) {
  Status status = forget(memory);
  if (!status.isOk()) {
    std::lock_guard<std::mutex> held(lock);
    broken = status;
  }
  inner.freeRaw(device, memory);
}

Status PoisonHost::allocateTensor(const TensorShape &shape, TensorSlot &slot) {
  if (shape.device != format::Device::Cpu || shape.lazy != kPlain) {
    return inner.allocateTensor(shape, slot);
  }
  auto itemBytes = static_cast<int64_t>(bytesOf(shape.dtype));
  TensorShape larger = shape;
  larger.slack = (static_cast<int64_t>(kGuardBytes) + itemBytes - 1) / itemBytes;
  FRIT_RETURN_IF_ERROR(inner.allocateTensor(larger, slot));
  int64_t span = 1;
  for (size_t dim = 0; dim < shape.sizes.size() && span != 0; ++dim) {
    span = shape.sizes[dim] == 0 ? 0 : span + (shape.sizes[dim] - 1) * shape.strides[dim];
  }
  guard(slot.handle, slot.data, static_cast<uint64_t>(span * itemBytes), shape.dtype);
  return Status::ok();
}

void PoisonHost::releaseTensor(void *handle) {
  Status status = forget(handle);
  if (!status.isOk()) {
    std::lock_guard<std::mutex> held(lock);
    broken = status;
  }
  inner.releaseTensor(handle);
}

Status PoisonHost::callAten(uint32_t number, RunState &state) {
  FRIT_RETURN_IF_ERROR(inner.callAten(number, state));
  return check("operator " + plan.atenCalls[number]->name()->str());
}

Status PoisonBackend::launch(const KernelArguments &arguments, TensorHost &) {
  FRIT_RETURN_IF_ERROR(inner.launch(arguments, host));
  const auto *name = plan.source->kernels()->Get(arguments.site->kernel)->name();
  return host.check("kernel '" + (name ? name->str() : std::string("?")) + "'");
}

} // namespace frit
