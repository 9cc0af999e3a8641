// 2-d convolutions run channels-last on a CPU: the library's kernels work in that order and reorder
// what they read and write on every call in any other. Pooling between them follows, because
// torch's own kernels are vectorised along the channels only. Regions write what their readers
// demand (assign-layouts), so the order costs nothing between two calls. A call that reads an
// argument in another order stays as it is; a result may be copied. ATen copies a filter to the
// order of the images in each call, and the gradient of a filter has to be copied back. So a filter
// that is larger than the input keeps its order, and so do the images of its call.
//
// Sizes may be symbolic: strides are size expressions, and the runtime copies what an operator
// returns in another order because a size happens to be 1.
#include "ir/FritAttributes.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-prefer-channels-last"

namespace mlir::frit {
#define GEN_PASS_DEF_PREFERCHANNELSLASTPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// The operands and results of an operator that are images.
struct Images {
  SmallVector<unsigned, 3> operands, results;
};

struct PreferChannelsLastPass : frit::impl::PreferChannelsLastPassBase<PreferChannelsLastPass> {
  using PreferChannelsLastPassBase::PreferChannelsLastPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    for (int64_t number : inputs) {
      if (number < 0 || number >= static_cast<int64_t>(graph.getNumArguments()) ||
          !isImage(graph.getArgumentTypes()[number])) {
        graph.emitError() << "input " << number
                          << " is not a 4-d tensor, so it cannot be channels-last";
        return signalPassFailure();
      }
      auto type = cast<RankedTensorType>(graph.getArgumentTypes()[number]);
      kArgumentLayoutAttr.set(graph, number, getChannelsLastLayout(type));
    }
    if (!relay) {
      return;
    }
    SmallVector<AtenOp> calls;
    for (AtenOp call : graph.getBody().front().getOps<AtenOp>()) {
      if (imagesOf(call)) {
        calls.push_back(call);
      }
    }
    if (weights) {
      relayFilters(graph, calls);
    }
    SizeEstimate estimate(graph);
    llvm::erase_if(calls, [&](AtenOp call) { return copiesLargeFilter(call, estimate); });
    if (llvm::none_of(calls, readsFilter)) {
      LDBG() << calls.size() << " calls keep their order: none of them reads a filter";
      return;
    }
    for (AtenOp call : calls) {
      Images images = *imagesOf(call);
      call.setOperandLayoutsAttr(
          relaid(call.getOperandLayoutsAttr(), call.getOperandTypes(), images.operands));
      call.setResultLayoutsAttr(
          relaid(call.getResultLayoutsAttr(), call.getResultTypes(), images.results));
      LDBG() << call.getOpName() << " runs channels-last";
      ++relaidCalls;
    }
    if (firstKept >= 0) {
      for (int64_t i = firstKept; i < static_cast<int64_t>(graph.getResultTypes().size()); ++i) {
        keep(graph, i);
      }
    }
  }

  static bool readsFilter(AtenOp call) {
    return call.getOpName().starts_with("aten.conv") || isOwnConvolution(call);
  }

  /// Whether channels-last images make ATen copy a filter that is larger than the input.
  static bool copiesLargeFilter(AtenOp call, const SizeEstimate &estimate) {
    if (!readsFilter(call) || isOwnConvolution(call)) {
      return false;
    }
    unsigned input = call.getOpName() == "aten.convolution_backward.default" ? 1 : 0;
    auto filter = dyn_cast<RankedTensorType>(call.getOperand(input + 1).getType());
    if (!filter || !isImage(filter) ||
        call.getOperandLayoutsAttr()[input + 1] == getChannelsLastLayout(filter)) {
      return false;
    }
    // With one element for each channel, both orders are the same.
    ArrayRef<int64_t> shape = filter.getShape();
    return !(shape[2] == 1 && shape[3] == 1) &&
           estimate.ofElements(filter) > estimate.ofElements(call.getOperand(input).getType());
  }

  static bool isOwnConvolution(AtenOp call) {
    return call.getOpName() == "frit.convolution.default";
  }

  /// The images of a convolution in the runtime's own kernel, which reads any order of the input.
  static Images imagesOfOwn(AtenOp call) {
    Images images = {{}, {0}};
    if (!needsCopy(call.getOperand(0))) {
      images.operands.push_back(0);
    }
    if (auto added = dyn_cast<OperandAttr>(call.getArguments()[11])) {
      images.operands.push_back(added.getIndex());
    }
    return images;
  }

  /// Stores filters channels-last, since the library would reorder them at every call.
  void relayFilters(GraphOp graph, ArrayRef<AtenOp> calls) {
    llvm::DenseSet<Operation *> relaidReaders;
    for (AtenOp call : calls) {
      relaidReaders.insert(call);
    }
    // The same as the statistic, which may be compiled out; for the report.
    int64_t count = 0;
    for (BlockArgument argument : graph.getBody().getArguments()) {
      unsigned number = argument.getArgNumber();
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      bool isFilter = kArgumentOwnBytesAttr.isOn(graph, number) && isImage(type) &&
                      !argument.use_empty() &&
                      llvm::all_of(argument.getUses(), [&](OpOperand &use) {
                        auto call = dyn_cast<AtenOp>(use.getOwner());
                        return call && readsFilter(call) && relaidReaders.contains(call) &&
                               use.getOperandNumber() == 1 &&
                               call.getOpName() != "aten.convolution_backward.default" &&
                               call.getOperandLayoutsAttr()[1] == getContiguousLayout(type);
                      });
      if (!isFilter) {
        continue;
      }
      for (OpOperand &use : argument.getUses()) {
        auto call = cast<AtenOp>(use.getOwner());
        call.setOperandLayoutsAttr(
            relaid(call.getOperandLayoutsAttr(), call.getOperandTypes(), {1}));
      }
      kArgumentLayoutAttr.set(graph, number, getChannelsLastLayout(type));
      LDBG() << "argument " << number << " is stored channels-last: only convolutions read it";
      ++relaidWeights;
      ++count;
    }
    if (count > 0) {
      kRelaidWeightsAttr.set(graph, IntegerAttr::get(IntegerType::get(&getContext(), 64), count));
    }
  }

