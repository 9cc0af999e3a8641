#pragma once

#include "import/ExportedProgram.h"
#include "import/HostSizes.h"
#include "import/Importer.h"
#include "ir/AtenSchemas.h"
#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

/// The parts of the importer. A ProgramImporter has the state that all graphs of a
/// program share (symbols, schemas, subgraphs, the error); a GraphImporter
/// makes one frit.graph, node by node in order, with a table of named values.
namespace mlir::frit::exported {

/// The tensor that autograd sees as the base of a view.
struct AutogradBase {
  /// Its dtype; null if the tensor is no view but a base.
  DTypeAttr dtype;
  /// Its shape and strides; null if they are not known.
  Type type = {};
  LayoutAttr layout = {};
  /// Which of the bases in one storage it is: 0 for the tensor that made the storage. `detach` and
  /// `view` as another dtype return others.
  unsigned number = 0;
};

/// What a name of the graph stands for.
struct ImportedValue {
  Value value;
  DTypeAttr dtype;
  /// Tensors only.
  LayoutAttr layout;
  StorageAttr storage;
  StringAttr device;
  /// Integers only, if known: then uses become `frit.size` or a literal.
  SizeExpr size;
  AutogradBase base;

  bool isTensor() const { return value && isa<RankedTensorType>(value.getType()); }
};

/// The checked content of a TensorMeta.
struct TensorInfo {
  RankedTensorType type;
  DTypeAttr dtype;
  LayoutAttr layout;
  StringAttr device;
};

class ProgramImporter {
public:
  ProgramImporter(MLIRContext *context, const Program &program, const ImportOptions &options,
                  Error &error);
  OwningOpRef<ModuleOp> run();

  /// Records the first error; `location` is where the diagnostic will point.
  LogicalResult fail(ErrorKind kind, const Twine &message, Location location);
  /// The size that a value stands for. For an expression that is not a size: the symbol of this
  /// name, or an error without a name.
  FailureOr<SizeExpr> size(const SymValue &value, StringRef what, Location location,
                           StringRef symbol = "");
  /// The size of an input. The caller has computed it, so it may be any expression: a new symbol
  /// stands for it.
  FailureOr<SizeExpr> sizeOfInput(const SymValue &value, StringRef name, Location location);
  /// Null, without an error, if the text is not a size.
  SizeExpr sizeIfKnown(const SymValue &value);
  const AtenSchema *schema(StringRef opName);
  /// Imports the graph of an argument. Equal texts give the same graph.
  FailureOr<GraphOp> subgraph(const Argument &argument, Location location);
  SymbolAttr symbol(StringRef name);
  /// The expression of a symbol that the host computes; null for other symbols.
  const HostExpression *hostExpression(StringRef symbol) const;

  MLIRContext *context;
  const Program &program;
  const ImportOptions &options;
  Location failedAt;
  SizeFacts facts;

private:
  /// The symbol for a size that only the host can compute; null if the host cannot compute it
  /// either.
  SizeExpr sizeOnHost(StringRef text);

  Error &error;
  llvm::StringMap<SizeExpr> hostSizes;             // by text
  llvm::StringMap<HostExpression> hostExpressions; // by symbol
  llvm::StringMap<RangeConstraint> ranges;
  llvm::StringMap<int64_t> hints;
  llvm::DenseMap<StringRef, SizeExpr> sizes;
  llvm::StringMap<std::optional<AtenSchema>> schemas;
  llvm::DenseMap<StringRef, GraphOp> subgraphs;
  llvm::StringSet<> subgraphNames;
  unsigned subgraphDepth = 0;
  OwningOpRef<ModuleOp> module;
};

/// The operands and literals of one operator call under construction.
struct CallArguments {
  SmallVector<Value> operands;
  SmallVector<Attribute> dtypes, layouts, arguments, names;
};

/// One result of a call to be made.
struct CallResult {
  StringRef name; // empty if nothing reads it
  Type type;
  DTypeAttr dtype;
  LayoutAttr layout;
  StorageAttr storage;
  StringAttr device;
  SizeExpr size;
  AutogradBase base;
};

class GraphImporter {
public:
  GraphImporter(ProgramImporter &program, const Graph &graph, bool isMain);
  FailureOr<GraphOp> run(ModuleOp module, StringRef name);

private:
  // Values (ImportValues.cpp)
  FailureOr<TensorInfo> tensor(StringRef name);
  FailureOr<TensorInfo> tensor(StringRef name, const TensorMeta &meta);
  LogicalResult indexValues();
  LogicalResult define(StringRef name, ImportedValue value);
  FailureOr<ImportedValue *> lookup(const Argument &argument);
  /// An integer, float or boolean by name or literal, as a value.
  FailureOr<Value> scalar(const Argument &argument);
  Value sizeValue(SizeExpr size);
  Value constant(TypedAttr value);
  void noteSymbols(SizeExpr size);
  /// Defines the symbols that first occur in these results.
  LogicalResult bindSymbols(ArrayRef<CallResult> results, ValueRange values);
  LogicalResult bindOffset(LayoutAttr layout, DTypeAttr dtype, Value value);
  LogicalResult bindOffsetsOfArguments();
  bool isBound(SizeExpr size);
  /// Symbols that arguments have only inside `c * s + d` (export's derived dims) or as a stride (of
  /// a slice of a wider tensor): the plan reads them from there.
  void bindDerivedSymbols();
  StorageAttr freshStorage();
  FailureOr<ImportedValue> copyTo(const ImportedValue &to, const ImportedValue &from);

