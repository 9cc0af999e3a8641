// The entry of a GPU kernel: its arguments, structured control flow, and exchange between threads.

#include "codegen/gpu/emit/GpuFunction.h"

#include "ir/FritAttributes.h"
#include "ir/KernelLists.h"
#include "ir/Planted.h"
#include "kernel/VectorAccesses.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr unsigned kGlobalSpace = 1;

bool mlir::frit::fitsIn32Bits(const KernelProgram &program) {
  if (isPlanted(Mistake::Index32)) {
    return true;
  }
  constexpr int64_t limit = int64_t(1) << 30;
  const SizeFacts &facts = program.getFacts();
  auto fits = [&](SizeExpr expr) {
    auto high = facts.upperBound(expr), low = facts.lowerBound(expr);
    if (high && *high < limit && low && *low > -limit) {
      return true;
    }
    // Under an assumption that something of at least twice its size has 32-bit indices.
    return llvm::any_of(program.getAssumptions(), [&](AssumptionAttr assumption) {
      if (assumption.getKind() != GuardKind::Index32) {
        return false;
      }
      SizeExpr end = assumption.getSizes()[0];
      return facts.provablyNonNegative(end - expr * 2) && facts.provablyNonNegative(end + expr * 2);
    });
  };
  KernelOp kernel = program.getKernel();
  auto spanOf = [&](RankedTensorType type, unsigned argument) {
    ArrayAttr attributes = kernel.getArgAttrsAttr();
    auto strides = getKernelStrides(
        kernel, type, attributes ? cast<DictionaryAttr>(attributes[argument]) : DictionaryAttr());
    SizeExpr last = SizeExpr::constant(program.getContext(), 1);
    for (auto [size, stride] : llvm::zip(getSizes(type), strides)) {
      last = last + (size - 1) * stride;
    }
    return last;
  };
  auto allFit = [&](ArrayRef<Bound> bounds) {
    return llvm::all_of(bounds, [&](const Bound &bound) {
      return fits(bound.expr) && fits(bound.low) && fits(bound.high);
    });
  };
  bool all = fits(program.getExtent(0, program.getRank()));
  // Dividend and divisor of every quotient must fit themselves. Other parts of an address may wrap
  // where their sum does not.
  program.forEachQuotient(
      [&](SizeExpr, SizeExpr left, SizeExpr right) { all = all && fits(left) && fits(right); });
  for (const Node &node : program.getNodes()) {
    all = all && allFit(node.bounds);
    if (node.kind == NodeKind::Load) {
      // An index that was read from memory may have any value in its range, so its address is
      // bounded by the span from the first to the last element of the tensor. That span also bounds
      // addresses with quotients.
      bool spans = node.expr.anySymbol([](SizeSymbolAttr symbol) { return symbol.isValue(); });
      bool divides = false;
      forEachQuotient(node.expr, [&](SizeExpr, SizeExpr, SizeExpr) { divides = true; });
      auto type = cast<RankedTensorType>(kernel.getArgumentTypes()[node.argument]);
      all = all && fits(getNumElements(type)) &&
            ((!spans && fits(node.expr)) ||
             ((spans || divides) && fits(spanOf(type, node.argument))));
    } else if (node.kind == NodeKind::Index || node.kind == NodeKind::Random ||
               node.kind == NodeKind::Check) {
      all = all && fits(node.expr);
    }
  }
  for (const Store &store : program.getStores()) {
    all = all && fits(store.address);
  }
  return all;
}

