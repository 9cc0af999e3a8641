// A call of frit::convolution, which the pass frit-fuse-convolutions makes: aten::convolution with
// an epilogue (Convolution.h). The arguments are those of aten::convolution, then scale, shift,
// added, low, high, and the padding behind the image, if it is not that before it.

#pragma once

#include "runtime/cpu/Convolution.h"

#include <optional>

namespace frit {

/// The number of arguments of aten::convolution, which come first.
constexpr uint32_t kConvolutionArguments = 9;

/// Tensor registers and numbers of the call; kNoRegister for a tensor that is not given.
struct ConvolutionCall {
  uint32_t input, weight, bias, scale, shift, added;
  int64_t stride[2], padding[2], paddingBehind[2], dilation[2];
  int64_t groups;
  std::optional<float> low, high;

  /// The program writes zeros around the image, which ATen's kernels multiply by the weight. They
  /// need not be even, as the padding of aten::convolution is.
  bool isPaddingWritten = false;
  bool hasEpilogue() const {
    return scale != kNoRegister || shift != kNoRegister || added != kNoRegister || low || high;
  }
};

/// Decodes the call; nullopt for another operator, an error if its arguments are not as described.
Result<std::optional<ConvolutionCall>> convolutionOf(const format::Aten &call);

/// The operands of a call; null where none is given.
struct ConvolutionOperands {
  const TensorView *input, *weight, *bias, *scale, *shift, *added;
};

/// The convolution without a result; nullopt if the kernel cannot take these types or strides, or
/// if ATen would report an error.
std::optional<Convolution> convolutionFrom(const ConvolutionCall &call,
                                           const ConvolutionOperands &operands);

} // namespace frit
