// Sizes determine types, indices and guards, so their algebra is compared with arithmetic:
// identities that must be one attribute, and random expressions whose value no construction,
// substitution or simplification may change.
#include "ir/SizeExpr.h"
#include "ir/FritDialect.h"

#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::frit;

namespace {

class Sizes : public testing::Test {
protected:
  Sizes() { context.loadDialect<FritDialect>(); }
  SizeExpr parse(StringRef text) {
    std::string error;
    SizeExpr size = SizeExpr::parse(&context, text, error);
    EXPECT_TRUE(size) << text.str() << ": " << error;
    return size;
  }
  void expectSame(StringRef left, StringRef right) {
    EXPECT_EQ(parse(left).str(), parse(right).str());
    EXPECT_TRUE(parse(left) == parse(right)) << left.str() << " and " << right.str();
  }
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(Sizes, EqualPolynomialsAreOneAttribute) {
  expectSame("(s0 * s1) * s2", "s0 * (s1 * s2)");
  expectSame("(s0 + 1) * s1 - s0 * s1 - s1", "0");
  expectSame("(s0 + s1) * (s0 - s1)", "s0 * s0 - s1 * s1");
  expectSame("s1 + s0 + 2 * s1", "s0 + 3 * s1");
  expectSame("max(s0, s1)", "max(s1, s0)");
  EXPECT_TRUE(parse("s0") != parse("s1"));
}

TEST_F(Sizes, SymbolsSayWhatTheyStandFor) {
  auto kind = [&](StringRef name) { return SizeSymbolAttr::get(&context, name).getKind(); };
  EXPECT_EQ(kind("d3"), SizeSymbolKind::Dim);
  EXPECT_EQ(kind("p0"), SizeSymbolKind::Parameter);
  EXPECT_EQ(kind("v12"), SizeSymbolKind::Value);
  for (StringRef name : {"s0", "u1", "d", "dim0", "batch", "p_0", "_4"}) {
    EXPECT_EQ(kind(name), SizeSymbolKind::Graph) << name.str();
  }
  EXPECT_EQ(SizeSymbolAttr::get(&context, "v12").getPosition(), 12u);
  EXPECT_EQ(SizeSymbolAttr::dim(&context, 3), SizeSymbolAttr::get(&context, "d3"));
  EXPECT_TRUE(SizeExpr::parameter(&context, 0) == parse("p0"));
  EXPECT_EQ(parse("d3").getDim(), 3u);
  EXPECT_FALSE(parse("p3").getDim());
  EXPECT_EQ(parse("d0 * s0 + v0 + d1").substituteDims({parse("s1")}, {parse("d1")}).str(),
            parse("s1 * s0 + 2 * d1").str());
}

TEST_F(Sizes, DivisionsThatAreExactLeave) {
  expectSame("floordiv(s0 * s1, s1)", "s0");
  expectSame("floordiv(4 * s0 + 3, 4)", "s0");
  expectSame("floordiv(4 * s0 + 7, 4)", "s0 + 1");
  expectSame("floordiv(s0 * s1 + 5, s1)", "s0 + floordiv(5, s1)");
  expectSame("floordiv(6 * s0 + 4, 4)", "floordiv(3 * s0 + 2, 2)");
  expectSame("mod(s0 * s1, s1)", "0");
  expectSame("mod(s0, 4) + 4 * floordiv(s0, 4)", "s0");
  expectSame("floordiv(s0 * s0 + 3 * s0 + 2, s0 + 1)", "s0 + 2");
  expectSame("max(s0 + 3, s0)", "s0 + 3");
  expectSame("floordiv(-7, 2)", "-4");
  expectSame("mod(-7, 2)", "1");
}

TEST_F(Sizes, DivisionWithoutAValueStaysOpaque) {
  SizeExpr zero = SizeExpr::constant(&context, 0), symbol = parse("s0");
  EXPECT_FALSE(symbol.floorDiv(zero).evaluate([](StringRef) { return std::optional<int64_t>(3); }));
  SizeExpr least = SizeExpr::constant(&context, INT64_MIN);
  (void)least.floorDiv(SizeExpr::constant(&context, -1));
  EXPECT_FALSE(symbol.floorDiv(least).getConstant());
  llvm::StringMap<SizeExpr> map;
  map["s1"] = zero;
  EXPECT_FALSE(parse("floordiv(s0, s1)").substitute(map).getConstant());
}

TEST_F(Sizes, TextRoundTrips) {
  for (StringRef text : {"0", "-1", "s0", "-s0", "3 * s0 * s1 - 7", "floordiv(s0 + 7, 8) * 8",
                         "max(s0, 2 * s1 - 1)"}) {
    expectSame(parse(text).str(), text);
  }
  std::string error;
  EXPECT_FALSE(SizeExpr::parse(&context, "s0 +", error));
  EXPECT_EQ(error, "expected a size: an integer, a symbol or a function of sizes at column 5");
  EXPECT_FALSE(SizeExpr::parse(&context, "floordiv(s0, 0)", error));
  EXPECT_EQ(error, "division by the constant 0 in a size expression at column 16");
  EXPECT_FALSE(SizeExpr::parse(&context, std::string(100, '('), error));
  EXPECT_EQ(error, "size expression is nested deeper than 64 at column 65");
}

TEST_F(Sizes, FactsDecideDivisions) {
  SizeFacts facts(&context);
  facts.setRange("s0", 2, std::nullopt);
  facts.setRange("s1", 1, 100);
  facts.setExtent(SizeSymbolAttr::dim(&context, 0), parse("s1"));
  facts.setExtent(SizeSymbolAttr::dim(&context, 1), parse("s0"));
  auto simplified = [&](StringRef text) { return facts.simplify(parse(text)).str(); };
  EXPECT_EQ(simplified("floordiv(d0 * s0 + d1, s0)"), "d0");
  EXPECT_EQ(simplified("mod(d0 * s0 + d1, s0)"), "d1");
  EXPECT_EQ(simplified("floordiv(d0, s1)"), "0");
  EXPECT_EQ(simplified("max(s0, 1)"), "s0");
  EXPECT_EQ(simplified("min(s1, 100)"), "s1");
  EXPECT_EQ(simplified("max(s0, 3)"), parse("max(s0, 3)").str());
  EXPECT_EQ(simplified("floordiv(d1, 2)"), parse("floordiv(d1, 2)").str());
  EXPECT_TRUE(facts.provablyLess(parse("d0 * s0 + d1"), parse("s0 * s1")));
  EXPECT_FALSE(facts.provablyLess(parse("d0 * s0 + d1"), parse("s0 * s1 - 1")));
}

TEST_F(Sizes, TypesCarryDimsOnlyIfTheyMust) {
  Type f32 = Float32Type::get(&context);
  EXPECT_FALSE(getTensorType({parse("4"), parse("8")}, f32).getEncoding());
  RankedTensorType type = getTensorType({parse("s0"), parse("8")}, f32);
  EXPECT_TRUE(type.isDynamicDim(0));
  EXPECT_EQ(getSizes(type)[0], parse("s0"));
  EXPECT_EQ(getNumElements(type), parse("8 * s0"));
  EXPECT_TRUE(type == getTensorType({parse("2 * s0 - s0"), parse("8")}, f32));
}

/// A random expression as a size, with its value computed step by step.
class RandomSizes : public Sizes {
protected:
  struct Pair {
    SizeExpr size;
    std::optional<int64_t> value; // no value after a division by zero or beyond 2^40
  };
  std::optional<int64_t> lookup(StringRef name) {
    auto it = assignment.find(name);
    return it == assignment.end() ? std::nullopt : std::optional<int64_t>(it->second);
  }
  static std::optional<int64_t> small(__int128 value) {
    bool fits = value < (__int128(1) << 40) && value > -(__int128(1) << 40);
    return fits ? std::optional<int64_t>(value) : std::nullopt;
  }
  Pair build(unsigned depth) {
    if (depth == 0 || random() % 6 == 0) {
      if (random() % 3 == 0) {
        int64_t value = static_cast<int64_t>(random() % 17) - 5;
        return {SizeExpr::constant(&context, value), value};
      }
      StringRef name = names[random() % names.size()];
      return {SizeExpr::symbol(&context, name), lookup(name)};
    }
    Pair a = build(depth - 1), b = build(depth - 1);
    bool known = a.value && b.value;
    __int128 x = a.value.value_or(0), y = b.value.value_or(0);
    auto pair = [&](SizeExpr size, __int128 value) {
      return Pair{size, known ? small(value) : std::nullopt};
    };
    switch (random() % 8) {
    case 0:
      return pair(a.size + b.size, x + y);
    case 1:
      return pair(a.size - b.size, x - y);
    case 2:
      return pair(a.size * b.size, x * y);
    case 3:
      return pair(a.size.max(b.size), std::max(x, y));
    case 4:
      return pair(a.size.min(b.size), std::min(x, y));
    default:
      break;
    }
    if (b.size.isConstant(0)) {
      return a;
    }
    known &= y != 0;
    __int128 quotient = y == 0 ? 0 : x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
    if (random() % 2) {
      return pair(a.size.floorDiv(b.size), quotient);
    }
    return pair(a.size.mod(b.size), x - y * quotient);
  }
  std::string shown() {
    std::string text = " where";
    for (StringRef name : names) {
      text += " " + name.str() + " = " + std::to_string(assignment[name]);
    }
    return text + "; " + ranges;
  }
  void expectValue(SizeExpr size, const Pair &pair, StringRef what) {
    auto value = size.evaluate([&](StringRef name) { return lookup(name); });
    // Terms that cancel may overflow or divide by zero only if the plain form does too.
    if (pair.value && value) {
      EXPECT_EQ(*value, *pair.value)
          << what.str() << " of " << pair.size.str() << " is " << size.str() << shown();
    }
    compared += pair.value && value;
  }

