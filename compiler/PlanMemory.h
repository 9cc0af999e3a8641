// What the memory of a plan holds, by names of values.
//
// A storage is an argument's, a constant's or one that a step made. What it holds is a list of
// values of the graph, each at a place: a byte offset, sizes and strides. A write ends whatever its
// bytes meet; a read asks whether the value that the graph passes is still there.

#pragma once

#include "compiler/PlanSamples.h"

namespace frit {

/// Where the elements of a tensor lie.
struct Place {
  int storage = -1;
  /// Offsets are comparable within one origin: 0 is the storage's own, others begin where an
  /// operator said.
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

  /// `bytes` of a storage whose end nobody knows: nullopt.
  int newStorage(Kind kind, unsigned number, std::optional<Sampled> bytes);
  int newOrigin() { return ++origins; }
  Kind kindOf(int storage) const { return storages[storage].kind; }
  unsigned numberOf(int storage) const { return storages[storage].number; }

  /// Whether two places may share a byte, at any sample.
  bool meet(const Place &left, const Place &right) const;
  /// Whether two places are the same bytes in the same order. Strides of dims of size 1 do not
  /// count, nor any of an empty tensor.
  bool same(const Place &left, const Place &right) const;
  /// Whether the place lies within its storage.
  bool fits(const Place &place) const;

  /// Ends what the place's bytes held; with a value, they hold that from here on.
  void write(const Place &place, mlir::Value value);
  /// The place shows a value beside what is held there: a view.
  void show(const Place &place, mlir::Value value) {
    storages[place.storage].holdings.push_back({value, place});
  }
  /// The place at which a storage holds a value; null if it does not.
  const Place *find(int storage, mlir::Value value) const;
  /// What a storage holds where it should hold something else, for messages.
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
