// The Python object a compiled graph is: a type of its own with vectorcall, so that a call is one C
// function from the interpreter to the first kernel. Boxed convention: one list of arguments,
// emptied by the call, so that an input's memory is free after its last use.

#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <memory>

namespace frit {

class TorchExecutable;

/// Creates the type; null with an exception set when that fails.
PyTypeObject *makeExecutableType();

/// A new reference to a callable around `executable`.
PyObject *makeExecutableObject(PyTypeObject *type, std::unique_ptr<TorchExecutable> executable);

/// What such an object holds.
TorchExecutable &executableOf(PyObject *object);

} // namespace frit
