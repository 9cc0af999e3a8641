#include "compiler/PlanSamples.h"
#include "ir/FritAttributes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::Op;

PlanSamples::PlanSamples(GraphOp graph, const format::PlanT &plan)
    : plan(plan), ints(plan.int_count) {
  choose(graph);
  readInputs(graph);
}

bool PlanSamples::equal(const Sampled &left, const Sampled &right) const {
  for (unsigned sample = 0; sample != samples; ++sample) {
    if (left[sample] != right[sample]) {
      return false;
    }
  }
  return true;
}

/// Proposes a value of a symbol for a sample: odd and even ones and multiples of a vector,
/// different for each symbol.
static int64_t proposed(SymbolAttr symbol, unsigned number, unsigned sample) {
  static constexpr std::array<int64_t, 8> kOdd = {5, 7, 11, 13, 17, 19, 23, 29};
  int64_t value = 0;
  switch (sample) {
  case 0:
    value = symbol.getHint().value_or(kOdd[number % kOdd.size()]);
    break;
  case 1:
    value = kOdd[number % kOdd.size()];
    break;
  case 2:
    value = 16 * (static_cast<int64_t>(number) + 2);
    break;
  default:
    value = 2 + static_cast<int64_t>(number);
    break;
  }
  int64_t divisor = std::max<int64_t>(symbol.getDivisor(), 1);
  value = std::max(value, symbol.getMin());
  value = (value + divisor - 1) / divisor * divisor;
  if (symbol.getMax() && value > *symbol.getMax()) {
    value = *symbol.getMax() / divisor * divisor;
  }
  return value;
}

/// The value of a size at a sample of `parameters`.
static std::optional<int64_t> evaluate(SizeExpr size, const llvm::StringMap<Sampled> &parameters,
                                       unsigned sample) {
  return size.evaluate([&](StringRef name) -> std::optional<int64_t> {
    auto found = parameters.find(name);
    return found == parameters.end() ? std::nullopt : std::optional(found->second[sample]);
  });
}

std::optional<int64_t> PlanSamples::at(SizeExpr size, unsigned sample) const {
  return evaluate(size, symbols, sample);
}

Sampled PlanSamples::roundedUp(Sampled value, ArrayRef<int64_t> sizes) const {
  for (unsigned sample = 0; sample != samples; ++sample) {
    auto fits = llvm::find_if(sizes, [&](int64_t size) { return size >= value[sample]; });
    value[sample] = fits == sizes.end() ? value[sample] : *fits;
  }
  return value;
}

bool PlanSamples::holds(AssumptionAttr assumption, unsigned sample) {
  auto size = [&](unsigned number) { return at(assumption.getSizes()[number], sample); };
  switch (assumption.getKind()) {
  case GuardKind::Equal: {
    auto a = size(0), b = size(1);
    return !a || !b || *a == *b;
  }
  case GuardKind::Range: {
    auto a = size(0), low = size(1), high = size(2);
    return !a || !low || !high || (*low <= *a && *a <= *high);
  }
  case GuardKind::Divisor: {
    auto a = size(0), divisor = size(1);
    return !a || !divisor || *divisor == 0 || *a % *divisor == 0;
  }
  default:
    return true;
  }
}

/// The sizes of all tensors of a graph that are not constants.
static llvm::SetVector<SizeAttr> sizesOfTensors(GraphOp graph) {
  llvm::SetVector<SizeAttr> sizes;
  auto add = [&](TypeRange types) {
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || tensor.hasStaticShape()) {
        continue;
      }
      for (SizeExpr size : getSizes(tensor)) {
        if (!size.getConstant()) {
          sizes.insert(size);
        }
      }
    }
  };
  add(graph.getArgumentTypes());
  for (Operation &op : graph.getBody().front()) {
    add(op.getResultTypes());
  }
  return sizes;
}

