// The digest of a graph's canonical form: the key by which the cache finds what was compiled for an
// equivalent program that was written differently.

#pragma once

#include "compiler/Compiler.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace frit {

/// The canonical form of a module after the canonical pipeline. It excludes source lines, the
/// graph's name, torch's names of sizes, and which operators the formulas were written with; it
/// includes arguments, results, ranges, operators left to ATen, and literals. `buckets` is the
/// option, which refers to sizes by name.
CanonicalForm canonicalForm(mlir::ModuleOp module, const std::string &buckets);

} // namespace frit
