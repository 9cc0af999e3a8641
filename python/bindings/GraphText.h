// The text of an FX graph's calls, which is most of what a graph's cache key is made of. In C because a warm start does little else: the
// same loop in Python took three times as long as everything that follows a hit.

#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

namespace frit {

/// describe_calls(nodes, node type, target -> text, others) -> str: a line for each call_function node, `name=target(arguments){keywords}`, nodes by
/// name and other values by their repr. Nodes that are no calls are appended to the list `others`. The text of a target is asked for once.
PyObject *describeCalls(PyObject *module, PyObject *arguments);

/// describe_tensor(tensor) -> str, or None where sizes or strides are symbolic: dtype, sizes, strides, offset, layout and whether it wants a
/// gradient; of a fake tensor too. Its device is not in it, which a fake tensor only has in Python.
PyObject *describeTensor(PyObject *module, PyObject *tensor);

} // namespace frit
