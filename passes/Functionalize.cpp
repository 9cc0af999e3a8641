// An exported program may mutate: `add_`, `copy_` into a slice, `fill_` of a view of an argument.
// This pass turns every such write into a value. It walks the graph once and records, for each
// tensor, of what it is a view, and for each root (a tensor that is not a view) its present value:
//
//   %v = slice(%x, 0, 0, 2)      %v is a slice of the root %x
//   add_(%v, 1)                  %w = add(%v, 1);  %x is now slice_scatter(%x, %w, 0, 0, 2)
//   use(%x), use(%v)             read the present %x, and its slice
//
// A root that is an argument of the graph is written back by `frit.store` at the end.
//
// Batch normalisation in training updates its running statistics, although they are plain inputs in
// its schema. It becomes the operator that returns them.
#include "passes/Passes.h"

#include "ir/AtenSchemas.h"
#include "passes/AtenAliases.h"
#include "passes/Layouts.h"
#include "passes/legalize/AtenCall.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::frit {
#define GEN_PASS_DEF_FUNCTIONALIZEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// Arguments 3 and 4 of batch normalisation are the running mean and variance; argument 5 says
/// whether they are updated.
static constexpr unsigned kRunningMean = 3, kRunningVariance = 4, kTraining = 5;

static bool updatesStatistics(AtenOp op) {
  StringRef name = op.getOpName();
  if (name != "aten.batch_norm.default" && name != "aten.native_batch_norm.default" &&
      name != "aten.instance_norm.default") {
    return false;
  }
  auto training = dyn_cast<BoolAttr>(op.getArguments()[kTraining]);
  return (!training || training.getValue()) && isa<OperandAttr>(op.getArguments()[kRunningMean]) &&
         isa<OperandAttr>(op.getArguments()[kRunningVariance]);
}

/// `aten.add_.Tensor` is `aten.add.Tensor`; empty if there is no such operator.
static std::string getValueForm(StringRef name) {
  auto odd = llvm::StringSwitch<StringRef>(name)
                 .Case("aten.__iand__.Tensor", "aten.bitwise_and.Tensor")
                 .Case("aten.__iand__.Scalar", "aten.bitwise_and.Scalar")
                 .Case("aten.__ior__.Tensor", "aten.bitwise_or.Tensor")
                 .Case("aten.__ior__.Scalar", "aten.bitwise_or.Scalar")
                 .Case("aten.__ixor__.Tensor", "aten.bitwise_xor.Tensor")
                 .Case("aten.__ixor__.Scalar", "aten.bitwise_xor.Scalar")
                 .Case("aten.__ilshift__.Tensor", "aten.bitwise_left_shift.Tensor")
                 .Case("aten.__ilshift__.Scalar", "aten.bitwise_left_shift.Tensor_Scalar")
                 .Case("aten.__irshift__.Tensor", "aten.bitwise_right_shift.Tensor")
                 .Case("aten.__irshift__.Scalar", "aten.bitwise_right_shift.Tensor_Scalar")
                 .Case("aten.floor_divide_.Tensor", "aten.floor_divide.default")
                 .Case("aten.transpose_.default", "aten.transpose.int")
                 .Case("aten.normal_.default", "aten.normal_functional.default")
                 .Default("");
  auto [base, overload] = name.rsplit('.');
  if (!odd.empty() || !base.consume_back("_") || base.ends_with("_")) {
    return odd.str();
  }
  std::string form = (base + "." + overload).str();
  return AtenSchema::lookup(form) ? form : std::string();
}

/// Whether the operator changes the shape of a tensor and not its elements: from then on the
/// program uses the result.
static bool isInPlaceView(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"aten.unsqueeze_.default", "aten.squeeze_.default", "aten.squeeze_.dim",
              "aten.squeeze_.dims"},
             true)
      .Cases({"aten.t_.default", "aten.transpose_.default", "aten.swapaxes_.default",
              "aten.swapdims_.default"},
             true)
      .Default(false);
}

