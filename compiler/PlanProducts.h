// Finds the calls of a plan that are matrix products or attention, which the runtime's own kernels
// may compute.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"

namespace frit {

/// Marks the products of f32 matrices and the attention of f32 tensors on CPUs. The runtime decides
/// by their sizes and strides whether its kernel or ATen's runs.
void markProducts(format::ArtifactT &artifact);

} // namespace frit