  static bool isImage(Type type) {
    auto tensor = dyn_cast_or_null<RankedTensorType>(type);
    return tensor && tensor.getRank() == 4;
  }

  /// Types for which the library has kernels. f64 runs in torch's own loops, for which the order
  /// does not matter.
  static bool isFast(Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isF32() || element.isBF16() || element.isF16();
  }

  /// The images of an operator; nullopt if it has none, or if the program gave it an order of its
  /// own.
  static std::optional<Images> imagesOf(AtenOp call) {
    if (isOwnConvolution(call)) {
      return call.getOperandLayoutsAttr() && call.getResultLayoutsAttr()
                 ? std::optional(imagesOfOwn(call))
                 : std::nullopt;
    }
    auto images =
        llvm::StringSwitch<std::optional<Images>>(call.getOpName())
            .Cases({"aten.convolution.default", "aten.conv2d.default", "aten.conv2d.padding"},
                   Images{{0}, {0}})
            .Case("aten.convolution_backward.default", Images{{0, 1}, {0, 1}})
            .Case("aten.max_pool2d_with_indices.default", Images{{0}, {0, 1}})
            .Case("aten.max_pool2d_with_indices_backward.default", Images{{0, 1, 2}, {0}})
            .Cases({"aten.max_pool2d.default", "aten.avg_pool2d.default",
                    "aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default"},
                   Images{{0}, {0}})
            .Cases(
                {"aten.avg_pool2d_backward.default", "aten._adaptive_avg_pool2d_backward.default"},
                Images{{0, 1}, {0}})
            .Default(std::nullopt);
    if (!images || !call.getOperandLayoutsAttr() || !call.getResultLayoutsAttr() ||
        isTransposed(call)) {
      return std::nullopt;
    }
    for (unsigned number : images->operands) {
      if (number >= call.getNumOperands() || !isImage(call.getOperand(number).getType()) ||
          call.getOperandLayoutsAttr()[number] !=
              getContiguousLayout(cast<RankedTensorType>(call.getOperand(number).getType())) ||
          needsCopy(call.getOperand(number))) {
        return std::nullopt;
      }
    }
    if (!isFast(call.getOperand(0).getType())) {
      return std::nullopt;
    }
    // A gradient that is not requested has no result.
    llvm::erase_if(images->results, [&](unsigned number) {
      return isa<NoneType>(call.getResult(number).getType());
    });
    for (unsigned number : images->results) {
      if (!isImage(call.getResult(number).getType())) {
        return std::nullopt;
      }
    }
    return images;
  }

  /// Whether an image that is not written by a region would have to be copied, which takes memory
  /// that eager does not need.
  static bool needsCopy(Value image) {
    if (auto argument = dyn_cast<BlockArgument>(image)) {
      auto graph = cast<GraphOp>(argument.getOwner()->getParentOp());
      return getArgumentLayout(graph, argument.getArgNumber()) !=
             getChannelsLastLayout(cast<RankedTensorType>(image.getType()));
    }
    return isView(image.getDefiningOp());
  }

  static bool isTransposed(AtenOp call) {
    unsigned position = llvm::StringSwitch<unsigned>(call.getOpName())
                            .Case("aten.convolution.default", 6)
                            .Case("aten.convolution_backward.default", 7)
                            .Default(~0u);
    if (position == ~0u) {
      return false;
    }
    auto flag = dyn_cast<BoolAttr>(call.getArguments()[position]);
    return !flag || flag.getValue();
  }

  ArrayAttr relaid(ArrayAttr layouts, TypeRange types, ArrayRef<unsigned> numbers) {
    SmallVector<Attribute> all(layouts.begin(), layouts.end());
    for (unsigned number : numbers) {
      all[number] = getChannelsLastLayout(cast<RankedTensorType>(types[number]));
    }
    return ArrayAttr::get(&getContext(), all);
  }

  /// Marks a result that only the backward graph reads: its layout is free.
  void keep(GraphOp graph, unsigned number) {
    auto ret = cast<ReturnOp>(graph.getBody().front().getTerminator());
    Value value = ret.getOperand(number);
    auto storage = kResultStorageAttr.get(graph, number);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!isImage(value.getType()) || !isa_and_nonnull<AtenOp, RegionOp>(value.getDefiningOp()) ||
        !storage || storage.getKind() != StorageKind::Fresh ||
        kResultLayoutAttr.get(graph, number) != getContiguousLayout(type)) {
      return;
    }
    for (OpOperand &use : value.getUses()) {
      if (use.getOwner() == ret && use.getOperandNumber() < static_cast<uint64_t>(firstKept)) {
        return;
      }
    }
    kResultKeptAttr.mark(graph, number);
  }
};
} // namespace
