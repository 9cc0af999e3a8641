// Each storage goes to the file once, on a boundary that suits vector loads; several weights may look at it.

#include "compiler/Weights.h"

#include "compiler/Archive.h"
#include "compiler/PlanWriter.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

static constexpr size_t kStorageAlignment = 64;

/// What no weight looks at is not shipped: readers hold that every byte of the section is a weight's or zero.
static void clearGaps(Weights &weights) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto &weight : weights.entries) {
    // A given one has no bytes.
    ranges.emplace_back(weight->offset, weight->offset + weight->bytes);
  }
  llvm::sort(ranges);
  uint64_t seen = 0;
  ranges.emplace_back(weights.bytes.size(), weights.bytes.size());
  for (auto [begin, end] : ranges) {
    if (begin > seen) {
      std::fill(weights.bytes.begin() + seen, weights.bytes.begin() + begin, '\0');
    }
    seen = std::max(seen, end);
  }
}

/// Constant sizes or strides as integers; parameters have no symbols.
static std::optional<std::vector<int64_t>> constants(llvm::ArrayRef<SizeExpr> sizes) {
  std::vector<int64_t> values;
  for (SizeExpr size : sizes) {
    auto value = size.getConstant();
    if (!value || *value < 0) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

LogicalResult bindWeights(ModuleOp module, const Archive &archive, bool given, Weights &weights) {
  std::map<const std::string *, uint64_t> placed;
  weights.bytes.reserve(archive.bytes(kStorageAlignment));
  for (auto graph : module.getOps<GraphOp>()) {
    for (BlockArgument argument : graph.getBody().getArguments()) {
      unsigned number = argument.getArgNumber();
      auto target = graph.getArgAttrOfType<StringAttr>(number, "frit.target");
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      auto layout = graph.getArgAttrOfType<LayoutAttr>(number, "frit.layout");
      auto dtype = graph.getArgAttrOfType<DTypeAttr>(number, "frit.dtype");
      if (!target || !type || !layout || !dtype) {
        continue;
      }
      bool isGiven = given && !archive.isConstant(target.str());
      const std::string *storage = archive.storage(target.str());
      if (!storage && !isGiven) {
        return graph.emitError() << "the archive has no data for '" << target.getValue() << "'";
      }
      SmallVector<SizeExpr> strideSizes(layout.getStrides().begin(), layout.getStrides().end());
      auto sizes = constants(getSizes(type)), strides = constants(strideSizes);
      auto offset = SizeExpr(layout.getOffset()).getConstant();
      if (!sizes || !strides || !offset || *offset < 0) {
        return graph.emitError() << "'" << target.getValue() << "' has sizes, strides or an offset that are not constant";
      }
      auto weight = std::make_unique<format::WeightT>();
      weight->name = target.str();
      weight->dtype = dtypeOf(dtype.getValue());
      weight->sizes = *sizes;
      weight->strides = *strides;
      graph.setArgAttr(number, "frit.constant", UnitAttr::get(graph.getContext()));
      graph.setArgAttr(number, "frit.weight",
                       IntegerAttr::get(IntegerType::get(graph.getContext(), 64), weights.entries.size()));
      if (isGiven) {
        weight->given = true;
        weights.entries.push_back(std::move(weight));
        continue;
      }
      uint64_t element = bytesOfElement(weight->dtype), last = 0;
      bool empty = false, overflow = false;
      for (auto [size, stride] : llvm::zip(*sizes, *strides)) {
        empty |= size == 0;
        uint64_t reach;
        overflow |= __builtin_mul_overflow(uint64_t(size ? size - 1 : 0), uint64_t(stride), &reach);
        overflow |= __builtin_add_overflow(last, reach, &last);
      }
      uint64_t start, span;
      overflow |= __builtin_mul_overflow(uint64_t(*offset), element, &start);
      overflow |= __builtin_mul_overflow(empty ? 0 : last + 1, element, &span);
      if (overflow || start > storage->size() || span > storage->size() - start) {
        return graph.emitError() << "'" << target.getValue() << "' reaches beyond its storage of " << storage->size()
                                 << " bytes";
      }
      auto [place, isNew] = placed.try_emplace(storage, 0);
      if (isNew) {
        weights.bytes.resize((weights.bytes.size() + kStorageAlignment - 1) / kStorageAlignment * kStorageAlignment);
        place->second = weights.bytes.size();
        weights.bytes += *storage;
      }
      weight->offset = place->second + start;
      weight->bytes = span;
      Digest digest = sha256({reinterpret_cast<const uint8_t *>(weights.bytes.data()) + weight->offset, span});
      weight->sha256.assign(digest.begin(), digest.end());
      weights.entries.push_back(std::move(weight));
    }
  }
  clearGaps(weights);
  return success();
}

} // namespace frit
