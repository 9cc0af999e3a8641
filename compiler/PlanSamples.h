// The int registers of a plan at a few sample sizes.
//
// The validator (PlanValidator.h) replays a plan with names for values and numbers for sizes: each
// size symbol gets a value in each of a few samples, and the plan's int registers are computed from
// them as the runtime would. It is independent of the plan's writer: sizes of the graph are
// evaluated from the graph's expressions, registers from the plan's programs.

#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <array>

namespace frit {

/// Stands for an int that follows from floats or from data.
inline constexpr int64_t kSomeNumber = 3;

/// A number for each sample.
class Sampled {
public:
  static constexpr unsigned kMost = 4;

  Sampled(int64_t value = 0) { numbers.fill(value); }
  int64_t operator[](unsigned sample) const { return numbers[sample]; }
  int64_t &operator[](unsigned sample) { return numbers[sample]; }

  /// These wrap around, because unused samples may hold any value.
  friend Sampled operator+(const Sampled &a, const Sampled &b) {
    return a.with(b, [](uint64_t x, uint64_t y) { return x + y; });
  }
  friend Sampled operator-(const Sampled &a, const Sampled &b) {
    return a.with(b, [](uint64_t x, uint64_t y) { return x - y; });
  }
  friend Sampled operator*(const Sampled &a, const Sampled &b) {
    return a.with(b, [](uint64_t x, uint64_t y) { return x * y; });
  }

private:
  template <typename F> Sampled with(const Sampled &other, F &&operation) const {
    Sampled result;
    for (unsigned sample = 0; sample != kMost; ++sample) {
      result[sample] = static_cast<int64_t>(operation(numbers[sample], other[sample]));
    }
    return result;
  }

  std::array<int64_t, kMost> numbers;
};

class PlanSamples {
public:
  /// Chooses sizes that satisfy the facts about symbols and the guards of the graph: those of the
  /// trace and some that differ from each other.
  PlanSamples(mlir::frit::GraphOp graph, const format::PlanT &plan);

  /// The number of samples in use; 1 if no size is dynamic.
  unsigned count() const { return samples; }
  bool equal(const Sampled &left, const Sampled &right) const;

  /// A size in terms of the graph's symbols.
  Sampled of(mlir::frit::SizeAttr size);
  /// A size in terms of `parameters`.
  Sampled of(mlir::frit::SizeAttr size, const llvm::StringMap<Sampled> &parameters) const;
  /// An int register; nullopt if it is not written yet, which is an error of the plan.
  std::optional<Sampled> reg(uint32_t reg) const;

  void define(uint32_t reg, const Sampled &value);
  /// Sets the value of a symbol that only an operator knows.
  void bind(llvm::StringRef symbol, const Sampled &value);
  /// The value of a symbol; nullopt if it is not bound yet.
  std::optional<Sampled> symbol(llvm::StringRef name) const;
  /// Runs a scalar program of the plan. Results that depend on floats get kSomeNumber.
  void run(uint32_t program);

private:
  void choose(mlir::frit::GraphOp graph);
  /// A size at one sample; nullopt if it has a symbol without a value.
  std::optional<int64_t> at(mlir::frit::SizeExpr size, unsigned sample) const;
  bool canBe(mlir::frit::SizeExpr size, unsigned sample) const;
  /// The smallest of `sizes` (ascending) that is not below `value`; otherwise the value itself.
  Sampled roundedUp(Sampled value, llvm::ArrayRef<int64_t> sizes) const;
  bool holds(mlir::frit::AssumptionAttr assumption, unsigned sample);
  void readInputs(mlir::frit::GraphOp graph);

  const format::PlanT &plan;
  unsigned samples = 1;
  llvm::StringMap<Sampled> symbols;
  llvm::DenseMap<mlir::Attribute, Sampled> known;
  std::vector<std::optional<Sampled>> ints;
};

} // namespace frit
