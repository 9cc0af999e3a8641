// The memory accesses of a GPU kernel: to shared memory, to the workspace, and to the tensors of
// the kernel program.

#include "codegen/gpu/emit/GpuFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr unsigned kSharedSpace = 3;
static constexpr StringRef kSharedName = "frit_shared", kFailName = "frit_fail";

static Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

Value GpuFunction::sharedPointer(int64_t byteOffset, Value at, Type element) {
  MLIRContext *context = builder.getContext();
  if (!module.lookupSymbol(kSharedName)) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(top.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External, kSharedName, Attribute(),
                           /*alignment=*/16, kSharedSpace);
  }
  Type pointer = LLVM::LLVMPointerType::get(context, kSharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc, pointer, kSharedName);
  Value start = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byteOffset)});
  return LLVM::GEPOp::create(builder, loc, pointer, memoryType(element), start,
                             ArrayRef<LLVM::GEPArg>{at});
}

Value GpuFunction::loadShared(int64_t byteOffset, Value at, Type element, unsigned lanes) {
  Type type = getLanesType(memoryType(element), lanes);
  return loadFrom(sharedPointer(byteOffset, at, type), element, lanes, Value());
}

void GpuFunction::storeShared(int64_t byteOffset, Value at, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  unsigned lanes = vector ? static_cast<unsigned>(vector.getNumElements()) : 1;
  Type type = getLanesType(memoryType(getElementTypeOrSelf(value.getType())), lanes);
  storeTo(sharedPointer(byteOffset, at, type), value, lanes, Value());
}

Value GpuFunction::loadWorkspace(Value byteOffset, Value at, Type element) {
  Value start = elementPointer(workspace, builder.getI8Type(), byteOffset);
  return loadFrom(elementPointer(start, element, at), element, 1, Value());
}

void GpuFunction::storeWorkspace(Value byteOffset, Value at, Value value) {
  Value start = elementPointer(workspace, builder.getI8Type(), byteOffset);
  storeTo(elementPointer(start, value.getType(), at), value, 1, Value());
}

//===----------------------------------------------------------------------===//
// Accesses of the emitter
//===----------------------------------------------------------------------===//

Value GpuFunction::elementPointer(Value base, Type element, Value at) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), memoryType(element), base,
                             ArrayRef<LLVM::GEPArg>{at});
}

/// Returns one lane of a vector, or a scalar itself, which stands for all lanes.
static Value getLane(OpBuilder &builder, Location loc, Value value, unsigned lane) {
  return isa<VectorType>(value.getType())
             ? Value(vector::ExtractOp::create(builder, loc, value, static_cast<int64_t>(lane)))
             : value;
}

/// Returns the scalar of a splat mask, or the mask.
static Value seeThroughSplat(Value mask) {
  if (!mask || !isa<VectorType>(mask.getType())) {
    return mask;
  }
  if (auto shuffle = mask.getDefiningOp<LLVM::ShuffleVectorOp>()) {
    if (auto insert = shuffle.getV1().getDefiningOp<LLVM::InsertElementOp>()) {
      return insert.getValue();
    }
  }
  return mask;
}

/// Splits off the constant part of an offset: it becomes an immediate of the instruction, and
/// neighbouring accesses share one address.
static std::pair<Value, int64_t> splitConstant(OpBuilder &builder, Location loc, Value offset) {
  llvm::APInt constant;
  if (matchPattern(offset, m_ConstantInt(&constant))) {
    return {Value(), constant.getSExtValue()};
  }
  auto add = offset.getDefiningOp<arith::AddIOp>();
  if (!add) {
    return {offset, 0};
  }
  auto [left, more] = splitConstant(builder, loc, add.getLhs());
  auto [right, most] = splitConstant(builder, loc, add.getRhs());
  if (more == 0 && most == 0) {
    return {offset, 0};
  }
  return {left && right ? Value(arith::AddIOp::create(builder, loc, left, right))
          : left        ? left
                        : right,
          more + most};
}

/// Returns the address of the first lane of an access.
static Value firstPointer(OpBuilder &builder, Location loc, Value base, const Access &access) {
  Type element = memoryType(access.element);
  auto at = [&](Value start, LLVM::GEPArg offset) -> Value {
    return LLVM::GEPOp::create(builder, loc, start.getType(), element, start, offset);
  };
  if (access.lanes > 1) {
    return at(base, access.offset);
  }
  auto [rest, constant] = splitConstant(builder, loc, access.offset);
  // The immediate of an instruction is a 32-bit count of bytes.
  if (constant <= 0 || constant > std::numeric_limits<int32_t>::max() /
                                      static_cast<int64_t>(getElementBytes(access.element))) {
    return at(base, access.offset);
  }
  return at(rest ? at(base, rest) : base, static_cast<int32_t>(constant));
}

