// A graph's assumptions about sizes and addresses beyond the shapes of its inputs. Each guard over
// sizes is an instruction of the size program with a register for its result. These registers are
// consecutive, so checking them all is one sweep over a few cache lines, which happens only if some
// size changed. Error messages are built only when needed.

#include "runtime/plan/PlanExecutor.h"

#include "runtime/plan/ScalarProgram.h"

namespace frit {

std::string PlanExecutor::inputName(size_t number) const {
  const auto *name = inputSpecs[number].source->name();
  return "input " + std::to_string(number) + (name ? " ('" + name->str() + "')" : "");
}

std::string PlanExecutor::placeOf(const SymbolSpec &symbol) const {
  return inputName(symbol.input) +
         (symbol.dim < 0
              ? ""
              : (symbol.stride ? ", stride " : ", dimension ") + std::to_string(symbol.dim));
}

std::string PlanExecutor::symbolOf(uint32_t reg) const {
  for (const SymbolSpec &symbol : symbolSpecs) {
    if (symbol.reg == reg) {
      return " (" + (symbol.source->name() ? symbol.source->name()->str() + ", " : "") +
             placeOf(symbol) + ")";
    }
  }
  return "";
}

Status PlanExecutor::checkSizes(const RunState &state) const {
  std::span<const int64_t> holds(state.ints.data() + decoded->firstGuard,
                                 decoded->sizeGuards.size());
  if (allHold(holds)) {
    return Status::ok();
  }
  auto broken = std::find(holds.begin(), holds.end(), 0);
  return brokenGuard(*decoded->sizeGuards[static_cast<size_t>(broken - holds.begin())], state);
}

Status PlanExecutor::brokenGuard(const format::Guard &guard, const RunState &state) const {
  std::string message = "graph '" + std::string(decoded->artifact->graphName()) + "'";
  std::string needed = guard.requirement() ? guard.requirement()->str() : "a guard must hold";
  uint32_t count = guard.symbols() ? guard.symbols()->size() : 0;
  for (uint32_t at = 0; at < count; ++at) {
    const SymbolSpec &symbol = symbolSpecs[guard.symbols()->Get(at)];
    std::string name = symbol.source->name() ? symbol.source->name()->str() : "the size";
    std::string value = std::to_string(state.ints[symbol.reg]);
    if (at == 0) {
      message +=
          ", " + inputName(symbol.input) + ": " + symbol.what() + " (" + name + ") is " + value;
    } else {
      message += (at == 1 ? " with " : ", ") + name + " = " + value + " (" + placeOf(symbol) + ")";
    }
  }
  message += (count == 0 ? ": " : ", but ") + needed;
  return Status::error(ErrorKind::BadInput,
                       message + (guard.origin() ? "; assumed by " + guard.origin()->str() : ""));
}

Status PlanExecutor::checkAddresses(const RunState &state) const {
  for (const format::Guard *guard : decoded->addressGuards) {
    auto address = reinterpret_cast<uintptr_t>(state.views[guard->input()].data);
    if (address & (guard->bytes() - 1)) {
      return Status::error(ErrorKind::BadInput,
                           "graph '" + std::string(decoded->artifact->graphName()) + "', " +
                               inputName(guard->input()) + ": its address is no multiple of " +
                               std::to_string(guard->bytes()) + " bytes" +
                               (guard->origin() ? "; assumed by " + guard->origin()->str() : ""));
    }
  }
  return Status::ok();
}

} // namespace frit
