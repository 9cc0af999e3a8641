// Vertical fusion, then fusion of siblings.
#include "passes/FusionClusters.h"

#include "passes/Layouts.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-fuse-regions"

using namespace mlir;
using namespace mlir::frit;

/// Steps of one search for a cycle, after which a cycle is assumed.
static constexpr unsigned maxSearchSteps = 2048;
/// How many earlier readers of a value are tried as fusion partners of the next one.
static constexpr size_t siblingReach = 3;

FusionClusters::FusionClusters(GraphOp graph, const LoopNests &nests)
    : graph(graph), nests(nests),
      rules([&nests](SizeExpr size) { return nests.getEstimate().of(size); }) {
  unsigned number = 0;
  for (Operation &op : graph.getBody().front()) {
    numbers[&op] = number;
    parents.push_back(number);
    units.emplace_back();
    units.back().first = units.back().last = number;
    NestRole role = nests.getRole(&op);
    if (auto bind = dyn_cast<BindOp>(op)) {
      binds[bind.getSymbol()] = number;
    }
    if (role == NestRole::Opaque) {
      addOpaque(&op, number);
    } else if (role == NestRole::Loop) {
      addLoop(&op, number);
    }
    ++number;
  }
  mergeSiblings();
}

unsigned FusionClusters::find(unsigned unit) const {
  while (parents[unit] != unit) {
    parents[unit] = parents[parents[unit]];
    unit = parents[unit];
  }
  return unit;
}

static Value getBase(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isView(def)) {
      break;
    }
    value = def->getOperand(0);
  }
  return value;
}

void FusionClusters::addOpaque(Operation *op, unsigned number) {
  Unit &unit = units[number];
  for (Value operand : op->getOperands()) {
    Value base = operand;
    // Look through views up to the first one that is a loop nest of its own.
    while (Operation *def = base.getDefiningOp()) {
      if (!isView(def) || nests.getRole(def) == NestRole::Loop) {
        unit.predecessors.push_back(numbers.lookup(def));
        break;
      }
      base = def->getOperand(0);
    }
    if (isa<BlockArgument>(base)) {
      argumentReaders[base].push_back(number);
    }
  }
  if (auto store = dyn_cast<StoreOp>(op)) {
    Value target = getBase(store.getTarget());
    for (unsigned reader : argumentReaders[target]) {
      if (reader != number) {
        unit.predecessors.push_back(reader);
      }
    }
    argumentStores[target].push_back(number);
  }
  if (!isMemoryEffectFree(op) && !isa<ReturnOp>(op)) {
    if (lastEffect) {
      unit.predecessors.push_back(*lastEffect);
    }
    lastEffect = number;
  }
}

void FusionClusters::addBindsOf(Operation *op, SmallVectorImpl<unsigned> &predecessors) {
  if (binds.empty()) {
    return;
  }
  AttrTypeWalker walker;
  walker.addWalk([&](SizeAttr size) {
    SizeExpr(size).forEachSymbol([&](StringRef name) {
      if (auto bind = binds.find(name); bind != binds.end()) {
        predecessors.push_back(bind->second);
      }
    });
  });
  walker.walk(op->getAttrDictionary());
  for (Type type : op->getResultTypes()) {
    walker.walk(type);
  }
}

/// Follows a nest's operands through everything that is computed inside of it.
void FusionClusters::gatherReads(Operation *loop, SmallVectorImpl<Read> &reads,
                                 unsigned &operations) {
  struct Visit {
    Operation *op;
    ReadPlace place;
  };
  SmallVector<Visit> stack;
  llvm::DenseMap<Value, SmallVector<ReadPlace, 1>> seen;
  llvm::SmallPtrSet<Operation *, 16> counted;
  ReadPlace own = ReadPlace::rowMajor(getLoopSizes(loop), loop->getContext());
  auto visitOperands = [&](Operation *op, const ReadPlace &place) {
    if (counted.insert(op).second) {
      operations += countOperations(op);
      addBindsOf(op, units[numbers.lookup(loop)].predecessors);
    }
    for (OpOperand &operand : op->getOpOperands()) {
      // A stacked concatenation runs over the elements of its pieces.
      ReadPlace at = op == loop && isStacked(op) ? place : place.through(operand);
      Value value = operand.get();
      SmallVector<ReadPlace, 1> &places = seen[value];
      auto same = [&](const ReadPlace &other) {
        return other.isElsewhere() == at.isElsewhere() && other.getSignature() == at.getSignature();
      };
      if (llvm::any_of(places, same)) {
        continue;
      }
      places.push_back(at);
      Operation *def = value.getDefiningOp();
      NestRole role = def ? nests.getRole(def) : NestRole::Opaque;
      if (role == NestRole::Opaque || role == NestRole::Loop) {
        reads.push_back({value, at});
      } else {
        stack.push_back({def, at});
      }
    }
  };
  visitOperands(loop, own);
  while (!stack.empty()) {
    Visit visit = stack.pop_back_val();
    visitOperands(visit.op, visit.place);
  }
}