/// Whether a tensor may have this size: it is not negative and divides by no zero. Sizes with
/// symbols that only an operator knows are accepted.
bool PlanSamples::canBe(SizeExpr size, unsigned sample) const {
  bool isKnown = true;
  std::optional<int64_t> value = size.evaluate([&](StringRef name) -> std::optional<int64_t> {
    auto found = symbols.find(name);
    isKnown &= found != symbols.end();
    return found == symbols.end() ? std::nullopt : std::optional(found->second[sample]);
  });
  return !isKnown || value.value_or(-1) >= 0;
}

void PlanSamples::choose(GraphOp graph) {
  SmallVector<SymbolAttr> free;
  for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
    // A size that only an operator knows gets its value where it is bound. (torch also calls a
    // dimension of an argument unbacked.)
    bool isBound = llvm::any_of(plan.symbols,
                                [&](const auto &bound) { return bound->name == symbol.getName(); });
    if (symbol.getBucketOf().empty() && (isBound || !symbol.getUnbacked())) {
      free.push_back(symbol);
    }
  }
  if (free.empty()) {
    return;
  }
  SmallVector<AssumptionAttr> guards;
  for (auto guard : graph.getBody().front().getOps<GuardOp>()) {
    guards.push_back(guard.getAssumption());
  }
  llvm::SetVector<SizeAttr> sizes = sizesOfTensors(graph);
  samples = 0;
  for (unsigned candidate = 0; candidate != Sampled::kMost; ++candidate) {
    for (auto [number, symbol] : llvm::enumerate(free)) {
      symbols[symbol.getName()][samples] = proposed(symbol, number, candidate);
    }
    bool comes = llvm::all_of(sizes, [&](SizeExpr size) { return canBe(size, samples); });
    // The sizes of the trace are always accepted: a guard may follow from facts that only torch
    // knows.
    if (candidate == 0 ||
        (comes && llvm::all_of(guards, [&](AssumptionAttr one) { return holds(one, samples); }))) {
      ++samples;
    }
  }
  for (auto bucket : graph.getSymbols().getAsRange<SymbolAttr>()) {
    auto of = llvm::find_if(
        free, [&](SymbolAttr symbol) { return symbol.getName() == bucket.getBucketOf(); });
    if (of != free.end()) {
      symbols[bucket.getName()] = roundedUp(symbols[of->getName()], of->getBuckets());
    }
  }
}

void PlanSamples::readInputs(GraphOp graph) {
  for (const format::IntConstant &constant : plan.int_constants) {
    define(constant.reg(), constant.value());
  }
  for (const auto &bound : plan.symbols) {
    if (auto value = symbol(bound->name)) {
      define(bound->reg, *value);
    }
  }
  for (const auto &bucket : plan.buckets) {
    if (auto symbol = reg(bucket->symbol)) {
      define(bucket->dst, roundedUp(*symbol, bucket->sizes));
    }
  }
  unsigned number = 0;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    if (kArgumentConstantAttr.isOn(graph, argument.getArgNumber()) ||
        number >= plan.inputs.size()) {
      continue;
    }
    const format::InputT &input = *plan.inputs[number++];
    bool isInt = input.kind == format::InputKind::Int || input.kind == format::InputKind::Bool;
    uint32_t target = isInt                                           ? input.reg
                      : input.kind == format::InputKind::ScalarTensor ? input.scalar
                                                                      : kNoRegister;
    if (target >= ints.size() || ints[target]) {
      continue;
    }
    auto size = kArgumentSizeAttr.get(graph, argument.getArgNumber());
    define(target, isInt && size ? of(size) : Sampled(kSomeNumber));
  }
  if (plan.size_program != kNoRegister) {
    run(plan.size_program);
  }
}

std::optional<Sampled> PlanSamples::symbol(StringRef name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? std::nullopt : std::optional(found->second);
}

void PlanSamples::bind(StringRef symbol, const Sampled &value) {
  // Sizes computed without this value are stale.
  known.clear();
  symbols[symbol] = value;
}

void PlanSamples::define(uint32_t reg, const Sampled &value) {
  if (reg < ints.size()) {
    ints[reg] = value;
  }
}

