// The only list of dialects and passes. The facade loads the dialects it needs lazily from the
// registry; frit-opt and the tests use both.

#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace frit {

void registerDialects(mlir::DialectRegistry &registry);

/// Every pass by flag, frit's own and the upstream ones that its pipelines use.
void registerPasses();

/// The importer by flag, for frit-translate.
void registerTranslations();

} // namespace frit
