// The operators that `numerics="batch-invariant"` has in place of torch's matrix products,
// attention and convolutions. An element's bits follow from its own row (image) and the shared
// operand alone: not from how many others there are, its place among them, or the threads. Their
// shapes are in python/frit/eager/rows.py.

#include "runtime/torch/RowOperators.h"

#include "runtime/cpu/Attention.h"
#include "runtime/cpu/Convolution.h"
#include "runtime/cpu/ProductKernels.h"
#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <limits>
#include <memory>

namespace frit {
namespace {

void runAlone(int64_t units, int64_t, RangeBody body, void *argument) { body(argument, 0, units); }

/// Calls a function for each of [0, count).
template <typename Call> void forEach(int64_t count, const Call &call) {
  parallelForOnTorchThreads(
      count, /*grain=*/1,
      [](void *argument, int64_t begin, int64_t end) {
        for (; begin < end; ++begin) {
          (*static_cast<const Call *>(argument))(begin);
        }
      },
      const_cast<Call *>(&call));
}

/// left [..., rows, depth] times right [..., depth, columns], with equal sizes in front. The right
/// operand is read along the depth, whatever its strides are, because a size of one has no layout.
at::Tensor rowProduct(const at::Tensor &left, const at::Tensor &right) {
  TORCH_CHECK(productLanes() != 0, "frit::row_product needs a CPU with AVX2");
  TORCH_CHECK(left.scalar_type() == c10::kFloat && right.scalar_type() == c10::kFloat,
              "frit::row_product takes f32 matrices, got ", left.scalar_type(), " and ",
              right.scalar_type());
  int64_t rank = left.dim();
  TORCH_CHECK(rank >= 2 && right.dim() == rank && left.size(-1) == right.size(-2) &&
                  left.sizes().slice(0, rank - 2) == right.sizes().slice(0, rank - 2),
              "frit::row_product takes matrices that fit, got ", left.sizes(), " and ",
              right.sizes());
  at::Tensor rows = left.contiguous(), columns = right.mT().contiguous();
  c10::SmallVector<int64_t, 6> sizes(left.sizes().begin(), left.sizes().end());
  sizes.back() = right.size(-1);
  at::Tensor result = at::empty(sizes, left.options());
  if (result.numel() == 0 || left.size(-1) == 0) {
    return result.zero_();
  }
  Product whole;
  whole.rows = left.size(-2);
  whole.columns = right.size(-1);
  whole.depth = left.size(-1);
  whole.leftStride = whole.rightStride = whole.depth;
  whole.form = ProductForm::AlongDepth;
  whole.resultStride = whole.columns;
  const float *leftData = valuesOf<float>(rows), *rightData = valuesOf<float>(columns);
  auto *resultData = result.mutable_data_ptr<float>();
  auto multiply = [&](int64_t at, ParallelFor parallelFor) {
    Product work = whole;
    work.left = leftData + at * work.rows * work.depth;
    work.right = rightData + at * work.columns * work.depth;
    work.result = resultData + at * work.rows * work.columns;
    // Not the faster kernel for many rows: it adds in another order.
    runProduct(work, *productKernels().front(), parallelFor);
  };
  int64_t matrices = result.numel() / (whole.rows * whole.columns);
  if (matrices < at::get_num_threads()) {
    for (int64_t at = 0; at < matrices; ++at) {
      multiply(at, parallelForOnTorchThreads);
    }
  } else {
    forEach(matrices, [&](int64_t at) { multiply(at, runAlone); });
  }
  return result;
}

/// Attention of f32 tensors [batch, head, row, depth]; `mask` is added to the scores.
at::Tensor rowAttention(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
                        const std::optional<at::Tensor> &mask, bool causal, double scale) {
  TORCH_CHECK(productLanes() != 0, "frit::row_attention needs a CPU with AVX2");
  for (const at::Tensor *one : {&query, &key, &value}) {
    TORCH_CHECK(one->scalar_type() == c10::kFloat && one->dim() == 4 &&
                    one->size(0) == query.size(0) && one->size(1) == query.size(1) &&
                    one->size(3) == query.size(3) &&
                    one->size(2) == (one == &query ? query : key).size(2),
                "frit::row_attention takes f32 operands that fit, got ", query.sizes(), ", ",
                key.sizes(), " and ", value.sizes());
  }
  at::Tensor result = at::empty_like(query);
  if (query.numel() == 0 || key.size(2) == 0) {
    return result.zero_();
  }
  auto dense = [](const at::Tensor &tensor) {
    return tensor.stride(3) == 1 ? tensor : tensor.contiguous();
  };
  auto strides = [](const at::Tensor &tensor) {
    return AttentionStrides{tensor.stride(0), tensor.stride(1), tensor.stride(2)};
  };
  at::Tensor q = dense(query), k = dense(key), v = dense(value), out = dense(result), added;
  Attention work;
  work.batches = q.size(0);
  work.heads = q.size(1);
  work.queries = q.size(2);
  work.keys = k.size(2);
  work.depth = q.size(3);
  work.query = valuesOf<float>(q);
  work.key = valuesOf<float>(k);
  work.value = valuesOf<float>(v);
  work.queryStrides = strides(q);
  work.keyStrides = strides(k);
  work.valueStrides = strides(v);
  if (mask) {
    TORCH_CHECK(mask->scalar_type() == c10::kFloat, "frit::row_attention takes masks of f32, got ",
                mask->scalar_type());
    added = mask->expand({work.batches, work.heads, work.queries, work.keys});
    work.mask = valuesOf<float>(added);
    work.maskStrides = strides(added);
    work.maskColumnStride = added.stride(3);
  }
  work.causal = causal;
  work.scale = static_cast<float>(scale);
  work.result = out.mutable_data_ptr<float>();
  work.resultStrides = strides(out);
  runAttention(work, parallelForOnTorchThreads);
  return out.is_same(result) ? result : result.copy_(out);
}

/// A convolution of images of two dims; `padding` is there already.
struct Filters {
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  int64_t stride[2], dilation[2], groups;
};

/// Where the kernel does not apply: f64, machines without AVX2 and images of more than 2 GB.
template <typename T>
void convolvePlainly(const at::Tensor &input, const Filters &filters, at::Tensor &result) {
  const at::Tensor &weight = filters.weight;
  int64_t channels = weight.size(1), outputs = weight.size(0), height = weight.size(2),
          width = weight.size(3), rows = result.size(2), columns = result.size(3);
  int64_t inputRow = input.size(3), inputChannel = input.size(2) * inputRow;
  const T *from = valuesOf<T>(input), *filter = valuesOf<T>(weight);
  const T *bias = filters.bias ? valuesOf<T>(*filters.bias) : nullptr;
  T *to = result.mutable_data_ptr<T>();
  // A row of an output of an image.
  forEach(result.size(0) * outputs * rows, [&](int64_t at) {
    int64_t y = at % rows, output = at / rows % outputs, image = at / rows / outputs;
    int64_t first = output / (outputs / filters.groups) * channels;
    const T *rowFrom =
        from + (image * input.size(1) + first) * inputChannel + y * filters.stride[0] * inputRow;
    T *row = to + at * columns;
    std::fill(row, row + columns, T(0));
    const T *factor = filter + output * channels * height * width;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ky = 0; ky < height; ++ky) {
        for (int64_t kx = 0; kx < width; ++kx, ++factor) {
          const T *line = rowFrom + c * inputChannel + ky * filters.dilation[0] * inputRow +
                          kx * filters.dilation[1];
          for (int64_t x = 0; x < columns; ++x) {
            row[x] += *factor * line[x * filters.stride[1]];
          }
        }
      }
    }
    for (int64_t x = 0; bias && x < columns; ++x) {
      row[x] += bias[output];
    }
  });
}