Value GpuFunction::loadFrom(Value pointer, Type element, unsigned lanes, Value guard) {
  Type memory = getLanesType(memoryType(element), lanes);
  unsigned alignment = std::min(16u, getElementBytes(element) * lanes);
  auto read = [&]() -> SmallVector<Value> {
    return {LLVM::LoadOp::create(builder, loc, memory, pointer, alignment)};
  };
  Value value =
      guard
          ? choose(guard, memory, read,
                   [&]() -> SmallVector<Value> {
                     return {arith::ConstantOp::create(builder, loc, builder.getZeroAttr(memory))};
                   })[0]
          : read()[0];
  return keepsBytes ? value : fromMemory(value, element);
}

Value GpuFunction::fromMemory(Value value, Type element) {
  if (!element.isInteger(1)) {
    return value;
  }
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
}

/// The type in which loaded bits leave a branch: narrow elements are packed into 32-bit words, or
/// each would take a register of its own.
static Type getWords(Type element, unsigned lanes) {
  unsigned bits = 8 * getElementBytes(element) * lanes;
  Type memory = getLanesType(memoryType(element), lanes);
  return getElementBytes(element) >= 4 || bits % 32 != 0
             ? memory
             : getLanesType(IntegerType::get(element.getContext(), 32), bits / 32);
}

SmallVector<Value> GpuFunction::loadEither(ArrayRef<Type> elements, unsigned lanes,
                                           llvm::function_ref<SmallVector<Value>()> loads) {
  const llvm::DenseSet<Attribute> *addresses = vectorAddresses;
  Value condition = vectorCondition;
  auto cast = [&](Type type, Value value) {
    return value.getType() == type ? value : LLVM::BitcastOp::create(builder, loc, type, value);
  };
  auto way = [&](const llvm::DenseSet<Attribute> *vectors) {
    setVectorAddresses(vectors);
    keepsBytes = true;
    SmallVector<Value> values = loads();
    for (auto [value, element] : llvm::zip_equal(values, elements)) {
      value = cast(getWords(element, lanes), value);
    }
    setVectorAddresses(addresses, condition);
    keepsBytes = false;
    return values;
  };
  SmallVector<Type> types =
      llvm::map_to_vector(elements, [&](Type element) { return getWords(element, lanes); });
  SmallVector<Value> values =
      choose(condition, types, [&] { return way(addresses); }, [&] { return way(nullptr); });
  for (auto [value, element] : llvm::zip_equal(values, elements)) {
    value = fromMemory(cast(getLanesType(memoryType(element), lanes), value), element);
  }
  return values;
}

SmallVector<Value> GpuFunction::loadBits(Value condition, ArrayRef<Type> elements,
                                         ArrayRef<unsigned> lanes, ValueRange otherwise,
                                         llvm::function_ref<SmallVector<Value>()> loads) {
  SmallVector<Type> types;
  for (auto [element, count] : llvm::zip_equal(elements, lanes)) {
    types.push_back(getWords(element, count));
  }
  auto read = [&] {
    keepsBytes = true;
    SmallVector<Value> values = loads();
    keepsBytes = false;
    for (auto [value, type] : llvm::zip_equal(values, types)) {
      value = value.getType() == type ? value
                                      : Value(LLVM::BitcastOp::create(builder, loc, type, value));
    }
    return values;
  };
  auto nothing = [&]() -> SmallVector<Value> {
    if (!otherwise.empty()) {
      return otherwise;
    }
    return llvm::map_to_vector(types, [&](Type type) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    });
  };
  return choose(condition, types, read, nothing);
}

Value GpuFunction::fromBits(Value bits, Type element, unsigned lanes) {
  Type memory = getLanesType(memoryType(element), lanes);
  return fromMemory(
      bits.getType() == memory ? bits : Value(LLVM::BitcastOp::create(builder, loc, memory, bits)),
      element);
}

void GpuFunction::storeTo(Value pointer, Value value, unsigned lanes, Value guard) {
  Type element = getElementTypeOrSelf(value.getType());
  unsigned alignment = std::min(16u, getElementBytes(element) * lanes);
  if (element.isInteger(1)) {
    value = arith::ExtUIOp::create(builder, loc, getLanesType(memoryType(element), lanes), value);
  }
  when(guard, [&] { LLVM::StoreOp::create(builder, loc, value, pointer, alignment); });
}

