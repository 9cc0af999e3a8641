// An exported program may mutate: `add_`, `copy_` into a slice, `fill_` of a view of an
// argument. This pass gives every such write a value. It walks the graph once and
// keeps, for each tensor, what it is a view of, and for each root (a tensor that is no
// view) its present value:
//
//   %v = slice(%x, 0, 0, 2)      %v is a slice of the root %x
//   add_(%v, 1)                  %w = add(%v, 1);  %x is now slice_scatter(%x, %w, 0, 0, 2)
//   use(%x), use(%v)             read the present %x, and its slice
//
// A root that is an argument of the graph is written back by `frit.store` at the end.
#include "passes/Passes.h"

#include "ir/AtenSchemas.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::frit {
#define GEN_PASS_DEF_FUNCTIONALIZEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// What an operator does to the storage of its operands.
struct Access {
  SmallVector<unsigned> writes; // operand numbers
  bool writesList = false;       // as `_foreach_add_` does
  std::optional<unsigned> views; // the operand whose storage the results share
};
} // namespace

static Access getAccess(AtenOp op) {
  Access access;
  AtenEffects effects = AtenSchema::lookupEffects(op.getOpName());
  if (!effects.mutates && !effects.view) {
    return access;
  }
  std::optional<AtenSchema> schema = AtenSchema::lookup(op.getOpName());
  if (!schema) {
    return access;
  }
  for (auto [argument, attr] : llvm::zip(schema->arguments, op.getArguments())) {
    if (auto list = dyn_cast<ArrayAttr>(attr); list && argument.isWrite) {
      for (auto operand : list.getAsRange<OperandAttr>()) {
        access.writes.push_back(operand.getIndex());
      }
      access.writesList = true;
    }
    auto operand = dyn_cast<OperandAttr>(attr);
    if (!operand || argument.alias.empty()) {
      continue;
    }
    if (argument.isWrite) {
      access.writes.push_back(operand.getIndex());
    } else if (effects.view) {
      access.views = operand.getIndex();
    }
  }
  return access;
}

/// `aten.add_.Tensor` is `aten.add.Tensor`; empty if there is no such operator.
static std::string getValueForm(StringRef name) {
  auto [base, overload] = name.rsplit('.');
  if (!base.consume_back("_") || base.ends_with("_")) {
    return {};
  }
  std::string form = (base + "." + overload).str();
  return AtenSchema::lookup(form) ? form : std::string();
}

/// The operator that puts a changed view back into what it is a view of.
static StringRef getInverse(StringRef view) {
  return llvm::StringSwitch<StringRef>(view)
      .Case("aten.slice.Tensor", "aten.slice_scatter.default")
      .Case("aten.select.int", "aten.select_scatter.default")
      .Case("aten.as_strided.default", "aten.as_strided_scatter.default")
      .Case("aten.permute.default", "aten.permute.default")
      .Case("aten.t.default", "aten.permute.default")
      .Case("aten.transpose.int", "aten.permute.default")
      .Case("aten.view.default", "aten.view.default")
      .Case("aten._unsafe_view.default", "aten.view.default")
      .Case("aten.unsqueeze.default", "aten.view.default")
      .Case("aten.squeeze.default", "aten.view.default")
      .Case("aten.squeeze.dim", "aten.view.default")
      .Case("aten.squeeze.dims", "aten.view.default")
      .Case("aten.flatten.using_ints", "aten.view.default")
      .Case("aten.alias.default", "aten.view.default")
      .Case("aten.detach.default", "aten.view.default")
      .Default("");
}

/// Operators that return their operand or a copy of it, depending on layout and dtype.
static bool mayCopy(StringRef name) {
  return name.starts_with("aten.to.") || name == "aten.contiguous.default" ||
         name == "aten.reshape.default" || name == "aten.flatten.using_ints" ||
         name == "aten.type_as.default" || name == "aten.ravel.default";
}

namespace {
class Functionalizer {
public:
  explicit Functionalizer(GraphOp graph) : graph(graph), builder(graph.getContext()) {}

  LogicalResult run(uint64_t &numWrites) {
    Block &body = graph.getBody().front();
    if (!llvm::any_of(body.getOps<AtenOp>(),
                      [](AtenOp op) { return !getAccess(op).writes.empty(); })) {
      return success();
    }
    for (Operation &op : llvm::make_early_inc_range(body)) {
      builder.setInsertionPoint(&op);
      if (isa<ReturnOp>(op)) {
        finish(cast<ReturnOp>(op));
        break;
      }
      auto aten = dyn_cast<AtenOp>(op);
      Access access = aten ? getAccess(aten) : Access();
      std::optional<Value> target;
      if (!access.writes.empty()) {
        target = resolve(op.getOperand(access.writes.front()));
      }
      if (access.views) {
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
    }
    return success();
  }

private:
  struct View {
    AtenOp op;
    unsigned operand = 0;
    Value parent;
  };

  /// An in-place operator's result is its target.
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
    auto again = cast<AtenOp>(builder.clone(*view.op));
    again->setOperand(view.operand, read(view.parent));
    Value result = again->getResult(cast<OpResult>(value).getResultNumber());
    retaken[value] = {version, result};
    return result;
  }

