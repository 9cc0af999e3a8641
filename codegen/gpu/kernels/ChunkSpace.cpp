#include "codegen/gpu/kernels/ChunkSpace.h"

#include "codegen/gpu/kernels/KernelShapes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

/// Calls `visit(tensor, isResult, element, address)` for every access.
static void forEachAccess(const KernelProgram &program,
                          llvm::function_ref<void(unsigned, bool, Type, SizeExpr)> visit) {
  for (const Node &node : program.getNodes()) {
    if (node.kind == NodeKind::Load) {
      visit(node.argument, false, node.type, node.expr);
    }
  }
  for (const Store &store : program.getStores()) {
    visit(store.result, true, program[store.node].type, store.address);
  }
}

unsigned mlir::frit::chooseWidth(const KernelProgram &program, unsigned lane) {
  LaneAccesses found;
  forEachAccess(program, [&](unsigned, bool, Type element, SizeExpr address) {
    auto stride = program.getStride(address, lane);
    if (stride && stride->isConstant(1)) {
      unsigned bytes = getElementBytes(element);
      found.narrowest = found.narrowest ? std::min(found.narrowest, bytes) : bytes;
      found.widest = std::max(found.widest, bytes);
      ++found.accesses;
    }
  });
  for (const Node &node : program.getNodes()) {
    found.heavyFunctions +=
        node.kind == NodeKind::Apply && isa_and_nonnull<math::MathDialect>(node.op->getDialect());
  }
  return chooseLanes(found);
}

ChunkSpace::ChunkSpace(const KernelProgram &program, unsigned begin, unsigned end, unsigned lane,
                       unsigned width)
    : program(program), width(width) {
  MLIRContext *context = program.getContext();
  outer = SizeExpr::constant(context, 1);
  for (unsigned dim = begin; dim < end; ++dim) {
    if (dim != lane) {
      dims.push_back(dim);
      outer = outer * program.getDomain()[dim];
    }
  }
  dims.push_back(lane);
  laneExtent = program.getDomain()[lane];
  chunksPerRow = laneExtent.ceilDiv(SizeExpr::constant(context, width));
  if (width == 1) {
    return;
  }
  forEachAccess(program, [&](unsigned tensor, bool isResult, Type element, SizeExpr address) {
    auto stride = program.getStride(address, lane);
    if (!stride || !stride->isConstant(1)) {
      return;
    }
    SizeAttr attr = address - SizeExpr::dim(context, lane);
    SmallVector<SizeExpr> wanted;
    for (auto [coefficient, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
      SizeExpr known = SizeExpr::constant(context, coefficient);
      for (Attribute atom : monomial) {
        auto symbol = dyn_cast<SizeSymbolAttr>(atom);
        if (symbol && symbol.isParameter()) {
          known = known * SizeExpr::symbol(symbol);
        }
      }
      if (known.getContentDivisor() % width == 0) {
        continue;
      }
      if (known.getConstant()) {
        return; // never a multiple
      }
      wanted.push_back(known);
    }
    vectorAddresses.insert(address.getAttr());
    for (SizeExpr expr : wanted) {
      if (!llvm::is_contained(conditions, expr)) {
        conditions.push_back(expr);
      }
    }
    unsigned bytes = std::min(16u, width * getElementBytes(element));
    unsigned &known = pointers[{tensor, isResult ? 1 : 0}];
    known = std::max(known, bytes);
  });
  if (vectorAddresses.empty()) {
    this->width = 1;
    chunksPerRow = laneExtent;
  }
}

/// Compares the remainder of `size` divided by the width with 0.
static Value compareRest(GpuFunction &function, SizeExpr size, unsigned width,
                         arith::CmpIPredicate predicate) {
  OpBuilder &builder = function.getBuilder();
  Value rest = arith::AndIOp::create(builder, function.getLoc(), function.size(size),
                                     function.index(width - 1));
  return arith::CmpIOp::create(builder, function.getLoc(), predicate, rest, function.index(0));
}

Value ChunkSpace::hasPartialChunk(GpuFunction &function) const {
  return compareRest(function, laneExtent, width, arith::CmpIPredicate::ne);
}

Value ChunkSpace::hasWholeChunks(GpuFunction &function) const {
  return compareRest(function, laneExtent, width, arith::CmpIPredicate::eq);
}

Value ChunkSpace::isAligned(GpuFunction &function, bool wholeChunks) const {
  if (width == 1) {
    return Value();
  }
  OpBuilder &builder = function.getBuilder();
  Location loc = function.getLoc();
  SmallVector<SizeExpr> multiples = conditions;
  if (wholeChunks && !dividesEvenly()) {
    multiples.push_back(laneExtent);
  }
  bool isNever = wholeChunks && !dividesEvenly() && laneExtent.getConstant();
  if (isNever || program.getPointers() == PointerAlignment::Any) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  }
  Value all;
  for (SizeExpr expr : multiples) {
    all = function.both(all, compareRest(function, expr, width, arith::CmpIPredicate::eq));
  }
  if (program.getPointers() == PointerAlignment::Aligned) {
    for (const auto &[tensor, bytes] : pointers) {
      function.assumeAligned(tensor.first, tensor.second, bytes);
    }
    if (all) {
      function.noteSizePaths();
    }
    return all;
  }
  Value bits;
  Type i64 = builder.getI64Type();
  for (const auto &[tensor, bytes] : pointers) {
    Value pointer = LLVM::PtrToIntOp::create(builder, loc, i64,
                                             function.getPointer(tensor.first, tensor.second));
    Value mask = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(bytes - 1));
    Value low = arith::AndIOp::create(builder, loc, pointer, mask);
    bits = bits ? Value(arith::OrIOp::create(builder, loc, bits, low)) : low;
  }
  if (bits) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    all = function.both(all,
                        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits, zero));
  }
  return all;
}

