// The Python object of a compiled graph: a type with vectorcall, so a call is one C function from
// the interpreter to the first kernel. Boxed convention: the only argument is a list of arguments,
// which the call empties, so that an input's memory is free after its last use.

#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <memory>

namespace frit {

class TorchExecutable;

/// Creates the type; null with an exception set on failure.
PyTypeObject *makeExecutableType();

/// A new reference to a callable around `executable`.
PyObject *makeExecutableObject(PyTypeObject *type, std::unique_ptr<TorchExecutable> executable);

/// The executable inside of such an object.
TorchExecutable &executableOf(PyObject *object);

} // namespace frit
