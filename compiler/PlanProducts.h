// Which calls of a plan are matrix products that the runtime's own kernel computes.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"

namespace frit {

/// Marks the products of f32 matrices on CPUs. The runtime decides by their sizes and strides
/// whether its kernel or ATen's runs.
void markProducts(format::ArtifactT &artifact);

} // namespace frit