Odometer ChunkSpace::count(GpuFunction &function, SizeExpr perRow, int64_t unit) const {
  SmallVector<Odometer::Digit> digits;
  for (unsigned dim : dims) {
    digits.push_back({dim, program.getDomain()[dim]});
  }
  digits.back().extent = perRow;
  digits.back().unit = unit;
  return Odometer(function, digits);
}

Value ChunkSpace::bindChunk(GpuFunction &function, Frame &frame, const Odometer &odometer,
                            ArrayRef<Value> place) const {
  Value chunk = place[dims.size() - 1];
  Value first = width == 1 ? chunk : function.mul(chunk, function.index(width));
  odometer.bind(frame, place);
  frame.bindLanes(getLaneDim(), first, width, Value());
  frame.isAtMultiple = true;
  return first;
}

Value ChunkSpace::bindChunk(GpuFunction &function, Frame &frame, Value chunk) const {
  Odometer odometer = countChunks(function);
  return bindChunk(function, frame, odometer, odometer.split(chunk));
}

void ChunkSpace::bindStep(GpuFunction &function, Frame &frame, const Odometer &odometer,
                          Value chunk, ArrayRef<Value> place, bool isMasked) const {
  Value first = bindChunk(function, frame, odometer,
                          place.empty() ? odometer.split(chunk) : Odometer::Place(place));
  if (!isMasked || width == 1 || dividesEvenly()) {
    return;
  }
  OpBuilder &builder = function.getBuilder();
  Value extent = function.size(laneExtent);
  SmallVector<Value> lanes;
  for (unsigned lane = 0; lane < width; ++lane) {
    lanes.push_back(function.less(function.add(first, function.index(lane)), extent));
  }
  frame.mask = vector::FromElementsOp::create(builder, function.getLoc(),
                                              VectorType::get({width}, builder.getI1Type()), lanes);
}

void ChunkSpace::bindElement(Frame &frame, const Odometer &odometer, ArrayRef<Value> place) const {
  odometer.bind(frame, place);
  frame.bindLanes(getLaneDim(), place[dims.size() - 1], 1, Value());
}

void ChunkSpace::bindElement(GpuFunction &function, Frame &frame, Value element) const {
  Odometer odometer = countElements(function);
  bindElement(frame, odometer, odometer.split(element));
}