GpuFunction::GpuFunction(gpu::GPUModuleOp module, StringRef name, const KernelProgram &program,
                         Options options)
    : program(program), kernel(program.getKernel()), module(module), builder(module.getContext()),
      loc(kernel.getLoc()),
      indexType(builder.getIntegerType(options.listItems || fitsIn32Bits(program) ? 32 : 64)),
      threads(options.threads), cluster(options.cluster), approximateMath(kernel) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace);
  Type i64 = builder.getI64Type(), f64 = builder.getF64Type();
  SmallVector<Type> pointers, ints, floats;
  ints.append(kernel.getSymbols().size(), i64);
  for (Type type : kernel.getArgumentTypes()) {
    if (isa<RankedTensorType>(type)) {
      pointers.push_back(pointer);
    } else {
      (isa<FloatType>(type) ? floats : ints).push_back(isa<FloatType>(type) ? f64 : i64);
    }
  }
  unsigned numOperands = pointers.size();
  pointers.append(kernel.getResultTypes().size(), pointer);
  SmallVector<Type> inputs = pointers;
  llvm::append_range(inputs, ints);
  llvm::append_range(inputs, floats);
  size_t itemBytes = getListItemBytes(inputs.size());
  if (options.listItems) {
    inputs = {LLVM::LLVMPointerType::get(builder.getContext())};
  }
  if (options.hasWorkspace) {
    inputs.push_back(pointer);
  }
  builder.setInsertionPointToEnd(module.getBody());
  function = gpu::GPUFuncOp::create(builder, loc, name, builder.getFunctionType(inputs, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function.setKnownBlockSize(std::array<int32_t, 3>{static_cast<int32_t>(options.threads), 1, 1});
  // Without minctasm ptxas saves registers for more resident blocks and spills some of them (48
  // registers instead of 54, with 4 bytes spilled). Schedules count registers for 32-bit indices; a
  // kernel with 64-bit ones would spill under the same limit.
  uint32_t resident = indexType.isInteger(32) ? options.resident : 1;
  function->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(static_cast<int32_t>(resident)));
  if (cluster > 1) {
    function->setAttr("nvvm.cluster_dim",
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(cluster), 1, 1}));
  }
  if (options.listItems) {
    kTableAttr.set(function,
                   builder.getI64IntegerAttr(static_cast<int64_t>(options.listItems * itemBytes)));
  }
  for (unsigned i = 0; i < (options.listItems ? 0 : pointers.size()); ++i) {
    function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    if (i < numOperands) {
      function.setArgAttr(i, "llvm.readonly", builder.getUnitAttr());
    }
  }
  if (options.hasWorkspace) {
    kArgumentWorkspaceAttr.mark(function, inputs.size() - 1);
  }

  builder.setInsertionPointToStart(&function.getBody().front());
  thread = toIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x), false);
  block = toIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x), false);
  if (options.listItems) {
    SmallVector<Type> types = pointers;
    llvm::append_range(types, ints);
    llvm::append_range(types, floats);
    bindListItem(types, pointers.size(), ints.size(), options);
  } else {
    bindArguments(function.getArguments(), pointers.size(), ints.size());
  }
  if (options.hasWorkspace) {
    workspace = function.getArgument(inputs.size() - 1);
  }
  if (program.getPointers() == PointerAlignment::Aligned) {
    neighbours = findNeighbours(program);
  }
  emitter = std::make_unique<Emitter>(program, *this, builder);
  entryEnd = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(indexType, 0));
}

/// Binds the arguments in the order of the kernel ABI: pointers, ints, floats.
void GpuFunction::bindArguments(ValueRange arguments, unsigned numPointers, unsigned numInts) {
  unsigned nextPointer = 0, nextInt = numPointers, nextFloat = numPointers + numInts;
  for (auto symbol : kernel.getSymbols().getAsRange<SymbolAttr>()) {
    parameters[symbol.getName()] = toIndex(arguments[nextInt++], true);
  }
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    operandPointers.push_back(Value());
    if (isa<RankedTensorType>(type)) {
      operandPointers.back() = arguments[nextPointer++];
    } else if (isa<FloatType>(type)) {
      scalars[i] = arguments[nextFloat++];
    } else {
      Value value = arguments[nextInt++];
      scalars[i] = type.isInteger(1)
                       ? Value(arith::TruncIOp::create(builder, loc, builder.getI1Type(), value))
                       : value;
    }
  }
  for (unsigned i = 0; i < kernel.getResultTypes().size(); ++i) {
    resultPointers.push_back(arguments[nextPointer++]);
  }
}

