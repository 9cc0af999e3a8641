#include "python/bindings/ExecutableObject.h"

#include "python/bindings/PythonCapture.h"
#include "runtime/torch/TorchExecutable.h"
#include "runtime/torch/TorchHost.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <structmember.h>

#include <algorithm>

namespace frit {

namespace {

struct ExecutableObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *attributes;
  PyObject *weakReferences;
  TorchExecutable *executable;
};

/// The arguments and results of a call that fit on the stack; with more, all go to the heap.
constexpr size_t kInlineValues = 32;

template <typename T> class Values {
public:
  explicit Values(size_t count) : count(count) {
    if (count > kInlineValues) {
      more.resize(count);
    }
  }
  std::span<T> all() { return {count > kInlineValues ? more.data() : few, count}; }

private:
  size_t count;
  T few[kInlineValues];
  std::vector<T> more;
};

/// Objects that no compiled step reads, by argument number; they are needed if the graph runs as
/// traced.
struct OtherObjects {
  std::vector<std::pair<size_t, PyObject *>> held;

  OtherObjects() = default;
  OtherObjects(const OtherObjects &) = delete;
  OtherObjects &operator=(const OtherObjects &) = delete;
  ~OtherObjects() {
    for (auto &[number, object] : held) {
      Py_DECREF(object);
    }
  }
  void add(size_t number, PyObject *object) {
    held.emplace_back(number, object);
    Py_INCREF(object);
  }
  PyObject *find(size_t number) const {
    for (const auto &[known, object] : held) {
      if (known == number) {
        return object;
      }
    }
    return Py_None;
  }
};

/// Fills `input`; false with an exception set.
bool readArgument(PyObject *object, size_t number, InputValue &input, OtherObjects &others) {
  using Kind = InputValue::Kind;
  if (THPVariable_Check(object)) {
    at::Tensor tensor = THPVariable_Unpack(object);
    input.kind = Kind::Tensor;
    input.handle = tensor.unsafeReleaseTensorImpl();
  } else if (object == Py_None) {
    input.kind = Kind::None;
  } else if (PyBool_Check(object)) {
    input.kind = Kind::Bool;
    input.integer = object == Py_True;
  } else if (PyFloat_Check(object)) {
    input.kind = Kind::Float;
    input.real = PyFloat_AS_DOUBLE(object);
  } else if (PyLong_Check(object) || PyIndex_Check(object)) {
    input.kind = Kind::Int;
    PyObject *integer = PyNumber_Index(object);
    input.integer = integer ? PyLong_AsLongLong(integer) : 0;
    bool fits = !PyErr_Occurred();
    PyErr_Clear();
    if (!fits && integer) {
      PyLong_AsUnsignedLongLong(integer);
    }
    Py_XDECREF(integer);
    if (PyErr_Occurred()) {
      return false;
    }
    if (!fits) {
      // A size that is no number (of a nested tensor), or a number that torch takes as unsigned, is
      // passed as None; if the plan reads a number there, the executor reports it.
      input.kind = Kind::None;
      others.add(number, object);
    }
  } else {
    // Opaque objects that no compiled step reads are passed as None.
    input.kind = Kind::None;
    others.add(number, object);
  }
  return true;
}

PyObject *writeResult(OutputValue &output) {
  using Kind = OutputValue::Kind;
  switch (output.kind) {
  case Kind::Tensor: {
    auto *impl = static_cast<c10::TensorImpl *>(std::exchange(output.handle, nullptr));
    return THPVariable_Wrap(at::TensorBase(
        c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(impl)));
  }
  case Kind::Int:
    return PyLong_FromLongLong(output.integer);
  case Kind::Bool:
    return PyBool_FromLong(output.integer != 0);
  case Kind::Float:
    return PyFloat_FromDouble(output.real);
  default:
    Py_RETURN_NONE;
  }
}

void dropHandle(void *handle) {
  if (handle) {
    c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(
        static_cast<c10::TensorImpl *>(handle));
  }
}

/// Releases the interpreter lock, because kernels and ATen calls may take long. It is taken again
/// even after an exception.
Status runUnlocked(TorchExecutable &executable, std::span<InputValue> inputs,
                   std::span<OutputValue> outputs) {
  struct Unlocked {
    PyThreadState *state = PyEval_SaveThread();
    ~Unlocked() { PyEval_RestoreThread(state); }
  } unlocked;
  return executable.tryRun(inputs, outputs);
}

/// The argument as Python passed it; takes the handle.
PyObject *argumentAgain(size_t number, InputValue &input, const OtherObjects &others) {
  using Kind = InputValue::Kind;
  switch (input.kind) {
  case Kind::Tensor: {
    auto *impl = static_cast<c10::TensorImpl *>(std::exchange(input.handle, nullptr));
    return THPVariable_Wrap(at::TensorBase(
        c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(impl)));
  }
  case Kind::Int:
    return PyLong_FromLongLong(input.integer);
  case Kind::Bool:
    return PyBool_FromLong(input.integer != 0);
  case Kind::Float:
    return PyFloat_FromDouble(input.real);
  default:
    return Py_NewRef(others.find(number));
  }
}

/// Runs the call by the object's `_otherwise(arguments, reason)` if there is one, else raises an
/// error with the reason.
PyObject *callOtherwise(PyObject *self, std::span<InputValue> inputs, const OtherObjects &others,
                        const Status &status) {
  PyObject *otherwise = PyObject_GetAttrString(self, "_otherwise");
  if (!otherwise) {
    PyErr_Clear();
  }
  PyObject *list = otherwise ? PyList_New(static_cast<Py_ssize_t>(inputs.size())) : nullptr;
  bool failed = list == nullptr;
  for (size_t number = 0; number < inputs.size(); ++number) {
    PyObject *argument = failed ? nullptr : argumentAgain(number, inputs[number], others);
    failed = failed || !argument;
    dropHandle(std::exchange(inputs[number].handle, nullptr));
    if (argument) {
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(number), argument);
    }
  }
  PyObject *results = nullptr;
  if (!otherwise) {
    throwStatus(status);
  } else if (!failed) {
    bool isRefused = status.kind() == ErrorKind::BadInput;
    std::string why =
        isRefused ? status.message() : "a step raised an error: " + inWords(status).message();
    results = PyObject_CallFunction(otherwise, "Os", list, why.c_str());
  }
  Py_XDECREF(list);
  Py_DECREF(otherwise);
  return results;
}

