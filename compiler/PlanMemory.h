// The contents of a plan's memory, as names of values.
//
// A storage belongs to an argument, to a constant, or was made by a step. It holds a list of values
// of the graph, each at a place: a byte offset, sizes and strides. A write invalidates every value
// whose bytes it overlaps; a read checks that the value passed by the graph is still there.

#pragma once

#include "compiler/PlanSamples.h"

namespace frit {

/// The location of a tensor's elements.
struct Place {
  int storage = -1;
  /// Offsets can be compared only within one origin. Origin 0 is the beginning of the storage;
  /// others are unknown positions that an operator chose.
  int origin = 0;
  int64_t elementBytes = 1;
  /// In bytes.
  Sampled offset;
  llvm::SmallVector<Sampled, 4> sizes;
  /// In bytes.
  llvm::SmallVector<Sampled, 4> strides;
  /// Sizes and strides are known.
  bool isKnown = true;
};

class PlanMemory {
public:
  enum class Kind { Argument, Constant, Fresh };

  explicit PlanMemory(PlanSamples &samples) : samples(samples) {}

  /// Adds a storage; `bytes` is nullopt if its size is not known.
  int newStorage(Kind kind, unsigned number, std::optional<Sampled> bytes);
  /// A new origin, at an unknown position of a storage.
  int newOrigin() { return ++origins; }
  Kind kindOf(int storage) const { return storages[storage].kind; }
  unsigned numberOf(int storage) const { return storages[storage].number; }

  /// Whether two places may share a byte, at any sample.
  bool meet(const Place &left, const Place &right) const;
  /// Whether two places are the same bytes in the same order. Strides of dims of size 1, and those
  /// of an empty tensor, do not matter.
  bool same(const Place &left, const Place &right) const;
  /// Whether the place lies within its storage.
  bool fits(const Place &place) const;

  /// Invalidates the contents of the place's bytes. If `value` is not null they hold it from now
  /// on.
  void write(const Place &place, mlir::Value value);
  /// Adds a value at a place that holds others already: a view.
  void show(const Place &place, mlir::Value value) {
    storages[place.storage].holdings.push_back({value, place});
  }
  /// The place at which a storage holds a value; null if it does not.
  const Place *find(int storage, mlir::Value value) const;
  /// The values that a storage holds; for messages about a missing value.
  llvm::SmallVector<mlir::Value> held(int storage) const;

private:
  struct Holding {
    mlir::Value value;
    Place place;
  };
  struct Storage {
    Kind kind;
    unsigned number;
    std::optional<Sampled> bytes;
    llvm::SmallVector<Holding, 2> holdings;
  };
  struct Span {
    int64_t begin = 0, end = 0;
  };
  Span spanOf(const Place &place, unsigned sample) const;

  PlanSamples &samples;
  std::vector<Storage> storages;
  int origins = 0;
};

} // namespace frit
