// Writes each storage to the file once, aligned for vector loads; several weights may share it.

#include "compiler/Weights.h"
#include "ir/FritAttributes.h"

#include "compiler/Archive.h"
#include "compiler/PlanWriter.h"
#include "passes/Layouts.h"

#include <cstring>

namespace frit {
using namespace mlir;
using namespace mlir::frit;

static constexpr size_t kStorageAlignment = 64;

/// Room for folded weights (FoldWeights.h), so that they do not move all others.
static constexpr size_t kFoldedBytes = size_t(1) << 20;

/// Zeroes the bytes that no weight uses, so that they are not shipped. Readers check that every
/// byte of the section belongs to a weight or is zero.
static void clearGaps(Weights &weights) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto &weight : weights.entries) {
    // A weight given by the caller has no bytes.
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

static bool isRowMajor(const format::WeightT &weight) {
  int64_t row = 1;
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(weight.sizes, weight.strides))) {
    if (stride != row) {
      return false;
    }
    row *= size;
  }
  return true;
}

/// Adds bytes to those of the file, aligned, and returns where they begin.
static uint64_t append(Weights &weights, std::string_view bytes) {
  weights.bytes.resize((weights.bytes.size() + kStorageAlignment - 1) / kStorageAlignment *
                       kStorageAlignment);
  uint64_t begin = weights.bytes.size();
  weights.bytes += bytes;
  return begin;
}

static void sign(format::WeightT &weight, const Weights &weights) {
  Digest digest = sha256(
      {reinterpret_cast<const uint8_t *>(weights.bytes.data()) + weight.offset, weight.bytes});
  weight.sha256.assign(digest.begin(), digest.end());
}

unsigned addOwnWeight(Weights &weights, std::string name, format::Dtype dtype,
                      llvm::ArrayRef<int64_t> sizes, std::string_view bytes) {
  auto weight = std::make_unique<format::WeightT>();
  weight->name = std::move(name);
  weight->dtype = dtype;
  weight->sizes.assign(sizes.begin(), sizes.end());
  weight->strides.resize(sizes.size());
  int64_t row = 1;
  for (auto [size, stride] : llvm::reverse(llvm::zip_equal(weight->sizes, weight->strides))) {
    stride = row;
    row *= std::max<int64_t>(size, 1);
  }
  weight->offset = append(weights, bytes);
  weight->bytes = bytes.size();
  sign(*weight, weights);
  weights.entries.push_back(std::move(weight));
  weights.places.push_back({});
  return weights.entries.size() - 1;
}

LogicalResult bindWeights(ModuleOp module, const Archive &archive, bool given, Weights &weights) {
  std::map<const std::string *, uint64_t> placed;
  // The argument that has a storage for itself as one row-major weight; null if the storage has
  // other uses.
  std::map<const std::string *, BlockArgument> owners;
  weights.bytes.reserve(archive.bytes(kStorageAlignment) + kFoldedBytes);
  for (auto graph : module.getOps<GraphOp>()) {
    for (BlockArgument argument : graph.getBody().getArguments()) {
      unsigned number = argument.getArgNumber();
      auto target = kArgumentTargetAttr.get(graph, number);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      auto layout = kArgumentLayoutAttr.get(graph, number);
      auto dtype = kArgumentDtypeAttr.get(graph, number);
      if (!target || !type || !layout || !dtype) {
        continue;
      }
      bool isGiven = given && !archive.isConstant(target.str());
      const std::string *storage = archive.storage(target.str());
      if (!storage && !isGiven) {
        return graph.emitError() << "the archive has no data for '" << target.getValue()
                                 << "'; export the model again";
      }
      SmallVector<SizeExpr> strideSizes(layout.getStrides().begin(), layout.getStrides().end());
      auto sizes = constants(getSizes(type)), strides = constants(strideSizes);
      auto offset = SizeExpr(layout.getOffset()).getConstant();
      if (!sizes || !strides || !offset || *offset < 0) {
        return graph.emitError()
               << "'" << target.getValue()
               << "' has sizes, strides or an offset that are not constant; export "
                  "it with static sizes";
      }
      auto weight = std::make_unique<format::WeightT>();
      weight->name = target.str();
      weight->dtype = dtypeOf(dtype.getValue());
      weight->sizes = *sizes;
      weight->strides = *strides;
      kArgumentConstantAttr.mark(graph, number);
      kArgumentWeightAttr.set(
          graph, number,
          IntegerAttr::get(IntegerType::get(graph.getContext(), 64), weights.entries.size()));
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
      bool isInside =
          !overflow && storage && start <= storage->size() && span <= storage->size() - start;
      if (!isInside && !isGiven) {
        return graph.emitError() << "'" << target.getValue() << "' reaches beyond its storage of "
                                 << storage->size() << " bytes; export the model again";
      }
      weights.places.push_back(isInside ? Weights::Place{storage, start, start + span}
                                        : Weights::Place());
      if (isGiven) {
        weight->given = true;
        weights.entries.push_back(std::move(weight));
        continue;
      }
      auto [place, isNew] = placed.try_emplace(storage, 0);
      if (isNew) {
        place->second = append(weights, *storage);
      }
      weight->offset = place->second + start;
      weight->bytes = span;
      sign(*weight, weights);
      bool isWhole = isNew && span == storage->size() && isRowMajor(*weight);
      owners[storage] = isWhole ? argument : BlockArgument();
      weights.entries.push_back(std::move(weight));
    }
  }
  for (auto [storage, argument] : owners) {
    if (argument) {
      auto graph = cast<GraphOp>(argument.getOwner()->getParentOp());
      kArgumentOwnBytesAttr.mark(graph, argument.getArgNumber());
    }
  }
  clearGaps(weights);
  return success();
}