/// The operator that writes a changed view back into its base.
static StringRef getInverse(StringRef view) {
  return llvm::StringSwitch<StringRef>(view)
      .Cases({"aten.slice.Tensor", "aten.narrow.default", "aten.chunk.default", "aten.split.Tensor",
              "aten.split.sizes", "aten.split_with_sizes.default", "aten.tensor_split.sections",
              "aten.tensor_split.indices"},
             "aten.slice_scatter.default")
      .Cases({"aten.select.int", "aten.unbind.int"}, "aten.select_scatter.default")
      .Case("aten.as_strided.default", "aten.as_strided_scatter.default")
      .Case("aten.diagonal.default", "aten.diagonal_scatter.default")
      .Cases({"aten.permute.default", "aten.t.default", "aten.transpose.int",
              "aten.swapaxes.default", "aten.swapdims.default", "aten.mT.default",
              "aten.numpy_T.default"},
             "aten.permute.default")
      .Cases({"aten.view.default", "aten._unsafe_view.default", "aten.unsqueeze.default",
              "aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims",
              "aten.flatten.using_ints", "aten.unflatten.int", "aten.alias.default",
              "aten.detach.default", "aten.view_as.default", "aten.reshape.default",
              "aten.ravel.default", "aten.contiguous.default", "aten.to.dtype",
              "aten.type_as.default"},
             "aten.view.default")
      .Cases({"aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default",
              "aten.feature_alpha_dropout.default"},
             "aten.view.default")
      .Cases({"aten.sum_to_size.default", "aten.conj_physical.default", "aten.atleast_1d.default",
              "aten.atleast_2d.default", "aten.atleast_3d.default"},
             "aten.view.default")
      .Default("");
}

namespace {
class Functionalizer {
public:
  explicit Functionalizer(GraphOp graph) : graph(graph), builder(graph.getContext()) {}

  LogicalResult run(uint64_t &numWrites) {
    Block &body = graph.getBody().front();
    if (!llvm::any_of(body.getOps<AtenOp>(), [](AtenOp op) {
          return !getAccess(op).writes.empty() || updatesStatistics(op);
        })) {
      return success();
    }
    for (Operation &op : llvm::make_early_inc_range(body)) {
      builder.setInsertionPoint(&op);
      if (isa<ReturnOp>(op)) {
        finish(cast<ReturnOp>(op));
        break;
      }
      auto aten = dyn_cast<AtenOp>(op);
      if (aten && isInPlaceView(aten.getOpName())) {
        aten.setOpName(getValueForm(aten.getOpName()));
      }
      Access access = aten ? getAccess(aten) : Access();
      std::optional<Value> target, mean, variance;
      if (!access.writes.empty()) {
        target = resolve(op.getOperand(access.writes.front()));
      }
      if (aten && updatesStatistics(aten)) {
        mean = resolve(argument(aten, kRunningMean));
        variance = resolve(argument(aten, kRunningVariance));
      }
      if (aten && mayReturnOperands(aten)) {
        for (Value operand : op.getOperands()) {
          opaque.push_back({aten, rootOf(resolve(operand))});
        }
        for (Value result : op.getResults()) {
          opaque.push_back({aten, result});
        }
      }
      if (access.views && getSharing(aten, *access.views) != Sharing::Never) {
        Value parent = resolve(op.getOperand(*access.views));
        for (Value result : op.getResults()) {
          views[result] = {aten, *access.views, parent};
        }
      }
      // The target of a store is memory, not a value.
      unsigned count = isa<StoreOp>(op) ? 1 : op.getNumOperands();
      for (unsigned i = 0; i < count; ++i) {
        op.setOperand(i, read(resolve(op.getOperand(i))));
      }
      if (auto store = dyn_cast<StoreOp>(op)) {
        stored.insert(store.getTarget());
      }
      if (target) {
        if (failed(write(aten, access, *target))) {
          return failure();
        }
        ++numWrites;
      }
      if (mean) {
        if (failed(updateStatistics(aten, *mean, *variance))) {
          return failure();
        }
        numWrites += 2;
      }
    }
    return success();
  }

private:
  struct View {
    AtenOp op;
    unsigned operand = 0;
    Value parent;
  };

