// Random bits at the point of a frame: Philox4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011), which turns a counter and a key into four words. A block of words
// serves four neighbouring elements, so neighbouring lanes share blocks:
//
//   8 lanes from a multiple of 4    2 blocks, as a vector of 2 in each round
//   8 lanes from anywhere           3 blocks; for each low bit of the first index a select moves
//                                   its word to the front
//   lanes that are not neighbours   a block per lane, of which each takes one word
//
// There is no division: block and word are a shift and a mask of the index.
#include "codegen/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>
#include <numeric>

using namespace mlir;
using namespace mlir::frit;

static constexpr unsigned kRounds = 10, kWords = 4;
static constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57},
                          kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

namespace {
/// Arithmetic on scalars or vectors of integers.
class Words {
public:
  Words(OpBuilder &builder, Location loc, unsigned lanes)
      : builder(builder), loc(loc), lanes(lanes) {}

  Type typeOf(unsigned bits) { return getLanesType(builder.getIntegerType(bits), lanes); }
  Value constant(unsigned bits, int64_t value) {
    TypedAttr attr = builder.getIntegerAttr(builder.getIntegerType(bits), value);
    if (auto vector = dyn_cast<VectorType>(typeOf(bits))) {
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    }
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value low(Value wide) {
    return getElementTypeOrSelf(wide.getType()).isInteger(32)
               ? wide
               : Value(arith::TruncIOp::create(builder, loc, typeOf(32), wide));
  }
  Value high(Value wide) {
    return low(arith::ShRUIOp::create(builder, loc, wide, constant(64, 32)));
  }
  Value wide(Value word) { return arith::ExtUIOp::create(builder, loc, typeOf(64), word); }

  /// The words of one block, from a counter of four words and a key of two.
  std::array<Value, kWords> philox(std::array<Value, kWords> counter, std::array<Value, 2> key) {
    for (unsigned round = 0; round < kRounds; ++round) {
      // Upper and lower halves of products.
      Value upper[2], lower[2];
      for (unsigned i : {0, 1}) {
        if (round) {
          key[i] = arith::AddIOp::create(builder, loc, key[i],
                                         constant(32, static_cast<int32_t>(kKeySteps[i])));
        }
        Value word = counter[2 * i];
        upper[i] =
            high(arith::MulIOp::create(builder, loc, wide(word), constant(64, kMultipliers[i])));
        lower[i] = arith::MulIOp::create(builder, loc, word,
                                         constant(32, static_cast<int32_t>(kMultipliers[i])));
      }
      auto mix = [&](Value a, Value b, Value c) -> Value {
        return arith::XOrIOp::create(builder, loc, arith::XOrIOp::create(builder, loc, a, b), c);
      };
      counter = {mix(upper[1], counter[1], key[0]), lower[1], mix(upper[0], counter[3], key[1]),
                 lower[0]};
    }
    return counter;
  }

private:
  OpBuilder &builder;
  Location loc;
  unsigned lanes;
};
} // namespace

static Value shuffle(OpBuilder &builder, Location loc, Value a, Value b, ArrayRef<int32_t> places) {
  return LLVM::ShuffleVectorOp::create(builder, loc, a, b, places);
}

/// `count` elements of a vector, starting at `first`.
static Value slice(OpBuilder &builder, Location loc, Value vector, unsigned first, unsigned count) {
  auto places = llvm::to_vector(llvm::seq<int32_t>(first, first + count));
  return first == 0 && cast<VectorType>(vector.getType()).getNumElements() == count
             ? vector
             : shuffle(builder, loc, vector, vector, places);
}

/// Interleaves vectors or scalars of the same length: a[0], b[0], .., a[1], b[1], ..
static Value alternate(OpBuilder &builder, Location loc, ArrayRef<Value> parts) {
  auto vector = dyn_cast<VectorType>(parts[0].getType());
  if (!vector) {
    Value all =
        LLVM::PoisonOp::create(builder, loc, getLanesType(parts[0].getType(), parts.size()));
    for (auto [i, part] : llvm::enumerate(parts)) {
      all = LLVM::InsertElementOp::create(
          builder, loc, all, part,
          arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i)));
    }
    return all;
  }
  int32_t length = vector.getNumElements(), count = parts.size();
  // Concatenates the parts pairwise.
  SmallVector<Value> joined(parts);
  for (int32_t each = length; joined.size() > 2; each *= 2) {
    for (unsigned i = 0; i < joined.size() / 2; ++i) {
      joined[i] = shuffle(builder, loc, joined[2 * i], joined[2 * i + 1],
                          llvm::to_vector(llvm::seq<int32_t>(0, 2 * each)));
    }
    joined.resize(joined.size() / 2);
  }
  SmallVector<int32_t> places;
  for (int32_t at = 0; at < length; ++at) {
    for (int32_t part = 0; part < count; ++part) {
      places.push_back(part * length + at);
    }
  }
  return shuffle(builder, loc, joined[0], joined[1], places);
}

