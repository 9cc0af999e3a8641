#pragma once

#include "ir/FritDialect.h"

#include "mlir/IR/DialectInterface.h"

#include <array>
#include <atomic>

namespace mlir::frit {

/// The sizes 0, 1, 2 ... of a context, found without the uniquer's hash tables: most sizes are
/// small constants, and passes query the sizes of every type that they process. Safe with several
/// threads.
class SizeConstants : public DialectInterface::Base<SizeConstants> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SizeConstants)
  explicit SizeConstants(Dialect *dialect) : Base(dialect) {}

  /// The constant, which `make` gives the first time, or for a value that is not small.
  SizeAttr get(int64_t value, llvm::function_ref<SizeAttr()> make) const {
    if (value < 0 || value >= static_cast<int64_t>(known.size())) {
      return make();
    }
    std::atomic<const void *> &place = known[value];
    if (const void *attr = place.load(std::memory_order_acquire)) {
      return cast<SizeAttr>(Attribute::getFromOpaquePointer(attr));
    }
    // Two threads that make the same constant get the same attribute.
    SizeAttr made = make();
    place.store(made.getAsOpaquePointer(), std::memory_order_release);
    return made;
  }

private:
  mutable std::array<std::atomic<const void *>, 4096> known{};
};

} // namespace mlir::frit
