// The numbers of a plan at a few sizes.
//
// The validator (PlanValidator.h) replays a plan with names for values and with numbers for sizes:
// each size symbol gets a value in each of a few samples, and the int registers of the plan are
// computed from them as the runtime would. Nothing here knows how the plan was made: sizes of the
// graph are evaluated from its own expressions, registers from the plan's own programs.

#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <array>

namespace frit {

/// What an int is taken for that follows from floats or from data.
inline constexpr int64_t kSomeNumber = 3;

/// One number a sample.
class Sampled {
public:
  static constexpr unsigned kMost = 4;

  Sampled(int64_t value = 0) { numbers.fill(value); }
  int64_t operator[](unsigned sample) const { return numbers[sample]; }
  int64_t &operator[](unsigned sample) { return numbers[sample]; }

  /// These wrap: samples that are not in use may hold anything.
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
  /// Chooses sizes that meet the facts about symbols and the guards of the graph: those of the
  /// trace and some that differ from each other.
  PlanSamples(mlir::frit::GraphOp graph, const format::PlanT &plan);

  /// The samples in use; 1 where no size varies.
  unsigned count() const { return samples; }
  bool equal(const Sampled &left, const Sampled &right) const;

  /// A size in the graph's terms.
  Sampled of(mlir::frit::SizeAttr size);
  /// A size in the terms of `parameters`.
  Sampled of(mlir::frit::SizeAttr size, const llvm::StringMap<Sampled> &parameters) const;
  /// An int register. One that nothing has written yet is an error of the plan: nullopt.
  std::optional<Sampled> reg(uint32_t reg) const;

  void define(uint32_t reg, const Sampled &value);
  /// The value of a symbol that only an operator knows, from here on.
  void bind(llvm::StringRef symbol, const Sampled &value);
  /// The value of a symbol; nullopt for one that is not bound yet.
  std::optional<Sampled> symbol(llvm::StringRef name) const;
  /// Runs a scalar program of the plan. What depends on floats gets some small number.
  void run(uint32_t program);

private:
  void choose(mlir::frit::GraphOp graph);
  /// A size at one sample; nullopt where it has a symbol without a value.
  std::optional<int64_t> at(mlir::frit::SizeExpr size, unsigned sample) const;
  bool canBe(mlir::frit::SizeExpr size, unsigned sample) const;
  /// The smallest of `sizes`, ascending, that is not below; else the value itself.
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
