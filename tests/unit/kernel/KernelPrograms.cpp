#include "kernel/KernelProgram.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::frit;

namespace {

/// The program's text, or the first diagnostic.
std::string analyse(StringRef text, bool joinReads = false, bool splits = false) {
  DialectRegistry registry;
  registry.insert<FritDialect, arith::ArithDialect, math::MathDialect, tensor::TensorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string result;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    result = result.empty() ? diagnostic.str() : result;
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    return "does not parse: " + result;
  }
  auto program = KernelProgram::build(*module->getOps<KernelOp>().begin(), joinReads);
  if (succeeded(program)) {
    if (splits) {
      program->splitUnknownDims();
    }
    llvm::raw_string_ostream os(result);
    program->print(os);
  }
  return result;
}

TEST(KernelPrograms, ViewsBecomeAddressesAndDimsCollapse) {
  // A flip, a slice and a reshape that cancel; b is read along the rows.
  EXPECT_EQ(analyse(R"(
    frit.kernel @k(%x: tensor<4x6x8xf32>, %b: tensor<4xf32>) -> tensor<4x48xf32> {
      %r = frit.reshape %x : tensor<4x6x8xf32> -> tensor<4x48xf32>
      %f = frit.reindex %b <(d0, d1) -> (3 - d0)> : tensor<4xf32> -> tensor<4x48xf32>
      %y = arith.addf %r, %f : tensor<4x48xf32>
      frit.yield %y : tensor<4x48xf32>
    })"),
            "domain [4, 48]\n"
            "%0 = load arg1[-d0 + 3] : f32 dims {0} level 0\n"
            "%1 = load arg0[48 * d0 + d1] : f32 dims {0,1} level 0\n"
            "%2 = apply arith.addf %1, %0 : f32 dims {0,1} level 0\n"
            "store %2 -> result 0[48 * d0 + d1]\n");
}

TEST(KernelPrograms, ResultsOfTwoOrdersReadTheirOperandOnce) {
  // x and its transpose; the schedule's domain fits both orders of elements.
  StringRef both = R"(
    frit.kernel @k(%x: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>)
        attributes {schedule = #frit.schedule<pointwise, <[4, 6]>, reduced 0>, symbols = []} {
      %n = arith.negf %x : tensor<6x4xf32>
      %a = math.absf %x : tensor<6x4xf32>
      %t = frit.reindex %a <(d0, d1) -> (d1, d0)> : tensor<6x4xf32> -> tensor<4x6xf32>
      frit.yield %n, %t : tensor<6x4xf32>, tensor<4x6xf32>
    })";
  auto count = [](StringRef text, StringRef what) { return text.count(what); };
  std::string joined = analyse(both, true);
  EXPECT_EQ(count(joined, "= load"), 1u) << joined;
  EXPECT_EQ(count(analyse(both), "= load"), 2u);
  // For a square every order of elements fits, and one of them reads x once.
  StringRef square = R"(
    frit.kernel @k(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
      %n = arith.negf %x : tensor<8x8xf32>
      %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<8x8xf32> -> tensor<8x8xf32>
      frit.yield %n, %t : tensor<8x8xf32>, tensor<8x8xf32>
    })";
  EXPECT_EQ(analyse(square, true), "domain [8, 8]\n"
                                   "%0 = load arg0[8 * d0 + d1] : f32 dims {0,1} level 0\n"
                                   "%1 = apply arith.negf %0 : f32 dims {0,1} level 0\n"
                                   "store %1 -> result 0[8 * d0 + d1]\n"
                                   "store %0 -> result 1[d0 + 8 * d1]\n");
  // Unchanged if an operand is already read in the order of elements, or if no order of dims merges
  // the reads.
  for (StringRef map :
       {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (7 - d0, d1)", "(d0, d1) -> (d0, d0)"}) {
    std::string text =
        ("frit.kernel @k(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {\n"
         "  %n = arith.negf %x : tensor<8x8xf32>\n"
         "  %t = frit.reindex %x <" +
         map +
         "> : tensor<8x8xf32> -> tensor<8x8xf32>\n"
         "  frit.yield %n, %t : tensor<8x8xf32>, tensor<8x8xf32>\n}")
            .str();
    EXPECT_EQ(analyse(text, true), analyse(text)) << map.str();
  }
}

TEST(KernelPrograms, EqualPiecesAreStoredAtEveryPoint) {
  EXPECT_EQ(analyse(R"(
    frit.kernel @k(%x: tensor<5x4xf32>) -> tensor<5x8xf32>
        attributes {schedule = #frit.schedule<pointwise, <[5, 4]>, reduced 0>, symbols = []} {
      %n = arith.negf %x : tensor<5x4xf32>
      %c = frit.concat %x, %n dim 1 : tensor<5x4xf32>, tensor<5x4xf32> -> tensor<5x8xf32>
      frit.yield %c : tensor<5x8xf32>
    })"),
            "domain [5, 4]\n"
            "%0 = load arg0[4 * d0 + d1] : f32 dims {0,1} level 0\n"
            "%1 = apply arith.negf %0 : f32 dims {0,1} level 0\n"
            "store %0 -> result 0[8 * d0 + d1]\n"
            "store %1 -> result 0[8 * d0 + d1 + 4]\n");
}