at::Tensor convolveImages(const at::Tensor &input, const Filters &filters) {
  const at::Tensor &weight = filters.weight;
  int64_t sizes[2];
  for (int dim = 0; dim < 2; ++dim) {
    int64_t room = input.size(dim + 2) - filters.dilation[dim] * (weight.size(dim + 2) - 1) - 1;
    TORCH_CHECK(room >= 0, "frit::row_convolution: the kernel is larger than the padded input");
    sizes[dim] = room / filters.stride[dim] + 1;
  }
  bool isPlain = input.scalar_type() != c10::kFloat || convolutionLanes() == 0 ||
                 input.numel() > std::numeric_limits<int32_t>::max() * input.size(0);
  at::Tensor result =
      at::empty({input.size(0), weight.size(0), sizes[0], sizes[1]}, input.options(),
                isPlain ? c10::MemoryFormat::Contiguous : c10::MemoryFormat::ChannelsLast);
  if (result.numel() == 0) {
    return result;
  }
  if (weight.numel() == 0) {
    result.zero_();
    return filters.bias ? result.add_(filters.bias->view({-1, 1, 1})) : result;
  }
  if (isPlain) {
    input.scalar_type() == c10::kDouble ? convolvePlainly<double>(input, filters, result)
                                        : convolvePlainly<float>(input, filters, result);
    return result;
  }
  Convolution work;
  work.images = input.size(0);
  work.channels = input.size(1);
  work.height = input.size(2);
  work.width = input.size(3);
  work.input = valuesOf<float>(input);
  work.rowStride = work.width;
  work.columnStride = 1;
  work.channelStride = work.height * work.width;
  work.imageStride = work.channels * work.channelStride;
  work.outputs = weight.size(0);
  work.kernelHeight = weight.size(2);
  work.kernelWidth = weight.size(3);
  work.weight = valuesOf<float>(weight);
  work.weightStrides[3] = 1;
  work.weightStrides[2] = work.kernelWidth;
  work.weightStrides[1] = work.kernelHeight * work.kernelWidth;
  work.groups = filters.groups;
  work.weightStrides[0] = work.depth();
  work.bias = filters.bias ? valuesOf<float>(*filters.bias) : nullptr;
  for (int dim = 0; dim < 2; ++dim) {
    work.stride[dim] = filters.stride[dim];
    work.dilation[dim] = filters.dilation[dim];
  }
  work.resultHeight = sizes[0];
  work.resultWidth = sizes[1];
  work.result = result.mutable_data_ptr<float>();
  work.inOneOrder = true;
  runConvolution(work, parallelForOnTorchThreads);
  return result;
}

