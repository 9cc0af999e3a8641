#include "codegen/gpu/kernels/ChunkSpace.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

ChunkSpace::ChunkSpace(const KernelProgram &program, unsigned begin, unsigned end, unsigned lane,
                       unsigned width)
    : program(program), vectors(program, lane, width), width(vectors.width) {
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
  chunksPerRow = laneExtent.ceilDiv(SizeExpr::constant(context, this->width));
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
  SmallVector<SizeExpr> multiples = vectors.conditions;
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
    for (const auto &[tensor, bytes] : vectors.pointers) {
      function.assumeAligned(tensor.first, tensor.second, bytes);
    }
    if (all) {
      function.noteSizePaths();
    }
    return all;
  }
  Value bits;
  Type i64 = builder.getI64Type();
  for (const auto &[tensor, bytes] : vectors.pointers) {
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

MixedRadixCounter ChunkSpace::count(GpuFunction &function, SizeExpr perRow, int64_t unit) const {
  SmallVector<MixedRadixCounter::Digit> digits;
  for (unsigned dim : dims) {
    digits.push_back({dim, program.getDomain()[dim]});
  }
  digits.back().extent = perRow;
  digits.back().unit = unit;
  return MixedRadixCounter(function, digits);
}

Value ChunkSpace::bindChunk(GpuFunction &function, Frame &frame, const MixedRadixCounter &counter,
                            ArrayRef<Value> place) const {
  Value chunk = place[dims.size() - 1];
  Value first = width == 1 ? chunk : function.mul(chunk, function.index(width));
  counter.bind(frame, place);
  frame.bindLanes(getLaneDim(), first, width, Value());
  frame.isAtMultiple = true;
  return first;
}

Value ChunkSpace::bindChunk(GpuFunction &function, Frame &frame, Value chunk) const {
  MixedRadixCounter counter = countChunks(function);
  return bindChunk(function, frame, counter, counter.split(chunk));
}

void ChunkSpace::bindStep(GpuFunction &function, Frame &frame, const MixedRadixCounter &counter,
                          Value chunk, ArrayRef<Value> place, bool isMasked) const {
  Value first = bindChunk(function, frame, counter,
                          place.empty() ? counter.split(chunk) : MixedRadixCounter::Place(place));
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

void ChunkSpace::bindElement(Frame &frame, const MixedRadixCounter &counter,
                             ArrayRef<Value> place) const {
  counter.bind(frame, place);
  frame.bindLanes(getLaneDim(), place[dims.size() - 1], 1, Value());
}

void ChunkSpace::bindElement(GpuFunction &function, Frame &frame, Value element) const {
  MixedRadixCounter counter = countElements(function);
  bindElement(frame, counter, counter.split(element));
}