/// Finds the item of this block by a binary search, and the block's chunk of that item. Items
/// without blocks are not in the table; unused entries at its end begin at a block number that no
/// grid reaches.
void GpuFunction::bindListItem(ArrayRef<Type> types, unsigned numPointers, unsigned numInts,
                               const Options &options) {
  Type i64 = builder.getI64Type();
  auto words = static_cast<int64_t>(types.size() + 1);
  Value table = function.getArgument(0);
  auto word = [&](Value item, int64_t number, Type type) -> Value {
    Value at = add(mul(item, index(words)), index(number));
    Value address =
        LLVM::GEPOp::create(builder, loc, table.getType(), i64, table, ArrayRef<LLVM::GEPArg>{at});
    return LLVM::LoadOp::create(builder, loc, type, address, 8);
  };
  Value item = index(0);
  for (auto step = llvm::bit_floor(options.listItems - 1); step; step /= 2) {
    Value next = minimum(add(item, index(step)), index(options.listItems - 1));
    Value begins = word(next, 0, indexType);
    item = arith::SelectOp::create(builder, loc, less(block, begins), item, next);
  }
  SmallVector<Value> arguments;
  for (auto [i, type] : llvm::enumerate(types)) {
    arguments.push_back(word(item, static_cast<int64_t>(i) + 1, type));
  }
  Value first = word(item, 0, indexType);
  // Kernels over rank 0 have no parameter; a block handles a whole item.
  if (!kernel.getSymbols().empty()) {
    Value chunk = arith::ExtUIOp::create(builder, loc, i64, sub(block, first));
    Value share =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(options.listChunk));
    Value start = mul(chunk, share);
    unsigned pointer = 0;
    auto advance = [&](Type type) {
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        Value &base = arguments[pointer++];
        base = tensor.getRank() ? elementPointer(base, tensor.getElementType(), start) : base;
      }
    };
    llvm::for_each(kernel.getArgumentTypes(), advance);
    llvm::for_each(kernel.getResultTypes(), advance);
    Value &elements = arguments[numPointers];
    elements = minimum(sub(elements, start), share);
  }
  block = index(0);
  bindArguments(arguments, numPointers, numInts);
}

void GpuFunction::finish() { gpu::ReturnOp::create(builder, loc); }

//===----------------------------------------------------------------------===//
// Integers and control flow
//===----------------------------------------------------------------------===//

Value GpuFunction::toIndex(Value value, bool isSigned) {
  if (isa<IndexType>(value.getType())) {
    return arith::IndexCastUIOp::create(builder, loc, indexType, value);
  }
  return value.getType() == indexType
             ? value
             : Value(arith::TruncIOp::create(builder, loc, indexType, value));
}

Value GpuFunction::index(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(indexType, value));
}

Value GpuFunction::size(SizeExpr expr) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  return emitter->firstLane(entry, expr);
}

Value GpuFunction::gridSize() {
  return toIndex(gpu::GridDimOp::create(builder, loc, gpu::Dimension::x), false);
}

Value GpuFunction::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value GpuFunction::sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
Value GpuFunction::mul(Value a, Value b) { return arith::MulIOp::create(builder, loc, a, b); }
Value GpuFunction::div(Value a, Value b) { return arith::DivUIOp::create(builder, loc, a, b); }
Value GpuFunction::rem(Value a, Value b) { return arith::RemUIOp::create(builder, loc, a, b); }
Value GpuFunction::minimum(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
Value GpuFunction::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}
Value GpuFunction::both(Value a, Value b) {
  if (!a || !b) {
    return a ? a : b;
  }
  if (matchPattern(a, m_Zero()) || matchPattern(b, m_Zero())) {
    return matchPattern(a, m_Zero()) ? a : b;
  }
  return arith::AndIOp::create(builder, loc, a, b);
}