/// The weight of an argument; null if it is none. IR that is compiled again has no weights with it.
static format::WeightT *weightOf(GraphOp graph, unsigned number, const Weights &weights) {
  auto index = kArgumentWeightAttr.get(graph, number);
  bool isHere = index && index.getValue().ult(weights.entries.size());
  return isHere ? weights.entries[index.getInt()].get() : nullptr;
}

LogicalResult checkWrittenWeights(ModuleOp module, const Weights &weights) {
  if (weights.entries.empty()) {
    return success(); // as for all graphs of torch.compile
  }
  auto placeOf = [&](GraphOp graph, unsigned number) -> const Weights::Place * {
    auto index = kArgumentWeightAttr.get(graph, number);
    bool isHere = index && index.getValue().ult(weights.places.size());
    return isHere && weights.places[index.getInt()].storage ? &weights.places[index.getInt()]
                                                            : nullptr;
  };
  for (auto graph : module.getOps<GraphOp>()) {
    for (auto [target, writer] : getWrittenArguments(graph.getBody().front())) {
      const Weights::Place *written = placeOf(graph, target.getArgNumber());
      for (BlockArgument argument : graph.getBody().getArguments()) {
        const Weights::Place *other = placeOf(graph, argument.getArgNumber());
        // A tensor with two names is used under one of them.
        if (written && other && other != written && !argument.use_empty() &&
            other->storage == written->storage && other->begin < written->end &&
            written->begin < other->end) {
          return writer->emitError()
                 << "the program writes '" << weightOf(graph, target.getArgNumber(), weights)->name
                 << "', which shares memory with '"
                 << weightOf(graph, argument.getArgNumber(), weights)->name
                 << "'; register one of them and take the other as a view of it";
        }
      }
    }
  }
  return success();
}

void relayWeights(ModuleOp module, Weights &weights) {
  for (auto graph : module.getOps<GraphOp>()) {
    for (unsigned number = 0; number < graph.getNumArguments(); ++number) {
      format::WeightT *bound = weightOf(graph, number, weights);
      auto layout = kArgumentLayoutAttr.get(graph, number);
      if (!bound || !layout || !kArgumentOwnBytesAttr.isOn(graph, number)) {
        continue;
      }
      format::WeightT &weight = *bound;
      SmallVector<SizeExpr> strideSizes(layout.getStrides().begin(), layout.getStrides().end());
      std::optional<std::vector<int64_t>> strides = constants(strideSizes);
      assert(strides && "weights have no symbols");
      if (*strides == weight.strides) {
        continue;
      }
      uint64_t element = bytesOfElement(weight.dtype);
      char *bytes = weights.bytes.data() + weight.offset;
      std::string before(bytes, weight.bytes);
      std::vector<int64_t> place(weight.sizes.size());
      for (uint64_t from = 0; from < weight.bytes; from += element) {
        int64_t to = 0;
        for (auto [index, stride] : llvm::zip_equal(place, *strides)) {
          to += index * stride;
        }
        std::memcpy(bytes + to * element, before.data() + from, element);
        for (size_t dim = place.size(); dim-- > 0 && ++place[dim] == weight.sizes[dim];) {
          place[dim] = 0;
        }
      }
      weight.strides = *strides;
      sign(weight, weights);
    }
  }
}

} // namespace frit