std::optional<Sampled> PlanSamples::reg(uint32_t reg) const {
  return reg < ints.size() ? ints[reg] : std::nullopt;
}

Sampled PlanSamples::of(SizeAttr size) {
  if (auto constant = SizeExpr(size).getConstant()) {
    return *constant;
  }
  auto [entry, isNew] = known.try_emplace(size);
  if (isNew) {
    entry->second = of(size, symbols);
  }
  return entry->second;
}

Sampled PlanSamples::of(SizeAttr size, const llvm::StringMap<Sampled> &parameters) const {
  Sampled value;
  for (unsigned sample = 0; sample != samples; ++sample) {
    value[sample] = evaluate(size, parameters, sample).value_or(kSomeNumber);
  }
  return value;
}

/// Evaluates one instruction on ints; nullopt for one that reads floats.
static std::optional<int64_t> compute(Op op, int64_t a, int64_t b, int64_t c) {
  auto wrap = [](auto f) { return static_cast<int64_t>(f); };
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
  case Op::Add:
    return wrap(ua + ub);
  case Op::Sub:
    return wrap(ua - ub);
  case Op::Mul:
    return wrap(ua * ub);
  case Op::FloorDiv:
    return b == 0 ? 0 : llvm::divideFloorSigned(a, b);
  case Op::Mod:
    return b == 0 ? a : a - b * llvm::divideFloorSigned(a, b);
  case Op::TruncDiv:
    return b == 0 ? 0 : a / b;
  case Op::TruncRem:
    return b == 0 ? 0 : a % b;
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  case Op::And:
    return a & b;
  case Op::Or:
    return a | b;
  case Op::Xor:
    return a ^ b;
  case Op::Eq:
    return a == b;
  case Op::Ne:
    return a != b;
  case Op::Lt:
    return a < b;
  case Op::Le:
    return a <= b;
  case Op::Gt:
    return a > b;
  case Op::Ge:
    return a >= b;
  case Op::Neg:
    return wrap(0 - ua);
  case Op::Abs:
    return a < 0 ? wrap(0 - ua) : a;
  case Op::Not:
    return a == 0;
  case Op::BitNot:
    return ~a;
  case Op::Move:
    return a;
  case Op::Select:
    return a != 0 ? b : c;
  case Op::InRange:
    return b <= a && a <= c;
  case Op::Divides:
    return b != 0 && a % b == 0;
  case Op::NoBits:
    return (a & b) == 0;
  default:
    return std::nullopt;
  }
}

void PlanSamples::run(uint32_t number) {
  if (number >= plan.programs.size()) {
    return;
  }
  for (const format::Instruction &instruction : plan.programs[number]->code) {
    auto operand = [&](uint32_t reg) {
      return reg < ints.size() && ints[reg] ? *ints[reg] : Sampled(kSomeNumber);
    };
    bool onInts = compute(instruction.op(), 1, 1, 1).has_value();
    bool toInt = onInts || instruction.op() == Op::FloatToInt ||
                 instruction.op() == Op::PythonInt || instruction.op() == Op::FloatToBool ||
                 instruction.op() == Op::FIsNan || instruction.op() == Op::FIsInf ||
                 (instruction.op() >= Op::FEq && instruction.op() <= Op::FGe) ||
                 (instruction.op() >= Op::ToI8 && instruction.op() <= Op::ToBool) ||
                 instruction.op() == Op::Shl || instruction.op() == Op::Shr ||
                 instruction.op() == Op::Pow;
    if (!toInt) {
      continue;
    }
    Sampled result(kSomeNumber);
    if (onInts) {
      Sampled a = operand(instruction.a()), b = operand(instruction.b()),
              c = operand(instruction.c());
      for (unsigned sample = 0; sample != samples; ++sample) {
        result[sample] = *compute(instruction.op(), a[sample], b[sample], c[sample]);
      }
    }
    define(instruction.dst(), result);
  }
}

} // namespace frit
