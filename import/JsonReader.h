#pragma once

#include "import/ExportedProgram.h"

#include "llvm/ADT/STLFunctionalExtras.h"

/// A pull reader of JSON: the caller requests the value that the schema requires next. So a value
/// of the wrong kind is reported at its position, no tree is built, and text without escapes is not
/// copied. Nesting is limited, values that are not needed are skipped without recursion, and only
/// the first failure is reported.
namespace mlir::frit::exported {

class JsonReader {
public:
  JsonReader(llvm::StringRef text, llvm::BumpPtrAllocator &storage, Error &error)
      : text(text), storage(storage), error(error) {}

  /// Calls `field` for each member; it must read or skip the value. Duplicate
  /// keys are an error. False after any error.
  bool object(llvm::function_ref<bool(llvm::StringRef key)> field);
  bool array(llvm::function_ref<bool()> item);
  bool string(llvm::StringRef &value);
  bool integer(int64_t &value);
  /// A number, or the schema's strings for special ones.
  bool real(double &value);
  bool boolean(bool &value);
  /// Consumes `null` if it is next; returns whether it was.
  bool consumeNull();
  /// Skips one value of any kind.
  bool skip();
  /// False unless only white space is left.
  bool atEnd();

  bool fail(ErrorKind kind, const llvm::Twine &message);
  bool failed() const { return broken; }
  size_t offset() const { return position; }
  llvm::StringRef slice(size_t from) const { return text.slice(from, position); }

private:
  static constexpr unsigned maxDepth = 64;
  static constexpr size_t maxString = 1 << 24;

  void space();
  bool expect(char c, llvm::StringRef what);
  bool unescape(llvm::StringRef raw, llvm::StringRef &value);
  llvm::StringRef number();

  llvm::StringRef text;
  llvm::BumpPtrAllocator &storage;
  Error &error;
  size_t position = 0;
  unsigned depth = 0;
  bool broken = false;
};

} // namespace mlir::frit::exported
