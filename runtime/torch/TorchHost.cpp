#include "runtime/torch/TorchHost.h"

#include "runtime/cuda/GraphPool.h"
#include "runtime/plan/FrozenWeights.h"
#include "runtime/plan/StorageSpan.h"
#include "runtime/torch/BlockCache.h"
#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"
#include "runtime/torch/ProfilerSpan.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace frit {

namespace {

thread_local std::exception_ptr pending;
std::atomic<void (*)()> interruptCheck{nullptr};

c10::Allocator *allocatorOf(format::Device device) {
  return device == format::Device::Cpu ? c10::GetCPUAllocator()
                                       : c10::GetAllocator(c10::DeviceType::CUDA);
}

} // namespace

Status keepException() {
  pending = std::current_exception();
  return Status::error(ErrorKind::Pending, "");
}

void setInterruptCheck(void (*check)()) { interruptCheck = check; }

void rethrowPending() { std::rethrow_exception(std::exchange(pending, nullptr)); }

bool TorchHost::isRepeatable() const {
  try {
    std::rethrow_exception(pending);
  } catch (const c10::OutOfMemoryError &) {
    return false;
  } catch (const c10::Error &error) {
    return std::string_view(error.what_without_backtrace()).find("DefaultCPUAllocator: ") ==
           std::string_view::npos;
  } catch (...) {
    return false;
  }
}

Status inWords(Status status) {
  if (status.kind() != ErrorKind::Pending) {
    return status;
  }
  auto firstLine = [](const std::string &text) { return text.substr(0, text.find('\n')); };
  try {
    rethrowPending();
  } catch (const c10::OutOfMemoryError &error) {
    return Status::error(ErrorKind::OutOfMemory, firstLine(error.what_without_backtrace()));
  } catch (const c10::Error &error) {
    return Status::error(ErrorKind::Runtime, firstLine(error.what_without_backtrace()));
  } catch (const std::exception &error) {
    return Status::error(ErrorKind::Runtime, firstLine(error.what()));
  } catch (...) {
    return Status::error(ErrorKind::Runtime,
                         "an operator failed with an exception that is not a std::exception");
  }
}

GraphPool &graphPoolOfProcess() {
  // Leaked, because graphs may be alive when the process ends. Blocks are allocated on the stream
  // of the graphs that use them.
  static GraphPool &pool =
      *new GraphPool({[](uint64_t bytes) -> void * {
                        try {
                          return allocatorOf(format::Device::Cuda)->raw_allocate(bytes);
                        } catch (...) {
                          return nullptr;
                        }
                      },
                      [](void *memory) {
                        try {
                          allocatorOf(format::Device::Cuda)->raw_deallocate(memory);
                        } catch (...) {
                          // The context is lost, and the block with it.
                        }
                      }});
  return pool;
}

Result<std::unique_ptr<TorchHost>> TorchHost::create(const DecodedPlan &plan, LoadSubgraph load) {
  std::unique_ptr<TorchHost> host(new TorchHost(plan));
  SubgraphTable table(std::move(load));
  host->calls.reserve(plan.atenCalls.size());
  std::vector<bool> frozen = frozenTensors(plan);
  for (const format::Aten *source : plan.atenCalls) {
    if (ControlFlow::isControlFlow(*source)) {
      Result<ControlFlow> control = ControlFlow::prepare(plan, *source, table);
      if (!control.isOk()) {
        return control.status();
      }
      host->calls.emplace_back(std::move(*control));
      continue;
    }
    Result<AtenCall> call = AtenCall::prepare(plan, *source, frozen);
    if (!call.isOk()) {
      return call.status();
    }
    host->calls.emplace_back(std::move(*call));
  }
  return host;
}

void TorchHost::readWeightsInPlace() {
  for (Call &call : calls) {
    if (auto *aten = std::get_if<AtenCall>(&call)) {
      aten->readInPlace();
    }
  }
}

void *TorchHost::allocateRaw(format::Device device, uint64_t bytes) {
  try {
    return allocatorOf(device)->raw_allocate(std::max<uint64_t>(bytes, 1));
  } catch (...) {
    // The executor writes the error message; torch's says no more.
    return nullptr;
  }
}

void TorchHost::freeRaw(format::Device device, void *memory) {
  allocatorOf(device)->raw_deallocate(memory);
}