bool FusionClusters::depends(unsigned from, unsigned on, bool directly) const {
  unsigned floor = units[on].first, steps = 0;
  SmallVector<unsigned> stack;
  for (unsigned predecessor : units[from].predecessors) {
    if (directly || find(predecessor) != on) {
      stack.push_back(predecessor);
    }
  }
  llvm::SmallDenseSet<unsigned, 32> seen{from};
  while (!stack.empty()) {
    unsigned unit = find(stack.pop_back_val());
    if (unit == on) {
      return true;
    }
    if (units[unit].last <= floor || !seen.insert(unit).second) {
      continue;
    }
    if (++steps > maxSearchSteps) {
      return true;
    }
    for (unsigned predecessor : units[unit].predecessors) {
      stack.push_back(predecessor);
    }
  }
  return false;
}

bool FusionClusters::fits(const Unit &a, const Unit &b, FusionRefusal &refusal) const {
  if (!nests.mayMerge(a.loops.front(), b.loops.front())) {
    refusal = FusionRefusal::OtherOperator;
    return false;
  }
  if (a.operations + b.operations > rules.getLimits().operations) {
    refusal = FusionRefusal::TooManyOperations;
    return false;
  }
  if (pointersOf(a) + pointersOf(b) > rules.getLimits().pointers) {
    refusal = FusionRefusal::TooManyPointers;
    return false;
  }
  return true;
}

bool FusionClusters::refuse(FusionRefusal refusal, unsigned kernel, unsigned other) {
  LDBG() << "kernel " << kernel << " (" << *units[kernel].loops.front() << ") without " << other
         << " (" << *units[other].loops.front() << "): " << stringify(refusal);
  ++refusals[static_cast<size_t>(refusal)];
  return false;
}

void FusionClusters::absorb(unsigned into, unsigned from, LoopDomain domain) {
  Unit &target = units[into], &source = units[from];
  LDBG() << "kernel " << into << " (" << *target.loops.front() << ") takes " << from << " ("
         << *source.loops.front() << ")";
  for (Operation *loop : source.loops) {
    target.inputs.erase(loop->getResult(0));
  }
  for (Operation *loop : target.loops) {
    source.inputs.erase(loop->getResult(0));
  }
  target.loops.append(source.loops.begin(), source.loops.end());
  for (unsigned predecessor : source.predecessors) {
    if (find(predecessor) != into) {
      target.predecessors.push_back(predecessor);
    }
  }
  target.inputs.insert(source.inputs.begin(), source.inputs.end());
  target.operations += source.operations;
  target.first = std::min(target.first, source.first);
  target.last = std::max(target.last, source.last);
  target.domain = std::move(domain);
  parents[from] = into;
  source.loops.clear();
  source.predecessors.clear();
  source.inputs.clear();
}

void FusionClusters::addLoop(Operation *op, unsigned number) {
  SmallVector<Read> reads;
  unsigned operations = 0;
  gatherReads(op, reads, operations);
  Unit &unit = units[number];
  unit.loops.push_back(op);
  unit.domain = LoopDomain::ofNest(op);
  unit.operations = operations;
  levels[op] = isa<ReduceOp>(op) ? LoopLevel::Row : LoopLevel::Full;
  llvm::SmallSetVector<unsigned, 4> kernels;
  for (Read &read : reads) {
    Operation *def = read.value.getDefiningOp();
    if (isa<RankedTensorType>(read.value.getType())) {
      unit.inputs.insert(read.value);
      sharedInputs[read.value].push_back(number);
    }
    if (!def) {
      argumentReaders[read.value].push_back(number);
      for (unsigned store : argumentStores[read.value]) {
        units[store].predecessors.push_back(number);
      }
      continue;
    }
    unit.predecessors.push_back(numbers.lookup(def));
    if (nests.getRole(def) == NestRole::Loop) {
      readers[def].push_back(number);
      linkedReads[op].push_back(read);
      kernels.insert(find(numbers.lookup(def)));
    }
  }
  // Latest first: most of the other kernels are its predecessors.
  SmallVector<unsigned> candidates(kernels.begin(), kernels.end());
  llvm::sort(candidates, [&](unsigned a, unsigned b) { return units[a].last > units[b].last; });
  for (unsigned kernel : candidates) {
    unsigned current = find(number);
    kernel = find(kernel);
    if (kernel == current) {
      continue;
    }
    if (current != number) {
      // The nest has joined a kernel already: try to merge its other producers into that one.
      tryMerge(current, kernel);
      continue;
    }
    FusionRefusal refusal;
    if (!fits(units[kernel], unit, refusal)) {
      refuse(refusal, kernel, number);
      continue;
    }
    SmallVector<LinkedRead> linked;
    for (const Read &read : reads) {
      Operation *def = read.value.getDefiningOp();
      if (def && nests.getRole(def) == NestRole::Loop && find(numbers.lookup(def)) == kernel) {
        linked.push_back({levels.lookup(def), read.place});
      }
    }
    FusionVerdict verdict = rules.join(units[kernel].domain, unit.domain, linked);
    if (!verdict) {
      refuse(verdict.refusal, kernel, number);
      continue;
    }
    bool cycle = llvm::any_of(unit.predecessors, [&](unsigned predecessor) {
      unsigned other = find(predecessor);
      return other != kernel && (units[other].last > units[kernel].first) && depends(other, kernel);
    });
    if (cycle) {
      refuse(FusionRefusal::WouldMakeCycle, kernel, number);
      continue;
    }
    levels[op] = verdict.level;
    absorb(kernel, number, std::move(verdict.domain));
  }
}

