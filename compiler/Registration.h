// The only list of dialects and passes. The facade loads dialects lazily from the registry;
// frit-opt and the tests use both lists.

#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace frit {

/// Registers the dialects that graphs and generated code can contain.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers every pass by flag: frit's own and the upstream ones in its pipelines.
void registerPasses();

/// Registers the importer by flag, for frit-translate.
void registerTranslations();

} // namespace frit
