// Binds an archive's tensors to the arguments of a graph: their names and their offsets in the
// file.

#pragma once

#include "ir/FritOps.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace frit {

class Archive;

struct Weights {
  /// The bytes of a storage of the archive; of no storage for values that it does not have.
  struct Place {
    const std::string *storage = nullptr;
    uint64_t begin = 0, end = 0;
  };
  std::vector<std::unique_ptr<format::WeightT>> entries;
  /// Where each entry lay in the archive, whose storages may be gone: they are only compared.
  std::vector<Place> places;
  /// Each storage once.
  std::string bytes;
};

/// Marks every parameter, buffer and constant argument of the graphs in `module` as bound
/// (`frit.constant`, `frit.weight`) and lays out its data. Emits an error for an argument without
/// data in the archive. With `given` the caller of the artifact passes parameters and buffers by
/// name, and only constants have data. A row-major weight that shares its bytes with no other may
/// be stored in another order (`frit.own_bytes`).
mlir::LogicalResult bindWeights(mlir::ModuleOp module, const Archive &archive, bool given,
                                Weights &weights);

/// Adds a row-major weight that shares its bytes with no other, and returns its number.
unsigned addOwnWeight(Weights &weights, std::string name, format::Dtype dtype,
                      llvm::ArrayRef<int64_t> sizes, std::string_view bytes);

/// Emits an error if a graph writes a weight, given ones included, that shares bytes with another
/// one: the IR does not express that two values share memory, so whether the other changes would be
/// undefined.
mlir::LogicalResult checkWrittenWeights(mlir::ModuleOp module, const Weights &weights);

/// Rewrites the data of weights that share no bytes to the layout that passes chose for them
/// (`frit.layout`).
void relayWeights(mlir::ModuleOp module, Weights &weights);

} // namespace frit
