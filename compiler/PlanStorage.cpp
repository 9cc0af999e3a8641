// Tensor registers of a plan and the lifetime of their storage.

#include "compiler/PlanWriter.h"
#include "ir/FritAttributes.h"

#include "passes/Copies.h"
#include "passes/Layouts.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

format::Dtype dtypeOf(DType dtype) {
  switch (dtype) {
  case DType::U8:
    return format::Dtype::U8;
  case DType::I8:
    return format::Dtype::I8;
  case DType::I16:
    return format::Dtype::I16;
  case DType::I32:
    return format::Dtype::I32;
  case DType::I64:
    return format::Dtype::I64;
  case DType::F16:
    return format::Dtype::F16;
  case DType::F32:
    return format::Dtype::F32;
  case DType::F64:
    return format::Dtype::F64;
  case DType::C32:
    return format::Dtype::C32;
  case DType::C64:
    return format::Dtype::C64;
  case DType::C128:
    return format::Dtype::C128;
  case DType::Bool:
    return format::Dtype::Bool;
  case DType::BF16:
    return format::Dtype::BF16;
  case DType::F8E5M2:
    return format::Dtype::F8E5M2;
  case DType::F8E4M3FN:
    return format::Dtype::F8E4M3FN;
  case DType::F8E5M2FNUZ:
    return format::Dtype::F8E5M2FNUZ;
  case DType::F8E4M3FNUZ:
    return format::Dtype::F8E4M3FNUZ;
  case DType::U16:
    return format::Dtype::U16;
  case DType::U32:
    return format::Dtype::U32;
  case DType::U64:
    return format::Dtype::U64;
  }
  llvm_unreachable("every dtype has a number in the format");
}

/// The device of a root's storage: the plan's device, unless it was traced on a different device
/// than the others. A program traced on the CPU and compiled for a GPU is entirely on the GPU.
format::Device PlanWriter::deviceOf(Value root) {
  if (builder.plan.target != format::Target::Gpu) {
    return format::Device::Cpu;
  }
  auto traced = graph.getDeviceAttr();
  if (!traced || !traced.getValue().starts_with("cuda")) {
    return format::Device::Cuda;
  }
  StringAttr device;
  if (auto argument = dyn_cast<BlockArgument>(root)) {
    device = kArgumentDeviceAttr.get(graph, argument.getArgNumber());
  } else if (auto call = root.getDefiningOp<AtenOp>(); call && call.getDevicesAttr()) {
    device = dyn_cast<StringAttr>(call.getDevicesAttr()[cast<OpResult>(root).getResultNumber()]);
  }
  return device && device.getValue().starts_with("cpu") ? format::Device::Cpu
                                                        : format::Device::Cuda;
}

uint32_t PlanWriter::describe(RankedTensorType type, format::Dtype dtype, LayoutAttr layout,
                              Value root) {
  std::vector<uint32_t> sizes, strides;
  for (SizeExpr size : getSizes(type)) {
    sizes.push_back(sizeRegister(size));
  }
  for (SizeAttr stride : layout.getStrides()) {
    strides.push_back(sizeRegister(stride));
  }
  return builder.newTensor(dtype, std::move(sizes), std::move(strides), deviceOf(root));
}

uint32_t PlanWriter::newTensor(Value value, format::Dtype dtype, LayoutAttr layout, Value root) {
  uint32_t reg = describe(cast<RankedTensorType>(value.getType()), dtype, layout, root);
  tensors[value] = {reg, layout, root};
  dtypes[value] = dtype;
  return reg;
}