  // Signature (Importer.cpp)
  LogicalResult addInput(const Argument &input, const InputSpec *spec,
                         SmallVectorImpl<Type> &types);
  LogicalResult addOutputs(GraphOp op);
  LogicalResult addResult(const Argument &output, SmallVectorImpl<Value> &values,
                          SmallVectorImpl<Attribute> &attributes);
  LogicalResult addStore(const OutputSpec &spec, unsigned number);
  LogicalResult checkSymbols();

  // Nodes (ImportNodes.cpp)
  LogicalResult importNode(const Node &node);
  LogicalResult importOperator(const Node &node, StringRef opName);
  LogicalResult addArguments(const Node &node, const AtenSchema *schema, CallArguments &call);
  FailureOr<Attribute> argument(const Argument &value, const AtenArgument *expected,
                                CallArguments &call);
  FailureOr<Attribute> literal(const Argument &value, const AtenArgument *expected);
  FailureOr<Attribute> defaultLiteral(const AtenArgument &argument);
  Attribute addOperand(const ImportedValue &value, CallArguments &call);
  LogicalResult addResults(ArrayRef<Argument> outputs, SmallVectorImpl<CallResult> &results,
                           SmallVectorImpl<int64_t> &lists);
  AtenOp emitCall(StringRef opName, CallArguments &call, ArrayRef<CallResult> results);
  LogicalResult defineResults(ArrayRef<CallResult> results, ValueRange values);
  bool isFinalStore(const Node &node);
  LogicalResult importStore(const Node &node);

  // Storage (ImportStorage.cpp)
  ArrayAttr storageClasses(ValueRange operands, ArrayRef<CallResult> results);
  void addStorage(const ImportedValue &value, NamedAttrList &attrs);
  void shareOperand(AtenOp op, unsigned operand, bool isWritten, CallResult &result);
  void setStorage(AtenOp op, const AtenSchema &schema, const CallArguments &call,
                  ArrayRef<int64_t> lists, MutableArrayRef<CallResult> results);

  // Scalars (ImportScalars.cpp)
  LogicalResult requireQuotientAsWritten(const exported::Node &node);
  LogicalResult importScalar(const Node &node, StringRef function);
  FailureOr<Value> emitScalar(StringRef function, ArrayRef<Value> operands);
  /// Null if a symbol in the expression has no value yet.
  Value emitHostExpression(const HostExpression &expression);
  Value emitChoice(const HostExpression &call);
  Value emitHostCall(const HostExpression &expression);
  /// Defines a symbol that the host computes, unless it has a value or cannot have one yet.
  void computeSymbol(StringRef name);

  // Higher-order operators (ImportHigherOrder.cpp)
  LogicalResult importHigherOrder(const Node &node, StringRef name);
  LogicalResult importControlFlow(const Node &node, StringRef name);
  LogicalResult importCall(const Node &node, size_t graphAt, size_t firstOperand);
  // ImportAutoFunctionalized.cpp
  class AutoFunctionalized;
  LogicalResult importAutoFunctionalized(const Node &node, bool views);

  LogicalResult fail(ErrorKind kind, const Twine &message);
  /// The user's line of the current node.
  Location here();

  ProgramImporter &program;
  const Graph &graph;
  bool isMain;
  MLIRContext *context;
  OpBuilder builder;
  Block *block = nullptr;
  const Node *current = nullptr;
  /// Where there is no node, the beginning of messages: "input 3: ".
  std::string place;
  /// By mutated input, the output that holds its new value.
  llvm::DenseMap<unsigned, unsigned> writtenBy;
  /// What the outputs write: the value and the argument; by name of a value, the argument.
  SmallVector<std::pair<Value, Value>> stores;
  llvm::StringMap<ImportedValue> written;
  size_t currentIndex = 0;
  unsigned freshCount = 0;
  StringAttr mainDevice;
  llvm::DenseMap<StringRef, ImportedValue> values;
  llvm::DenseMap<Value, StorageAttr> storageOf;
  llvm::DenseMap<Value, AutogradBase> baseOf;
  unsigned baseCount = 0;
  llvm::DenseMap<StringRef, const TensorMeta *> tensors;
  llvm::DenseMap<StringRef, const SymValue *> ints;
  llvm::DenseMap<StringRef, std::string> floatNames; // of values that are symbols
  llvm::DenseMap<StringRef, unsigned> arguments;     // name -> position
  /// The last node that reads a name, and the names that live in an argument's storage.
  llvm::DenseMap<StringRef, size_t> lastUse;
  llvm::DenseMap<int64_t, SmallVector<StringRef>> namesOfArgument;
  llvm::DenseMap<SizeAttr, Value> sizeValues;
  llvm::StringMap<Value> floatSymbols;
  /// By name of a returned tensor: the number of its first result.
  llvm::StringMap<unsigned> returned;
  SmallVector<Attribute> argumentAttrs;
  llvm::MapVector<StringAttr, Location> symbols; // first use
  llvm::DenseSet<StringAttr> bound;
};

/// Torch's enumerations, from export's codes (never c10's).
std::optional<DType> dtypeFromExport(int64_t code);
Type elementType(MLIRContext *context, DType dtype);
Attribute memoryFormat(MLIRContext *context, int64_t exportCode);
Attribute layoutLiteral(MLIRContext *context, int64_t exportCode);

} // namespace mlir::frit::exported
