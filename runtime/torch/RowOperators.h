// frit::row_product, frit::row_attention and frit::row_convolution, for
// `numerics="batch-invariant"`.

#pragma once

namespace frit {

/// Registers the operators with torch, once in a process.
void registerRowOperators();

} // namespace frit
