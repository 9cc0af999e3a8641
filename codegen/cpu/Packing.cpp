#include "codegen/cpu/Packing.h"
#include "codegen/cpu/Loops.h"
#include "kernel/KernelCosts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::frit;

Packing::Packing(const KernelProgram &program, CpuFunction &f, Emitter &emitter, unsigned lane,
                 unsigned vectors)
    : program(program), f(f), emitter(emitter), lane(lane), reduced(program.numParallel()),
      lanes(f.getShape().lanes()), wide(lanes * vectors) {}

void Packing::choose(unsigned rowDim, int64_t steps) {
  for (auto [id, node] : llvm::enumerate(program.getNodes())) {
    if (node.kind != NodeKind::Load || !(node.dims >> reduced & 1) || (node.dims >> rowDim & 1) ||
        !isStrided(program, node, lane)) {
      continue;
    }
    auto along = program.getStride(node.expr, reduced);
    unsigned bytes = getElementBytes(node.type);
    // AVX2 cannot mask elements below 32 bits.
    bool isTurned = along && along->isConstant(1) && node.bounds.empty() && node.operands.empty() &&
                    (bytes == 4 || (bytes == 2 && f.hasMaskedBytes()));
    operands.push_back({static_cast<unsigned>(id),
                        f.scratch(node.type, llvm::alignTo(steps, lanes) * wide), isTurned});
  }
}

Value Packing::address(const Packed &operand, Value at) {
  return f.address(operand.buffer, program[operand.node].type, at);
}

void Packing::emit(Frame &unit, Value column, Value laneCount, Value low, Value high) {
  auto isTurned = [](const Packed &operand) { return operand.isTurned; };
  if (!llvm::all_of(operands, isTurned)) {
    forRange(f, low, high, 1, [&](Value step) { gather(unit, column, laneCount, low, step); });
  }
  if (llvm::any_of(operands, isTurned)) {
    forRange(f, low, high, lanes,
             [&](Value first) { turn(unit, column, laneCount, low, high, first); });
  }
}

void Packing::gather(Frame &unit, Value column, Value laneCount, Value low, Value step) {
  Frame point(&unit);
  point.bind(reduced, step);
  Value base = mul(f, sub(f, step, low), f.i64(wide));
  for (unsigned offset = 0; offset < wide; offset += lanes) {
    Frame vector(&point);
    Value first = add(f, column, offset);
    vector.bindLanes(lane, first, lanes, tailMask(f, first, laneCount, lanes));
    for (const Packed &operand : operands) {
      if (!operand.isTurned) {
        const Node &node = program[operand.node];
        f.storeVector(node.loc, address(operand, add(f, base, offset)), node.type,
                      emitter.lanes(vector, operand.node), Value());
      }
    }
  }
}

/// Transposes squares of four: vector i of the result holds, four by four, the elements i, i + 4,
/// i + 8 ... of all rows. Squares of as many rows as lanes would take half the stores, but three
/// times the time to compile.
static SmallVector<Value> turnSquares(CpuFunction &f, Location loc, SmallVector<Value> rows) {
  OpBuilder &b = f.getBuilder();
  int32_t lanes = cast<VectorType>(rows[0].getType()).getDimSize(0);
  auto interleave = [&](Value first, Value second, unsigned size, bool high) -> Value {
    SmallVector<int32_t> order;
    for (int32_t block = 0; block < lanes; block += 4) {
      for (unsigned i = 0; i < 4; ++i) {
        unsigned piece = i / size, from = (piece / 2 + (high ? 2 / size : 0)) * size + i % size;
        order.push_back((piece % 2 ? lanes : 0) + block + from);
      }
    }
    return LLVM::ShuffleVectorOp::create(b, loc, first, second, order);
  };
  Value low01 = interleave(rows[0], rows[1], 1, false),
        high01 = interleave(rows[0], rows[1], 1, true);
  Value low23 = interleave(rows[2], rows[3], 1, false),
        high23 = interleave(rows[2], rows[3], 1, true);
  return {interleave(low01, low23, 2, false), interleave(low01, low23, 2, true),
          interleave(high01, high23, 2, false), interleave(high01, high23, 2, true)};
}

/// Transposes as many steps as lanes, four lanes at a time. Lanes beyond the last one read the last
/// one again; steps beyond the last are stored in the buffer and never read.
void Packing::turn(Frame &unit, Value column, Value laneCount, Value low, Value high, Value first) {
  OpBuilder &b = f.getBuilder();
  bool isWhole = program.getDomain()[reduced].getContentDivisor() % lanes == 0;
  Value mask = isWhole ? Value() : tailMask(f, first, high, lanes);
  Value base = mul(f, sub(f, first, low), f.i64(wide));
  Value lastLane = add(f, laneCount, -1);
  forRange(f, f.i64(0), f.i64(wide), 4, [&](Value offset) {
    Value firstLane = add(f, column, offset);
    SmallVector<Frame> rows(4, Frame(&unit));
    for (auto [i, row] : llvm::enumerate(rows)) {
      row.bind(lane, minimum(f, add(f, firstLane, i), lastLane));
      row.bindLanes(reduced, first, lanes, mask);
    }
    for (const Packed &operand : operands) {
      if (!operand.isTurned) {
        continue;
      }
      const Node &node = program[operand.node];
      // Half types are transposed as integers, because x86 has no registers for them.
      Type bits = b.getIntegerType(node.type.getIntOrFloatBitWidth());
      SmallVector<Value> square;
      for (Frame &row : rows) {
        square.push_back(emitBitcast(b, node.loc, VectorType::get({lanes}, bits),
                                     emitter.lanes(row, operand.node)));
      }
      for (auto [i, turned] : llvm::enumerate(turnSquares(f, node.loc, std::move(square)))) {
        for (int32_t step = i; step < static_cast<int32_t>(lanes); step += 4) {
          auto four = llvm::to_vector(llvm::seq<int32_t>(step - i, step - i + 4));
          Value piece = LLVM::ShuffleVectorOp::create(b, node.loc, turned, turned, four);
          Value at = address(operand, add(f, add(f, base, offset), step * wide));
          f.storeVector(node.loc, at, bits, piece, Value());
        }
      }
    }
  });
}

void Packing::supply(Frame &frame, Value low, Value column) {
  Value at = add(f, mul(f, sub(f, frame.dims[reduced], low), f.i64(wide)),
                 sub(f, frame.dims[lane], column));
  for (const Packed &operand : operands) {
    const Node &node = program[operand.node];
    frame.values[operand.node] =
        f.loadVector(node.loc, address(operand, at), node.type, lanes, Value());
  }
}
