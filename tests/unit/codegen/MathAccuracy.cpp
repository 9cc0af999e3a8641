// Compares every f32 function with docs/generated/math-accuracy.md. The sweep here is a part of
// the one that made the table, so any larger error is a regression. With
// FRIT_WRITE_MATH_TABLE=<path> the whole sweep runs and writes the table.
#include "tests/unit/codegen/CpuKernelRunner.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

using namespace mlir::frit;
using namespace mlir::frit::test;

namespace {

/// The number of mantissas for each exponent and sign, in the table and in the test.
constexpr uint32_t kDense = 2048, kSparse = 64;

struct Function {
  std::string name, op;
  double (*unary)(double);
  double (*binary)(double, double);
  /// Largest error allowed, in units of the last place.
  double bound;
};

double rsqrt(double x) { return 1 / std::sqrt(x); }

using One = double (*)(double);
using Two = double (*)(double, double);

const Function kFunctions[] = {
    {"exp", "math.exp", static_cast<One>(std::exp), nullptr, 2},
    {"exp2", "math.exp2", static_cast<One>(std::exp2), nullptr, 2},
    {"expm1", "math.expm1", static_cast<One>(std::expm1), nullptr, 2},
    {"log", "math.log", static_cast<One>(std::log), nullptr, 2},
    {"log2", "math.log2", static_cast<One>(std::log2), nullptr, 2},
    {"log10", "math.log10", static_cast<One>(std::log10), nullptr, 2},
    {"log1p", "math.log1p", static_cast<One>(std::log1p), nullptr, 2},
    {"sin", "math.sin", static_cast<One>(std::sin), nullptr, 2},
    {"cos", "math.cos", static_cast<One>(std::cos), nullptr, 2},
    {"tan", "math.tan", static_cast<One>(std::tan), nullptr, 4},
    {"asin", "math.asin", static_cast<One>(std::asin), nullptr, 2},
    {"acos", "math.acos", static_cast<One>(std::acos), nullptr, 2},
    {"atan", "math.atan", static_cast<One>(std::atan), nullptr, 2},
    {"sinh", "math.sinh", static_cast<One>(std::sinh), nullptr, 4},
    {"cosh", "math.cosh", static_cast<One>(std::cosh), nullptr, 4},
    {"tanh", "math.tanh", static_cast<One>(std::tanh), nullptr, 2},
    {"asinh", "math.asinh", static_cast<One>(std::asinh), nullptr, 2},
    {"acosh", "math.acosh", static_cast<One>(std::acosh), nullptr, 2},
    {"atanh", "math.atanh", static_cast<One>(std::atanh), nullptr, 2},
    {"erf", "math.erf", static_cast<One>(std::erf), nullptr, 2},
    {"erfc", "math.erfc", static_cast<One>(std::erfc), nullptr, 2},
    {"lgamma", LgammaOp::getOperationName().str(), static_cast<One>(std::lgamma), nullptr, 2},
    {"rsqrt", "math.rsqrt", rsqrt, nullptr, 2},
    {"pow", "math.powf", nullptr, static_cast<Two>(std::pow), 4},
    {"atan2", "math.atan2", nullptr, static_cast<Two>(std::atan2), 2},
};

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Makes arguments with all exponents and signs, and special values.
void makeArguments(bool binary, bool dense, std::vector<float> &x, std::vector<float> &y) {
  auto put = [&](float a, float b) {
    x.push_back(a);
    y.push_back(b);
  };
  uint32_t step = dense ? 1 : kDense / kSparse;
  for (uint32_t sign = 0; sign < 2; ++sign) {
    for (uint32_t exponent = 0; exponent < 255; ++exponent) {
      for (uint32_t k = 0; k < kDense; k += step) {
        uint32_t mantissa = k * 2654435761u >> 9;
        float a = fromBits(sign << 31 | exponent << 23 | mantissa);
        // The second argument: moderate, so that not every power overflows.
        uint32_t other = (k + 1) * 2246822519u + exponent * 3266489917u;
        float b = fromBits((other & 1) << 31 | (119 + (other >> 1) % 14) << 23 | other >> 9);
        put(a, binary ? b : 0);
      }
    }
  }
  const float special[] = {0.f,    -0.f,   1.f,     -1.f,           INFINITY, -INFINITY,
                           NAN,    1e-45f, -1e-45f, 1.1754942e-38f, 3.4e38f,  -3.4e38f,
                           0.5f,   2.f,    3.f,     -2.f,           -3.f,     88.7f,
                           88.73f, -104.f, -103.9f, 0.6f,           4.f,      0.25f};
  for (float a : special) {
    for (float b : special) {
      put(a, b);
    }
  }
}

struct Worst {
  double error = 0;
  float x = 0, y = 0;
  std::string failure;
};

void compare(Worst &worst, const Function &function, float x, float y, float actual) {
  double exact = function.unary ? function.unary(x) : function.binary(x, y);
  float expected = static_cast<float>(exact);
  auto fail = [&] {
    std::ostringstream text;
    text << function.name << '(' << x << (function.binary ? ", " + std::to_string(y) : "")
         << ") is " << expected << ", not " << actual;
    worst.failure = text.str();
  };
  if (std::isnan(expected) || std::isnan(actual)) {
    return std::isnan(expected) == std::isnan(actual) ? void() : fail();
  }
  if (std::isinf(expected) || std::isinf(actual)) {
    // The largest float and infinity count as neighbours.
    bool near = std::abs(exact) >= 0x1.fffff8p127 && std::abs(actual) >= 0x1.fffff8p127f;
    return expected == actual || (near && std::signbit(expected) == std::signbit(actual)) ? void()
                                                                                          : fail();
  }
  if (expected == 0 && actual == 0) {
    return std::signbit(expected) == std::signbit(actual) ? void() : fail();
  }
  double ulp = std::abs(exact) < 0x1p-126 ? 0x1p-149 : std::ldexp(1.0, std::ilogb(exact) - 23);
  double error = std::abs(actual - exact) / ulp;
  if (error > worst.error) {
    worst.error = error;
    worst.x = x;
    worst.y = y;
  }
}

Worst measure(const Function &function, CpuLevel level, const std::vector<float> &x,
              const std::vector<float> &y) {
  std::string type = "tensor<?xf32, #frit.dims<[p0]>>";
  std::string second = function.binary ? ", %y" : "";
  CpuKernelRunner kernel(
      "frit.kernel @k(%x: " + type + ", %y: " + type + ") -> " + type +
          " attributes {symbols = [#frit.symbol<\"p0\", min = 0>]} {\n %0 = " + function.op +
          " %x" + second + " : " + type + "\n frit.yield %0 : " + type + "\n}",
      level);
  Worst worst;
  if (!kernel.isValid()) {
    worst.failure = function.name + " does not compile";
    return worst;
  }
  std::vector<float> result(x.size());
  std::vector<float> first = x, other = y;
  kernel.run({first.data(), other.data(), result.data()}, {static_cast<int64_t>(x.size())});
  for (size_t i = 0; i < x.size(); ++i) {
    compare(worst, function, x[i], y[i], result[i]);
  }
  return worst;
}

std::string tablePath() {
  return std::string(FRIT_SOURCE_DIR) + "/docs/generated/math-accuracy.md";
}

std::map<std::string, double> readTable() {
  std::map<std::string, double> table;
  std::ifstream file(tablePath());
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::string bar, name;
    double error;
    if (cells >> bar >> name >> bar >> error && bar == "|") {
      table[name] = error;
    }
  }
  return table;
}