TEST(KernelPrograms, DimsThatAreDividedByUnknownSizesAreParted) {
  auto split = [](StringRef text) { return analyse(text, false, true); };
  std::string head = "attributes {symbols = [#frit.symbol<\"p0\", min = 2>, #frit.symbol<\"p1\", "
                     "min = 2>, #frit.symbol<\"p2\", min = 2>]} {";
  // Rows of all pairs, and copies of rows, which have only one divisor.
  EXPECT_EQ(split(R"(
    frit.kernel @k(%x: tensor<?x?xf32, #frit.dims<[p0, p2]>>) -> tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>> )" +
                  head + R"(
      %a = frit.reindex %x <(d0, d1) -> (floordiv(d0, p1), d1)> : tensor<?x?xf32, #frit.dims<[p0, p2]>> -> tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>
      frit.yield %a : tensor<?x?xf32, #frit.dims<[p0 * p1, p2]>>
    })"),
            "domain [p0, p1, p2]\n"
            "%0 = load arg0[d0 * p2 + d2] : f32 dims {0,2} level 0\n"
            "store %0 -> result 0[d0 * p1 * p2 + d1 * p2 + d2]\n");
  EXPECT_EQ(split(R"(
    frit.kernel @k(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0 * p2, p1]>> )" +
                  head + R"(
      %a = frit.reindex %x <(d0, d1) -> (mod(d0, p0), d1)> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x?xf32, #frit.dims<[p0 * p2, p1]>>
      frit.yield %a : tensor<?x?xf32, #frit.dims<[p0 * p2, p1]>>
    })"),
            "domain [p2, p0 * p1]\n"
            "%0 = load arg0[d1] : f32 dims {1} level 0\n"
            "store %0 -> result 0[d0 * p0 * p1 + d1]\n");
  // Two divisors, one of which divides the other.
  EXPECT_EQ(split(R"(
    frit.kernel @k(%x: tensor<?xf32, #frit.dims<[p0]>>, %y: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %z: tensor<3xf32>) -> tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>> )" +
                  head + R"(
      %a = frit.reindex %x <(d0, d1) -> (floordiv(d0, p1 * p2))> : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>>
      %b = frit.reindex %y <(d0, d1) -> (floordiv(d0, p1 * p2), mod(floordiv(d0, p2), p1))> : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>>
      %c = frit.reindex %z <(d0, d1) -> (d1)> : tensor<3xf32> -> tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>>
      %d = arith.addf %a, %b : tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>>
      %e = arith.addf %d, %c : tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>>
      frit.yield %e : tensor<?x3xf32, #frit.dims<[p0 * p1 * p2, 3]>>
    })")
                .substr(0, 25),
            "domain [p0, p1, p2, 3]\n%0");
  // Not split: along the lanes for one number per row; by a number that does not divide the dim; by
  // a known size. Copies of a row along the lanes are split only for long rows.
  auto domainOf = [&](const std::string &size, const std::string &from, const std::string &index,
                      const std::string &hint) {
    std::string type = "tensor<?xf32, #frit.dims<[" + size + "]>>",
                source = "tensor<?xf32, #frit.dims<[" + from + "]>>";
    std::string text =
        split("frit.kernel @k(%x: " + source + ", %y: " + type + ") -> " + type +
              " attributes {symbols = [#frit.symbol<\"p0\", min = 2, hint = 1000>, "
              "#frit.symbol<\"p1\", min = 2, hint = " +
              hint + ">]} {\n%a = frit.reindex %x <(d0) -> (" + index + ")> : " + source + " -> " +
              type + "\n%b = arith.addf %a, %y : " + type + "\nfrit.yield %b : " + type + "\n}");
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(domainOf("p0 * p1", "p0", "floordiv(d0, p1)", "1000"), "domain [p0 * p1]");
  EXPECT_EQ(domainOf("p0", "p0", "floordiv(d0, p1)", "1000"), "domain [p0]");
  EXPECT_EQ(domainOf("3 * p0", "p0", "floordiv(d0, 3)", "1000"), "domain [3 * p0]");
  EXPECT_EQ(domainOf("p0 * p1", "p1", "mod(d0, p1)", "1000"), "domain [p0, p1]");
  EXPECT_EQ(domainOf("p0 * p1", "p1", "mod(d0, p1)", "16"), "domain [p0 * p1]");
}

