#include "runtime/cpu/ConvolutionCall.h"

#include "runtime/cpu/PlainTensor.h"

#include <limits>

namespace frit {

using format::ValueKind;

namespace {

/// Two integers, or one that stands for both.
bool readPair(const format::Value &value, int64_t *to) {
  if (value.kind() != ValueKind::List || !value.items() || value.items()->size() == 0 ||
      value.items()->size() > 2) {
    return false;
  }
  for (uint32_t dim = 0; dim < 2; ++dim) {
    const format::Value &item = *value.items()->Get(value.items()->size() == 1 ? 0 : dim);
    if (item.kind() != ValueKind::Int) {
      return false;
    }
    to[dim] = item.integer();
  }
  return true;
}

bool readTensor(const format::Value &value, uint32_t &to) {
  to = value.kind() == ValueKind::Tensor ? value.reg() : kNoRegister;
  return value.kind() == ValueKind::Tensor || value.kind() == ValueKind::None;
}

bool readNumber(const format::Value &value, std::optional<float> &to) {
  if (value.kind() == ValueKind::Double) {
    to = static_cast<float>(value.real().value_or(0));
  }
  return value.kind() == ValueKind::Double || value.kind() == ValueKind::None;
}

/// Whether the view has `count` elements without gaps, or there is none.
bool isVector(const TensorView *view, int64_t count) {
  return !view || (isPlain(*view) && view->rank == 1 && view->sizes[0] == count &&
                   (view->strides[0] == 1 || count <= 1));
}

const float *dataOf(const TensorView *view) {
  return view ? static_cast<const float *>(view->data) : nullptr;
}

/// Whether the view is dense in the order (image, row, column, channel).
bool isChannelsLast(const TensorView &view, const int64_t *sizes) {
  int64_t stride = 1;
  for (int dim : {1, 3, 2, 0}) {
    if (view.sizes[dim] != sizes[dim] || (sizes[dim] != 1 && view.strides[dim] != stride)) {
      return false;
    }
    stride *= sizes[dim];
  }
  return true;
}

/// Whether the filter of an output is dense in any order of its dims.
bool isDenseFilter(const TensorView &weight) {
  int64_t elements = 1;
  bool taken[4] = {true, false, false, false};
  for (int round = 0; round < 3; ++round) {
    int found = 0;
    for (int dim = 1; dim < 4 && found == 0; ++dim) {
      if (!taken[dim] && (weight.sizes[dim] == 1 || weight.strides[dim] == elements)) {
        found = dim;
      }
    }
    if (found == 0) {
      return false;
    }
    taken[found] = true;
    elements *= weight.sizes[found];
  }
  return true;
}

} // namespace

Result<std::optional<ConvolutionCall>> convolutionOf(const format::Aten &call) {
  if (call.name()->string_view() != "frit::convolution") {
    return std::optional<ConvolutionCall>();
  }
  ConvolutionCall found;
  bool fits = call.arguments() && call.arguments()->size() == kConvolutionArguments + 6 &&
              call.results() && call.results()->size() == 1;
  if (fits) {
    auto at = [&](uint32_t number) -> const format::Value & {
      return *call.arguments()->Get(number);
    };
    fits = readTensor(at(0), found.input) && readTensor(at(1), found.weight) &&
           readTensor(at(2), found.bias) && readPair(at(3), found.stride) &&
           readPair(at(4), found.padding) && readPair(at(5), found.dilation) &&
           at(6).kind() == ValueKind::Bool && at(6).integer() == 0 &&
           at(8).kind() == ValueKind::Int && readTensor(at(9), found.scale) &&
           readTensor(at(10), found.shift) && readTensor(at(11), found.added) &&
           readNumber(at(12), found.low) && readNumber(at(13), found.high) &&
           readPair(at(at(14).kind() == ValueKind::None ? 4 : 14), found.paddingBehind) &&
           found.input != kNoRegister && found.weight != kNoRegister;
    found.groups = at(8).integer();
    found.isPaddingWritten = at(14).kind() != ValueKind::None;
  }
  if (!fits) {
    return Status::error(ErrorKind::BadArtifact,
                         "a call of frit::convolution has other arguments than the operator; "
                         "compile the artifact again");
  }
  return std::optional(found);
}

std::optional<Convolution> convolutionFrom(const ConvolutionCall &call,
                                           const ConvolutionOperands &operands) {
  const TensorView &input = *operands.input, &weight = *operands.weight;
  if (!isPlain(input) || !isPlain(weight) || input.rank != 4 || weight.rank != 4 ||
      call.groups < 1 || input.sizes[1] != weight.sizes[1] * call.groups ||
      weight.sizes[0] % call.groups != 0 || !isDenseFilter(weight)) {
    return std::nullopt;
  }
  Convolution made;
  made.images = input.sizes[0];
  made.channels = input.sizes[1];
  made.height = input.sizes[2];
  made.width = input.sizes[3];
  made.input = dataOf(&input);
  made.imageStride = input.strides[0];
  made.channelStride = input.strides[1];
  made.rowStride = input.strides[2];
  made.columnStride = input.strides[3];
  made.outputs = weight.sizes[0];
  made.kernelHeight = weight.sizes[2];
  made.kernelWidth = weight.sizes[3];
  made.weight = dataOf(&weight);
  for (int dim = 0; dim < 4; ++dim) {
    made.weightStrides[dim] = weight.strides[dim];
  }
  made.groups = call.groups;
  int64_t sizes[2] = {made.height, made.width}, kernel[2] = {made.kernelHeight, made.kernelWidth};
  int64_t *results[2] = {&made.resultHeight, &made.resultWidth};
  for (int dim = 0; dim < 2; ++dim) {
    made.stride[dim] = call.stride[dim];
    made.padding[dim] = call.padding[dim];
    made.dilation[dim] = call.dilation[dim];
    made.paddingBehind[dim] = call.paddingBehind[dim];
    int64_t room = sizes[dim] + call.padding[dim] + call.paddingBehind[dim] -
                   call.dilation[dim] * (kernel[dim] - 1) - 1;
    if (call.stride[dim] < 1 || call.dilation[dim] < 1 || call.padding[dim] < 0 ||
        call.paddingBehind[dim] < 0 || room < 0) {
      return std::nullopt;
    }
    *results[dim] = room / call.stride[dim] + 1;
  }
  int64_t result[4] = {made.images, made.outputs, made.resultHeight, made.resultWidth};
  if (made.depth() == 0 || made.pixels() == 0 || made.outputs == 0 ||
      !isVector(operands.bias, made.outputs) || !isVector(operands.scale, made.outputs) ||
      !isVector(operands.shift, made.outputs) ||
      (operands.added && (!isPlain(*operands.added) || operands.added->rank != 4 ||
                          !isChannelsLast(*operands.added, result)))) {
    return std::nullopt;
  }
  // Offsets of a pixel's inputs are 32 bits wide.
  int64_t reach = made.paddedHeight() * made.paddedWidth();
  if (reach > std::numeric_limits<int32_t>::max() / made.channels ||
      made.rowStride > std::numeric_limits<int32_t>::max() / (reach + 1) ||
      made.channelStride > std::numeric_limits<int32_t>::max() / (made.channels + 1)) {
    return std::nullopt;
  }
  made.bias = dataOf(operands.bias);
  made.scale = dataOf(operands.scale);
  made.shift = dataOf(operands.shift);
  made.added = dataOf(operands.added);
  made.isLimited = call.low || call.high;
  made.low = call.low.value_or(-std::numeric_limits<float>::infinity());
  made.high = call.high.value_or(std::numeric_limits<float>::infinity());
  return made;
}

} // namespace frit