  LogicalResult write(AtenOp op, const Access &access, Value target) {
    std::string form = getValueForm(op.getOpName());
    if (form.empty() || access.writesList || access.writes.size() != 1 || op.getNumResults() > 1) {
      return op.emitError("'") << op.getOpName()
                               << "' has no functional form that writes one tensor; export "
                                  "the program with run_decompositions()";
    }
    for (Value value = target; views.count(value); value = views[value].parent) {
      AtenOp view = views[value].op;
      if (getInverse(view.getOpName()).empty() || view.getNumResults() != 1) {
        InFlightDiagnostic diagnostic =
            op.emitError("'") << op.getOpName() << "' writes through '" << view.getOpName()
                              << "', which cannot be inverted; export the program with "
                                 "run_decompositions()";
        diagnostic.attachNote(view.getLoc()) << "the view is here";
        return diagnostic;
      }
    }
    for (auto &[value, view] : views) {
      if (mayCopy(view.op.getOpName()) && rootOf(value) == rootOf(target) &&
          !value.use_empty()) {
        InFlightDiagnostic diagnostic =
            op.emitError("'") << op.getOpName() << "' writes to storage that '"
                              << view.op.getOpName()
                              << "' may share or copy; export the program with "
                                 "run_decompositions()";
        diagnostic.attachNote(view.op.getLoc()) << "the possible copy is here";
        return diagnostic;
      }
    }
    unsigned place = access.writes.front();
    Attribute dtype = op.getOperandDtypes()[place];
    AtenOp made = makeCall(op.getLoc(), form, op.getOperands(), op.getArguments(),
                           op.getOperandDtypes(), target.getType(), dtype);
    if (op.getNumResults() == 1) {
      targets[op.getResult(0)] = target;
    }
    setValue(target, made.getResult(0), dtype);
    dead.push_back(op);
    return success();
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

  /// The tensor has this value from now on; so has all it is a view of.
  void setValue(Value tensor, Value value, Attribute dtype) {
    for (auto it = views.find(tensor); it != views.end(); it = views.find(tensor)) {
      Value parent = it->second.parent;
      value = putBack(it->second.op, it->second.operand, parent, value, dtype);
      tensor = parent;
    }
    present[tensor] = value;
    ++versions[tensor];
    if (auto argument = dyn_cast<BlockArgument>(tensor)) {
      mutated.insert(argument);
    }
  }

  Value putBack(AtenOp view, unsigned viewed, Value parent, Value value, Attribute dtype) {
    StringRef inverse = getInverse(view.getOpName());
    SmallVector<Attribute> arguments, dtypes;
    SmallVector<Value> operands;
    auto pass = [&](Value operand, Attribute operandDtype) {
      arguments.push_back(OperandAttr::get(builder.getContext(), operands.size()));
      operands.push_back(operand);
      dtypes.push_back(operandDtype);
    };
    if (inverse.contains("scatter")) {
      pass(read(parent), dtype);
      pass(value, dtype);
      for (Attribute attr : view.getArguments().getValue().drop_front()) {
        if (auto operand = dyn_cast<OperandAttr>(attr)) {
          pass(view.getOperand(operand.getIndex()), view.getOperandDtypes()[operand.getIndex()]);
        } else {
          arguments.push_back(attr);
        }
      }
    } else {
      pass(value, dtype);
      int64_t rank = cast<RankedTensorType>(parent.getType()).getRank();
      arguments.push_back(inverse == "aten.permute.default" ? invertedOrder(view, rank)
                                                            : builder.getArrayAttr({}));
    }
    return makeCall(view.getLoc(), inverse, operands, builder.getArrayAttr(arguments),
                    builder.getArrayAttr(dtypes), parent.getType(), dtype)
        .getResult(0);
  }

  ArrayAttr invertedOrder(AtenOp view, int64_t rank) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    auto fromFront = [&](Attribute attr) {
      int64_t dim = cast<IntegerAttr>(attr).getValue().getSExtValue();
      return dim < 0 ? dim + rank : dim;
    };
    if (view.getOpName() == "aten.permute.default") {
      for (auto [i, attr] : llvm::enumerate(cast<ArrayAttr>(view.getArguments()[1]))) {
        order[fromFront(attr)] = i;
      }
    } else if (view.getOpName() == "aten.t.default") {
      std::reverse(order.begin(), order.end());
    } else if (rank > 0) {
      std::swap(order[fromFront(view.getArguments()[1])], order[fromFront(view.getArguments()[2])]);
    }
    return builder.getI64ArrayAttr(order);
  }

  void finish(ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      // An argument that is returned is itself, written back by then.
      Value value = resolve(operand.get());
      operand.set(isa<BlockArgument>(value) ? value : read(value));
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
