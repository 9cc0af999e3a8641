// The text of an FX graph, the largest part of its cache key. It is in C++ because a warm start
// does little else: the same loop in Python took three times as long as everything after a cache
// hit.

#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

namespace frit {

/// describe_graph(nodes, node type, fake tensor type, overload type, target -> text, value -> text,
/// others) -> str: a line for each call, placeholder and output, with nodes by name, other values
/// by their repr, and targets by number. Then the values of placeholders and results: dtype, sizes,
/// strides, offset and device; `value -> text` is called for values that are not strided tensors of
/// fixed sizes. Then the targets: torch's own operators by name, others by `target -> text`. Nodes
/// of other kinds are appended to the list `others`.
PyObject *describeGraph(PyObject *module, PyObject *arguments);

} // namespace frit