/// The offset at which a kernel's result must begin in its storage, so that the graph's results in
/// it have eager's storage offsets. If they disagree the first result decides, and the others are
/// copied.
SizeExpr PlanWriter::startFor(Value root, LayoutAttr atZero) {
  SizeExpr start = SizeExpr::constant(root.getContext(), 0);
  std::optional<unsigned> first;
  SmallVector<std::pair<Value, LayoutAttr>> looks{{root, atZero}};
  while (!looks.empty()) {
    auto [value, layout] = looks.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto op = dyn_cast<ReturnOp>(user)) {
        unsigned number = use.getOperandNumber();
        auto promised = kResultLayoutAttr.get(op->getParentOfType<GraphOp>(), number);
        SizeExpr wanted =
            promised ? SizeExpr(promised.getOffset()) - SizeExpr(layout.getOffset()) : start;
        bool isPlace = llvm::all_of(wanted.getAttr().getCoefficients(),
                                    [](int64_t factor) { return factor >= 0; });
        if (promised && isPlace && (!first || number < *first)) {
          first = number;
          start = wanted;
        }
      } else if (auto alias = dyn_cast<AliasOp>(user)) {
        if (getStoredBytes(alias.getType()) == getStoredBytes(value.getType())) {
          looks.emplace_back(alias,
                             withOffset(alias.getLayout(), SizeExpr(alias.getLayout().getOffset()) +
                                                               SizeExpr(layout.getOffset())));
        }
      } else if (isView(user)) {
        if (auto view = getViewLayout(user, layout)) {
          looks.emplace_back(user->getResult(0), *view);
        }
      }
    }
  }
  return start;
}

/// The elements that a layout spans. For a dense layout this is the number of elements as a
/// polynomial.
static SizeExpr spanOf(RankedTensorType type, LayoutAttr layout) {
  SizeExpr elements = getNumElements(type);
  if (layout.getStrides() == getContiguousLayout(type).getStrides()) {
    return elements;
  }
  SizeExpr span = SizeExpr::constant(type.getContext(), 1);
  for (auto [size, stride] : llvm::zip(getSizes(type), layout.getStrides())) {
    span = span + (size - 1) * SizeExpr(stride);
  }
  return span == elements ? elements : elements.max(span);
}

void PlanWriter::allocate(Value value, format::StorageClass storage) {
  TensorValue &tensor = tensors.find(value)->second;
  SizeExpr start = storage == format::StorageClass::Output
                       ? startFor(value, tensor.layout)
                       : SizeExpr::constant(value.getContext(), 0);
  tensor.layout = withOffset(tensor.layout, start);
  allocate(tensor.reg, spanOf(cast<RankedTensorType>(value.getType()), tensor.layout),
           dtypes.lookup(value), start.isConstant(0) ? SizeAttr() : start.getAttr(), storage);
}

void PlanWriter::allocate(uint32_t reg, SizeExpr elements, format::Dtype dtype, SizeAttr start,
                          format::StorageClass storage) {
  uint32_t offset = kNoRegister;
  if (start) {
    elements = elements + SizeExpr(start);
    offset = sizeRegister(start);
  }
  SizeExpr byteCount = elements * bytesOfElement(dtype);
  uint32_t bytes = sizeRegister(byteCount);
  uint32_t capacity =
      storage == format::StorageClass::Temporary ? capacityRegister(byteCount) : kNoRegister;
  auto &step = builder.step<format::AllocT>();
  step.tensor = reg;
  step.storage = storage;
  step.bytes = bytes;
  step.offset = offset;
  step.capacity = capacity;
}

uint32_t PlanWriter::writeOwnCopy(Value value, LayoutAttr layout, StringRef reason) {
  auto type = cast<RankedTensorType>(value.getType());
  bool begins = !SizeExpr(layout.getOffset()).isConstant(0);
  if (!begins && isDense(layout, type)) {
    return writeClone(value, layout, reason);
  }
  // An operator's result has no gaps and begins its storage.
  uint32_t reg = describe(type, dtypes.lookup(value), layout, rootOf(value));
  allocate(reg, spanOf(type, layout), dtypes.lookup(value),
           begins ? layout.getOffset() : SizeAttr(), format::StorageClass::Output);
  auto &step = builder.step<format::CopyIntoT>();
  step.tensor = reg;
  step.source = tensors.find(value)->second.reg;
  return reg;
}