  /// Another corpus: --gtest_random_seed=N.
  std::mt19937 random{2026u + testing::UnitTest::GetInstance()->random_seed()};
  std::vector<StringRef> names = {"s0", "s1", "s2", "d0", "d1"};
  llvm::StringMap<int64_t> assignment;
  std::string ranges;
  unsigned compared = 0;
};

TEST_F(RandomSizes, NothingChangesValues) {
  unsigned simplified = 0;
  for (int round = 0; round < 20000; ++round) {
    SizeFacts facts(&context);
    assignment.clear();
    ranges.clear();
    for (StringRef name : {"s0", "s1", "s2"}) {
      int64_t min = random() % 3, max = min + random() % 9;
      bool open = random() % 3 == 0;
      int64_t divisor = random() % 4 == 0 ? 1 + random() % 4 : 1;
      max = (max + divisor - 1) / divisor * divisor;
      min = (min + divisor - 1) / divisor * divisor;
      ranges += name.str() + " in [" + std::to_string(min) + ", " +
                (open ? "..." : std::to_string(max)) + "] ";
      facts.setRange(name, min, open ? std::nullopt : std::optional<int64_t>(max), divisor);
      int64_t steps = (max - min) / divisor;
      assignment[name] = min + divisor * static_cast<int64_t>(random() % (steps + 1));
    }
    // Extents are a symbol or a product; dims are in range if the extent is not empty.
    SizeExpr s0 = SizeExpr::symbol(&context, "s0"), s1 = SizeExpr::symbol(&context, "s1");
    SizeExpr extents[] = {s1, random() % 2 ? s0 : s0 * s1};
    bool empty = false;
    for (int i = 0; i < 2; ++i) {
      int64_t extent = *extents[i].evaluate([&](StringRef name) { return lookup(name); });
      empty |= extent <= 0;
      assignment[names[3 + i]] = extent > 0 ? random() % extent : 0;
      facts.setExtent(SizeSymbolAttr::get(&context, names[3 + i]), extents[i]);
      ranges += names[3 + i].str() + " < " + extents[i].str() + " ";
    }
    if (empty) {
      continue; // no index exists, so no fact about one holds
    }
    // Half of the expressions resemble index arithmetic, which ranges simplify most.
    Pair pair = build(1 + random() % 4);
    if (random() % 2) {
      SizeExpr linear = SizeExpr::dim(&context, 0) * s0 + SizeExpr::dim(&context, 1);
      int64_t value = assignment["d0"] * assignment["s0"] + assignment["d1"];
      int64_t divisor = assignment["s0"];
      if (divisor != 0) {
        Pair index{random() % 2 ? linear.floorDiv(s0) : linear.mod(s0), std::nullopt};
        index.value = index.size == linear.floorDiv(s0) ? value / divisor : value % divisor;
        pair = {pair.size + index.size,
                pair.value ? small(__int128(*pair.value) + *index.value) : std::nullopt};
      }
    }
    expectValue(pair.size, pair, "construction");
    SizeExpr simple = facts.simplify(pair.size);
    simplified += simple != pair.size;
    expectValue(simple, pair, "simplification");
    auto low = facts.lowerBound(pair.size), high = facts.upperBound(pair.size);
    if (pair.value) {
      EXPECT_TRUE(!low || *low <= *pair.value)
          << pair.size.str() << " >= " << *low << " but is " << *pair.value;
      EXPECT_TRUE(!high || *high >= *pair.value)
          << pair.size.str() << " <= " << *high << " but is " << *pair.value;
      EXPECT_TRUE(*pair.value >= 0 || !facts.provablyNonNegative(pair.size))
          << pair.size.str() << " is " << *pair.value;
    }
    // Substituting the values gives the value.
    llvm::StringMap<SizeExpr> constants;
    for (auto &entry : assignment) {
      constants[entry.first()] = SizeExpr::constant(&context, entry.second);
    }
    auto constant = pair.size.substitute(constants).getConstant();
    if (pair.value && constant) {
      EXPECT_EQ(*constant, *pair.value) << pair.size.str();
    }
    expectValue(parse(pair.size.str()), pair, "text");
    if (HasFailure()) {
      break;
    }
  }
  // The test is meaningful only if it compared and simplified many expressions.
  EXPECT_GT(compared, 20000u);
  EXPECT_GT(simplified, 500u);
}

} // namespace
