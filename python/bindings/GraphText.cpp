#include "python/bindings/GraphText.h"

#include <torch/csrc/Device.h>
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
           *kwargs = PyUnicode_InternFromString("_kwargs"), *meta = PyUnicode_InternFromString("meta"), *val = PyUnicode_InternFromString("val"),
           *device = PyUnicode_InternFromString("device"), *fakeDevice = PyUnicode_InternFromString("fake_device"),
           *call = PyUnicode_InternFromString("call_function"), *placeholder = PyUnicode_InternFromString("placeholder"),
           *output = PyUnicode_InternFromString("output");
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
    if (PyLong_CheckExact(object)) { // most of what is not a node, and a bool is none
      int overflow = 0;
      long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (!overflow) {
        out += std::to_string(number);
        return true;
      }
    }
    return appendText(Owned(PyObject_Repr(object)).get(), out);
  }

private:
  PyTypeObject *nodeType;
  std::string &out;
};

/// Of an object of which a process has few, an operator or a class; it stays alive, so that no other is taken for it.
template <typename Describe> const std::string *textOnce(PyObject *object, Describe describe) {
  static auto &known = *new std::unordered_map<PyObject *, std::string>();
  auto found = known.find(object);
  if (found == known.end()) {
    std::string text;
    if (!describe(object, text)) {
      return nullptr;
    }
    Py_INCREF(object);
    found = known.emplace(object, std::move(text)).first;
  }
  return &found->second;
}

bool describeClass(PyObject *type, std::string &out) {
  Owned module(PyObject_GetAttrString(type, "__module__")), name(PyObject_GetAttrString(type, "__qualname__"));
  return module && name && appendText(module.get(), out) && (out += '.', appendText(name.get(), out));
}

/// The text of one graph.
class GraphText {
public:
  PyObject *nodes, *nodeType, *fakeType, *describeTarget, *describeValue, *others;

  PyObject *write() {
    Owned iterator(PyObject_GetIter(nodes));
    if (!iterator) {
      return nullptr;
    }
    while (PyObject *next = PyIter_Next(iterator.get())) {
      Owned node(next);
      Owned op(PyObject_GetAttr(next, names().op));
      if (!op || !describe(next, op.get())) {
        return nullptr;
      }
    }
    out += "targets\n" + targets;
    return PyErr_Occurred() ? nullptr : PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
  }

private:
  bool describe(PyObject *node, PyObject *op) {
    auto is = [&](PyObject *name) { return op == name || PyObject_RichCompareBool(op, name, Py_EQ) == 1; };
    bool isCall = is(names().call), isPlaceholder = !isCall && is(names().placeholder);
    if (!isCall && !isPlaceholder && !is(names().output)) {
      return PyList_Append(others, node) == 0;
    }
    Owned name(PyObject_GetAttr(node, names().name)), args(PyObject_GetAttr(node, names().args));
    if (!name || !args || !appendText(name.get(), out)) {
      return false;
    }
    bool good = isCall          ? call(node, args.get())
                : isPlaceholder ? (out += ':', valueOf(node))
                                : writer().value(args.get()) && results(args.get());
    out += '\n';
    return good;
  }

  bool call(PyObject *node, PyObject *args) {
    Owned target(PyObject_GetAttr(node, names().target)), kwargs(PyObject_GetAttr(node, names().kwargs));
    if (!target || !kwargs) {
      return false;
    }
    // By number: the schemas of operators are most of the text otherwise.
    auto [place, isNew] = numbers.try_emplace(target.get(), numbers.size());
    if (isNew) {
      const std::string *text = textOnce(target.get(), [&](PyObject *object, std::string &to) {
        return appendText(Owned(PyObject_CallOneArg(describeTarget, object)).get(), to);
      });
      if (!text) {
        return false;
      }
      targets += *text + '\n';
    }
    out += '=' + std::to_string(place->second);
    return writer().value(args) && writer().value(kwargs.get());
  }

  /// The values of the nodes that a graph gives back.
  bool results(PyObject *args) {
    PyObject *only = PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : args;
    Owned list(PySequence_Fast(PyTuple_Check(only) || PyList_Check(only) ? only : args, "results are a sequence"));
    for (Py_ssize_t at = 0; list && at < PySequence_Fast_GET_SIZE(list.get()); ++at) {
      PyObject *node = PySequence_Fast_GET_ITEM(list.get(), at);
      if (reinterpret_cast<PyObject *>(Py_TYPE(node)) == nodeType && !(out += ',', valueOf(node))) {
        return false;
      }
    }
    return static_cast<bool>(list);
  }

  /// What tracing knows of a node's value.
  bool valueOf(PyObject *node) {
    Owned meta(PyObject_GetAttr(node, names().meta));
    PyObject *value = meta && PyDict_Check(meta.get()) ? PyDict_GetItemWithError(meta.get(), names().val) : nullptr;
    if (!meta || PyErr_Occurred()) {
      return false;
    }
    if (value && THPVariable_Check(value)) {
      const at::Tensor &tensor = THPVariable_Unpack(value);
      if (tensor.layout() == at::kStrided && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
        return tensorText(value, tensor);
      }
    }
    return appendText(Owned(PyObject_CallOneArg(describeValue, value ? value : Py_None)).get(), out);
  }

  bool tensorText(PyObject *object, const at::Tensor &tensor) {
    auto *type = reinterpret_cast<PyObject *>(Py_TYPE(object));
    const std::string *className = textOnce(type, describeClass);
    // A fake tensor calls itself one of the meta device everywhere but here.
    Owned device(PyObject_GetAttr(object, type == fakeType ? names().fakeDevice : names().device));
    if (!className || !device || !THPDevice_Check(device.get())) {
      return device && className && (PyErr_SetString(PyExc_TypeError, "a tensor's device is none"), false);
    }
    out += c10::toString(tensor.scalar_type());
    for (at::IntArrayRef list : {tensor.sizes(), tensor.strides()}) {
      out += '[';
      for (int64_t value : list) {
        out += std::to_string(value) + ',';
      }
      out += ']';
    }
    out += std::to_string(tensor.storage_offset()) + (tensor.requires_grad() ? " grad " : " ");
    out += reinterpret_cast<THPDevice *>(device.get())->device.str() + ' ' + *className;
    return true;
  }

  Writer writer() { return Writer(reinterpret_cast<PyTypeObject *>(nodeType), out); }

  std::string out, targets;
  std::unordered_map<PyObject *, size_t> numbers;
};

} // namespace

PyObject *describeGraph(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  GraphText text;
  if (!PyArg_ParseTuple(arguments, "OO!O!OOO!:describe_graph", &text.nodes, &PyType_Type, &text.nodeType, &PyType_Type, &text.fakeType,
                        &text.describeTarget, &text.describeValue, &PyList_Type, &text.others)) {
    return nullptr;
  }
  return text.write();
  END_HANDLE_TH_ERRORS
}

} // namespace frit
