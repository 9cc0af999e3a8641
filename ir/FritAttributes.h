#pragma once

#include "ir/FritDialect.h"

/// Typed access to the attributes of ir/FritAttributes.def.
namespace mlir::frit {

/// Stands for ArrayAttr in the table: an array whose entries are all `T`.
template <typename T> struct ArrayOf;

namespace detail {
template <typename T> struct TypeInTable {
  using Type = T;
};
template <typename T> struct TypeInTable<ArrayOf<T>> {
  using Type = ArrayAttr;
};
} // namespace detail

/// An attribute of operations.
template <typename T> class OperationAttr {
public:
  constexpr explicit OperationAttr(llvm::StringLiteral name) : name(name) {}

  llvm::StringRef getName() const { return name; }
  /// Null if the operation does not have it.
  T get(Operation *op) const { return llvm::dyn_cast_or_null<T>(op->getDiscardableAttr(name)); }
  bool isOn(Operation *op) const { return static_cast<bool>(op->getDiscardableAttr(name)); }
  void set(Operation *op, T value) const { op->setDiscardableAttr(name, value); }
  void mark(Operation *op) const { set(op, UnitAttr::get(op->getContext())); }
  T remove(Operation *op) const { return llvm::cast_or_null<T>(op->removeDiscardableAttr(name)); }

private:
  llvm::StringLiteral name;
};

/// An attribute of the arguments of functions (graphs, kernels, what kernels become).
template <typename T> class ArgumentAttr {
public:
  constexpr explicit ArgumentAttr(llvm::StringLiteral name) : name(name) {}

  llvm::StringRef getName() const { return name; }
  /// Null if the argument does not have it.
  T get(auto function, unsigned argument) const {
    return function.template getArgAttrOfType<T>(argument, name);
  }
  bool isOn(auto function, unsigned argument) const {
    return static_cast<bool>(function.getArgAttr(argument, name));
  }
  void set(auto function, unsigned argument, T value) const {
    function.setArgAttr(argument, name, value);
  }
  void mark(auto function, unsigned argument) const {
    set(function, argument, UnitAttr::get(function->getContext()));
  }
  /// Among the attributes of an argument.
  T in(DictionaryAttr attrs) const { return attrs.getAs<T>(name); }
  void add(NamedAttrList &attrs, T value) const { attrs.append(name, value); }

private:
  llvm::StringLiteral name;
};

/// An attribute of the results of graphs and kernels.
template <typename T> class ResultAttr {
public:
  constexpr explicit ResultAttr(llvm::StringLiteral name) : name(name) {}

  llvm::StringRef getName() const { return name; }
  /// Null if the result does not have it.
  T get(auto function, unsigned result) const {
    return function.template getResultAttrOfType<T>(result, name);
  }
  bool isOn(auto function, unsigned result) const {
    return static_cast<bool>(function.getResultAttr(result, name));
  }
  void set(auto function, unsigned result, T value) const {
    function.setResultAttr(result, name, value);
  }
  void mark(auto function, unsigned result) const {
    set(function, result, UnitAttr::get(function->getContext()));
  }
  /// Whether there was one.
  bool remove(auto function, unsigned result) const {
    return static_cast<bool>(
        function.removeResultAttr(result, StringAttr::get(function->getContext(), name)));
  }
  /// Among the attributes of a result.
  T in(DictionaryAttr attrs) const { return attrs.getAs<T>(name); }
  void add(NamedAttrList &attrs, T value) const { attrs.append(name, value); }

private:
  llvm::StringLiteral name;
};

#define FRIT_OPERATION_ATTR(NAME, TEXT, TYPE, PLACE, MEANING)                                      \
  inline constexpr OperationAttr<detail::TypeInTable<TYPE>::Type> NAME{TEXT};
#define FRIT_ARGUMENT_ATTR(NAME, TEXT, TYPE, PLACE, MEANING)                                       \
  inline constexpr ArgumentAttr<detail::TypeInTable<TYPE>::Type> NAME{TEXT};
#define FRIT_RESULT_ATTR(NAME, TEXT, TYPE, PLACE, MEANING)                                         \
  inline constexpr ResultAttr<detail::TypeInTable<TYPE>::Type> NAME{TEXT};
#include "ir/FritAttributes.def"

} // namespace mlir::frit
