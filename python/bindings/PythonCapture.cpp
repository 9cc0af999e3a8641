#include "python/bindings/PythonCapture.h"

#include "runtime/torch/AtenCall.h"
#include "runtime/torch/TorchHost.h"

#include <torch/csrc/Exceptions.h>

namespace frit {

namespace {

/// Holds the interpreter lock.
struct Locked {
  PyGILState_STATE state = PyGILState_Ensure();
  ~Locked() { PyGILState_Release(state); }
};

bool isEnding() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

/// Drops a reference from any thread at any time. While the interpreter shuts down it is leaked.
void dropReference(void *object) {
  if (PyGILState_Check()) {
    Py_DECREF(static_cast<PyObject *>(object));
  } else if (Py_IsInitialized() && !isEnding()) {
    Locked locked;
    Py_DECREF(static_cast<PyObject *>(object));
  }
}

std::shared_ptr<void> keep(PyObject *object) { return {Py_NewRef(object), dropReference}; }
PyObject *objectOf(const std::shared_ptr<void> &kept) {
  return static_cast<PyObject *>(kept.get());
}

/// Turns the current exception into a one-line status. A KeyboardInterrupt is raised again after
/// the call.
Status takeError(const std::string &what) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  bool isInterrupt = type && PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt);
  PyObject *module = PyImport_ImportModule("torch");
  PyObject *outOfMemory = module ? PyObject_GetAttrString(module, "OutOfMemoryError") : nullptr;
  bool isMemory = type && outOfMemory && PyErr_GivenExceptionMatches(type, outOfMemory);
  PyObject *text = value ? PyObject_Str(value) : nullptr;
  const char *bytes = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string message = bytes ? bytes : "an exception";
  message = message.substr(0, message.find('\n'));
  isMemory |= message.find("out of memory") != std::string::npos;
  for (PyObject *object : {type, value, trace, module, outOfMemory, text}) {
    Py_XDECREF(object);
  }
  PyErr_Clear();
  if (isInterrupt) {
    PyErr_SetInterrupt();
  }
  return Status::error(isMemory ? ErrorKind::OutOfMemory : ErrorKind::Runtime,
                       what + ": " + message);
}

/// The body of a capture while Python calls it; `run` is null after the capture.
struct Body {
  const std::function<Status()> *run;
  Status status;
  bool isDone = false;
};

PyObject *callBody(PyObject *capsule, PyObject *) {
  auto *body = static_cast<std::shared_ptr<Body> *>(PyCapsule_GetPointer(capsule, nullptr))->get();
  if (!body->run || body->isDone) {
    PyErr_SetString(PyExc_RuntimeError,
                    "what is to be captured can be run once, and only while it is captured");
    return nullptr;
  }
  body->isDone = true;
  PyThreadState *state = PyEval_SaveThread();
  body->status = inWords((*body->run)());
  PyEval_RestoreThread(state);
  if (!body->status.isOk()) {
    PyErr_SetString(PyExc_RuntimeError, body->status.message().c_str());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyMethodDef bodyMethod = {"body", callBody, METH_NOARGS,
                          "Launches what is to be captured, on the current stream."};

PyObject *functionOf(const std::shared_ptr<Body> &body) {
  PyObject *capsule = PyCapsule_New(new std::shared_ptr<Body>(body), nullptr, [](PyObject *self) {
    delete static_cast<std::shared_ptr<Body> *>(PyCapsule_GetPointer(self, nullptr));
  });
  PyObject *function = capsule ? PyCFunction_New(&bodyMethod, capsule) : nullptr;
  Py_XDECREF(capsule);
  return function;
}

} // namespace

PythonCapture::PythonCapture(PyObject *object) : recorder(keep(object)) {}

Result<std::shared_ptr<void>> PythonCapture::open() {
  Locked locked;
  PyObject *shared = PyObject_CallMethod(objectOf(recorder), "open", nullptr);
  if (!shared) {
    return takeError("preparing a capture");
  }
  std::shared_ptr<void> kept = keep(shared);
  Py_DECREF(shared);
  return kept;
}

Result<OperatorCapture::Graph> PythonCapture::capture(const std::shared_ptr<void> &shared,
                                                      const std::function<Status()> &run) {
  Locked locked;
  auto body = std::make_shared<Body>(Body{&run, Status::ok()});
  PyObject *function = functionOf(body);
  PyObject *made = function ? PyObject_CallMethod(objectOf(recorder), "capture", "OO",
                                                  objectOf(shared), function)
                            : nullptr;
  Py_XDECREF(function);
  body->run = nullptr;
  if (!body->status.isOk()) {
    // An exception of the recorder is a consequence of this error.
    PyErr_Clear();
    Py_XDECREF(made);
    return body->status;
  }
  if (!made || !body->isDone) {
    Py_XDECREF(made);
    return made ? Status::error(ErrorKind::Runtime, "nothing was captured")
                : takeError("capturing");
  }
  PyObject *object = nullptr;
  unsigned long long address = 0;
  Graph graph;
  if (PyArg_ParseTuple(made, "OK", &object, &address)) {
    graph = {keep(object), reinterpret_cast<DriverGraphExec>(static_cast<uintptr_t>(address))};
  }
  Py_DECREF(made);
  return graph.object ? Result<Graph>(graph) : takeError("capturing");
}

Status PythonCapture::replay(const Graph &graph) {
  Locked locked;
  PyObject *done = PyObject_CallMethod(objectOf(recorder), "replay", "O", objectOf(graph.object));
  if (!done) {
    return takeError("launching a CUDA graph");
  }
  Py_DECREF(done);
  return Status::ok();
}

PyObject *captureWith(PyObject *, PyObject *arguments) {
  PyObject *recorder = nullptr, *body = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO:capture_with", &recorder, &body)) {
    return nullptr;
  }
  PythonCapture capture(recorder);
  PyThreadState *state = PyEval_SaveThread();
  Status status;
  OperatorCapture::Graph graph;
  if (auto shared = capture.open(); !shared.isOk()) {
    status = shared.status();
  } else {
    auto made = capture.capture(*shared, [&] {
      Locked locked;
      PyObject *result = PyObject_CallNoArgs(body);
      if (!result) {
        return takeError("the body");
      }
      Py_DECREF(result);
      return Status::ok();
    });
    status = made.status();
    graph = made.isOk() ? *made : OperatorCapture::Graph();
  }
  if (status.isOk()) {
    status = capture.replay(graph);
  }
  auto address = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(graph.exec));
  graph = {};
  PyEval_RestoreThread(state);
  bool isMemory = !status.isOk() && status.kind() == ErrorKind::OutOfMemory;
  return Py_BuildValue("KsO", address, status.isOk() ? "" : status.message().c_str(),
                       isMemory ? Py_True : Py_False);
}

PyObject *captureTraits(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  const char *name = nullptr, *overload = nullptr;
  if (!PyArg_ParseTuple(arguments, "ss:capture_traits", &name, &overload)) {
    return nullptr;
  }
  CallTraits traits =
      AtenCall::traitsOf(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
  return Py_BuildValue("sO", traits.uncapturable.c_str(), traits.isRandom ? Py_True : Py_False);
  END_HANDLE_TH_ERRORS
}

} // namespace frit