Value PlanWriter::rootOf(Value value) {
  auto known = tensors.find(value);
  return known == tensors.end() ? value : known->second.root;
}

uint32_t PlanWriter::addView(Value value, Value source, format::Dtype dtype, LayoutAttr layout) {
  return addView(value, source, dtype, layout,
                 SizeExpr(layout.getOffset()) -
                     SizeExpr(tensors.find(source)->second.layout.getOffset()));
}

uint32_t PlanWriter::addView(Value value, Value source, format::Dtype dtype, LayoutAttr layout,
                             SizeExpr offset) {
  TensorValue from = tensors.find(source)->second;
  uint32_t reg = newTensor(value, dtype, layout, from.root);
  uint32_t offsetRegister = offset.isConstant(0) ? kNoRegister : sizeRegister(offset);
  auto &step = builder.step<format::ViewT>();
  step.tensor = reg;
  step.source = from.reg;
  step.offset = offsetRegister;
  if (!returned.contains(from.root)) {
    viewsOf[from.root].push_back(reg);
  }
  return reg;
}

namespace {
/// The decision of plan-buffers about one result.
struct BufferChoice {
  int64_t number = -1;
  BufferKind kind = BufferKind::Output;
  std::optional<unsigned> argument;
};
} // namespace

static BufferChoice bufferOf(LaunchOp launch, unsigned result) {
  ArrayAttr used = launch.getBuffersAttr(),
            known = launch->getParentOfType<GraphOp>().getBuffersAttr();
  if (!used || !known) {
    return {};
  }
  BufferChoice choice;
  choice.number = cast<IntegerAttr>(used[result]).getInt();
  auto buffer = cast<BufferAttr>(known[choice.number]);
  choice.kind = buffer.getKind();
  choice.argument = buffer.getArgument();
  return choice;
}

/// The operand that a launch's result is written over; null if there is none.
static Value writtenOver(OpResult result) {
  auto launch = dyn_cast<LaunchOp>(result.getOwner());
  if (!launch) {
    return {};
  }
  BufferChoice mine = bufferOf(launch, result.getResultNumber());
  if (mine.argument) {
    return launch->getParentOfType<GraphOp>().getBody().getArgument(*mine.argument);
  }
  for (Value operand : launch.getOperands()) {
    auto other = dyn_cast<OpResult>(operand);
    auto producer = other ? dyn_cast<LaunchOp>(other.getOwner()) : LaunchOp();
    if (producer && mine.number >= 0 &&
        bufferOf(producer, other.getResultNumber()).number == mine.number) {
      return operand;
    }
  }
  return {};
}

/// The root of a value, found by definitions alone.
static Value definedRoot(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Value under =
        isLook(result.getOwner()) ? result.getOwner()->getOperand(0) : writtenOver(result);
    under = under ? under : getMutatedOperand(result);
    if (!under) {
      break;
    }
    value = under;
  }
  return value;
}

uint32_t PlanWriter::placeResult(LaunchOp op, unsigned number) {
  OpResult result = op->getResult(number);
  auto type = cast<RankedTensorType>(result.getType());
  LayoutAttr layout = getContiguousLayout(type);
  if (auto assigned = kLayoutsAttr.get(op)) {
    layout = cast<LayoutAttr>(assigned[number]);
  } else if (auto given = op.getResultLayouts()) {
    layout = cast<LayoutAttr>((*given)[number]);
  }
  BufferChoice choice = bufferOf(op, number);
  if (choice.argument) {
    Value argument = graph.getBody().getArgument(*choice.argument);
    // Copied first: inserting the result may move the entries of the map.
    tensors[result] = tensors.lookup(argument);
    dtypes[result] = dtypes.lookup(argument);
    return tensors[result].reg;
  }
  format::Dtype dtype = dtypeOf(getTorchDtype(result).getValue());
  if (Value operand = writtenOver(result)) {
    // A view, because the launch still reads the operand.
    return addView(result, operand, dtype,
                   LayoutAttr::get(op.getContext(), layout.getStrides(),
                                   tensors.find(operand)->second.layout.getOffset()));
  }
  uint32_t reg = newTensor(result, dtype, layout, result);
  auto held = heldBuffers.find(choice.number);
  if (choice.kind == BufferKind::Temporary && held != heldBuffers.end()) {
    auto &step = builder.step<format::ReuseT>();
    step.tensor = reg;
    step.from = held->second;
    heldBuffers.erase(held);
  } else {
    bool isOutput = choice.kind == BufferKind::Output && returned.contains(result);
    allocate(result, isOutput ? format::StorageClass::Output : format::StorageClass::Temporary);
  }
  return reg;
}