/// Logs a notice through `frit.logs`; a failing logger does not fail the call.
void logNotice(const std::string &text) {
  PyObject *module = PyImport_ImportModule("frit.logs");
  PyObject *logger = module ? PyObject_GetAttrString(module, "log") : nullptr;
  PyObject *done = logger ? PyObject_CallMethod(logger, "info", "ss", "%s", text.c_str()) : nullptr;
  if (!done) {
    PyErr_WriteUnraisable(nullptr);
  }
  Py_XDECREF(done);
  Py_XDECREF(logger);
  Py_XDECREF(module);
}

PyObject *numbersOf(const std::vector<uint32_t> &numbers) {
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  for (size_t at = 0; tuple && at < numbers.size(); ++at) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(at), PyLong_FromUnsignedLong(numbers[at]));
  }
  return tuple;
}

/// Requests kernels for these buckets from the object's `_specializer`; an error there does not
/// fail the call.
void wantSpecialized(PyObject *self, const std::vector<uint32_t> &buckets) {
  PyObject *specializer = PyObject_GetAttrString(self, "_specializer");
  PyObject *entries = specializer ? numbersOf(buckets) : nullptr;
  PyObject *done = entries ? PyObject_CallMethod(specializer, "want", "(O)", entries) : nullptr;
  if (!done) {
    PyErr_WriteUnraisable(self);
  }
  Py_XDECREF(done);
  Py_XDECREF(entries);
  Py_XDECREF(specializer);
}

/// Raises an error of numbers as this Python does: the words differ between its versions.
PyObject *raise(const NumberError &error) {
  std::string words = error.what_without_backtrace();
  if (error.kind == ErrorKind::Overflow) {
    PyErr_SetString(PyExc_OverflowError, words.c_str());
    return nullptr;
  }
  PyObject *one = PyLong_FromLong(1), *zero = PyLong_FromLong(0);
  PyObject *quotient = words.find("division or modulo") != std::string::npos
                           ? PyNumber_FloorDivide(one, zero)
                       : words.find("modulo") != std::string::npos ? PyNumber_Remainder(one, zero)
                                                                   : PyNumber_TrueDivide(one, zero);
  Py_XDECREF(quotient);
  Py_DECREF(one);
  Py_DECREF(zero);
  return nullptr;
}