Value Emitter::emitRandom(Frame &frame, const Node &node) {
  Location loc = node.loc;
  bool isWide = node.type.isInteger(64);
  const unsigned perBlock = isWide ? kWords / 2 : kWords;
  Value seed = value(frame, node.operands[0]), stream = value(frame, node.operands[1]);
  // Draws the blocks with these numbers. Element i of the result holds the i-th element of each
  // block.
  auto draw = [&](Value block) {
    auto vector = dyn_cast<VectorType>(block.getType());
    unsigned lanes = vector ? vector.getNumElements() : 1;
    Words scalars(builder, loc, 1), words(builder, loc, lanes);
    auto all = [&](Value one) { return splat(loc, one, lanes); };
    bool isLong = getElementTypeOrSelf(block.getType()).isInteger(64);
    Value zero = words.constant(32, 0);
    auto drawn = words.philox(
        {words.low(block), isLong ? words.high(block) : zero, all(scalars.low(stream)), zero},
        {all(scalars.low(seed)), all(scalars.high(seed))});
    SmallVector<Value> elements(drawn.begin(), drawn.end());
    for (unsigned i = 0; isWide && i < perBlock; ++i) {
      Value upper =
          arith::ShLIOp::create(builder, loc, words.wide(drawn[2 * i + 1]), words.constant(64, 32));
      elements[i] = arith::OrIOp::create(builder, loc, words.wide(drawn[2 * i]), upper);
    }
    elements.resize(perBlock);
    return elements;
  };
  auto shifted = [&](Value index) -> Value {
    return arith::ShRUIOp::create(builder, loc, index,
                                  constant(loc, index.getType(), llvm::Log2_32(perBlock)));
  };
  auto hasBit = [&](Value index, unsigned bit) -> Value {
    Value masked = arith::AndIOp::create(builder, loc, index, constant(loc, index.getType(), bit));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked,
                                 constant(loc, index.getType(), 0));
  };

  // Selects the element at one index, or at an index per lane.
  auto choose = [&](Value at) {
    SmallVector<Value> elements = draw(shifted(at));
    for (unsigned bit = 1; bit < perBlock; bit *= 2) {
      Value odd = hasBit(at, bit);
      for (unsigned i = 0; i < elements.size() / 2; ++i) {
        elements[i] =
            arith::SelectOp::create(builder, loc, odd, elements[2 * i + 1], elements[2 * i]);
      }
      elements.resize(elements.size() / 2);
    }
    return elements[0];
  };

  // Where each lane is a register, vectors are avoided: the wide products of words would be
  // legalised badly.
  const bool isByLane = target.countsQuotients();
  const unsigned lanes = frame.lanes;
  bool varying = varies(frame, node.expr);
  SizeExpr rest =
      varying ? node.expr - SizeExpr::dim(program.getContext(), *frame.laneDim) : SizeExpr();
  if (!varying || varies(frame, rest)) {
    Value at = index(frame, node.expr);
    if (!varying || !isByLane) {
      return choose(at);
    }
    SmallVector<Value> chosen;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value place = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane));
      chosen.push_back(choose(LLVM::ExtractElementOp::create(builder, loc, at, place)));
    }
    return alternate(builder, loc, chosen);
  }

  // Neighbouring lanes. A known divisor of the first index limits how many words before it the
  // first block may contain.
  const unsigned multiple =
      std::gcd<int64_t, int64_t>(std::gcd<int64_t, int64_t>(perBlock, rest.getContentDivisor()),
                                 frame.isAtMultiple ? lanes : 1);
  const unsigned blocks = llvm::divideCeil(perBlock - multiple + lanes, perBlock);
  Value at = firstLane(frame, node.expr), block = shifted(at), elements;
  if (isByLane || blocks == 1) {
    SmallVector<Value> all;
    for (unsigned i = 0; i < blocks; ++i) {
      all.append(draw(
          i ? Value(arith::AddIOp::create(builder, loc, block, constant(loc, block.getType(), i)))
            : block));
    }
    elements = alternate(builder, loc, all);
  } else {
    SmallVector<APInt> steps;
    for (unsigned i = 0; i < blocks; ++i) {
      steps.emplace_back(block.getType().getIntOrFloatBitWidth(), i);
    }
    auto type = VectorType::get({blocks}, block.getType());
    Value step = arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, steps));
    elements = alternate(
        builder, loc, draw(arith::AddIOp::create(builder, loc, splat(loc, block, blocks), step)));
  }
  for (unsigned bit = perBlock / 2; bit >= multiple; bit /= 2) {
    // As many elements as the smaller bits may still drop, and the lanes.
    unsigned count = lanes + bit - multiple;
    elements = arith::SelectOp::create(builder, loc, hasBit(at, bit),
                                       slice(builder, loc, elements, bit, count),
                                       slice(builder, loc, elements, 0, count));
  }
  return slice(builder, loc, elements, 0, lanes);
}
