#include "python/bindings/GraphText.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <structmember.h>

#include <bit>
#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace frit {

namespace {

/// An owned reference.
class Owned {
public:
  explicit Owned(PyObject *object = nullptr) : object(object) {}
  Owned(Owned &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Owned &operator=(Owned &&) = delete;
  ~Owned() { Py_XDECREF(object); }
  explicit operator bool() const { return object != nullptr; }
  PyObject *get() const { return object; }

private:
  PyObject *object;
};

struct Names {
  PyObject *op = PyUnicode_InternFromString("op"), *name = PyUnicode_InternFromString("name"),
           *target = PyUnicode_InternFromString("target"),
           *args = PyUnicode_InternFromString("_args"),
           *kwargs = PyUnicode_InternFromString("_kwargs"),
           *meta = PyUnicode_InternFromString("meta"), *val = PyUnicode_InternFromString("val"),
           *device = PyUnicode_InternFromString("device"),
           *fakeDevice = PyUnicode_InternFromString("fake_device"),
           *ownFakeDevice = PyUnicode_InternFromString("_fake_device"),
           *space = PyUnicode_InternFromString("_namespace"),
           *fullName = PyUnicode_InternFromString("_name"),
           *call = PyUnicode_InternFromString("call_function"),
           *placeholder = PyUnicode_InternFromString("placeholder"),
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

void appendNumber(int64_t number, std::string &out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

/// Prefetches an object that will be read soon.
void ask(const void *object, size_t bytes = 128) {
  for (size_t at = 0; at < bytes; at += 64) {
    __builtin_prefetch(static_cast<const char *>(object) + at);
  }
}

/// An attribute of a type's objects. If it is a plain member it is read directly from the object:
/// looking it up by name for all nodes would take a fifth of the time.
class Attribute {
public:
  Attribute(PyTypeObject *type, PyObject *name) : type(type), name(name) {
    Owned descriptor(type->tp_getattro == PyObject_GenericGetAttr
                         ? PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name)
                         : nullptr);
    PyErr_Clear(); // not an attribute of the type
    if (descriptor && Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type)) {
      const PyMemberDef *member =
          reinterpret_cast<PyMemberDescrObject *>(descriptor.get())->d_member;
      place = member->type == T_OBJECT_EX ? member->offset : 0;
    }
  }

  Owned of(PyObject *object) const {
    bool isPlain = place != 0 && Py_TYPE(object) == type;
    PyObject *found = isPlain
                          ? *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(object) + place)
                          : nullptr;
    return Owned(found ? Py_NewRef(found) : PyObject_GetAttr(object, name));
  }

private:
  PyTypeObject *type;
  PyObject *name;
  Py_ssize_t place = 0;
};

class Writer {
public:
  Writer(PyTypeObject *nodeType, const Attribute &name, std::string &out)
      : nodeType(nodeType), name(name), out(out) {}

  bool value(PyObject *object) {
    if (Py_TYPE(object) == nodeType) {
      return appendText(name.of(object).get(), out);
    }
    bool good = true;
    if (PyTuple_Check(object) || PyList_Check(object)) {
      good = Py_EnterRecursiveCall(" in the arguments of a node") == 0;
      if (good) {
        out += PyTuple_Check(object) ? '(' : '[';
        // PySequence_Fast would copy a subclass of tuple. The size is read in each iteration
        // because a repr runs Python code.
        for (Py_ssize_t at = 0; good && at < Py_SIZE(object); ++at) {
          good = value(PyTuple_Check(object) ? PyTuple_GET_ITEM(object, at)
                                             : PyList_GET_ITEM(object, at));
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
        // Most dictionaries are empty; their tables need not be read.
        while (good && PyDict_GET_SIZE(object) != 0 &&
               PyDict_Next(object, &position, &key, &item)) {
          good = value(key) && (out += ':', value(item));
          out += ',';
        }
        out += '}';
        Py_LeaveRecursiveCall();
      }
      return good;
    }
    if (PyLong_CheckExact(object)) { // most values that are not nodes; excludes bools
      int overflow = 0;
      long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (!overflow) {
        appendNumber(number, out);
        return true;
      }
    }
    if (PyFloat_CheckExact(object)) { // the bits: decimal digits take ten times as long
      out += 'f';
      appendNumber(std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(object)), out);
      return true;
    }
    return appendText(Owned(PyObject_Repr(object)).get(), out);
  }

private:
  PyTypeObject *nodeType;
  const Attribute &name;
  std::string &out;
};

/// The cached text of an object of which a process has few, an operator or a class. The object is
/// kept alive, so that no other one gets its address.
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
  Owned module(PyObject_GetAttrString(type, "__module__")),
      name(PyObject_GetAttrString(type, "__qualname__"));
  return module && name && appendText(module.get(), out) &&
         (out += '.', appendText(name.get(), out));
}