/// The images of which an ordinary convolution with step 1 is the transposed one: zeros between the
/// elements, and a border.
at::Tensor spread(const at::Tensor &images, at::IntArrayRef stride, at::IntArrayRef border,
                  at::IntArrayRef after) {
  at::Tensor result = images;
  std::vector<int64_t> sizes(images.sizes().begin(), images.sizes().end()), pads;
  bool isSpread = false;
  for (size_t dim = 0; dim < stride.size(); ++dim) {
    sizes[dim + 2] = (sizes[dim + 2] - 1) * stride[dim] + 1;
    isSpread |= stride[dim] != 1;
  }
  if (isSpread) {
    result = at::zeros(sizes, images.options());
    at::Tensor places = result;
    for (size_t dim = 0; dim < stride.size(); ++dim) {
      places = places.slice(int64_t(dim) + 2, 0, std::nullopt, stride[dim]);
    }
    places.copy_(images);
  }
  for (size_t dim = stride.size(); dim-- > 0;) {
    pads.push_back(border[dim]);
    pads.push_back(border[dim] + after[dim]);
  }
  return at::constant_pad_nd(result, pads, 0);
}

at::Tensor rowConvolution(const at::Tensor &images, const at::Tensor &filters,
                          const std::optional<at::Tensor> &bias, at::IntArrayRef stride,
                          at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                          at::IntArrayRef outputPadding, int64_t groups) {
  int64_t rank = images.dim() - 2;
  TORCH_CHECK(rank >= 1 && rank <= 3 && filters.dim() == images.dim() &&
                  images.scalar_type() == filters.scalar_type() && images.is_floating_point(),
              "frit::row_convolution takes images of one to three dims and filters of their type, "
              "got ",
              images.sizes(), " and ", filters.sizes());
  auto type = images.scalar_type() == c10::kDouble ? c10::kDouble : c10::kFloat;
  at::Tensor input = images.to(type), weight = filters.to(type);
  // One number stands for all dims.
  auto each = [&](at::IntArrayRef given, int64_t missing) {
    std::vector<int64_t> all(given.begin(), given.end());
    all.resize(size_t(rank), given.empty() ? missing : given.back());
    return all;
  };
  std::vector<int64_t> steps = each(stride, 1), border = each(padding, 0),
                       apart = each(dilation, 1), after = each(outputPadding, 0);
  if (transposed) {
    std::vector<int64_t> dims;
    for (int64_t dim = 0; dim < rank; ++dim) {
      border[dim] = apart[dim] * (weight.size(dim + 2) - 1) - border[dim];
      dims.push_back(dim + 2);
    }
    input = spread(input, steps, border, after);
    weight = weight.unflatten(0, {groups, weight.size(0) / groups})
                 .transpose(1, 2)
                 .flatten(0, 1)
                 .flip(dims);
    steps.assign(size_t(rank), 1);
  } else {
    input = spread(input, std::vector<int64_t>(size_t(rank), 1), border,
                   std::vector<int64_t>(size_t(rank), 0));
  }
  int64_t count = input.size(0), layers = 1;
  if (rank == 1) {
    input = input.unsqueeze(2);
    weight = weight.unsqueeze(2);
  } else if (rank == 3) {
    // The images of a layer of the result, beside each other as channels.
    input = input.unfold(2, apart[0] * (weight.size(2) - 1) + 1, steps[0])
                .slice(5, 0, std::nullopt, apart[0])
                .permute({0, 2, 1, 5, 3, 4});
    layers = input.size(1);
    input = input.reshape(
        {count * layers, input.size(2) * input.size(3), input.size(4), input.size(5)});
    weight = weight.flatten(1, 2);
  }
  size_t last = size_t(rank) - 1;
  Filters plain = {weight.contiguous(),
                   bias ? std::optional(bias->to(type).contiguous()) : std::nullopt,
                   {rank == 1 ? 1 : steps[last - 1], steps[last]},
                   {rank == 1 ? 1 : apart[last - 1], apart[last]},
                   groups};
  at::Tensor result = convolveImages(input.contiguous(), plain);
  if (rank == 1) {
    result = result.squeeze(2);
  } else if (rank == 3) {
    result = result.unflatten(0, {count, layers}).transpose(1, 2);
  }
  return result.to(images.scalar_type()).contiguous();
}

} // namespace

void registerRowOperators() {
  static const auto library = []() -> std::unique_ptr<torch::Library> {
    // A process may have the Python binding and libfrit_torch.
    if (c10::Dispatcher::singleton().findSchema({"frit::row_product", ""})) {
      return nullptr;
    }
    auto made = std::make_unique<torch::Library>(torch::Library::FRAGMENT, "frit", std::nullopt,
                                                 __FILE__, __LINE__);
    made->def("row_product(Tensor left, Tensor right) -> Tensor");
    made->def("row_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, "
              "float scale) -> Tensor");
    made->def("row_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
              "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
              "SymInt groups) -> Tensor");
    auto onCpu = [](auto function) { return torch::dispatch(c10::DispatchKey::CPU, function); };
    made->impl("row_product", onCpu(TORCH_FN(rowProduct)));
    made->impl("row_attention", onCpu(TORCH_FN(rowAttention)));
    made->impl("row_convolution", onCpu(TORCH_FN(rowConvolution)));
    return made;
  }();
}

} // namespace frit
