#include "runtime/standalone/StandaloneHost.h"

#include "runtime/plan/PlanWeights.h"
#include "runtime/plan/ScalarProgram.h"
#include "runtime/plan/StorageSpan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace frit {

using format::Dtype;

namespace {

constexpr uint64_t kMostBytes = uint64_t(1) << 48;

template <typename T> T load(const void *data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

template <typename T> void store(void *data, T value) { std::memcpy(data, &value, sizeof(T)); }

void setSlot(TensorSlot &slot, HostTensor *tensor) {
  slot.handle = tensor;
  slot.data = tensor->data;
  slot.owner = TensorSlot::Owner::Handle;
}

} // namespace

/// "aten::mm (library call) 3 times, aten::sort", at most eight.
static std::string callsOf(const DecodedPlan &plan) {
  std::vector<std::pair<std::string, unsigned>> counts;
  for (const format::Aten *call : plan.atenCalls) {
    if (ControlFlow::isControlFlow(*call)) {
      continue;
    }
    std::string name =
        call->name()->str() +
        (call->reason() && call->reason()->size() ? " (" + call->reason()->str() + ")" : "");
    auto known = std::find_if(counts.begin(), counts.end(),
                              [&](const auto &one) { return one.first == name; });
    if (known == counts.end()) {
      counts.emplace_back(std::move(name), 1);
    } else {
      ++known->second;
    }
  }
  constexpr size_t kMostNames = 8;
  std::string text;
  for (size_t number = 0; number < std::min(counts.size(), kMostNames); ++number) {
    auto &[name, count] = counts[number];
    text += (number ? ", " : "") + name + (count > 1 ? " " + std::to_string(count) + " times" : "");
  }
  return text + (counts.size() > kMostNames
                     ? " and " + std::to_string(counts.size() - kMostNames) + " more"
                     : "");
}

Status StandaloneHost::refuseCalls(const DecodedPlan &plan) {
  if (ControlFlow::callsOperators(plan)) {
    return Status::error(
        ErrorKind::Unsupported,
        "graph '" + std::string(plan.artifact->graphName()) + "' calls " + callsOf(plan) +
            ", so it needs libtorch: run it with frit-run-torch, in Python (frit.load) or in C++ "
            "with frit::torch");
  }
  return Status::ok();
}

Result<std::unique_ptr<StandaloneHost>> StandaloneHost::create(const DecodedPlan &plan,
                                                               unsigned threads) {
  FRIT_RETURN_IF_ERROR(refuseCalls(plan));
  return std::unique_ptr<StandaloneHost>(new StandaloneHost(std::make_shared<ThreadPool>(threads)));
}

Result<std::unique_ptr<StandaloneHost>>
StandaloneHost::createForSubgraph(const DecodedPlan &plan) const {
  FRIT_RETURN_IF_ERROR(refuseCalls(plan));
  return std::unique_ptr<StandaloneHost>(new StandaloneHost(pool));
}

Status StandaloneHost::prepareControlFlow(const DecodedPlan &plan, LoadSubgraph load) {
  SubgraphTable table(std::move(load));
  for (const format::Aten *call : plan.atenCalls) {
    auto control = ControlFlow::prepare(plan, *call, table);
    FRIT_RETURN_IF_ERROR(control.status());
    controls.push_back(std::move(*control));
  }
  return Status::ok();
}

void *StandaloneHost::allocateRaw(format::Device, uint64_t bytes) {
  return std::aligned_alloc(64, (std::max<uint64_t>(bytes, 1) + 63) / 64 * 64);
}

std::shared_ptr<char> StandaloneHost::own(format::Device, char *memory) {
  return std::shared_ptr<char>(memory, std::free);
}

Result<HostTensor *> StandaloneHost::place(HostTensor *tensor, format::Device) {
  retainTensor(tensor);
  return tensor;
}

void StandaloneHost::freeRaw(format::Device, void *memory) { std::free(memory); }

void StandaloneHost::warn(const std::string &message) {
  std::fprintf(stderr, "frit: warning: %s\n", message.c_str());
}

Status StandaloneHost::allocateTensor(const TensorShape &shape, TensorSlot &slot) {
  std::optional<uint64_t> span = spanOf(shape.sizes, shape.strides);
  uint64_t bytes = 0;
  if (!span || __builtin_mul_overflow(*span, bytesOf(shape.dtype), &bytes) || bytes > kMostBytes) {
    return Status::error(ErrorKind::Runtime, "a tensor was asked for that no memory can hold: a "
                                             "size or stride is negative or too large");
  }
  auto *memory = static_cast<char *>(allocateRaw(shape.device, bytes));
  if (!memory) {
    return Status::error(ErrorKind::OutOfMemory,
                         "out of memory: cannot allocate " + std::to_string(bytes) + " bytes");
  }
  auto *tensor = new HostTensor{own(shape.device, memory),
                                memory,
                                0,
                                {shape.sizes.begin(), shape.sizes.end()},
                                {shape.strides.begin(), shape.strides.end()},
                                shape.dtype,
                                bytes,
                                shape.device};
  setSlot(slot, tensor);
  return Status::ok();
}

Status StandaloneHost::viewTensor(const TensorSlot &source, const TensorShape &shape,
                                  int64_t offset, TensorSlot &slot) {
  const HostTensor &from = *hostTensor(source.handle);
  int64_t itemBytes = static_cast<int64_t>(bytesOf(shape.dtype));
  // An array may begin inside of its storage; the check includes the part before it.
  int64_t before = from.data - from.storage.get();
  if (__builtin_add_overflow(offset, before / itemBytes, &offset) ||
      !liesInside(shape, offset, from.storageBytes, static_cast<uint64_t>(itemBytes))) {
    return Status::error(ErrorKind::BadArtifact, "a view lies outside of its storage of " +
                                                     std::to_string(from.storageBytes) +
                                                     " bytes; compile the artifact again");
  }
  bool empty = std::find(shape.sizes.begin(), shape.sizes.end(), 0) != shape.sizes.end();
  auto *tensor =
      new HostTensor{from.storage,
                     from.storage.get() + (empty ? 0 : before % itemBytes + offset * itemBytes),
                     offset,
                     {shape.sizes.begin(), shape.sizes.end()},
                     {shape.strides.begin(), shape.strides.end()},
                     shape.dtype,
                     from.storageBytes,
                     from.device};
  setSlot(slot, tensor);
  return Status::ok();
}

void StandaloneHost::releaseTensor(void *handle) {
  if (--hostTensor(handle)->references == 0) {
    delete hostTensor(handle);
  }
}

void StandaloneHost::retainTensor(void *handle) { ++hostTensor(handle)->references; }

TensorView StandaloneHost::viewOf(void *handle) {
  HostTensor &tensor = *hostTensor(handle);
  return {tensor.data,           tensor.sizes.data(),
          tensor.strides.data(), static_cast<int64_t>(tensor.sizes.size()),
          tensor.offset,         tensor.dtype,
          tensor.device};
}

void copyStrided(const HostTensor &from, char *to, const std::vector<int64_t> &toStrides) {
  size_t rank = from.sizes.size(), item = bytesOf(from.dtype);
  std::vector<int64_t> index(rank, 0);
  if (std::find(from.sizes.begin(), from.sizes.end(), 0) != from.sizes.end()) {
    return;
  }
  while (true) {
    int64_t source = 0, target = 0;
    for (size_t dim = 0; dim < rank; ++dim) {
      source += index[dim] * from.strides[dim];
      target += index[dim] * toStrides[dim];
    }
    std::memcpy(to + target * static_cast<int64_t>(item),
                from.data + source * static_cast<int64_t>(item), item);
    size_t dim = rank;
    while (dim > 0 && ++index[dim - 1] == from.sizes[dim - 1]) {
      index[--dim] = 0;
    }
    if (dim == 0) {
      return;
    }
  }
}

Status StandaloneHost::copyInto(const TensorSlot &destination, const TensorSlot &source) {
  HostTensor &to = *hostTensor(destination.handle);
  const HostTensor &from = *hostTensor(source.handle);
  if (to.dtype != from.dtype || to.sizes != from.sizes) {
    return Status::error(ErrorKind::Unsupported, "copying between dtypes or shapes needs libtorch; "
                                                 "use frit-run-torch, frit.load or frit::torch");
  }
  copyStrided(from, to.data, to.strides);
  return Status::ok();
}

Status StandaloneHost::readItem(const TensorSlot &slot, int64_t *integer, double *real) {
  for (int64_t size : hostTensor(slot.handle)->sizes) {
    if (size != 1) {
      return Status::error(ErrorKind::Runtime,
                           "a number is read from a tensor with " + std::to_string(size) +
                               " elements along a dimension; it must have one element");
    }
  }
  switch (hostTensor(slot.handle)->dtype) {
  case Dtype::F64:
    *real = load<double>(slot.data);
    return Status::ok();
  case Dtype::F32:
    *real = load<float>(slot.data);
    return Status::ok();
  case Dtype::I64:
    *integer = load<int64_t>(slot.data);
    return Status::ok();
  case Dtype::I32:
    *integer = load<int32_t>(slot.data);
    return Status::ok();
  case Dtype::I16:
    *integer = load<int16_t>(slot.data);
    return Status::ok();
  case Dtype::I8:
    *integer = load<int8_t>(slot.data);
    return Status::ok();
  case Dtype::U8:
    *integer = load<uint8_t>(slot.data);
    return Status::ok();
  case Dtype::Bool:
    *integer = load<uint8_t>(slot.data) != 0;
    return Status::ok();
  default:
    return Status::error(
        ErrorKind::Unsupported,
        std::string("reading a ") + nameOf(hostTensor(slot.handle)->dtype) +
            " number on the host needs libtorch; use frit-run-torch, frit.load or frit::torch");
  }
}

Status StandaloneHost::wrapScalar(Dtype dtype, int64_t integer, double real, TensorSlot &slot) {
  FRIT_RETURN_IF_ERROR(allocateTensor({{}, {}, dtype, format::Device::Cpu}, slot));
  switch (dtype) {
  case Dtype::F64:
    store<double>(slot.data, real);
    return Status::ok();
  case Dtype::F32:
    store<float>(slot.data, static_cast<float>(real));
    return Status::ok();
  case Dtype::I64:
    store<int64_t>(slot.data, integer);
    return Status::ok();
  case Dtype::I32:
    store<int32_t>(slot.data, static_cast<int32_t>(integer));
    return Status::ok();
  case Dtype::I16:
    store<int16_t>(slot.data, static_cast<int16_t>(integer));
    return Status::ok();
  case Dtype::I8:
    store<int8_t>(slot.data, static_cast<int8_t>(integer));
    return Status::ok();
  case Dtype::U8:
    store<uint8_t>(slot.data, static_cast<uint8_t>(integer));
    return Status::ok();
  case Dtype::Bool:
    store<uint8_t>(slot.data, integer != 0);
    return Status::ok();
  default:
    releaseTensor(slot.handle);
    slot = TensorSlot();
    return Status::error(ErrorKind::Unsupported,
                         std::string("a host scalar of dtype ") + nameOf(dtype) +
                             " needs libtorch; use frit-run-torch, frit.load or frit::torch");
  }
}

Status StandaloneHost::bindPlaced(PlanExecutor &executor, uint32_t number, HostTensor *tensor,
                                  format::Device device) {
  auto placed = place(tensor, device);
  FRIT_RETURN_IF_ERROR(placed.status());
  Status status = executor.bindConstant(number, *placed);
  releaseTensor(*placed);
  return status;
}

Status StandaloneHost::bindWeights(const DecodedPlan &plan, PlanExecutor &executor,
                                   const std::map<std::string, HostTensor *> &given) {
  FRIT_RETURN_IF_ERROR(checkGiven(*plan.artifact, keysOf(given)));
  const auto *constants = plan.source->constants();
  for (uint32_t number = 0; constants && number < constants->size(); ++number) {
    format::Device device = plan.tensors[constants->Get(number)->tensor()].device;
    if (auto name = givenName(plan, number)) {
      FRIT_RETURN_IF_ERROR(bindPlaced(executor, number, given.at(*name), device));
      continue;
    }
    auto weight = weightOf(plan, number);
    FRIT_RETURN_IF_ERROR(weight.status());
    auto *data = static_cast<char *>(weight->data);
    // A result may be a view of the weight and outlive the executor, so it keeps the artifact.
    auto *tensor = new HostTensor{std::shared_ptr<char>(data, [kept = plan.artifact](char *) {}),
                                  data,
                                  0,
                                  weight->sizes,
                                  weight->strides,
                                  weight->dtype,
                                  weight->bytes};
    Status status = bindPlaced(executor, number, tensor, device);
    releaseTensor(tensor);
    FRIT_RETURN_IF_ERROR(status);
  }
  return Status::ok();
}

Status StandaloneHost::callAten(uint32_t number, RunState &state) {
  return number < controls.size()
             ? controls[number].run(*this, state)
             : Status::error(
                   ErrorKind::Unsupported,
                   "operators need libtorch; use frit-run-torch, frit.load or frit::torch");
}

void StandaloneHost::parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) {
  pool->run(units, grain, body, argument);
}

} // namespace frit
