// The reasons for which operators are left to ATen, by the operator's base name. They are shown in
// `frit.explain` and the logs; no decision depends on them.
#include "passes/legalize/Reasons.h"

#include "passes/legalize/AtenCall.h"

#include "ir/AtenSchemas.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

static StringRef getFamily(StringRef base) {
  StringRef family =
      llvm::StringSwitch<StringRef>(base)
          .Cases({"mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot", "vdot", "addbmm", "linear",
                  "matmul", "einsum", "addr", "bilinear"},
                 "a matrix product: a library has the kernel")
          .Cases(
              {"lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "mkldnn_rnn_layer"},
              "a recurrent network: a library has the kernel")
          .Cases({"convolution", "_convolution", "convolution_backward", "conv1d", "conv2d",
                  "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                  "convolution_overrideable", "im2col", "col2im"},
                 "a convolution: a library has the kernel")
          .Cases({"scaled_dot_product_attention", "native_multi_head_attention"},
                 "attention: a library has the kernel")
          .Cases({"sort", "topk", "argsort", "msort", "kthvalue", "median", "nanmedian", "mode",
                  "searchsorted", "bucketize", "unique_consecutive", "_unique2", "unique_dim"},
                 "a sort or a search: not in the vocabulary")
          .Cases({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "_cummax_helper",
                  "_cummin_helper"},
                 "a scan: not in the vocabulary")
          .Cases({"scatter_add", "scatter_reduce", "index_put", "index_add", "index_copy",
                  "index_fill", "put", "_index_put_impl", "_unsafe_index_put", "masked_scatter",
                  "embedding_dense_backward", "histc", "bincount", "as_strided_scatter", "scatter"},
                 "a write at positions that data decide: not in the vocabulary")
          .Cases({"nonzero", "masked_select", "nonzero_static", "repeat_interleave", "unique"},
                 "a result whose size depends on data")
          .Cases({"_assert_async", "_assert_scalar", "sym_constrain_range",
                  "sym_constrain_range_for_size", "_assert_tensor_metadata", "_local_scalar_dense",
                  "item"},
                 "a check or a read by the host, in program order")
          .Default("");
  if (!family.empty()) {
    return family;
  }
  if (base.contains("pool")) {
    return "a pooling: a library has the kernel";
  }
  if (base.contains("fft")) {
    return "a Fourier transform: a library has the kernel";
  }
  if (base.starts_with("linalg_") || base.starts_with("_linalg_")) {
    return "linear algebra: a library has the kernel";
  }
  if (base.contains("scaled_dot_product")) {
    return "attention: a library has the kernel";
  }
  return base.contains("upsample") || base.contains("grid_sampl")
             ? "an interpolation: not in the vocabulary"
             : "";
}

std::string mlir::frit::reasonWithoutRule(AtenOp op) {
  StringRef name = op.getOpName();
  auto [space, rest] = name.split('.');
  StringRef base = rest.split('.').first;
  if (space != "aten" && space != "prims") {
    return ("an operator of '" + space + "', which frit does not know").str();
  }
  if (StringRef family = getFamily(base); !family.empty()) {
    return family.str();
  }
  AtenEffects effects = AtenSchema::lookupEffects(name);
  if (effects.random) {
    return "random numbers come in eager's order";
  }
  if (effects.mutates) {
    return "it writes to its operands";
  }
  if (std::string other = getRules().findOverload((space + "." + base + ".").str());
      !other.empty()) {
    return "no rule for this overload; '" + other + "' has one";
  }
  return "no rule for this operator";
}

std::string mlir::frit::reasonOfDtype(AtenOp op) {
  auto check = [](ValueRange values, ArrayAttr dtypes) -> std::string {
    for (auto [value, attr] : llvm::zip(values, dtypes)) {
      DType dtype = cast<DTypeAttr>(attr).getValue();
      if (isa<RankedTensorType>(value.getType()) && !isSupported(dtype)) {
        return ("dtype " + stringifyDType(dtype) + " is not in the vocabulary").str();
      }
    }
    return {};
  };
  std::string why = check(op.getOperands(), op.getOperandDtypes());
  return why.empty() ? check(op.getResults(), op.getResultDtypes()) : why;
}
