// Entry points: values that are read from the context, memory accesses, errors.
#include "codegen/cpu/CpuFunction.h"
#include "codegen/cpu/ContextLayout.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"
#include "ir/KernelLists.h"
#include "ir/Planted.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::frit;

/// Operands and results of more bytes than this do not stay in the last-level cache anyway, so full
/// vectors bypass it (a plain store would read its line first). Measured: 1.4 times as fast above
/// the limit, a quarter slower below.
static constexpr int64_t kStreamingBytes = 36 << 20;

CpuFunction::CpuFunction(ModuleOp module, StringRef name, const KernelProgram &program,
                         const CpuTarget &cpu)
    : kernel(program.getKernel()), program(program), cpu(cpu), builder(module.getContext()),
      loc(kernel.getLoc()) {
  shape.bytes = cpu.level == CpuLevel::X86_64_V4 ? 64 : 32;
  builder.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type index = builder.getI64Type();
  function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType({pointer, index, index}, builder.getI32Type()));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value context = function.getArgument(0);
  pointers = loadField(context, context_layout::kPointers, pointer);
  Value ints = loadField(context, context_layout::kInts, pointer);
  Value floats = loadField(context, context_layout::kFloats, pointer);
  workspace = loadField(context, context_layout::kWorkspace, pointer);
  callbacks = loadField(context, context_layout::kCallbacks, pointer);
  error = loadField(context, context_layout::kError, pointer);
  int64_t slot = 0, nextInt = 0, nextFloat = 0;
  for (auto symbol : kernel.getSymbols().getAsRange<SymbolAttr>()) {
    parameters[symbol.getName()] = loadField(ints, 8 * nextInt++, index);
  }
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    operandPointers.push_back(Value());
    if (isa<RankedTensorType>(type)) {
      operandPointers.back() = loadField(pointers, 8 * slot++, pointer);
    } else if (isa<FloatType>(type)) {
      scalars[i] = loadField(floats, 8 * nextFloat++, type);
    } else {
      Value value = loadField(ints, 8 * nextInt++, index);
      if (type.isInteger(1)) {
        value = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, i64(0));
      }
      scalars[i] = value;
    }
  }
  for (size_t i = 0; i < kernel.getResultTypes().size(); ++i) {
    resultPointers.push_back(loadField(pointers, 8 * slot++, pointer));
  }
  streamingResults.resize(resultPointers.size());
  sizes = std::make_unique<Emitter>(program, *this, builder);
  // Code of the entry is inserted before this operation, all other code behind it.
  entryEnd = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  if (isPlanted(Mistake::Denormals)) {
    denormals = flushDenormals();
  }
}

/// Flushes denormals to zero from here on. Returns the address of the previous control word.
Value CpuFunction::flushDenormals() {
  Type word = builder.getI32Type();
  Value before = scratch(word, 1), after = scratch(word, 1);
  LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr("llvm.x86.sse.stmxcsr"),
                                ValueRange{before});
  Value flushes = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0x8040));
  Value changed =
      arith::OrIOp::create(builder, loc, LLVM::LoadOp::create(builder, loc, word, before), flushes);
  LLVM::StoreOp::create(builder, loc, changed, after);
  LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr("llvm.x86.sse.ldmxcsr"),
                                ValueRange{after});
  return before;
}

void CpuFunction::finish() {
  if (denormals) {
    LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr("llvm.x86.sse.ldmxcsr"),
                                  ValueRange{denormals});
  }
  if (llvm::any_of(streamingResults, [](Value used) { return static_cast<bool>(used); })) {
    // Streaming stores are weakly ordered; a thread that waits for this one must see them.
    LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr("llvm.x86.sse.sfence"),
                                  ValueRange{});
  }
  Value code = program.canFail()
                   ? loadField(error, context_layout::kErrorCode, builder.getI32Type())
                   : Value(arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0)));
  func::ReturnOp::create(builder, loc, code);
  hoistProducts(function);
}

Value CpuFunction::i64(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

Value CpuFunction::size(SizeExpr expr) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  return sizes->firstLane(entry, expr);
}

