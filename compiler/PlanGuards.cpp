// Assumptions as instructions. Each takes one instruction (a comparison, a range, a remainder or a
// mask) beside those for its sizes. They are part of the size program, so they cost nothing while
// sizes stay the same. The executor checks addresses: those of arguments in every call, those of a
// kernel's tensors at its launch.

#include "compiler/PlanWriter.h"
#include "ir/FritAttributes.h"

#include "passes/ShapeGuards.h"

#include "llvm/Support/MathExtras.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;
using format::Op;

bool PlanWriter::isUnbacked(AssumptionAttr assumption) {
  return llvm::any_of(assumption.getSizes(),
                      [&](SizeAttr size) { return isUnbacked(SizeExpr(size)); });
}

static bool isOverSizes(AssumptionAttr assumption) {
  switch (assumption.getKind()) {
  case GuardKind::Equal:
  case GuardKind::Range:
  case GuardKind::Divisor:
  case GuardKind::Index32:
    return true;
  case GuardKind::Strides:
  case GuardKind::Aligned:
  case GuardKind::Disjoint:
    return false;
  }
  return false;
}

static bool isMask(SizeExpr divisor) {
  return llvm::isPowerOf2_64(static_cast<uint64_t>(*divisor.getConstant()));
}

static Op opOf(AssumptionAttr assumption) {
  switch (assumption.getKind()) {
  case GuardKind::Equal:
    return Op::Eq;
  case GuardKind::Divisor:
    return isMask(assumption.getSizes()[1]) ? Op::NoBits : Op::Divides;
  case GuardKind::Range:
  case GuardKind::Index32:
    return Op::InRange;
  case GuardKind::Strides:
  case GuardKind::Aligned:
  case GuardKind::Disjoint:
    break;
  }
  llvm_unreachable("addresses and strides are no instructions");
}

void PlanWriter::emitCondition(AssumptionAttr assumption, uint32_t program, uint32_t reg) {
  SmallVector<uint32_t, 3> operands;
  for (SizeAttr size : assumption.getSizes()) {
    operands.push_back(sizeRegister(size));
  }
  Op op = opOf(assumption);
  if (assumption.getKind() == GuardKind::Index32) {
    operands.append({builder.intConstant(0), builder.intConstant((int64_t(1) << 31) - 1)});
  } else if (op == Op::NoBits) {
    operands[1] = builder.intConstant(*SizeExpr(assumption.getSizes()[1]).getConstant() - 1);
  }
  operands.resize(3, 0);
  builder.emitTo(program, reg, op, operands[0], operands[1], operands[2]);
}

