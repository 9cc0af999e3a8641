#pragma once

#include "ir/AtenSchemas.h"
#include "passes/legalize/TensorBuilder.h"

#include "llvm/ADT/StringMap.h"

#include <concepts>
#include <functional>

/// An argument: by its name in the schema, or by its position if operators of several schemas share
/// the rule.
class ArgumentRef {
public:
  template <size_t length>
  /*implicit*/ constexpr ArgumentRef(const char (&name)[length]) : name(name, length - 1) {}
  template <std::integral T>
  /*implicit*/ constexpr ArgumentRef(T place) : place(static_cast<unsigned>(place)) {}

  llvm::StringRef getName() const { return name; }
  unsigned getPlace() const { return place; }

private:
  llvm::StringRef name;
  unsigned place = 0;
};

/// The interface of one `frit.aten` for its rule: arguments by their name in the schema, results by
/// number. A rule calls `refuse(why)` if it cannot preserve eager's semantics, and so does every
/// accessor that finds another kind of argument than the rule requested (it then returns a harmless
/// value). The pass erases what a refused rule has built and leaves the operator, with the reason.
namespace mlir::frit {

class AtenCall {
public:
  AtenCall(AtenOp op, TensorBuilder &builder, bool gpu = false, bool deterministic = false)
      : op(op), builder(builder), gpu(gpu), deterministic(deterministic) {}

  AtenOp getOp() const { return op; }
  TensorBuilder &build() { return builder; }
  /// Whether the graph runs on GPUs only: their ATen kernels accumulate f32 in f32, those of a CPU
  /// in f64.
  bool isForGpu() const { return gpu; }
  /// Whether every call must give the same bits, where ATen's kernels for GPUs do not.
  bool isDeterministic() const { return deterministic; }

  //===--- arguments ------------------------------------------------------===//
  unsigned getNumArguments() const { return op.getArguments().size(); }
  bool isNone(ArgumentRef which) const;
  bool isTensor(ArgumentRef which) const;
  Tensor tensor(ArgumentRef which);
  /// A null value if the argument is None.
  Tensor optionalTensor(ArgumentRef which);
  /// None entries are null values.
  SmallVector<Tensor> tensorList(ArgumentRef which);
  Scalar scalar(ArgumentRef which);
  int64_t integer(ArgumentRef which);
  double number(ArgumentRef which);
  bool boolean(ArgumentRef which);
  StringRef string(ArgumentRef which);
  SmallVector<int64_t> integers(ArgumentRef which);
  /// An integer that may be symbolic.
  SizeExpr size(ArgumentRef which);
  SmallVector<SizeExpr> sizes(ArgumentRef which);
  /// A dimension of a tensor of this rank, counted from the front.
  int64_t dim(ArgumentRef which, int64_t rank);
  /// Dimensions, sorted; all of them if the argument is None or empty.
  SmallVector<int64_t> dims(ArgumentRef which, int64_t rank);

  //===--- results --------------------------------------------------------===//
  unsigned getNumResults() const { return op->getNumResults(); }
  DType resultDtype(unsigned i = 0) const;
  SmallVector<SizeExpr> resultSizes(unsigned i = 0) const;
  /// `x`, rounded or converted to the dtype of result `i` and broadcast to its sizes.
  Tensor finish(Tensor x, unsigned i = 0);
  /// The layout that the trace saw for a tensor argument, or null.
  LayoutAttr operandLayout(ArgumentRef which) const;
  /// The same for result `i`.
  LayoutAttr resultLayout(unsigned i = 0) const;
  //===--- refusal --------------------------------------------------------===//
  /// Refuses the call for this reason; the first reason counts. Returns what a rule returns then.
  std::nullopt_t refuse(const Twine &why);
  bool refused() const { return !reason.empty(); }
  const std::string &getReason() const { return reason; }

private:
  unsigned placeOf(ArgumentRef which) const;
  Attribute attribute(unsigned i) const;
  Value operandOf(Attribute attr) const;
  Tensor tensorOf(Attribute attr, unsigned i);
  Scalar scalarOf(Attribute attr, unsigned i);
  SizeExpr sizeOf(Attribute attr, unsigned i);

  // Accessors of operations are not const; the call itself never changes.
  mutable AtenOp op;
  /// Looked up for the first argument that is given by name.
  mutable std::optional<AtenSchema> schema;
  TensorBuilder &builder;
  bool gpu, deterministic;
  mutable std::string reason;
};

/// The size expression a run-time integer is known to equal, or null.
SizeExpr getSizeExpr(Value integer);

/// One tensor per result, null for a result of none type; nullopt if the rule refused.
using Values = std::optional<SmallVector<Tensor>>;
using Rule = std::function<Values(AtenCall &)>;
/// A rule with one result, finished by the table.
using SingleRule = std::function<Tensor(AtenCall &, TensorBuilder &)>;

/// Rules by operator name.
class RuleTable {
public:
  void add(std::initializer_list<StringRef> names, Rule rule);
  /// The result is converted to the result's dtype and broadcast to its sizes.
  void addSingle(std::initializer_list<StringRef> names, SingleRule rule);
  const Rule *find(StringRef name) const;
  /// The name of an operator that has a rule and begins with `prefix`; empty if there is none.
  std::string findOverload(StringRef prefix) const;
  /// All operators with a rule, sorted.
  std::vector<std::string> getNames() const;
  size_t size() const { return rules.size(); }

private:
  llvm::StringMap<Rule> rules;
};

void addElementwiseRules(RuleTable &table);
void addBinaryRules(RuleTable &table);
void addActivationRules(RuleTable &table);
void addComparisonRules(RuleTable &table);
void addCastRules(RuleTable &table);
void addMakingRules(RuleTable &table);
void addMovingRules(RuleTable &table);
void addScatteringRules(RuleTable &table);
void addAddedRowsRules(RuleTable &table);
void addIndexingRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addNormRules(RuleTable &table);
void addSoftmaxRules(RuleTable &table);
void addLossRules(RuleTable &table);
void addBackwardRules(RuleTable &table);
void addCompositeRules(RuleTable &table);
void addLibraryRules(RuleTable &table);

/// Every rule of the room; built once.
const RuleTable &getRules();

} // namespace mlir::frit