/// Writes the text of one graph: a line for each node, the values of placeholders and results, the
/// targets.
///
/// Tracing leaves the nodes scattered over the memory, so most of the time would be cache misses in
/// sequence. So all objects of one kind are prefetched before the first of them is read.
class GraphText {
public:
  /// The arguments of `describe_graph`.
  struct Given {
    PyObject *nodes, *nodeType, *fakeType, *overloadType, *describeTarget, *describeValue, *others;
  };
  explicit GraphText(const Given &given) : given(given) {}

  PyObject *write() {
    if (!gather()) {
      return nullptr;
    }
    out.reserve(128 * parts.size());
    for (const Parts &node : parts) {
      if (!describe(node)) {
        return nullptr;
      }
    }
    out += "values\n";
    if (!describeValues()) {
      return nullptr;
    }
    out += "targets\n" + targets;
    return PyErr_Occurred()
               ? nullptr
               : PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
  }

private:
  /// A node, and the parts of its line.
  struct Parts {
    Owned node, op, name, args, kwargs, target;
  };

  bool gather() {
    Owned list(PySequence_List(given.nodes));
    if (!list) {
      return false;
    }
    auto count = PyList_GET_SIZE(list.get());
    for (Py_ssize_t at = 0; at < count; ++at) {
      ask(PyList_GET_ITEM(list.get(), at), static_cast<size_t>(nodeType()->tp_basicsize));
    }
    std::vector<PyObject *> arguments;
    parts.reserve(static_cast<size_t>(count));
    for (Py_ssize_t at = 0; at < count; ++at) {
      PyObject *node = PyList_GET_ITEM(list.get(), at);
      const Parts &of = parts.emplace_back(Parts{Owned(Py_NewRef(node)), op.of(node), name.of(node),
                                                 args.of(node), kwargs.of(node), target.of(node)});
      if (!of.op || !of.name || !of.args || !of.kwargs || !of.target) {
        return false;
      }
      for (const Owned *one : {&of.name, &of.args, &of.kwargs}) {
        ask(one->get());
      }
      arguments.push_back(of.args.get());
    }
    // Prefetches arguments, and the items of lists among them.
    askItems(askItems(arguments));
    return true;
  }

  /// Prefetches the items of those objects that are tuples or lists; returns the items.
  static std::vector<PyObject *> askItems(const std::vector<PyObject *> &lists) {
    std::vector<PyObject *> items;
    for (PyObject *list : lists) {
      if (PyTuple_Check(list) || PyList_Check(list)) {
        for (Py_ssize_t at = 0; at < Py_SIZE(list); ++at) {
          items.push_back(PyTuple_Check(list) ? PyTuple_GET_ITEM(list, at)
                                              : PyList_GET_ITEM(list, at));
          ask(items.back(), 64);
        }
      }
    }
    return items;
  }

  bool describe(const Parts &node) {
    auto is = [&](PyObject *kind) {
      return node.op.get() == kind || PyObject_RichCompareBool(node.op.get(), kind, Py_EQ) == 1;
    };
    bool isCall = is(names().call), isPlaceholder = !isCall && is(names().placeholder);
    if (!isCall && !isPlaceholder && !is(names().output)) {
      return PyList_Append(given.others, node.node.get()) == 0;
    }
    if (!appendText(node.name.get(), out)) {
      return false;
    }
    if (isPlaceholder) {
      valued.emplace_back(Py_NewRef(node.node.get()));
    }
    bool good =
        isCall ? call(node)
               : isPlaceholder || (writer().value(node.args.get()) && results(node.args.get()));
    out += '\n';
    return good;
  }

  bool call(const Parts &node) {
    // By number: otherwise the schemas of operators would be most of the text.
    auto [place, isNew] = numbers.try_emplace(node.target.get(), numbers.size());
    if (isNew) {
      const std::string *text = textOnce(node.target.get(), [&](PyObject *object, std::string &to) {
        return describeOperator(object, to);
      });
      if (!text) {
        return false;
      }
      targets += *text + '\n';
    }
    out += '=';
    appendNumber(static_cast<int64_t>(place->second), out);
    return writer().value(node.args.get()) && writer().value(node.kwargs.get());
  }

  /// Torch's own operators are determined by torch's version, so their name is enough. Python
  /// describes all others, and these too if a torch lacks the attributes.
  bool describeOperator(PyObject *target, std::string &to) {
    if (reinterpret_cast<PyObject *>(Py_TYPE(target)) == given.overloadType) {
      Owned space(PyObject_GetAttr(target, names().space)),
          name(space ? PyObject_GetAttr(target, names().fullName) : nullptr);
      PyErr_Clear();
      auto isOf = [&](const char *library) {
        return PyUnicode_CompareWithASCIIString(space.get(), library) == 0;
      };
      if (name && PyUnicode_Check(name.get()) && PyUnicode_Check(space.get()) &&
          (isOf("aten") || isOf("prims"))) {
        return appendText(name.get(), to);
      }
    }
    return appendText(Owned(PyObject_CallOneArg(given.describeTarget, target)).get(), to);
  }