LogicalResult PlanWriter::writeGuards() {
  SmallVector<GuardOp> overSizes;
  for (GuardOp op : graph.getBody().front().getOps<GuardOp>()) {
    AssumptionAttr assumption = op.getAssumption();
    if (isOverSizes(assumption) && !isUnbacked(assumption)) {
      overSizes.push_back(op);
    } else if (assumption.getKind() == GuardKind::Aligned) {
      // The strides of an argument are checked with its shape, and the executor keeps written
      // arguments apart from those that are read.
      auto guard = std::make_unique<format::GuardT>();
      guard->kind = format::GuardKind::Aligned;
      unsigned argument = assumption.getOperands()[0];
      int64_t bytes = *SizeExpr(assumption.getSizes()[0]).getConstant();
      if (kArgumentConstantAttr.isOn(graph, argument) ||
          !llvm::isPowerOf2_64(static_cast<uint64_t>(bytes)) || bytes > 4096) {
        return error(*op) << "an address must be a multiple of " << bytes
                          << " bytes; a plan can check powers of two up to 4096, of arguments";
      }
      guard->input = inputNumber(argument);
      guard->bytes = bytes;
      guard->origin = assumption.getOrigin().str();
      builder.plan.guards.push_back(std::move(guard));
    }
  }
  // All sizes first, then guards of one kind in a row, which the executor runs fast.
  llvm::stable_sort(overSizes, [&](GuardOp a, GuardOp b) {
    return opOf(a.getAssumption()) < opOf(b.getAssumption());
  });
  for (GuardOp op : overSizes) {
    llvm::for_each(op.getAssumption().getSizes(), [&](SizeAttr size) { sizeRegister(size); });
  }
  SmallVector<uint32_t> registers;
  for (size_t i = 0; i != overSizes.size(); ++i) {
    registers.push_back(builder.newInt());
  }
  for (auto [op, reg] : llvm::zip(overSizes, registers)) {
    AssumptionAttr assumption = op.getAssumption();
    auto guard = std::make_unique<format::GuardT>();
    guard->kind = static_cast<format::GuardKind>(assumption.getKind());
    guard->holds = reg;
    emitCondition(assumption, openSizeProgram(), reg);
    for (auto [number, symbol] : llvm::enumerate(builder.plan.symbols)) {
      auto name = SizeSymbolAttr::get(graph.getContext(), symbol->name);
      if (llvm::any_of(assumption.getSizes(),
                       [&](SizeAttr size) { return SizeExpr(size).contains(name); })) {
        guard->symbols.push_back(number);
      }
    }
    guard->requirement = mlir::frit::describe(assumption, [](int64_t) { return std::string(); });
    guard->origin = assumption.getOrigin().str();
    builder.plan.guards.push_back(std::move(guard));
  }
  return success();
}

void PlanWriter::writeLateGuard(GuardOp op) {
  AssumptionAttr assumption = op.getAssumption();
  if (!isOverSizes(assumption) || !isUnbacked(assumption)) {
    return;
  }
  for (SizeAttr size : assumption.getSizes()) {
    sizeRegister(size);
  }
  uint32_t reg = builder.newInt();
  emitCondition(assumption, openProgram(), reg);
  auto &step = builder.step<format::CheckT>();
  step.reg = reg;
  step.message = mlir::frit::describe(assumption, [](int64_t) { return std::string(); }) +
                 "; assumed by " + assumption.getOrigin().str();
}

void PlanWriter::writeVariantGuard(KernelOp kernel, VariantAttr variant,
                                   const llvm::StringMap<SizeExpr> &parameters,
                                   format::VariantSizesT &sizes) {
  std::optional<uint32_t> all;
  bool late = false;
  for (AssumptionAttr assumption : variant.getAssumptions()) {
    AssumptionAttr here =
        withSizes(assumption, [&](SizeExpr size) { return size.substitute(parameters); });
    if (!isOverSizes(here)) {
      // The assumption numbers all operands of the kernel, the launch only its tensors.
      unsigned operand = here.getOperands()[0], tensor = 0;
      for (unsigned i = 0; i < std::min<size_t>(operand, kernel.getArgumentTypes().size()); ++i) {
        tensor += isa<RankedTensorType>(kernel.getArgumentTypes()[i]);
      }
      tensor += operand > kernel.getArgumentTypes().size()
                    ? operand - kernel.getArgumentTypes().size()
                    : 0;
      sizes.aligned.emplace_back(tensor, *SizeExpr(here.getSizes()[0]).getConstant() - 1);
      continue;
    }
    late |= isUnbacked(here);
    auto [known, isNew] = conditionRegisters.try_emplace(here, 0);
    if (isNew) {
      for (SizeAttr size : here.getSizes()) {
        sizeRegister(size);
      }
      uint32_t reg = builder.newInt();
      emitCondition(here, isUnbacked(here) ? openProgram() : openSizeProgram(), reg);
      conditionRegisters[here] = reg;
    }
    uint32_t reg = conditionRegisters[here];
    all = all ? builder.emit(late ? openProgram() : openSizeProgram(), Op::And, *all, reg) : reg;
  }
  sizes.guard = all.value_or(kNoRegister);
}

} // namespace frit
