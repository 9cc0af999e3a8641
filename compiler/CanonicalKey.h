// What a graph means, as a digest: the key under which a program that was written differently finds
// what was compiled for its like.

#pragma once

#include "compiler/Compiler.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace frit {

/// Of a module after the canonical pipeline. Source lines, the graph's name, torch's names of sizes
/// and the operators that the program spelled its formulas with do not enter; arguments, results,
/// ranges, operators left to ATen and literals do. `buckets` is the option, which names sizes.
CanonicalForm canonicalForm(mlir::ModuleOp module, const std::string &buckets);

} // namespace frit