PyObject *call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  HANDLE_TH_ERRORS
  auto *object = reinterpret_cast<ExecutableObject *>(self);
  if (PyVectorcall_NARGS(flags) != 1 || (names && PyTuple_GET_SIZE(names) != 0) ||
      !(PyList_Check(arguments[0]) || PyTuple_Check(arguments[0]))) {
    PyErr_SetString(PyExc_TypeError,
                    "a frit executable is called with one list of arguments (boxed convention)");
    return nullptr;
  }
  PyObject *list = arguments[0];
  auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(list));
  Values<InputValue> inputs(count);
  Values<OutputValue> outputs(object->executable->outputCount());
  OtherObjects others;
  for (size_t number = 0; number < count; ++number) {
    if (!readArgument(PySequence_Fast_GET_ITEM(list, static_cast<Py_ssize_t>(number)), number,
                      inputs.all()[number], others)) {
      for (InputValue &input : inputs.all()) {
        dropHandle(input.handle);
      }
      return nullptr;
    }
  }
  if (PyList_Check(list) && PyList_SetSlice(list, 0, PyList_GET_SIZE(list), nullptr) != 0) {
    PyErr_Clear();
  }
  try {
    if (Status status = runUnlocked(*object->executable, inputs.all(), outputs.all());
        !status.isOk()) {
      return callOtherwise(self, inputs.all(), others, status);
    }
  } catch (const NumberError &error) {
    return raise(error);
  }
  if (object->executable->hasNotices()) {
    for (const std::string &notice : object->executable->takeNotices()) {
      logNotice(notice);
    }
  }
  if (auto buckets = object->executable->takeWantedBuckets()) {
    wantSpecialized(self, *buckets);
  }
  PyObject *results = PyList_New(static_cast<Py_ssize_t>(outputs.all().size()));
  Py_ssize_t at = 0;
  bool failed = results == nullptr;
  for (OutputValue &output : outputs.all()) {
    PyObject *result = failed ? nullptr : writeResult(output);
    if (!result) {
      dropHandle(output.handle);
      failed = true;
      continue;
    }
    PyList_SET_ITEM(results, at++, result);
  }
  if (failed) {
    Py_XDECREF(results);
    return nullptr;
  }
  return results;
  END_HANDLE_TH_ERRORS
}