FusionRefusal FusionClusters::checkLinks(unsigned reader, unsigned writer,
                                         const LoopDomain &domain) const {
  for (Operation *loop : units[reader].loops) {
    auto it = linkedReads.find(loop);
    if (it == linkedReads.end()) {
      continue;
    }
    LoopLevel level = isa<ReduceOp>(loop) ? LoopLevel::Full : levels.lookup(loop);
    for (const Read &read : it->second) {
      Operation *def = read.value.getDefiningOp();
      if (find(numbers.lookup(def)) != writer) {
        continue;
      }
      FusionRefusal refusal =
          rules.link(domain, getLoopSizes(loop), level, {levels.lookup(def), read.place});
      if (refusal != FusionRefusal::None) {
        return refusal;
      }
    }
  }
  return FusionRefusal::None;
}

bool FusionClusters::tryMerge(unsigned into, unsigned from) {
  if (from > into) {
    // Keep the earlier number: searches stop at the first operation.
    std::swap(from, into);
  }
  FusionVerdict verdict = rules.merge(units[into].domain, units[from].domain);
  if (!verdict) {
    return refuse(verdict.refusal, into, from);
  }
  FusionRefusal refusal;
  if (!fits(units[into], units[from], refusal)) {
    return refuse(refusal, into, from);
  }
  for (auto [reader, writer] : {std::pair(into, from), std::pair(from, into)}) {
    if (refusal = checkLinks(reader, writer, verdict.domain); refusal != FusionRefusal::None) {
      return refuse(refusal, into, from);
    }
  }
  if (depends(into, from, /*directly=*/false) || depends(from, into, /*directly=*/false)) {
    return refuse(FusionRefusal::WouldMakeCycle, into, from);
  }
  absorb(into, from, std::move(verdict.domain));
  return true;
}

/// True for isomorphic nests whose only common input is a scalar. Horizontal (foreach) fusion by
/// gather-regions is better for them: it takes all nests of a kind, and nests that are fused into
/// one kernel are lost to it.
bool FusionClusters::areTwins(Value shared, const Unit &a, const Unit &b) {
  return cast<RankedTensorType>(shared.getType()).getRank() == 0 && !a.domain.reduces() &&
         !b.domain.reduces() && a.operations == b.operations && a.loops.size() == b.loops.size() &&
         a.inputs.size() == b.inputs.size();
}

void FusionClusters::mergeSiblings() {
  for (auto &[value, loops] : sharedInputs) {
    for (size_t i = 1; i < loops.size(); ++i) {
      // Try several earlier readers: of q, k and v only the first and the last may match.
      for (size_t back = 1; back <= std::min(i, siblingReach); ++back) {
        unsigned a = find(loops[i - back]), b = find(loops[i]);
        if (a == b || areTwins(value, units[a], units[b]) || tryMerge(a, b)) {
          break;
        }
      }
    }
  }
  for (Unit &unit : units) {
    llvm::sort(unit.loops,
               [&](Operation *a, Operation *b) { return numbers.lookup(a) < numbers.lookup(b); });
  }
}

SmallVector<unsigned> FusionClusters::getPredecessors(unsigned unit) const {
  SmallVector<unsigned> result;
  for (unsigned predecessor : units[unit].predecessors) {
    unsigned other = find(predecessor);
    if (other != unit) {
      result.push_back(other);
    }
  }
  return result;
}

bool FusionClusters::isReadByOtherKernel(Operation *loop) const {
  auto it = readers.find(loop);
  unsigned own = getUnit(loop);
  return it != readers.end() &&
         llvm::any_of(it->second, [&](unsigned reader) { return find(reader) != own; });
}