  /// The tensor that a value stands for: the result of an in-place operator is its target.
  Value resolve(Value value) const {
    while (Value target = targets.lookup(value)) {
      value = target;
    }
    return value;
  }

  Value rootOf(Value value) const {
    for (auto it = views.find(value); it != views.end(); it = views.find(value)) {
      value = it->second.parent;
    }
    return value;
  }

  /// The present value of a tensor.
  Value read(Value value) {
    auto it = views.find(value);
    if (it == views.end()) {
      Value now = present.lookup(value);
      return now ? now : value;
    }
    unsigned version = versions.lookup(rootOf(value));
    auto &[seen, cached] = retaken[value];
    if (version == seen) {
      return cached ? cached : value;
    }
    View view = it->second;
    // First, because it may make a view itself.
    Value parent = read(view.parent);
    auto again = cast<AtenOp>(builder.clone(*view.op));
    again->setOperand(view.operand, parent);
    Value result = again->getResult(cast<OpResult>(value).getResultNumber());
    retaken[value] = {version, result};
    return result;
  }

  /// A tensor as a view of its root's initial value, whatever the present one is.
  Value asTraced(Value value) {
    auto it = views.find(value);
    if (it == views.end() || !mutated.contains(cast<BlockArgument>(rootOf(value)))) {
      return value;
    }
    View view = it->second;
    Value parent = asTraced(view.parent);
    auto again = cast<AtenOp>(builder.clone(*view.op));
    again->setOperand(view.operand, parent);
    return again->getResult(cast<OpResult>(value).getResultNumber());
  }

  LogicalResult write(AtenOp op, const Access &access, Value target) {
    std::string form = getValueForm(op.getOpName());
    if (form.empty() || access.writesList || access.writes.size() != 1 || op.getNumResults() > 1) {
      return op.emitError("'") << op.getOpName()
                               << "' has no functional form that writes one tensor; export "
                                  "the program with run_decompositions()";
    }
    if (failed(checkWritable(op, target))) {
      return failure();
    }
    unsigned place = access.writes.front();
    Attribute dtype = op.getOperandDtypes()[place];
    AtenOp made = makeCall(op.getLoc(), form, op.getOperands(), op.getArguments(),
                           op.getOperandDtypes(), target.getType(), dtype);
    made.setReasonAttr(op.getReasonAttr());
    if (op.getNumResults() == 1) {
      targets[op.getResult(0)] = target;
    }
    setValue(target, made.getResult(0), dtype);
    dead.push_back(op);
    return success();
  }

  static Value argument(AtenOp op, unsigned place) {
    return op.getOperand(cast<OperandAttr>(op.getArguments()[place]).getIndex());
  }

  /// Replaces the normalisation by the operator whose last results are the updated statistics.
  LogicalResult updateStatistics(AtenOp op, Value mean, Value variance) {
    if (op.getOpName() == "aten.instance_norm.default") {
      return op.emitError("'")
             << op.getOpName()
             << "' updates running statistics, which no functional form of it does; export "
                "the program with run_decompositions()";
    }
    if (failed(checkWritable(op, mean)) || failed(checkWritable(op, variance))) {
      return failure();
    }
    SmallVector<Type> types(op.getResultTypes());
    SmallVector<Attribute> dtypes(op.getResultDtypes().getValue());
    Attribute dtype =
        op.getOperandDtypes()[cast<OperandAttr>(op.getArguments()[kRunningMean]).getIndex()];
    // Results after the first: the statistics of the batch, which the composite form does not
    // return, and the running ones.
    while (types.size() < 5) {
      types.push_back(mean.getType());
      dtypes.push_back(dtype);
    }
    auto layouts = op.getResultLayouts() ? SmallVector<Attribute>(op.getResultLayouts()->getValue())
                                         : SmallVector<Attribute>();
    auto storage = op.getResultStorage() ? SmallVector<Attribute>(op.getResultStorage()->getValue())
                                         : SmallVector<Attribute>();
    for (size_t i = layouts.size(); !layouts.empty() && i < types.size(); ++i) {
      layouts.push_back(getContiguousLayout(cast<RankedTensorType>(types[i])));
    }
    if (!storage.empty()) {
      storage.resize(types.size(), builder.getUnitAttr());
    }
    auto listOf = [&](ArrayRef<Attribute> attrs) {
      return attrs.empty() ? ArrayAttr() : builder.getArrayAttr(attrs);
    };
    auto made = AtenOp::create(
        builder, op.getLoc(), types,
        builder.getStringAttr("aten._native_batch_norm_legit_functional.default"), op.getOperands(),
        builder.getArrayAttr(op.getArguments().getValue().take_front(8)), ArrayAttr(),
        op.getOperandDtypes(), builder.getArrayAttr(dtypes), op.getOperandLayoutsAttr(),
        listOf(layouts), listOf(storage), op.getReasonAttr());
    for (auto [old, now] : llvm::zip(op.getResults(), made.getResults())) {
      old.replaceAllUsesWith(now);
    }
    setValue(mean, made.getResult(3), dtype);
    setValue(variance, made.getResult(4), dtype);
    dead.push_back(op);
    return success();
  }

