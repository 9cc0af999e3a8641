// The reader of torch.export's schema: a method for each of its structures. Those of graphs are in
// ExportedGraph.cpp, those of the program and its signature in ExportedProgram.cpp.

#pragma once

#include "import/ExportedProgram.h"
#include "import/JsonReader.h"

#include "llvm/ADT/Twine.h"

namespace mlir::frit::exported {

class SchemaReader {
public:
  SchemaReader(llvm::StringRef text, Program &program, Error &error)
      : program(program), json(text, program.storage, error) {}

  bool read();

private:
  using Kind = Argument::Kind;
  static constexpr size_t maxCount = 1 << 20, maxRank = 64, maxName = 4096;

  bool graphModule();
  bool graph(Graph &out);
  bool node(Node &out);
  bool namedArgument(NamedArgument &out);
  bool argument(Argument &out);
  bool argumentBody(llvm::StringRef tag, Argument &out);
  bool symbolicArgument(Kind byName, Kind literal, Argument &out);
  bool optionalTensor(Argument &out);
  bool item(Kind kind, Argument &out);
  bool list(Argument &out, llvm::function_ref<bool(Argument &)> item);
  bool tensorMeta(TensorMeta &out);
  bool symValue(llvm::StringRef literal, SymValue &out);
  bool symValues(std::vector<SymValue> &out);
  bool device(Device &out);
  bool inputSpec(InputSpec &out);
  bool outputSpec(OutputSpec &out);
  bool ranges();
  bool version();

  /// {"name": ...}; other fields are skipped.
  bool named(llvm::StringRef &name);
  bool name(llvm::StringRef &out);
  bool enumeration(Kind kind, Argument &out) {
    out.kind = kind;
    return json.integer(out.integer);
  }
  bool unknownKind(llvm::StringRef what, llvm::StringRef tag) {
    return json.fail(ErrorKind::Unsupported,
                     what + " of the unknown kind '" + tag.take_front(40) +
                         "': export the model again with torch 2.11 to 2.13");
  }
  /// An object with exactly one member.
  bool oneOf(llvm::StringRef what, llvm::function_ref<bool(llvm::StringRef tag)> body);
  template <typename T> bool grow(std::vector<T> &items) {
    if (items.size() >= maxCount) {
      return json.fail(ErrorKind::Limit,
                       "more than " + llvm::Twine(maxCount) + " entries in one list");
    }
    items.emplace_back();
    return true;
  }
  template <typename T> bool table(Table<T> &out, llvm::function_ref<bool(T &)> value) {
    return json.object([&](llvm::StringRef key) {
      if (key.empty() || key.size() > maxName) {
        return json.fail(ErrorKind::Limit,
                         "a value's name has 1 to " + llvm::Twine(maxName) + " bytes");
      }
      if (!grow(out)) {
        return false;
      }
      out.back().first = key;
      return value(out.back().second);
    });
  }
  bool require(bool present, llvm::StringRef field, llvm::StringRef where) {
    return present ||
           json.fail(ErrorKind::Schema, "field '" + field + "' of " + where + " is missing");
  }

  Program &program;
  JsonReader json;
};

} // namespace mlir::frit::exported