Value CpuFunction::loadField(Value base, int64_t offset, Type type) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value at = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return LLVM::LoadOp::create(builder, loc, type, at);
}

Type mlir::frit::memoryType(Type element) {
  // Half types are integers until they are extended, because x86 has no registers for them.
  return element.isInteger(1)                  ? IntegerType::get(element.getContext(), 8)
         : element.isBF16() || element.isF16() ? IntegerType::get(element.getContext(), 16)
                                               : element;
}

Value CpuFunction::address(Value base, Type element, Value index) {
  if (isPlanted(Mistake::Index32) && getElementTypeOrSelf(index.getType()).isInteger(64)) {
    auto lanes = dyn_cast<VectorType>(index.getType());
    index = arith::TruncIOp::create(
        builder, loc, getLanesType(builder.getI32Type(), lanes ? lanes.getDimSize(0) : 1), index);
  }
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  if (auto vector = dyn_cast<VectorType>(index.getType())) {
    pointer = VectorType::get(vector.getShape(), pointer);
  }
  return LLVM::GEPOp::create(builder, loc, pointer, memoryType(element), base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value CpuFunction::scratch(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, memoryType(element), i64(count),
                                /*alignment=*/64);
}

Value CpuFunction::getParameter(OpBuilder &, StringRef name) { return parameters.lookup(name); }

Value CpuFunction::getScalar(OpBuilder &, unsigned argument) { return scalars.lookup(argument); }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Value zeros(OpBuilder &b, Location loc, Type type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

Value mlir::frit::fromMemory(OpBuilder &b, Location loc, Value value, Type element) {
  if (element.isBF16() || element.isF16()) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return arith::BitcastOp::create(
        b, loc, getLanesType(element, vector ? vector.getDimSize(0) : 1), value);
  }
  if (!element.isInteger(1)) {
    return value;
  }
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                               zeros(b, loc, value.getType()));
}

Value mlir::frit::toMemory(OpBuilder &b, Location loc, Value value) {
  Type type = value.getType();
  Type element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  if (element.isBF16() || element.isF16()) {
    return emitBitcast(b, loc, getLanesType(b.getI16Type(), vector ? vector.getDimSize(0) : 1),
                       value);
  }
  if (!element.isInteger(1)) {
    return value;
  }
  return arith::ExtUIOp::create(
      b, loc, getLanesType(b.getI8Type(), vector ? vector.getDimSize(0) : 1), value);
}

Value CpuFunction::loadVector(Location loc, Value pointer, Type element, unsigned lanes,
                              Value mask) {
  Type type = getLanesType(memoryType(element), lanes);
  unsigned alignment = getElementBytes(element) * (isPlanted(Mistake::AlignedLoads) ? lanes : 1);
  Value result;
  if (!mask) {
    result = LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
  } else if (lanes > 1) {
    result = LLVM::MaskedLoadOp::create(builder, loc, type, pointer, mask,
                                        zeros(builder, loc, type), alignment);
  } else {
    auto branch = scf::IfOp::create(
        builder, loc, mask,
        [&](OpBuilder &b, Location l) {
          scf::YieldOp::create(b, l,
                               LLVM::LoadOp::create(b, l, type, pointer, alignment).getResult());
        },
        [&](OpBuilder &b, Location l) { scf::YieldOp::create(b, l, zeros(b, l, type)); });
    result = branch.getResult(0);
  }
  return fromMemory(builder, loc, result, element);
}

void CpuFunction::storeVector(Location loc, Value pointer, Type element, Value value, Value mask,
                              Value nonTemporal) {
  value = toMemory(builder, loc, value);
  unsigned alignment = getElementBytes(element);
  auto vector = dyn_cast<VectorType>(value.getType());
  auto plain = [&](OpBuilder &b) {
    if (mask) {
      LLVM::MaskedStoreOp::create(b, loc, value, pointer, mask, alignment);
    } else {
      LLVM::StoreOp::create(b, loc, value, pointer, alignment);
    }
  };
  if (mask && !vector) {
    scf::IfOp::create(builder, loc, mask, [&](OpBuilder &b, Location l) {
      LLVM::StoreOp::create(b, l, value, pointer, alignment);
      scf::YieldOp::create(b, l);
    });
  } else if (nonTemporal && vector) {
    unsigned whole = std::min<unsigned>(64, getElementBytes(element) * vector.getDimSize(0));
    scf::IfOp::create(
        builder, loc, nonTemporal,
        [&](OpBuilder &b, Location l) {
          LLVM::StoreOp::create(b, l, value, pointer, whole, /*isVolatile=*/false,
                                /*isNonTemporal=*/true);
          scf::YieldOp::create(b, l);
        },
        [&](OpBuilder &b, Location l) {
          plain(b);
          scf::YieldOp::create(b, l);
        });
  } else {
    plain(builder);
  }
}

