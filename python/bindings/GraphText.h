// The text of an FX graph, which is most of what its cache key is made of. In C because a warm
// start does little else: the same loop in Python took three times as long as everything that
// follows a hit.

#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

namespace frit {

/// describe_graph(nodes, node type, fake tensor type, overload type, target -> text, value -> text,
/// others) -> str: a line for each call, placeholder and output, nodes by name and other values by
/// their repr, targets by number. Then the values of placeholders and results: dtype, sizes,
/// strides, offset and device; `value -> text` is asked where a value is no strided tensor of fixed
/// sizes. Then the targets: torch's own operators by name, of the others what `target -> text`
/// says. Nodes of other kinds are appended to the list `others`.
PyObject *describeGraph(PyObject *module, PyObject *arguments);

} // namespace frit