void GpuFunction::assumeAligned(unsigned number, bool isResult, unsigned bytes) {
  unsigned argument = cast<BlockArgument>(getPointer(number, isResult)).getArgNumber();
  auto known =
      function.getArgAttrOfType<IntegerAttr>(argument, LLVM::LLVMDialect::getAlignAttrName());
  if (!known || known.getInt() < bytes) {
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(bytes));
  }
}

void GpuFunction::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition) {
    return body();
  }
  auto op = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  body();
}

SmallVector<Value> GpuFunction::choose(Value condition, TypeRange types,
                                       llvm::function_ref<SmallVector<Value>()> yes,
                                       llvm::function_ref<SmallVector<Value>()> no) {
  if (!condition || matchPattern(condition, m_Zero())) {
    return condition ? no() : yes();
  }
  auto op = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> body) {
    builder.setInsertionPointToStart(block);
    SmallVector<Value> results = body();
    if (!types.empty()) {
      scf::YieldOp::create(builder, loc, results);
    }
  };
  fill(op.thenBlock(), yes);
  fill(op.elseBlock(), no);
  return SmallVector<Value>(op.getResults());
}

void GpuFunction::either(Value condition, llvm::function_ref<void()> yes,
                         llvm::function_ref<void()> no) {
  auto none = [](llvm::function_ref<void()> body) {
    return [body]() -> SmallVector<Value> { return body(), SmallVector<Value>(); };
  };
  choose(condition, {}, none(yes), none(no));
}

SmallVector<Value>
GpuFunction::loop(Value begin, Value end, Value step, ValueRange carried,
                  llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(builder, loc, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  builder.setInsertionPointToEnd(op.getBody());
  if (op.getBody()->empty() || !op.getBody()->back().hasTrait<OpTrait::IsTerminator>()) {
    scf::YieldOp::create(builder, loc, next);
  }
  return SmallVector<Value>(op.getResults());
}

//===----------------------------------------------------------------------===//
// Exchange between threads
//===----------------------------------------------------------------------===//

void GpuFunction::barrier() { gpu::BarrierOp::create(builder, loc); }

Value GpuFunction::shuffle32(Value value, int64_t distance) {
  Value offset = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(distance));
  Value width = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(32));
  return gpu::ShuffleOp::create(builder, loc, value, offset, width, gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value GpuFunction::shuffle(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isF32() || type.isInteger(32)) {
    return shuffle32(value, distance);
  }
  Type bits = builder.getIntegerType(width);
  Value whole = type == bits ? value : Value(arith::BitcastOp::create(builder, loc, bits, value));
  Value result;
  if (width < 32) {
    Value wide = shuffle32(arith::ExtUIOp::create(builder, loc, i32, whole), distance);
    result = arith::TruncIOp::create(builder, loc, bits, wide);
  } else {
    Value half = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
    Value low = arith::TruncIOp::create(builder, loc, i32, whole);
    Value high = arith::TruncIOp::create(builder, loc, i32,
                                         arith::ShRUIOp::create(builder, loc, whole, half));
    low = arith::ExtUIOp::create(builder, loc, bits, shuffle32(low, distance));
    high = arith::ExtUIOp::create(builder, loc, bits, shuffle32(high, distance));
    result =
        arith::OrIOp::create(builder, loc, low, arith::ShLIOp::create(builder, loc, high, half));
  }
  return type == bits ? result : Value(arith::BitcastOp::create(builder, loc, type, result));
}

Value GpuFunction::getParameter(OpBuilder &, StringRef name) { return parameters.lookup(name); }

Value GpuFunction::getScalar(OpBuilder &, unsigned argument) { return scalars.lookup(argument); }