void deallocate(PyObject *self) {
  auto *object = reinterpret_cast<ExecutableObject *>(self);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (object->weakReferences) {
    PyObject_ClearWeakRefs(self);
  }
  Py_CLEAR(object->attributes);
  delete object->executable;
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(reinterpret_cast<ExecutableObject *>(self)->attributes);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int clear(PyObject *self) {
  Py_CLEAR(reinterpret_cast<ExecutableObject *>(self)->attributes);
  return 0;
}

PyObject *textOf(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyObject *stats(PyObject *self, PyObject *) {
  HANDLE_TH_ERRORS
  return textOf(reinterpret_cast<ExecutableObject *>(self)->executable->stats());
  END_HANDLE_TH_ERRORS
}

PyObject *report(PyObject *self, PyObject *) {
  // Bytes: decoding a long text takes a twentieth of the time in which a graph is loaded.
  std::string_view text = reinterpret_cast<ExecutableObject *>(self)->executable->report();
  return PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject *signature(PyObject *self, PyObject *) {
  HANDLE_TH_ERRORS
  return textOf(reinterpret_cast<ExecutableObject *>(self)->executable->signature());
  END_HANDLE_TH_ERRORS
}

PyObject *repeatErrors(PyObject *self, PyObject *) {
  reinterpret_cast<ExecutableObject *>(self)->executable->repeatErrors();
  Py_RETURN_NONE;
}

PyObject *watchBuckets(PyObject *self, PyObject *) {
  reinterpret_cast<ExecutableObject *>(self)->executable->watchBuckets();
  Py_RETURN_NONE;
}

/// Reads a tuple of numbers; null stands for an empty one. False with an exception set.
bool readNumbers(PyObject *tuple, const char *what, std::vector<uint32_t> &numbers) {
  if (tuple && !PyTuple_Check(tuple)) {
    PyErr_Format(PyExc_TypeError, "the %s are a tuple of their numbers", what);
    return false;
  }
  for (Py_ssize_t at = 0; tuple && at < PyTuple_GET_SIZE(tuple); ++at) {
    unsigned long number = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(tuple, at));
    if (PyErr_Occurred()) {
      return false;
    }
    numbers.push_back(static_cast<uint32_t>(number));
  }
  return true;
}

PyObject *captureGraphs(PyObject *self, PyObject *arguments) {
  HANDLE_TH_ERRORS
  frit::GraphTensors tensors;
  PyObject *statics = nullptr, *recorder = Py_None, *keptResults = nullptr,
           *keptArguments = nullptr;
  if (!PyArg_ParseTuple(arguments, "O|OOO:capture_graphs", &statics, &recorder, &keptResults,
                        &keptArguments) ||
      !readNumbers(statics, "static arguments", tensors.statics) ||
      !readNumbers(keptResults, "kept results", tensors.keptResults) ||
      !readNumbers(keptArguments, "kept arguments", tensors.keptArguments)) {
    return nullptr;
  }
  reinterpret_cast<ExecutableObject *>(self)->executable->captureGraphs(
      std::move(tensors),
      recorder == Py_None ? nullptr : std::make_shared<PythonCapture>(recorder));
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject *keepCubins(PyObject *self, PyObject *arguments) {
  HANDLE_TH_ERRORS
  const char *root = nullptr;
  unsigned long long limit = 0;
  if (!PyArg_ParseTuple(arguments, "sK:keep_cubins", &root, &limit)) {
    return nullptr;
  }
  reinterpret_cast<ExecutableObject *>(self)->executable->keepCubins(root, limit);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject *limitThreads(PyObject *self, PyObject *number) {
  long most = PyLong_AsLong(number);
  if (PyErr_Occurred()) {
    return nullptr;
  }
  reinterpret_cast<ExecutableObject *>(self)->executable->limitThreads(
      static_cast<int>(std::clamp(most, 0L, 1L << 20)));
  Py_RETURN_NONE;
}

PyObject *noteFailedSpecialization(PyObject *self, PyObject *) {
  reinterpret_cast<ExecutableObject *>(self)->executable->noteFailedSpecialization();
  Py_RETURN_NONE;
}

PyObject *represent(PyObject *self) {
  const TorchExecutable &executable = *reinterpret_cast<ExecutableObject *>(self)->executable;
  return PyUnicode_FromFormat("<frit executable '%s', %zu inputs, %zu results>",
                              std::string(executable.graphName()).c_str(), executable.inputCount(),
                              executable.outputCount());
}

PyMethodDef methods[] = {
    {"stats", stats, METH_NOARGS,
     "Counters since loading, as JSON: calls, kernel launches, ATen calls by name, peak bytes."},
    {"signature", signature, METH_NOARGS,
     "Inputs, outputs and symbols with their ranges, as JSON."},
    {"report", report, METH_NOARGS, "What the compiler says about the graph: JSON, as bytes."},
    {"capture_graphs", captureGraphs, METH_VARARGS,
     "Before the first call: calls become CUDA graphs where they can; takes the numbers of the "
     "arguments whose memory stays the same, what "
     "captures operators of torch (frit.modes.cuda_capture), and the numbers of the results that "
     "only the backward sees and of the arguments that the "
     "forward kept so."},
    {"keep_cubins", keepCubins, METH_VARARGS,
     "Before the first call: keeps the cubins that nvJitLink makes in a folder of the disk cache, "
     "and takes those of other processes; takes the folder and the most bytes of an entry."},
    {"limit_threads", limitThreads, METH_O,
     "Before the first call: calls use at most so many of torch's threads; 0: all."},
    {"repeat_errors", repeatErrors, METH_NOARGS,
     "Before the first call: a call that raises an error of the program before anything that "
     "cannot "
     "be undone is run by the attribute `_otherwise`, with a reason that begins with 'a step "
     "raised "
     "an error'."},
    {"watch_buckets", watchBuckets, METH_NOARGS,
     "Before the first call: the attribute `_specializer` is asked, `want(entries)`, for kernels "
     "of buckets that calls meet."},
    {"note_failed_specialization", noteFailedSpecialization, METH_NOARGS,
     "Counts kernels for a bucket that could not be made."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ExecutableObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(ExecutableObject, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ExecutableObject, weakReferences), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

} // namespace

PyTypeObject *makeExecutableType() {
  static const char *documentation =
      "A compiled graph: call it with one list of arguments, which it empties.";
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                         {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void *>(clear)},
                         {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                         {Py_tp_repr, reinterpret_cast<void *>(represent)},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {Py_tp_doc, const_cast<char *>(documentation)},
                         {0, nullptr}};
  PyType_Spec spec = {"frit._C.Executable", sizeof(ExecutableObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (type && PyObject_SetAttrString(type, "_boxed_call", Py_True) != 0) {
    Py_CLEAR(type);
  }
  return reinterpret_cast<PyTypeObject *>(type);
}

TorchExecutable &executableOf(PyObject *object) {
  return *reinterpret_cast<ExecutableObject *>(object)->executable;
}

PyObject *makeExecutableObject(PyTypeObject *type, std::unique_ptr<TorchExecutable> executable) {
  auto *object = PyObject_GC_New(ExecutableObject, type);
  if (!object) {
    return nullptr;
  }
  object->vectorcall = call;
  object->attributes = nullptr;
  object->weakReferences = nullptr;
  object->executable = executable.release();
  PyObject_GC_Track(object);
  return reinterpret_cast<PyObject *>(object);
}

} // namespace frit