/// Whether the machine has gathers, or scatters, for elements of this type. For other types LLVM
/// makes a branch for each lane, which costs tens of milliseconds of compile time and is no faster
/// than sixteen scalar accesses.
static bool hasGathers(Type memory) { return memory.getIntOrFloatBitWidth() >= 32; }
bool CpuFunction::hasScatters(Type memory) const {
  return hasGathers(memory) && cpu.level == CpuLevel::X86_64_V4;
}

/// A scalar pointer for each lane; lanes outside of the mask point to `elsewhere`.
SmallVector<Value> CpuFunction::eachPointer(Location loc, const Access &access, Value base,
                                            Type memory, Value elsewhere) {
  SmallVector<Value> each;
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto known = access.stride ? access.stride.getDefiningOp<arith::ConstantOp>() : nullptr;
  if (!access.mask && known && access.shape == AccessShape::Strided) {
    Value first = address(base, memory, access.offset);
    int64_t stride = cast<IntegerAttr>(known.getValue()).getInt();
    for (unsigned i = 0; i < access.lanes; ++i) {
      each.push_back(address(first, memory, i64(i * stride)));
    }
    return each;
  }
  Value where = lanePointers(loc, access, base, memory);
  if (access.mask) {
    where = LLVM::SelectOp::create(builder, loc, access.mask, where,
                                   sizes->splat(loc, elsewhere, access.lanes));
  }
  for (unsigned i = 0; i < access.lanes; ++i) {
    each.push_back(LLVM::ExtractElementOp::create(builder, loc, pointer, where, i64(i)));
  }
  return each;
}

Value CpuFunction::loadEach(Location loc, const Access &access, Value base, Type memory) {
  Value result = LLVM::PoisonOp::create(builder, loc, VectorType::get({access.lanes}, memory));
  // The context can always be read.
  SmallVector<Value> each = eachPointer(loc, access, base, memory, function.getArgument(0));
  for (auto [lane, pointer] : llvm::enumerate(each)) {
    Value one = LLVM::LoadOp::create(builder, loc, memory, pointer, /*alignment=*/1);
    result = LLVM::InsertElementOp::create(builder, loc, result, one, i64(lane));
  }
  return result;
}

void CpuFunction::storeEach(Location loc, const Access &access, Value base, Value value) {
  Type memory = cast<VectorType>(value.getType()).getElementType();
  Value nowhere = access.mask ? scratch(memory, 1) : Value();
  for (auto [lane, pointer] : llvm::enumerate(eachPointer(loc, access, base, memory, nowhere))) {
    Value one = LLVM::ExtractElementOp::create(builder, loc, memory, value, i64(lane));
    LLVM::StoreOp::create(builder, loc, one, pointer, /*alignment=*/1);
  }
}

Value CpuFunction::maskOf(Location loc, const Access &access) {
  if (access.mask) {
    return access.mask;
  }
  auto all = VectorType::get({access.lanes}, builder.getI1Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(all, true));
}

