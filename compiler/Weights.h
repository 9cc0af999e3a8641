// Binding of an archive's tensors to the arguments of a graph: what they are called, where they lie
// in the file.

#pragma once

#include "ir/FritOps.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace frit {

class Archive;

struct Weights {
  std::vector<std::unique_ptr<format::WeightT>> entries;
  /// Each storage once.
  std::string bytes;
};

/// Marks every parameter, buffer and constant argument of the graphs in `module` as bound
/// (`frit.constant`, `frit.weight`) and lays out its data. Diagnoses an argument the archive has no
/// data for. With `given` the caller of the artifact brings parameters and buffers by name, and
/// only constants have data. What has its bytes for itself and lies row by row may be laid out in
/// another order
/// (`frit.own_bytes`).
mlir::LogicalResult bindWeights(mlir::ModuleOp module, const Archive &archive, bool given,
                                Weights &weights);

/// Lays data out as the graph wants it by now (`frit.layout`): what a pass decided for a weight
/// that no other one shares bytes with.
void relayWeights(mlir::ModuleOp module, Weights &weights);

} // namespace frit