TEST(KernelPrograms, ReductionsAreLevelled) {
  std::string text = analyse(R"(
    frit.kernel @k(%x: tensor<4x8x3xf32>) -> tensor<4x8x3xf32> {
      %m = frit.reduce <max> %x dims [1] : tensor<4x8x3xf32> -> tensor<4x3xf32>
      %mb = frit.reindex %m <(d0, d1, d2) -> (d0, d2)> : tensor<4x3xf32> -> tensor<4x8x3xf32>
      %y = arith.subf %x, %mb : tensor<4x8x3xf32>
      frit.yield %y : tensor<4x8x3xf32>
    })");
  EXPECT_NE(text.find("domain [4, 3 | 8]"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce max"), std::string::npos) << text;
  EXPECT_NE(text.find("level 1"), std::string::npos) << text;
  EXPECT_NE(text.find("store %2 -> result 0[24 * d0 + d1 + 3 * d2]"), std::string::npos) << text;
}

TEST(KernelPrograms, ReductionReadAtAnotherRowIsRefused) {
  std::string text = analyse(R"(
    frit.kernel @k(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %m = frit.reduce <max> %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
      %f = frit.reindex %m <(d0) -> (3 - d0)> : tensor<4xf32> -> tensor<4xf32>
      %y = arith.addf %m, %f : tensor<4xf32>
      frit.yield %m, %y : tensor<4xf32>, tensor<4xf32>
    })");
  EXPECT_NE(text.find("read at another row"), std::string::npos) << text;
}

/// Writes one row after the other into the second operand: each write is a concatenation of the
/// part before the row, the row, and the part after it.
std::string rowWrites(unsigned count) {
  std::string text = "frit.kernel @k(%r: tensor<1xf32>, %o0: tensor<64xf32>) -> tensor<64xf32> {\n";
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i), before = "tensor<" + std::to_string(i + 1) + "xf32>",
                behind = "tensor<" + std::to_string(62 - i) + "xf32>";
    text += "%a" + n + " = frit.reindex %o" + n + " <(d0) -> (d0)> : tensor<64xf32> -> " + before +
            "\n%b" + n + " = frit.reindex %o" + n + " <(d0) -> (d0 + " + std::to_string(i + 2) +
            ")> : tensor<64xf32> -> " + behind + "\n%o" + std::to_string(i + 1) +
            " = frit.concat %a" + n + ", %r, %b" + n + " dim 0 : " + before + ", tensor<1xf32>, " +
            behind + " -> tensor<64xf32>\n";
  }
  return text + "frit.yield %o" + std::to_string(count) + " : tensor<64xf32>\n}";
}

TEST(KernelPrograms, PiecesThatNoPlaceReadsAreLeftOut) {
  auto lines = [](unsigned count) { return StringRef(analyse(rowWrites(count))).count('\n'); };
  EXPECT_LT(lines(4), 40u) << analyse(rowWrites(4));
  EXPECT_LE(lines(32), 8 * lines(4));
}

TEST(KernelPrograms, TooManyValuesAreRefused) {
  // Pieces of unknown sizes: each may contain any part of earlier pieces.
  std::string sizes = "#frit.dims<[p0]>", type = "tensor<?xf32, " + sizes + ">";
  std::string low = "tensor<?xf32, #frit.dims<[p0 - 5]>>";
  std::string text = "frit.kernel @k(%o0: " + type + ") -> " + type +
                     " attributes {symbols = [#frit.symbol<\"p0\", min = 6>]} {\n";
  for (unsigned i = 0; i < 18; ++i) {
    std::string n = std::to_string(i);
    text += "%a" + n + " = frit.reindex %o" + n + " <(d0) -> (d0 + 5)> : " + type + " -> " + low +
            "\n%b" + n + " = frit.reindex %o" + n + " <(d0) -> (d0)> : " + type +
            " -> tensor<5xf32>\n%o" + std::to_string(i + 1) + " = frit.concat %a" + n + ", %b" + n +
            " dim 0 : " + low + ", tensor<5xf32> -> " + type + "\n";
  }
  EXPECT_EQ(analyse(text + "frit.yield %o18 : " + type + "\n}"),
            "kernel 'k' computes more than 20000 values");
}

TEST(KernelPrograms, ResultsOfDifferentSizesAreRefused) {
  std::string text = analyse(R"(
    frit.kernel @k(%x: tensor<4x8xf32>, %z: tensor<5xf32>) -> (tensor<4x8xf32>, tensor<5xf32>) {
      %y = arith.addf %x, %x : tensor<4x8xf32>
      %w = arith.addf %z, %z : tensor<5xf32>
      frit.yield %y, %w : tensor<4x8xf32>, tensor<5xf32>
    })");
  EXPECT_NE(text.find("equally many"), std::string::npos) << text;
}

} // namespace