Value GpuFunction::lanePointer(const Access &access, Value first, unsigned lane) {
  Value base = getPointer(access.tensor, access.isResult);
  switch (access.shape) {
  case AccessShape::Uniform:
    return first;
  case AccessShape::Contiguous:
    return LLVM::GEPOp::create(builder, loc, first.getType(), memoryType(access.element), first,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(lane)});
  case AccessShape::Strided:
    return elementPointer(first, access.element, mul(access.stride, index(lane)));
  case AccessShape::Gathered:
    return elementPointer(base, access.element, getLane(builder, loc, access.offset, lane));
  }
  llvm_unreachable("an access has one of four shapes");
}

/// Whether an access becomes a vector access where vectors can be used.
bool GpuFunction::isVector(const Access &access) {
  Value mask = seeThroughSplat(access.mask);
  bool isUniform = !mask || !isa<VectorType>(mask.getType());
  return access.shape == AccessShape::Contiguous && isUniform && vectorAddresses &&
         vectorAddresses->contains(access.address.getAttr());
}

Value GpuFunction::load(OpBuilder &, Location, const Access &access) {
  if (unsigned bytes = neighbours.lookup(access.address.getAttr())) {
    assumeAligned(access.tensor, access.isResult, bytes);
  }
  Value base = getPointer(access.tensor, access.isResult), mask = seeThroughSplat(access.mask);
  Value first =
      access.shape == AccessShape::Gathered ? Value() : firstPointer(builder, loc, base, access);
  if (access.lanes == 1) {
    return loadFrom(access.shape == AccessShape::Gathered ? lanePointer(access, first, 0) : first,
                    access.element, 1, mask);
  }
  if (isVector(access) && !vectorCondition) {
    return loadFrom(first, access.element, access.lanes, mask);
  }
  if (isVector(access)) {
    Type type = getLanesType(access.element, access.lanes);
    Access whole = access;
    whole.mask = Value();
    auto either = [&] {
      return loadEither(access.element, access.lanes,
                        [&]() -> SmallVector<Value> { return {load(builder, loc, whole)}; });
    };
    auto nothing = [&]() -> SmallVector<Value> {
      return {arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type))};
    };
    return choose(mask, type, either, nothing)[0];
  }
  SmallVector<Value> lanes;
  for (unsigned lane = 0; lane < access.lanes; ++lane) {
    lanes.push_back(loadFrom(lanePointer(access, first, lane), access.element, 1,
                             mask ? getLane(builder, loc, mask, lane) : Value()));
  }
  return vector::FromElementsOp::create(builder, loc,
                                        getLanesType(lanes[0].getType(), access.lanes), lanes);
}

void GpuFunction::store(OpBuilder &, Location, const Access &access, Value value) {
  Value base = getPointer(access.tensor, access.isResult), mask = seeThroughSplat(access.mask);
  Value first =
      access.shape == AccessShape::Gathered ? Value() : firstPointer(builder, loc, base, access);
  if (access.lanes == 1) {
    return storeTo(access.shape == AccessShape::Gathered ? lanePointer(access, first, 0) : first,
                   getLane(builder, loc, value, 0), 1, mask);
  }
  auto storeVector = [&] { storeTo(first, value, access.lanes, mask); };
  auto storeLanes = [&] {
    for (unsigned lane = 0; lane < access.lanes; ++lane) {
      storeTo(lanePointer(access, first, lane), getLane(builder, loc, value, lane), 1,
              mask ? getLane(builder, loc, mask, lane) : Value());
    }
  };
  if (!isVector(access)) {
    return storeLanes();
  }
  either(vectorCondition, storeVector, storeLanes);
}

void GpuFunction::fail(OpBuilder &, Location, Value failed, ErrorCode code, unsigned dimension,
                       Value at, Value size) {
  // As in eager's kernels, a division by zero is no error on a GPU.
  if (code == ErrorCode::DivisionByZero) {
    return;
  }
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(kFailName);
  if (!callee) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(top.getContext()),
                                            {i32, i32, i64, i64});
    callee = LLVM::LLVMFuncOp::create(top, loc, kFailName, type);
  }
  auto vector = dyn_cast<VectorType>(failed.getType());
  for (int64_t lane = 0; lane < (vector ? vector.getNumElements() : 1); ++lane) {
    when(getLane(builder, loc, failed, lane), [&] {
      Value number = arith::ConstantOp::create(
          builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(code)));
      Value dim = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(dimension));
      LLVM::CallOp::create(builder, loc, callee,
                           ValueRange{number, dim, getLane(builder, loc, at, lane), size});
    });
  }
}