void writeTable(const char *path) {
  std::ofstream file(path);
  file << "# Accuracy of the CPU's f32 functions\n\n"
          "Largest error in units of the last place against the f64 function of libm, over every\n"
          "exponent and sign with "
       << kDense
       << " mantissas each, on AVX2 and AVX-512 alike. Zeros, infinities,\n"
          "NaN and denormals agree with libm exactly. Functions of f64 arguments are libm's own, "
          "called\n"
          "through the runtime. `tests/unit/codegen/MathAccuracy.cpp` measures and holds this "
          "table.\n\n"
          "| function | error, ulp | at | bound |\n|---|---|---|---|\n";
  for (const Function &function : kFunctions) {
    std::vector<float> x, y;
    makeArguments(function.binary, /*dense=*/true, x, y);
    Worst worst;
    for (CpuLevel level : getLevels()) {
      Worst one = measure(function, level, x, y);
      EXPECT_EQ(one.failure, "");
      worst = one.error > worst.error ? one : worst;
    }
    char line[160];
    snprintf(line, sizeof(line), "| %s | %.3f | %a%s | %g |\n", function.name.c_str(),
             std::ceil(worst.error * 1000) / 1000, worst.x,
             function.binary
                 ? (std::ostringstream() << ", " << std::hexfloat << worst.y).str().c_str()
                 : "",
             function.bound);
    file << line;
  }
}

} // namespace

TEST(MathAccuracy, EveryFunctionKeepsItsRowOfTheTable) {
  if (const char *path = std::getenv("FRIT_WRITE_MATH_TABLE")) {
    writeTable(path);
    return;
  }
  auto table = readTable();
  for (const Function &function : kFunctions) {
    ASSERT_TRUE(table.count(function.name)) << function.name << " has no row in " << tablePath();
    EXPECT_LE(table[function.name], function.bound) << function.name;
    std::vector<float> x, y;
    makeArguments(function.binary, /*dense=*/false, x, y);
    for (CpuLevel level : getLevels()) {
      Worst worst = measure(function, level, x, y);
      EXPECT_EQ(worst.failure, "");
      EXPECT_LE(worst.error, table[function.name])
          << function.name << " at " << worst.x << ", " << worst.y;
    }
  }
}