Value CpuFunction::lanePointers(Location loc, const Access &access, Value base, Type memory) {
  if (access.shape == AccessShape::Gathered) {
    return address(base, memory, access.offset);
  }
  Value first = address(base, memory, access.offset);
  auto known = access.stride.getDefiningOp<arith::ConstantOp>();
  int64_t stride = known ? cast<IntegerAttr>(known.getValue()).getInt() : 0;
  // Offsets of 32 bits halve the cost of a gather.
  bool narrow = known && std::abs(stride) < (1 << 24);
  Type type = VectorType::get({access.lanes}, narrow ? builder.getI32Type() : builder.getI64Type());
  SmallVector<APInt> steps;
  for (unsigned i = 0; i < access.lanes; ++i) {
    steps.emplace_back(narrow ? 32 : 64, narrow ? i * stride : i, /*isSigned=*/true);
  }
  Value offsets = arith::ConstantOp::create(
      builder, loc, DenseIntElementsAttr::get(cast<ShapedType>(type), steps));
  if (!narrow) {
    offsets = arith::MulIOp::create(builder, loc, offsets,
                                    sizes->splat(loc, access.stride, access.lanes));
  }
  return address(first, memory, offsets);
}

Value CpuFunction::load(OpBuilder &, Location loc, const Access &access) {
  Value base = operandPointers[access.tensor];
  if (access.isResult) {
    base = resultPointers[access.tensor];
  }
  if (access.shape == AccessShape::Uniform || access.shape == AccessShape::Contiguous) {
    return loadVector(loc, address(base, access.element, access.offset), access.element,
                      access.lanes, access.mask);
  }
  Type memory = memoryType(access.element);
  if (!hasGathers(memory)) {
    return fromMemory(builder, loc, loadEach(loc, access, base, memory), access.element);
  }
  auto type = VectorType::get({access.lanes}, memory);
  Value where = lanePointers(loc, access, base, memory);
  Value result = LLVM::masked_gather::create(builder, loc, type, where, maskOf(loc, access),
                                             ValueRange{zeros(builder, loc, type)},
                                             getElementBytes(access.element));
  return fromMemory(builder, loc, result, access.element);
}

Value CpuFunction::isStreaming(unsigned result) {
  Value &known = streamingResults[result];
  if (known) {
    return known;
  }
  MLIRContext *context = builder.getContext();
  SizeExpr bytes = SizeExpr::constant(context, 0);
  SizeExpr elements = getNumElements(cast<RankedTensorType>(kernel.getResultTypes()[result]));
  int64_t bytesOfElement = 0;
  for (TypeRange types :
       {TypeRange(kernel.getArgumentTypes()), TypeRange(kernel.getResultTypes())}) {
    for (Type type : types) {
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        unsigned width = getElementBytes(tensor.getElementType());
        SizeExpr count = getNumElements(tensor);
        bytes = bytes + count * width;
        if (count == elements) {
          bytesOfElement += width;
        }
      }
    }
  }
  // What the launch of a list reads and writes, not one item alone.
  int64_t sweeps = kernel.getSweeps().value_or(1);
  if (sweeps > 1) {
    bytes = bytes.max(SizeExpr::constant(context, sweeps * kElementsOfSweep * bytesOfElement));
  }
  SmallVector<SizeExpr> strides;
  for (const Store &store : program.getStores()) {
    if (store.result != result) {
      continue;
    }
    unsigned elementBytes = getElementBytes(program[store.node].type);
    for (unsigned dim = 0; dim < program.getRank(); ++dim) {
      if (dim != *streamingLane) {
        auto stride = program.getStride(store.address, dim);
        strides.push_back(stride ? *stride * elementBytes : SizeExpr::constant(context, 1));
      }
    }
    // Where a piece of a concatenation begins.
    SmallVector<SizeExpr> start(program.getRank(), SizeExpr::constant(context, 0));
    strides.push_back(store.address.substituteDims(start) * elementBytes);
  }
  Value total = size(bytes);
  SmallVector<Value> outer = llvm::map_to_vector(strides, [&](SizeExpr s) { return size(s); });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  // Every row must begin on a line.
  Value bits = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), resultPointers[result]);
  for (Value stride : outer) {
    bits = arith::OrIOp::create(builder, loc, bits, stride);
  }
  Value rest = arith::AndIOp::create(builder, loc, bits, i64(63));
  Value aligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, i64(0));
  Value large =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, total, i64(kStreamingBytes));
  return known = arith::AndIOp::create(builder, loc, aligned, large);
}