void *TorchHost::takeBlock(format::Device device, uint64_t capacity) {
  return device == format::Device::Cpu ? BlockCache::ofProcess().take(capacity)
                                       : allocateRaw(device, capacity);
}

void TorchHost::giveBlock(format::Device device, void *memory) {
  if (device == format::Device::Cpu) {
    BlockCache::ofProcess().give(memory);
  } else {
    freeRaw(device, memory);
  }
}

/// A tensor at the beginning of a block that is larger than itself.
static at::TensorBase tensorInBlock(at::IntArrayRef sizes, at::IntArrayRef strides,
                                    c10::ScalarType type, uint64_t capacity) {
  c10::DataPtr memory = BlockCache::ofProcess().takeStorage(capacity);
  TORCH_CHECK_WITH(OutOfMemoryError, memory.get(), "out of memory: cannot allocate ", capacity,
                   " bytes");
  size_t bytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, std::move(memory), nullptr,
                       /*resizable=*/false);
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage),
                                                   c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   c10::scalarTypeToTypeMeta(type));
  impl->set_sizes_and_strides(sizes, strides);
  return at::TensorBase(std::move(impl));
}

Status TorchHost::allocateTensor(const TensorShape &shape, TensorSlot &slot) {
  try {
    at::IntArrayRef sizes(shape.sizes.data(), shape.sizes.size()),
        strides(shape.strides.data(), shape.strides.size());
    c10::ScalarType type = scalarTypeOf(shape.dtype);
    auto make = [&](at::IntArrayRef sizes, at::IntArrayRef strides) {
      return shape.device == format::Device::Cpu
                 ? at::detail::empty_strided_cpu(sizes, strides, type)
                 : at::TensorBase(at::empty_strided(
                       sizes, strides, at::TensorOptions(deviceOf(shape.device)).dtype(type)));
    };
    if (shape.capacity != 0) {
      setSlot(slot, tensorInBlock(sizes, strides, type, shape.capacity));
      return Status::ok();
    }
    if (shape.offset == 0 && shape.slack == 0) {
      at::TensorBase tensor = make(sizes, strides);
      setLazyBits(*tensor.unsafeGetTensorImpl(), shape.lazy);
      setSlot(slot, std::move(tensor));
      return Status::ok();
    }
    // Elements before the first one are never accessed, so they cost addresses but no memory.
    int64_t span = 1;
    for (size_t dim = 0; dim < sizes.size() && span != 0; ++dim) {
      span = sizes[dim] == 0 ? 0 : span + (sizes[dim] - 1) * strides[dim];
    }
    span += shape.offset;
    at::TensorBase tensor = make({span + shape.slack}, {1});
    if (shape.slack != 0) {
      tensor.storage().set_nbytes(static_cast<size_t>(span) * tensor.itemsize());
    }
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, shape.offset);
    setSlot(slot, std::move(tensor));
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

Status TorchHost::viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                             TensorSlot &slot) {
  try {
    c10::TensorImpl *from = implOf(source.handle);
    c10::ScalarType type = scalarTypeOf(shape.dtype);
    auto itemBytes = static_cast<int64_t>(c10::elementSize(type));
    int64_t start =
        from->storage_offset() * static_cast<int64_t>(from->itemsize()) / itemBytes + offset;
    if (!liesInside(shape, start, from->storage().nbytes(), static_cast<uint64_t>(itemBytes))) {
      return Status::error(ErrorKind::BadArtifact, "a view lies outside of its storage of " +
                                                       std::to_string(from->storage().nbytes()) +
                                                       " bytes; compile the artifact again");
    }
    auto impl =
        c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(from->storage()),
                                             from->key_set(), c10::scalarTypeToTypeMeta(type));
    impl->set_sizes_and_strides(at::IntArrayRef(shape.sizes.data(), shape.sizes.size()),
                                at::IntArrayRef(shape.strides.data(), shape.strides.size()), start);
    // A negated view of pairs of floats corresponds to negated complex numbers.
    if (((lazyBitsOf(*from) | shape.lazy) & kConjugated) != 0 && shape.lazy != kPlain &&
        from->dtype() != impl->dtype()) {
      return Status::error(ErrorKind::BadArtifact,
                           "a view reads a tensor that is conjugated lazily as another type; "
                           "compile the artifact again");
    }
    setLazyBits(*impl, shape.lazy);
    if (!from->is_inference() && !impl->is_inference()) {
      impl->set_version_counter(from->version_counter());
    }
    setSlot(slot, at::TensorBase(std::move(impl)));
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

/// Resolves the whole memory span of the tensor, so that it keeps the strides that kernels were
/// compiled for, even if elements overlap.
Status TorchHost::resolveTensor(const TensorSlot &source, TensorSlot &slot) {
  try {
    c10::TensorImpl *from = implOf(source.handle);
    std::vector<int64_t> sizes = from->sizes().vec(), strides = from->strides().vec();
    TensorShape shape = {sizes, strides, dtypeOf(c10::typeMetaToScalarType(from->dtype())),
                         format::Device::Cpu};
    int64_t elements = spanOf(shape.sizes, shape.strides).value_or(0), one = 1;
    shape.sizes = {&elements, 1};
    shape.strides = {&one, 1};
    shape.lazy = source.lazy;
    TensorSlot flat;
    FRIT_RETURN_IF_ERROR(viewTensor(source, shape, 0, flat));
    at::Tensor copy = at::Tensor(takeTensor(flat.handle)).resolve_conj().resolve_neg();
    copy.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    setSlot(slot, std::move(copy));
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

void TorchHost::releaseTensor(void *handle) { takeTensor(handle); }

void TorchHost::retainTensor(void *handle) { tensorOf(handle).unsafeReleaseTensorImpl(); }

TensorView TorchHost::viewOf(void *handle) {
  c10::TensorImpl *impl = implOf(handle);
  return makeView(*impl, dataOf(impl), lazyBitsOf(*impl));
}

namespace {

class TorchKept : public KeptTensor {
public:
  explicit TorchKept(at::TensorBase tensor) : tensor(std::move(tensor)) {}
  void *handle() const override { return tensor.unsafeGetTensorImpl(); }
  const void *begin() const override { return tensor.storage().data(); }
  uint64_t bytes() const override { return tensor.storage().nbytes(); }
  bool isShared() const override {
    return tensor.use_count() > 1 || tensor.storage().use_count() > 1;
  }

private:
  at::TensorBase tensor;
};

} // namespace

std::shared_ptr<KeptTensor> TorchHost::keepTensor(void *handle) {
  return std::make_shared<TorchKept>(tensorOf(handle));
}

/// Hooks of torch.autograd.graph.saved_tensors_hooks may use the tensors on other streams.
bool TorchHost::showsKeptTensors() const {
  return !at::SavedTensorDefaultHooks::get_tls_state().stack.empty();
}

Status TorchHost::copyInto(const TensorSlot &destination, const TensorSlot &source) {
  try {
    at::Tensor to(tensorOf(destination.handle)), from(tensorOf(source.handle));
    // ATen does not write to tensors with repeated elements, so expanded dimensions are narrowed.
    for (int64_t dim = 0; dim != to.dim() && to.sizes() == from.sizes(); ++dim) {
      if (to.stride(dim) == 0 && to.size(dim) > 1) {
        to = to.narrow(dim, 0, 1);
        from = from.narrow(dim, 0, 1);
      }
    }
    to.copy_(from);
    bumpVersion(destination);
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

void TorchHost::bumpVersion(const TensorSlot &tensor) {
  c10::TensorImpl *impl = implOf(tensor.handle);
  if (!impl->is_inference()) {
    impl->bump_version();
  }
}

Status TorchHost::readItem(const TensorSlot &slot, int64_t *integer, double *real) {
  try {
    c10::TensorImpl *impl = implOf(slot.handle);
    if (impl->is_cpu() && impl->numel() == 1 && lazyBitsOf(*impl) == kPlain) {
      switch (c10::typeMetaToScalarType(impl->dtype())) {
      case c10::ScalarType::Long:
        *integer = *static_cast<const int64_t *>(slot.data);
        return Status::ok();
      case c10::ScalarType::Double:
        *real = *static_cast<const double *>(slot.data);
        return Status::ok();
      case c10::ScalarType::Float:
        *real = *static_cast<const float *>(slot.data);
        return Status::ok();
      default:
        break;
      }
    }
    c10::Scalar value = at::Tensor(tensorOf(slot.handle)).item();
    if (value.isComplex()) { // only a predicate is complex: whether it is zero matters
      *real = std::abs(value.toComplexDouble());
    } else if (value.isFloatingPoint()) {
      *real = value.toDouble();
    } else {
      *integer = value.isBoolean() ? value.toBool() : value.toLong();
    }
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

Status TorchHost::wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) {
  try {
    c10::ScalarType type = scalarTypeOf(dtype);
    at::Tensor tensor(at::detail::empty_cpu({}, type));
    tensor.fill_(isFloating(dtype)              ? c10::Scalar(real)
                 : dtype == format::Dtype::Bool ? c10::Scalar(integer != 0)
                                                : c10::Scalar(integer));
    setSlot(slot, std::move(tensor));
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

Status TorchHost::callAten(uint32_t number, RunState &state) {
  try {
    if (const auto *control = std::get_if<ControlFlow>(&calls[number])) {
      return control->run(*this, state);
    }
    return std::get<AtenCall>(calls[number]).run(plan, state);
  } catch (const AtenCall::Disagreement &error) {
    return Status::error(ErrorKind::Disagreement, error.what());
  } catch (...) {
    return keepException();
  }
}

CallTraits TorchHost::traitsOf(uint32_t number) const {
  if (const auto *call = std::get_if<AtenCall>(&calls[number])) {
    CallTraits traits = call->traits();
    traits.isIrreversible = plan.atenCalls[number]->irreversible();
    return traits;
  }
  // Its graphs may call any operator.
  CallTraits traits;
  traits.uncapturable =
      "it branches or loops by a value (" + plan.atenCalls[number]->name()->str() + ")";
  traits.isRandom = traits.isUnproven = traits.isControlFlow = true;
  const auto &graphs = std::get<ControlFlow>(calls[number]).subgraphs();
  traits.isIrreversible = std::any_of(graphs.begin(), graphs.end(),
                                      [](const auto &graph) { return graph->isIrreversible(); });
  return traits;
}

namespace {
struct SavedGenerators : SavedRandom {
  std::vector<std::pair<at::Generator, at::Tensor>> states;
};
} // namespace

std::shared_ptr<SavedRandom> TorchHost::saveRandom(int32_t gpu) {
  auto saved = std::make_shared<SavedGenerators>();
  auto save = [&](c10::Device device) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    std::lock_guard<std::mutex> guard(generator.mutex());
    saved->states.emplace_back(generator, generator.get_state());
  };
  try {
    save(c10::Device(c10::DeviceType::CPU));
    if (gpu >= 0) {
      save(c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(gpu)));
    }
  } catch (const std::exception &) {
    // While torch captures a CUDA graph a generator has no state that could be read.
  }
  return saved;
}

void TorchHost::restoreRandom(const SavedRandom &saved) {
  for (auto [generator, state] : static_cast<const SavedGenerators &>(saved).states) {
    std::lock_guard<std::mutex> guard(generator.mutex());
    generator.set_state(state);
  }
}

void *TorchHost::beginKernel(const KernelArguments &arguments) {
  return beginKernelSpan(plan, arguments).release();
}

void TorchHost::endKernel(void *span) { delete static_cast<at::RecordFunction *>(span); }

void TorchHost::note(const std::string &message) {
  std::lock_guard<std::mutex> guard(noteLock);
  notes.push_back(message);
  anyNotes.store(true, std::memory_order_release);
}

std::vector<std::string> TorchHost::takeNotes() {
  std::lock_guard<std::mutex> guard(noteLock);
  anyNotes.store(false, std::memory_order_relaxed);
  return std::exchange(notes, {});
}

int TorchHost::currentDevice() {
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getDevice().index();
}

void *TorchHost::currentStream() {
  c10::impl::VirtualGuardImpl device(c10::DeviceType::CUDA);
  return nativeHandle(device.getStream(device.getDevice()));
}

Status TorchHost::interrupted() {
  try {
    if (auto *check = interruptCheck.load()) {
      check();
    }
    return Status::ok();
  } catch (...) {
    return keepException();
  }
}

bool TorchHost::releaseCachedMemory() {
  auto *allocator = dynamic_cast<c10::DeviceAllocator *>(c10::GetAllocator(c10::DeviceType::CUDA));
  if (!allocator) {
    return false;
  }
  allocator->emptyCache();
  return true;
}

void TorchHost::parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) {
  parallelForOnTorchThreads(units, grain, body, argument);
}

} // namespace frit