  /// Whether a new value of this tensor can be written back through all views down to its root.
  LogicalResult checkWritable(AtenOp op, Value target) {
    for (Value value = target; views.count(value); value = views[value].parent) {
      AtenOp view = views[value].op;
      if (getInverse(view.getOpName()).empty() || !isKnownPiece(view)) {
        InFlightDiagnostic diagnostic =
            op.emitError("'") << op.getOpName() << "' writes through '" << view.getOpName()
                              << "', which cannot be inverted; export the program with "
                                 "run_decompositions()";
        diagnostic.attachNote(view.getLoc()) << "the view is here";
        return diagnostic;
      }
    }
    for (auto &[value, view] : views) {
      if ((getSharing(view.op, view.operand) == Sharing::Unknown || mayLieBeside(view)) &&
          rootOf(value) == rootOf(target) && !value.use_empty()) {
        return mayShare(op, view.op);
      }
    }
    for (auto &[call, root] : opaque) {
      if (root == rootOf(target)) {
        return mayShare(op, call);
      }
    }
    return success();
  }

  /// Whether an `as_strided` may have elements of the storage that its operand has not, or one
  /// element twice, so that no value of the operand holds what is written through it.
  static bool mayLieBeside(const View &view) {
    AtenOp op = view.op;
    if (op.getOpName() != "aten.as_strided.default") {
      return false;
    }
    LayoutAttr from = getTracedOperandLayout(op, view.operand), to = getTracedResultLayout(op, 0);
    auto source = cast<RankedTensorType>(op.getOperand(view.operand).getType());
    if (!from || !to || !isDense(from, source)) {
      return true;
    }
    auto start = (SizeExpr(to.getOffset()) - SizeExpr(from.getOffset())).getConstant();
    auto whole = getStorageSpan(from, source);
    auto part = getStorageSpan(to, cast<RankedTensorType>(op.getResult(0).getType()));
    return !start || !whole || !part || part->overlaps || *start < 0 ||
           *start + part->elements > whole->elements;
  }

  static LogicalResult mayShare(AtenOp write, AtenOp call) {
    InFlightDiagnostic diagnostic = write.emitError("'")
                                    << write.getOpName() << "' writes to storage that '"
                                    << call.getOpName()
                                    << "' may share or copy; export the program with "
                                       "run_decompositions()";
    diagnostic.attachNote(call.getLoc()) << "the possible copy is here";
    return diagnostic;
  }

  AtenOp makeCall(Location loc, StringRef name, ValueRange operands, ArrayAttr arguments,
                  ArrayAttr operandDtypes, Type type, Attribute dtype) {
    OperationState state(loc, AtenOp::getOperationName());
    state.addOperands(operands);
    state.addTypes(type);
    state.addAttribute("op_name", builder.getStringAttr(name));
    state.addAttribute("arguments", arguments);
    state.addAttribute("operand_dtypes", operandDtypes);
    state.addAttribute("result_dtypes", builder.getArrayAttr({dtype}));
    return cast<AtenOp>(builder.create(state));
  }

