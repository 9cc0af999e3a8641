// Buckets of a plan: a register for each bucket that is read or was requested, memory blocks of
// bucket size (they are reused between calls without page faults), and the counts of padded
// elements.

#include "compiler/PlanWriter.h"
#include "ir/FritAttributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

/// Any allocator returns smaller blocks without page faults. The runtime applies the same limit to
/// the sizes of a call.
static constexpr int64_t kGainingBytes = 8 << 20;

/// How far a size without a declared maximum is assumed to grow, as a factor of its hint's power of
/// two.
static constexpr int64_t kGrowth = 8;

void PlanWriter::findBuckets() {
  for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
    symbolFacts[symbol.getName()] = symbol;
    if (!symbol.getBucketOf().empty()) {
      bucketOfSymbol[symbol.getBucketOf()] = symbol.getName();
    }
  }
}

void PlanWriter::useAskedBuckets() {
  if (auto choices = kBucketedAttr.get(graph)) {
    for (auto choice : choices.getAsRange<DictionaryAttr>()) {
      if (choice.getAs<BoolAttr>("asked").getValue()) {
        useBucket(choice.getAs<StringAttr>("bucket").getValue());
      }
    }
  }
}

std::optional<uint32_t> PlanWriter::useBucket(StringRef name) {
  SymbolAttr bucket = symbolFacts.lookup(name);
  if (!bucket || bucket.getBucketOf().empty()) {
    return std::nullopt;
  }
  auto of = symbolRegisters.find(bucket.getBucketOf());
  SymbolAttr symbol = symbolFacts.lookup(bucket.getBucketOf());
  if (of == symbolRegisters.end() || !symbol || symbol.getBuckets().empty()) {
    return std::nullopt;
  }
  auto entry = std::make_unique<format::BucketT>();
  entry->symbol = of->second;
  entry->dst = symbolRegisters[name] = builder.newInt();
  entry->sizes.assign(symbol.getBuckets().begin(), symbol.getBuckets().end());
  builder.plan.buckets.push_back(std::move(entry));
  return symbolRegisters[name];
}

void PlanWriter::countPads() {
  auto pads = kPaddedElementsAttr.get(graph);
  SizeExpr padded = SizeExpr::constant(graph.getContext(), 0), logical = padded;
  for (auto pad : pads ? pads.getAsRange<DimsAttr>()
                       : ArrayAttr::get(graph.getContext(), {}).getAsRange<DimsAttr>()) {
    SizeExpr written = pad.getSizes()[0], kept = pad.getSizes()[1];
    if (!isUnbacked(written)) {
      padded = padded + written;
      logical = logical + kept;
    }
  }
  if (!padded.isConstant(0)) {
    builder.plan.padded_elements = sizeRegister(padded);
    builder.plan.logical_elements = sizeRegister(logical);
  }
}

/// Whether a size never decreases when one of its symbols grows, so that at the buckets it is at
/// least as large as at the sizes.
static bool neverFalls(SizeExpr size) {
  for (auto [coefficient, monomial] :
       llvm::zip(size.getAttr().getCoefficients(), size.getAttr().getMonomials())) {
    if (coefficient < 0 && !monomial.empty()) {
      return false;
    }
    for (Attribute atom : monomial) {
      auto call = dyn_cast<SizeCallAttr>(atom);
      if (!call) {
        continue;
      }
      SizeExpr left = call.getLhs(), right = call.getRhs();
      bool divides = call.getFunction() == SizeFunction::FloorDiv;
      if (!neverFalls(left) ||
          (divides ? right.getConstant().value_or(0) < 1 : !neverFalls(right))) {
        return false;
      }
    }
  }
  return true;
}

/// Records for the report, by symbol, the bytes that are reused at the sizes of the trace.
void PlanWriter::noteGain(SizeExpr bytes, const llvm::StringMap<SizeExpr> &symbols) {
  std::optional<int64_t> seen =
      bytes.evaluate([&](StringRef name) { return symbolFacts.lookup(name).getHint(); });
  if (!seen || *seen < kGainingBytes) {
    return;
  }
  NamedAttrList gains(kWarmBytesAttr.get(graph));
  for (StringRef symbol : symbols.keys()) {
    auto before = dyn_cast_or_null<IntegerAttr>(gains.get(symbol));
    int64_t sum = *seen + (before ? before.getInt() : 0);
    gains.set(symbol, IntegerAttr::get(IntegerType::get(graph.getContext(), 64), sum));
  }
  kWarmBytesAttr.set(graph, gains.getDictionary(graph.getContext()));
}

uint32_t PlanWriter::capacityRegister(SizeExpr bytes) {
  llvm::StringMap<SizeExpr> atBucket;
  bool known = true;
  bytes.forEachSymbol([&](StringRef name) {
    known &= symbolFacts.count(name) != 0;
    if (auto bucket = bucketOfSymbol.find(name); bucket != bucketOfSymbol.end()) {
      atBucket[name] = SizeExpr::symbol(bytes.getContext(), bucket->second);
    }
  });
  if (atBucket.empty() || !known || !neverFalls(bytes)) {
    return kNoRegister;
  }
  std::optional<int64_t> most = bytes.evaluate([&](StringRef name) {
    SymbolAttr symbol = symbolFacts.lookup(name);
    std::optional<int64_t> size = symbol.getMax();
    auto seen = static_cast<uint64_t>(std::max<int64_t>(symbol.getHint().value_or(128), 1));
    return size ? size
                : std::optional<int64_t>(kGrowth * static_cast<int64_t>(llvm::bit_floor(seen)));
  });
  if (most && *most < kGainingBytes) {
    return kNoRegister;
  }
  noteGain(bytes, atBucket);
  return sizeRegister(bytes.substitute(atBucket));
}

} // namespace frit