/// The same for one access; null if it can never bypass the cache.
Value CpuFunction::isStreaming(const Access &access) {
  if (!streamingLane || (access.mask && !access.whole)) {
    return Value();
  }
  Value allowed = isStreaming(access.tensor);
  return access.mask
             ? Value(arith::AndIOp::create(builder, allowed.getLoc(), allowed, access.whole))
             : allowed;
}

void CpuFunction::store(OpBuilder &, Location loc, const Access &access, Value value) {
  Value base = resultPointers[access.tensor];
  if (access.shape == AccessShape::Uniform || access.shape == AccessShape::Contiguous) {
    Value nonTemporal = access.shape == AccessShape::Contiguous ? isStreaming(access) : Value();
    storeVector(loc, address(base, access.element, access.offset), access.element, value,
                access.mask, nonTemporal);
    return;
  }
  Type memory = memoryType(access.element);
  if (!hasScatters(memory)) {
    storeEach(loc, access, base, toMemory(builder, loc, value));
    return;
  }
  Value where = lanePointers(loc, access, base, memory);
  LLVM::masked_scatter::create(builder, loc, toMemory(builder, loc, value), where,
                               maskOf(loc, access), getElementBytes(access.element));
}

//===----------------------------------------------------------------------===//
// Errors and calls
//===----------------------------------------------------------------------===//

void CpuFunction::fail(OpBuilder &, Location loc, Value failed, ErrorCode code, unsigned dimension,
                       Value index, Value size) {
  Value any = failed, lane;
  if (auto vector = dyn_cast<VectorType>(failed.getType())) {
    Type bits = builder.getIntegerType(vector.getDimSize(0));
    Value packed = LLVM::BitcastOp::create(builder, loc, bits, failed);
    any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, packed,
                                zeros(builder, loc, bits));
    lane = packed;
  }
  auto put = [&](OpBuilder &b, int64_t offset, Value value) {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value at = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), error,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    LLVM::StoreOp::create(b, loc, value, at);
  };
  scf::IfOp::create(builder, loc, any, [&](OpBuilder &b, Location l) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
    Value now = loadField(error, context_layout::kErrorCode, b.getI32Type());
    Value first = arith::CmpIOp::create(builder, l, arith::CmpIPredicate::eq, now,
                                        zeros(builder, l, b.getI32Type()));
    scf::IfOp::create(builder, l, first, [&](OpBuilder &inner, Location) {
      if (index) {
        if (isa<VectorType>(index.getType())) {
          Value position = LLVM::CountTrailingZerosOp::create(inner, l, lane.getType(), lane,
                                                              /*is_zero_poison=*/true);
          index = LLVM::ExtractElementOp::create(inner, l, index, position);
        }
        put(inner, context_layout::kErrorIndex, index);
        put(inner, context_layout::kErrorSize, size);
      }
      put(inner, context_layout::kErrorOperand,
          arith::ConstantOp::create(inner, l, inner.getI32IntegerAttr(dimension)));
      put(inner, context_layout::kErrorCode,
          arith::ConstantOp::create(inner, l, inner.getI32IntegerAttr(static_cast<int32_t>(code))));
      scf::YieldOp::create(inner, l);
    });
    scf::YieldOp::create(builder, l);
  });
}

Value CpuFunction::callScalar(OpBuilder &b, Location loc, StringRef name, ValueRange operands) {
  int64_t slot = 0;
  bool found = false;
  auto search = [&](ArrayRef<const char *> names) {
    for (const char *known : names) {
      if (!found && name == known) {
        found = true;
      }
      slot += !found;
    }
  };
  search(context_layout::kUnaryCallbacks);
  search(context_layout::kBinaryCallbacks);
  assert(found && "no such function in the runtime's table");
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value at = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), callbacks,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(8 * slot)});
  SmallVector<Value> arguments{LLVM::LoadOp::create(b, loc, pointer, at)};
  llvm::append_range(arguments, operands);
  SmallVector<Type> types(operands.size(), b.getF64Type());
  auto type = LLVM::LLVMFunctionType::get(b.getF64Type(), types);
  return LLVM::CallOp::create(b, loc, type, arguments).getResult();
}