  /// A value that stands for the memory of a tensor from now on: it lies alike, so views do too.
  /// That of an argument is stored in it.
  Value placedLike(Value value, Value tensor, Attribute dtype) {
    auto op = tensor.getDefiningOp<AtenOp>();
    LayoutAttr layout =
        op ? getTracedResultLayout(op, cast<OpResult>(tensor).getResultNumber()) : LayoutAttr();
    auto made = value.getDefiningOp<AtenOp>();
    if (!layout || !made || made->getNumResults() != 1 || made.getResultLayoutsAttr()) {
      return value;
    }
    if (getAccess(made).views) {
      auto itself = OperandAttr::get(builder.getContext(), 0);
      made = makeCall(made.getLoc(), "aten.clone.default", value,
                      builder.getArrayAttr({itself, builder.getUnitAttr()}),
                      builder.getArrayAttr({dtype}), value.getType(), dtype);
    }
    made.setResultLayoutsAttr(builder.getArrayAttr({layout}));
    auto fresh = StorageAttr::get(builder.getContext(), StorageKind::Fresh, 0);
    made.setResultStorageAttr(builder.getArrayAttr({fresh}));
    return made.getResult(0);
  }

  /// Makes `value` the present value of the tensor, and updates the root it is a view of.
  void setValue(Value tensor, Value value, Attribute dtype) {
    for (auto it = views.find(tensor); it != views.end(); it = views.find(tensor)) {
      Value parent = it->second.parent;
      value =
          putBack(it->second.op, cast<OpResult>(tensor).getResultNumber(), parent, value, dtype);
      tensor = parent;
    }
    present[tensor] = placedLike(value, tensor, dtype);
    ++versions[tensor];
    if (auto argument = dyn_cast<BlockArgument>(tensor)) {
      mutated.insert(argument);
    }
  }

  /// A dimension argument, counted from the front.
  static int64_t dimOf(Attribute attr, int64_t rank) {
    int64_t dim = cast<IntegerAttr>(attr).getValue().getSExtValue();
    return dim < 0 ? dim + rank : dim;
  }

  /// Where a narrowed piece begins; null if that is known only at run time.
  static SizeExpr startOf(AtenOp narrow, SizeExpr extent) {
    Attribute attr = narrow.getArguments()[2];
    if (auto literal = dyn_cast<IntegerAttr>(attr)) {
      SizeExpr start = SizeExpr::constant(narrow.getContext(), literal.getValue().getSExtValue());
      return literal.getValue().isNegative() ? start + extent : start;
    }
    return getSizeExpr(narrow.getOperand(cast<OperandAttr>(attr).getIndex()));
  }

  static bool isKnownPiece(AtenOp view) {
    return view.getOpName() != "aten.narrow.default" ||
           startOf(view, SizeExpr::constant(view.getContext(), 0));
  }

