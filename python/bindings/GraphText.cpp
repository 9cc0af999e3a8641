#include "python/bindings/GraphText.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>
#include <unordered_map>

namespace frit {

namespace {

/// A reference that is given back.
class Owned {
public:
  explicit Owned(PyObject *object) : object(object) {}
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() { Py_XDECREF(object); }
  explicit operator bool() const { return object != nullptr; }
  PyObject *get() const { return object; }

private:
  PyObject *object;
};

struct Names {
  PyObject *op = PyUnicode_InternFromString("op"), *name = PyUnicode_InternFromString("name"),
           *target = PyUnicode_InternFromString("target"), *args = PyUnicode_InternFromString("_args"),
           *kwargs = PyUnicode_InternFromString("_kwargs"), *call = PyUnicode_InternFromString("call_function");
};

const Names &names() {
  static const Names all;
  return all;
}

bool appendText(PyObject *text, std::string &out) {
  Py_ssize_t size = 0;
  const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
  if (bytes) {
    out.append(bytes, static_cast<size_t>(size));
  }
  return bytes != nullptr;
}

class Writer {
public:
  Writer(PyTypeObject *nodeType, std::string &out) : nodeType(nodeType), out(out) {}

  bool value(PyObject *object) {
    if (Py_TYPE(object) == nodeType) {
      return appendText(Owned(PyObject_GetAttr(object, names().name)).get(), out);
    }
    bool good = true;
    if (PyTuple_Check(object) || PyList_Check(object)) {
      good = Py_EnterRecursiveCall(" in the arguments of a node") == 0;
      if (good) {
        out += PyTuple_Check(object) ? '(' : '[';
        // PySequence_Fast would copy a tuple's subclass; sizes are asked for again because a repr runs Python.
        for (Py_ssize_t at = 0; good && at < Py_SIZE(object); ++at) {
          good = value(PyTuple_Check(object) ? PyTuple_GET_ITEM(object, at) : PyList_GET_ITEM(object, at));
          out += ',';
        }
        out += ']';
        Py_LeaveRecursiveCall();
      }
      return good;
    }
    if (PyDict_Check(object)) {
      good = Py_EnterRecursiveCall(" in the arguments of a node") == 0;
      if (good) {
        Py_ssize_t position = 0;
        PyObject *key, *item;
        out += '{';
        while (good && PyDict_Next(object, &position, &key, &item)) {
          good = value(key) && (out += ':', value(item));
          out += ',';
        }
        out += '}';
        Py_LeaveRecursiveCall();
      }
      return good;
    }
    return appendText(Owned(PyObject_Repr(object)).get(), out);
  }

private:
  PyTypeObject *nodeType;
  std::string &out;
};

/// Of a target; targets are operators, of which a process has few, and stay alive here so that none is taken for another.
const std::string *targetText(PyObject *target, PyObject *describe) {
  static auto &known = *new std::unordered_map<PyObject *, std::string>();
  auto found = known.find(target);
  if (found == known.end()) {
    std::string text;
    if (!appendText(Owned(PyObject_CallOneArg(describe, target)).get(), text)) {
      return nullptr;
    }
    Py_INCREF(target);
    found = known.emplace(target, std::move(text)).first;
  }
  return &found->second;
}

} // namespace

PyObject *describeCalls(PyObject *, PyObject *arguments) {
  PyObject *nodes, *nodeType, *describe, *others;
  if (!PyArg_ParseTuple(arguments, "OO!OO!:describe_calls", &nodes, &PyType_Type, &nodeType, &describe, &PyList_Type, &others)) {
    return nullptr;
  }
  Owned iterator(PyObject_GetIter(nodes));
  if (!iterator) {
    return nullptr;
  }
  std::string out;
  Writer writer(reinterpret_cast<PyTypeObject *>(nodeType), out);
  while (PyObject *next = PyIter_Next(iterator.get())) {
    Owned node(next);
    Owned op(PyObject_GetAttr(next, names().op));
    int isCall = op ? PyObject_RichCompareBool(op.get(), names().call, Py_EQ) : -1;
    if (isCall < 0 || (isCall == 0 && PyList_Append(others, next) != 0)) {
      return nullptr;
    }
    if (isCall == 0) {
      continue;
    }
    Owned name(PyObject_GetAttr(next, names().name)), target(PyObject_GetAttr(next, names().target));
    Owned args(PyObject_GetAttr(next, names().args)), kwargs(PyObject_GetAttr(next, names().kwargs));
    const std::string *text = target ? targetText(target.get(), describe) : nullptr;
    if (!text || !name || !args || !kwargs || !appendText(name.get(), out)) {
      return nullptr;
    }
    out += '=';
    out += *text;
    if (!writer.value(args.get()) || !writer.value(kwargs.get())) {
      return nullptr;
    }
    out += '\n';
  }
  return PyErr_Occurred() ? nullptr : PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
}

PyObject *describeTensor(PyObject *, PyObject *object) {
  HANDLE_TH_ERRORS
  if (!THPVariable_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "describe_tensor takes a tensor");
    return nullptr;
  }
  const at::Tensor &tensor = THPVariable_Unpack(object);
  if (tensor.layout() != at::kStrided || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    Py_RETURN_NONE;
  }
  std::string out = c10::toString(tensor.scalar_type());
  for (at::IntArrayRef list : {tensor.sizes(), tensor.strides()}) {
    out += '[';
    for (int64_t value : list) {
      out += std::to_string(value) + ',';
    }
    out += ']';
  }
  out += std::to_string(tensor.storage_offset()) + (tensor.requires_grad() ? " grad" : "");
  return PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
  END_HANDLE_TH_ERRORS
}

} // namespace frit
