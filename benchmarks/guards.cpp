// Measures the evaluation of all guards of a large graph after a size has changed: 100 symbols, 300
// guards of all kinds over sizes, every second of them over a product or a sum. `frit_bench_guards`
// prints the figures; no test depends on them.

#include "runtime/artifact/ArtifactBuilder.h"
#include "runtime/plan/DecodedPlan.h"
#include "runtime/plan/ScalarProgram.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>

namespace {

using namespace frit;
using format::Op;

constexpr uint32_t kSymbols = 100, kGuards = 300;

/// Code and registers as the compiler lays them out.
struct Guards {
  std::vector<format::Instruction> code;
  std::vector<int64_t> ints;
  uint32_t first = 0;

  Guards() {
    PlanBuilder builder;
    uint32_t program = builder.newProgram();
    std::vector<uint32_t> symbols;
    for (uint32_t i = 0; i < kSymbols; ++i) {
      symbols.push_back(builder.newInt());
    }
    first = symbols.back() + 1;
    for (uint32_t i = 0; i < kGuards; ++i) {
      builder.newInt();
    }
    std::vector<format::Instruction> guards;
    for (uint32_t i = 0; i < kGuards; ++i) {
      uint32_t a = symbols[i % kSymbols], b = symbols[(i * 7 + 1) % kSymbols];
      uint32_t size = i % 2   ? a
                      : i % 4 ? builder.emit(program, Op::Mul, a, b)
                              : builder.emit(program, Op::Add, a, b);
      auto add = [&](Op op, uint32_t x, uint32_t y, uint32_t z = 0) {
        guards.emplace_back(op, 0, x, y, z);
      };
      switch (i % 5) {
      case 0:
        add(Op::InRange, size, builder.intConstant(2), builder.intConstant(1 << 20));
        break;
      case 1:
        add(Op::Eq, a, b);
        break;
      case 2:
        add(Op::NoBits, size, builder.intConstant(7));
        break;
      case 3:
        add(Op::InRange, size, builder.intConstant(0), builder.intConstant((int64_t(1) << 31) - 1));
        break;
      default:
        i % 25 == 4 ? add(Op::Divides, size, builder.intConstant(48))
                    : add(Op::NoBits, size, builder.intConstant(15));
      }
    }
    std::stable_sort(guards.begin(), guards.end(),
                     [](const auto &one, const auto &other) { return one.op() < other.op(); });
    for (uint32_t i = 0; i < kGuards; ++i) {
      builder.emitTo(program, first + i, guards[i].op(), guards[i].a(), guards[i].b(),
                     guards[i].c());
    }
    auto plan = builder.take();
    ints.resize(plan->int_count);
    for (const auto &constant : plan->int_constants) {
      ints[constant.reg()] = constant.value();
    }
    code = plan->programs[program]->code;
    setSymbols(48);
  }
  void setSymbols(int64_t value) {
    for (uint32_t i = 0; i < kSymbols; ++i) {
      ints[i] = value;
    }
  }
};

void evaluateAllGuards(benchmark::State &state) {
  Guards guards;
  int64_t round = 0;
  for (auto _ : state) {
    guards.setSymbols(48 * (1 + (++round & 3)));
    bool fine = runProgram(guards.code, guards.ints.data(), nullptr) == ScalarError::None &&
                allHold({guards.ints.data() + guards.first, kGuards});
    if (!fine) {
      std::abort();
    }
    benchmark::DoNotOptimize(fine);
  }
  state.counters["instructions"] = static_cast<double>(guards.code.size());
}
BENCHMARK(evaluateAllGuards)->Unit(benchmark::kNanosecond);

} // namespace

BENCHMARK_MAIN();