  /// The parent's value after result `number` of a view of it has become `value`.
  Value putBack(AtenOp view, unsigned number, Value parent, Value value, Attribute dtype) {
    StringRef name = view.getOpName(), inverse = getInverse(name);
    int64_t rank = cast<RankedTensorType>(parent.getType()).getRank();
    SmallVector<Attribute> arguments, dtypes;
    SmallVector<Value> operands;
    auto pass = [&](Value operand, Attribute operandDtype) {
      arguments.push_back(OperandAttr::get(builder.getContext(), operands.size()));
      operands.push_back(operand);
      dtypes.push_back(operandDtype);
    };
    auto passSize = [&](SizeExpr size) {
      if (auto literal = size.getConstant()) {
        arguments.push_back(builder.getI64IntegerAttr(*literal));
      } else {
        pass(SizeOp::create(builder, view.getLoc(), builder.getI64Type(), size),
             DTypeAttr::get(builder.getContext(), DType::I64));
      }
    };
    if (inverse.contains("scatter")) {
      pass(read(parent), dtype);
      pass(value, dtype);
    } else {
      pass(value, dtype);
    }
    if (name == "aten.unbind.int") {
      arguments.push_back(view.getArguments()[1]);
      arguments.push_back(builder.getI64IntegerAttr(number));
    } else if (inverse == "aten.slice_scatter.default" && name != "aten.slice.Tensor") {
      bool isNarrow = name == "aten.narrow.default";
      int64_t dim = dimOf(view.getArguments()[isNarrow ? 1 : 2], rank);
      SizeExpr start = isNarrow
                           ? startOf(view, getSizes(cast<RankedTensorType>(parent.getType()))[dim])
                           : SizeExpr::constant(builder.getContext(), 0);
      auto lengthOf = [&](unsigned i) {
        return getSizes(cast<RankedTensorType>(view.getResult(i).getType()))[dim];
      };
      for (unsigned i = 0; i < number; ++i) {
        start = start + lengthOf(i);
      }
      arguments.push_back(builder.getI64IntegerAttr(dim));
      passSize(start);
      passSize(start + lengthOf(number));
      arguments.push_back(builder.getI64IntegerAttr(1));
    } else if (inverse.contains("scatter")) {
      for (Attribute attr : view.getArguments().getValue().drop_front()) {
        if (auto operand = dyn_cast<OperandAttr>(attr)) {
          pass(view.getOperand(operand.getIndex()), view.getOperandDtypes()[operand.getIndex()]);
        } else {
          arguments.push_back(attr);
        }
      }
    } else {
      arguments.push_back(inverse == "aten.permute.default" ? invertedOrder(view, rank)
                                                            : builder.getArrayAttr({}));
    }
    return makeCall(view.getLoc(), inverse, operands, builder.getArrayAttr(arguments),
                    builder.getArrayAttr(dtypes), parent.getType(), dtype)
        .getResult(0);
  }

  ArrayAttr invertedOrder(AtenOp view, int64_t rank) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    StringRef name = view.getOpName();
    if (name == "aten.permute.default") {
      for (auto [i, attr] : llvm::enumerate(cast<ArrayAttr>(view.getArguments()[1]))) {
        order[dimOf(attr, rank)] = i;
      }
    } else if (name == "aten.t.default" || name == "aten.numpy_T.default") {
      std::reverse(order.begin(), order.end());
    } else if (name == "aten.mT.default") {
      std::swap(order[rank - 2], order[rank - 1]);
    } else if (rank > 0) {
      std::swap(order[dimOf(view.getArguments()[1], rank)],
                order[dimOf(view.getArguments()[2], rank)]);
    }
    return builder.getI64ArrayAttr(order);
  }

  void finish(ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      // A returned argument stays the argument itself, and a view of it a view of the argument,
      // which has been written back by then.
      Value value = resolve(operand.get());
      operand.set(isa<BlockArgument>(rootOf(value)) ? asTraced(value) : read(value));
    }
    for (BlockArgument argument : mutated) {
      if (!stored.contains(argument)) {
        StoreOp::create(builder, op.getLoc(), present[argument], argument);
      }
    }
    for (AtenOp op : llvm::reverse(dead)) {
      op.erase();
    }
  }

  GraphOp graph;
  OpBuilder builder;
  llvm::MapVector<Value, View> views;
  DenseMap<Value, Value> targets, present;
  DenseMap<Value, unsigned> versions;
  DenseMap<Value, std::pair<unsigned, Value>> retaken;
  llvm::SetVector<BlockArgument> mutated;
  /// Calls that may return their operands, each with the root of an operand or with a result.
  SmallVector<std::pair<AtenOp, Value>> opaque;
  DenseSet<Value> stored;
  SmallVector<AtenOp> dead;
};

struct FunctionalizePass : frit::impl::FunctionalizePassBase<FunctionalizePass> {
  void runOnOperation() override {
    uint64_t count = 0;
    if (failed(Functionalizer(getOperation()).run(count))) {
      return signalPassFailure();
    }
    numWrites += count;
  }
};
} // namespace
