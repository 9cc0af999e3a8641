// Which calls of a plan are matrix products, or attention, that the runtime's own kernels compute.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"

namespace frit {

/// Marks the products of f32 matrices and the attention of f32 tensors on CPUs. The runtime decides
/// by their sizes and strides whether its kernel or ATen's runs.
void markProducts(format::ArtifactT &artifact);

} // namespace frit