void PlanWriter::planLives(Block &block) {
  DenseMap<Value, Operation *> lastUse;
  SmallVector<Value> order;
  auto use = [&](Value value, Operation *op) {
    if (isa<RankedTensorType>(value.getType())) {
      auto [entry, isNew] = lastUse.try_emplace(definedRoot(value), op);
      entry->second = op;
      if (isNew) {
        order.push_back(entry->first);
      }
    }
  };
  for (Operation &op : block) {
    for (Value operand : op.getOperands()) {
      use(operand, &op);
    }
    for (Value result : op.getResults()) {
      use(result, &op);
    }
  }
  for (Value operand : block.getTerminator()->getOperands()) {
    returned.insert(definedRoot(operand));
  }
  Operation *check = lastCheck(block);
  // An argument without uses may still be written by a kernel.
  for (BlockArgument argument : block.getArguments()) {
    auto tensor = tensors.find(argument);
    if (tensor != tensors.end() && !lastUse.contains(argument) &&
        !kArgumentConstantAttr.isOn(graph, argument.getArgNumber())) {
      if (check) {
        endsAfter[check].push_back(argument);
      } else {
        builder.step<format::FreeT>().tensor = tensor->second.reg;
      }
    }
  }
  for (Value value : order) {
    auto argument = dyn_cast<BlockArgument>(value);
    bool bound = argument && kArgumentConstantAttr.isOn(graph, argument.getArgNumber());
    if (!bound && !returned.contains(value)) {
      Operation *last = lastUse[value];
      endsAfter[argument && check && last->isBeforeInBlock(check) ? check : last].push_back(value);
    }
  }
}

/// Whether the next operation that needs memory is a launch that writes buffer `number` anew.
/// Keeping the buffer until then does not increase memory at any point.
static bool takenNext(Operation *op, int64_t number) {
  for (op = op->getNextNode(); op; op = op->getNextNode()) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      for (OpResult result : launch->getResults()) {
        if (bufferOf(launch, result.getResultNumber()).number == number && !writtenOver(result)) {
          return true;
        }
      }
      return false;
    }
    if (isa<AtenOp>(op)) {
      return false;
    }
  }
  return false;
}

void PlanWriter::freeAfter(Operation *op) {
  auto found = endsAfter.find(op);
  if (found == endsAfter.end()) {
    return;
  }
  for (Value value : found->second) {
    auto tensor = tensors.find(value);
    if (tensor == tensors.end()) {
      continue;
    }
    for (uint32_t view : viewsOf.lookup(value)) {
      builder.step<format::FreeT>().tensor = view;
    }
    viewsOf.erase(value);
    if (auto launch = value.getDefiningOp<LaunchOp>()) {
      BufferChoice choice = bufferOf(launch, cast<OpResult>(value).getResultNumber());
      if (choice.kind == BufferKind::Temporary && takenNext(op, choice.number)) {
        heldBuffers[choice.number] = tensor->second.reg;
        continue;
      }
    }
    builder.step<format::FreeT>().tensor = tensor->second.reg;
  }
}

} // namespace frit
