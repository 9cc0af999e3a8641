// Error reporting of the runtime without exceptions: a Status that must not be ignored, and a
// Result that is a value or a Status. The kind decides which exception Python or a tool raises; the
// message is one line with the place, the value and what the user can do.

#pragma once

#include <optional>
#include <string>
#include <utility>

namespace frit {

enum class ErrorKind {
  /// The bytes are not a usable artifact: truncated, altered, of another version.
  BadArtifact,
  /// The caller's arguments do not fit what was compiled.
  BadInput,
  /// Eager would raise IndexError.
  Index,
  /// Python would raise ZeroDivisionError. (A division of tensors is a Runtime error, as in torch.)
  ZeroDivision,
  /// Python would raise OverflowError.
  Overflow,
  /// Eager would raise ValueError.
  Value,
  /// The machine or the installed software does not support it (no driver, missing CPU feature).
  Unsupported,
  OutOfMemory,
  /// A device or host call failed.
  Runtime,
  /// A call returned another shape or type than the graph was traced with.
  Disagreement,
  /// An exception is already pending outside of the runtime (Python's error indicator is set, a C++
  /// exception is stored).
  Pending,
};

class [[nodiscard]] Status {
public:
  Status() = default;

  static Status ok() { return {}; }
  static Status error(ErrorKind kind, std::string message) {
    Status status;
    status.failure = std::pair(kind, std::move(message));
    return status;
  }

  bool isOk() const { return !failure; }
  explicit operator bool() const = delete;
  ErrorKind kind() const { return failure->first; }
  const std::string &message() const { return failure->second; }

  /// Nothing that the program could see has happened: the caller has its arguments again, and may
  /// run the call in another way.
  bool mayRunAgain() const { return undone; }
  Status runAgain() && {
    undone = true;
    return std::move(*this);
  }

private:
  std::optional<std::pair<ErrorKind, std::string>> failure;
  bool undone = false;
};

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Status failure) : failure(std::move(failure)) {}

  bool isOk() const { return value.has_value(); }
  const Status &status() const { return failure; }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

private:
  std::optional<T> value;
  Status failure;
};

/// Returns the error to the caller if there is one.
#define FRIT_RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                             \
    if (::frit::Status fritStatus = (expression); !fritStatus.isOk()) {                            \
      return fritStatus;                                                                           \
    }                                                                                              \
  } while (false)

} // namespace frit
