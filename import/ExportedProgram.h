#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Allocator.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// torch.export's ExportedProgram as plain structs: what the JSON says, checked
/// for form (kinds, ranges, versions) but not for meaning. Text points into the
/// JSON or into the program's own storage.
namespace mlir::frit::exported {

/// Why an import failed. Only `Unsupported` may fall back to eager.
enum class ErrorKind { Syntax, Schema, Semantic, Limit, Unsupported };
llvm::StringRef stringify(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::Syntax;
  std::string message;
  /// Where in the text, if the form of the text is at fault.
  unsigned line = 0, column = 0;
};

/// SymInt, SymFloat or SymBool: a literal or the srepr text of a sympy
/// expression.
struct SymValue {
  bool isExpr = false;
  llvm::StringRef expr;
  int64_t integer = 0;
  double real = 0;
  std::optional<int64_t> hint;
};

struct Device {
  llvm::StringRef type;
  std::optional<int64_t> index;
  std::string str() const;
};

struct TensorMeta {
  int64_t dtype = 0;
  std::vector<SymValue> sizes, strides;
  SymValue offset;
  Device device;
  int64_t layout = 0;
};

struct Graph;

/// One of the schema's argument tags, lists folded into one.
struct Argument {
  enum class Kind {
    None,
    Tensor,
    SymInt,
    SymFloat,
    SymBool, // Tensor to SymBool: by name
    Int,
    Float,
    Bool,
    String,
    Complex, // Int to Complex: literals
    ScalarType,
    MemoryFormat,
    Layout,
    Device,
    Operator,
    Graph,
    CustomObject,
    List
  };
  Kind kind = Kind::None;
  /// The name of a value, a string, a device type, an operator, a graph name.
  llvm::StringRef text;
  int64_t integer = 0; // also bool, enumerations and device index (-1: none)
  double real = 0, imaginary = 0;
  std::vector<Argument> items;
  std::shared_ptr<Graph> graph;
  /// The JSON of `graph`, to recognise a graph that was imported before.
  llvm::StringRef graphText;

  bool isName() const { return kind >= Kind::Tensor && kind <= Kind::SymBool; }
};

struct NamedArgument {
  llvm::StringRef name;
  Argument value;
};

struct Node {
  llvm::StringRef name, target;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  /// The metadata "source", else the "stack_trace".
  llvm::StringRef source, stackTrace;
  /// Why the operator is to stay a call of ATen; empty if it need not.
  llvm::StringRef whole;
  /// The decomposed operator that this view is a part of and whose results are no views; else
  /// empty.
  llvm::StringRef partOf;
};

template <typename T> using Table = std::vector<std::pair<llvm::StringRef, T>>;

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  Table<TensorMeta> tensors;
  Table<SymValue> ints, floats, bools;
};

struct InputSpec {
  enum class Kind {
    UserInput,
    Parameter,
    Buffer,
    TensorConstant,
    CustomObject,
    Token,
    ConstantInput
  };
  Kind kind = Kind::UserInput;
  Argument value;
  llvm::StringRef target; // name of the parameter, buffer or constant
  bool persistent = true;
};

struct OutputSpec {
  enum class Kind {
    UserOutput,
    LossOutput,
    BufferMutation,
    GradientToParameter,
    GradientToUserInput,
    UserInputMutation,
    Token,
    ParameterMutation
  };
  Kind kind = Kind::UserOutput;
  Argument value;
  llvm::StringRef target;
};

struct RangeConstraint {
  std::optional<int64_t> min, max;
};

struct Program {
  Graph graph;
  std::vector<InputSpec> inputSpecs;
  std::vector<OutputSpec> outputSpecs;
  Table<RangeConstraint> ranges;
  int64_t major = -1, minor = 0;
  llvm::StringRef torchVersion;
  /// Owns the strings that had escapes.
  llvm::BumpPtrAllocator storage;
};

/// Reads the JSON of a program. Returns null and sets `error` if the text is not one.
std::unique_ptr<Program> readProgram(llvm::StringRef json, Error &error);

/// The names of integer arguments that may be negative although torch.export promises a lower bound
/// of 0 for every symbol: no size depends on them, and torch neither checks nor uses the bound.
llvm::StringSet<> findIntegersOfAnySign(const Graph &graph);

} // namespace mlir::frit::exported