  /// Records the nodes that a graph returns.
  bool results(PyObject *args) {
    PyObject *only =
        PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : args;
    Owned list(PySequence_Fast(PyTuple_Check(only) || PyList_Check(only) ? only : args,
                               "results are a sequence"));
    for (Py_ssize_t at = 0; list && at < PySequence_Fast_GET_SIZE(list.get()); ++at) {
      PyObject *node = PySequence_Fast_GET_ITEM(list.get(), at);
      if (Py_TYPE(node) == nodeType()) {
        valued.emplace_back(Py_NewRef(node));
      }
    }
    return static_cast<bool>(list);
  }

  /// Writes the metadata of the values of placeholders and results.
  bool describeValues() {
    std::vector<Owned> metas, values, devices;
    for (const Owned &node : valued) {
      metas.push_back(meta.of(node.get()));
      if (!metas.back()) {
        return false;
      }
      ask(metas.back().get(), 64);
    }
    for (const Owned &known : metas) {
      PyObject *value =
          PyDict_Check(known.get()) ? PyDict_GetItemWithError(known.get(), names().val) : nullptr;
      if (PyErr_Occurred()) {
        return false;
      }
      values.emplace_back(Py_NewRef(value ? value : Py_None));
      ask(values.back().get(), 64);
    }
    for (const Owned &value : values) {
      if (THPVariable_Check(value.get())) {
        ask(THPVariable_Unpack(value.get()).unsafeGetTensorImpl(), sizeof(at::TensorImpl));
        devices.push_back(deviceOf(value.get()));
        if (!devices.back()) {
          return false;
        }
      } else {
        devices.emplace_back();
      }
    }
    for (size_t at = 0; at < values.size(); ++at) {
      if (!describeOne(values[at].get(), devices[at].get())) {
        return false;
      }
      out += '\n';
    }
    return true;
  }

  /// A fake tensor's device is the meta device, except in `fake_device`. Since torch 2.13 that is a
  /// property over `_fake_device`.
  Owned deviceOf(PyObject *value) const {
    if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != given.fakeType) {
      return Owned(PyObject_GetAttr(value, names().device));
    }
    if (PyObject *device = PyObject_GetAttr(value, names().ownFakeDevice)) {
      return Owned(device);
    }
    PyErr_Clear();
    return Owned(PyObject_GetAttr(value, names().fakeDevice));
  }

  bool describeOne(PyObject *value, PyObject *device) {
    if (device) {
      const at::Tensor &tensor = THPVariable_Unpack(value);
      if (tensor.layout() == at::kStrided &&
          !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
        return tensorText(reinterpret_cast<PyObject *>(Py_TYPE(value)), tensor, device);
      }
    }
    return appendText(Owned(PyObject_CallOneArg(given.describeValue, value)).get(), out);
  }

  bool tensorText(PyObject *type, const at::Tensor &tensor, PyObject *device) {
    const std::string *className = textOnce(type, describeClass);
    if (!className || !THPDevice_Check(device)) {
      return className && (PyErr_SetString(PyExc_TypeError, "a tensor's device is none"), false);
    }
    out += c10::toString(tensor.scalar_type());
    for (at::IntArrayRef list : {tensor.sizes(), tensor.strides()}) {
      out += '[';
      for (int64_t value : list) {
        appendNumber(value, out);
        out += ',';
      }
      out += ']';
    }
    appendNumber(tensor.storage_offset(), out);
    out += tensor.requires_grad() ? " grad " : " ";
    out += reinterpret_cast<THPDevice *>(device)->device.str();
    out += ' ';
    out += *className;
    return true;
  }

  PyTypeObject *nodeType() const { return reinterpret_cast<PyTypeObject *>(given.nodeType); }
  Writer writer() { return Writer(nodeType(), name, out); }

  Given given;
  Attribute op = of(names().op), name = of(names().name), target = of(names().target),
            args = of(names().args), kwargs = of(names().kwargs), meta = of(names().meta);
  Attribute of(PyObject *attribute) const { return Attribute(nodeType(), attribute); }

  std::vector<Parts> parts;
  /// Placeholders and results, in their order.
  std::vector<Owned> valued;
  std::string out, targets;
  std::unordered_map<PyObject *, size_t> numbers;
};

} // namespace

PyObject *describeGraph(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  GraphText::Given given;
  if (!PyArg_ParseTuple(arguments, "OO!O!O!OOO!:describe_graph", &given.nodes, &PyType_Type,
                        &given.nodeType, &PyType_Type, &given.fakeType, &PyType_Type,
                        &given.overloadType, &given.describeTarget, &given.describeValue,
                        &PyList_Type, &given.others)) {
    return nullptr;
  }
  return GraphText(given).write();
  END_HANDLE_TH_ERRORS
}

} // namespace frit
