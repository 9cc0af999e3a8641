// `frit._C`: compile(json, options), load(artifact, constants) and open(path, ...). The compiler is
// behind its facade in libfrit_compiler.so, the runtime behind TorchExecutable; this file only
// converts arguments and results.

#include "python/bindings/ExecutableObject.h"
#include "python/bindings/GraphText.h"
#include "python/bindings/PythonCapture.h"

#ifdef FRIT_HAS_COMPILER
#include "compiler/Compiler.h"
#endif
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ArtifactDifference.h"
#include "runtime/torch/BlockCache.h"
#include "runtime/torch/RowOperators.h"
#include "runtime/torch/TorchExecutable.h"
#include "runtime/torch/TorchHost.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/version.h>

namespace frit {

namespace {

PyTypeObject *executableType = nullptr;
PyTypeObject *resultType = nullptr;

/// Raises frit.errors.<name>(message).
PyObject *raise(const char *name, const std::string &message) {
  PyObject *module = PyImport_ImportModule("frit.errors");
  PyObject *type = module ? PyObject_GetAttrString(module, name) : nullptr;
  Py_XDECREF(module);
  if (!type) {
    PyErr_Clear();
  }
  // The message may quote names of a damaged file that are not valid UTF-8.
  PyObject *text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                        "backslashreplace");
  if (text) {
    PyErr_SetObject(type ? type : PyExc_RuntimeError, text);
  }
  Py_XDECREF(text);
  Py_XDECREF(type);
  return nullptr;
}

#ifdef FRIT_HAS_COMPILER
/// Calls isCached(digest, symbols) and returns its truth value; false with an exception set.
bool askIfCached(PyObject *isCached, const CanonicalForm &form) {
  PyObject *symbols = PyTuple_New(static_cast<Py_ssize_t>(form.symbols.size()));
  for (size_t at = 0; symbols && at != form.symbols.size(); ++at) {
    PyObject *name =
        PyUnicode_DecodeUTF8(form.symbols[at].data(),
                             static_cast<Py_ssize_t>(form.symbols[at].size()), "backslashreplace");
    if (!name) {
      Py_CLEAR(symbols);
      break;
    }
    PyTuple_SET_ITEM(symbols, static_cast<Py_ssize_t>(at), name);
  }
  PyObject *answer =
      symbols ? PyObject_CallFunction(isCached, "sO", form.digest.c_str(), symbols) : nullptr;
  Py_XDECREF(symbols);
  bool truth = answer && PyObject_IsTrue(answer) == 1;
  Py_XDECREF(answer);
  return truth;
}

PyObject *compileGraph(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  const char *json = nullptr, *options = nullptr;
  Py_ssize_t jsonSize = 0, optionsSize = 0;
  PyObject *isCached = Py_None;
  if (!PyArg_ParseTuple(arguments, "s#s#|O:compile", &json, &jsonSize, &options, &optionsSize,
                        &isCached)) {
    return nullptr;
  }
  CompileOptions settings;
  std::string wrong = readOptions({options, static_cast<size_t>(optionsSize)}, settings);
  if (!wrong.empty()) {
    return raise("OptionError", wrong);
  }
  bool hasRaised = false;
  if (isCached != Py_None) {
    settings.isCached = [isCached, &hasRaised](const CanonicalForm &form) {
      PyGILState_STATE held = PyGILState_Ensure();
      bool answer = askIfCached(isCached, form);
      hasRaised = PyErr_Occurred() != nullptr;
      PyGILState_Release(held);
      return answer || hasRaised;
    };
  }
  CompileResult result;
  {
    // The arguments tuple keeps the text alive.
    struct Unlocked {
      PyThreadState *state = PyEval_SaveThread();
      ~Unlocked() { PyEval_RestoreThread(state); }
    } unlocked;
    result = compile({json, static_cast<size_t>(jsonSize)}, settings);
  }
  if (hasRaised) {
    return nullptr;
  }
  if (!result.ok()) {
    return raise("CompileError", result.errorText());
  }
  PyObject *answer = PyStructSequence_New(resultType);
  PyObject *bytes = PyBytes_FromStringAndSize(result.artifact.data(),
                                              static_cast<Py_ssize_t>(result.artifact.size()));
  PyObject *report = PyUnicode_DecodeUTF8(result.report.data(),
                                          static_cast<Py_ssize_t>(result.report.size()), "replace");
  if (!answer || !bytes || !report) {
    Py_XDECREF(answer);
    Py_XDECREF(bytes);
    Py_XDECREF(report);
    return nullptr;
  }
  PyStructSequence_SET_ITEM(answer, 0, bytes);
  PyStructSequence_SET_ITEM(answer, 1, report);
  PyStructSequence_SET_ITEM(answer, 2, PyLong_FromUnsignedLong(result.kernelsCompiled));
  PyStructSequence_SET_ITEM(answer, 3, PyLong_FromUnsignedLong(result.kernelsReused));
  PyStructSequence_SET_ITEM(answer, 4, PyLong_FromUnsignedLong(result.kernelsForgotten));
  return answer;
  END_HANDLE_TH_ERRORS
}
#else
PyObject *compileGraph(PyObject *, PyObject *) {
  return raise(
      "CompileError",
      "this build of frit can load artifacts but not compile: it was built without the compiler");
}
#endif

PyObject *identity(PyObject *, PyObject *) {
#ifdef FRIT_HAS_COMPILER
  return PyUnicode_FromString(compilerIdentity().c_str());
#else
  return PyUnicode_FromString("");
#endif
}

/// Appends the tensors of a sequence; false with an exception set.
bool readTensors(PyObject *constants, std::vector<at::TensorBase> &tensors) {
  PyObject *sequence = PySequence_Fast(constants, "constants must be a sequence of tensors");
  if (!sequence) {
    return false;
  }
  for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(sequence); ++at) {
    PyObject *item = PySequence_Fast_GET_ITEM(sequence, at);
    if (!THPVariable_Check(item)) {
      Py_DECREF(sequence);
      PyErr_Format(PyExc_TypeError, "constant %zd is a %s, not a tensor", at,
                   Py_TYPE(item)->tp_name);
      return false;
    }
    tensors.push_back(THPVariable_Unpack(item));
  }
  Py_DECREF(sequence);
  return true;
}

/// Reads an artifact from bytes; null with an exception set.
std::shared_ptr<const Artifact> readArtifact(const char *bytes, Py_ssize_t size) {
  auto artifact =
      Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes), static_cast<size_t>(size)});
  if (!artifact.isOk()) {
    raise("ArtifactError", artifact.status().message());
    return nullptr;
  }
  return std::move(*artifact);
}

PyObject *load(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  const char *bytes = nullptr;
  Py_ssize_t size = 0;
  PyObject *constants = nullptr;
  int poison = 0;
  if (!PyArg_ParseTuple(arguments, "y#O|p:load", &bytes, &size, &constants, &poison)) {
    return nullptr;
  }
  std::vector<at::TensorBase> tensors;
  if (!readTensors(constants, tensors)) {
    return nullptr;
  }
  auto artifact = readArtifact(bytes, size);
  if (!artifact) {
    return nullptr;
  }
  auto executable = TorchExecutable::load(std::move(artifact), tensors, poison != 0);
  if (!executable.isOk()) {
    return raise("ArtifactError", executable.status().message());
  }
  return makeExecutableObject(executableType, std::move(*executable));
  END_HANDLE_TH_ERRORS
}

PyObject *specialize(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  PyObject *executable = nullptr, *buckets = nullptr, *constants = nullptr;
  const char *bytes = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(arguments, "O!O!y#O:specialize", executableType, &executable, &PyTuple_Type,
                        &buckets, &bytes, &size, &constants)) {
    return nullptr;
  }
  std::vector<uint32_t> entries;
  for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(buckets); ++at) {
    unsigned long entry = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(buckets, at));
    if (PyErr_Occurred()) {
      return nullptr;
    }
    entries.push_back(static_cast<uint32_t>(entry));
  }
  std::vector<at::TensorBase> tensors;
  if (!readTensors(constants, tensors)) {
    return nullptr;
  }
  auto artifact = readArtifact(bytes, size);
  if (!artifact) {
    return nullptr;
  }
  if (Status status = executableOf(executable).specialize(entries, std::move(artifact), tensors);
      !status.isOk()) {
    return raise("ArtifactError", status.message());
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject *differenceOfArtifacts(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  const char *kept = nullptr, *expected = nullptr;
  Py_ssize_t keptSize = 0, expectedSize = 0;
  if (!PyArg_ParseTuple(arguments, "y#y#:difference", &kept, &keptSize, &expected, &expectedSize)) {
    return nullptr;
  }
  auto mine = readArtifact(kept, keptSize),
       theirs = mine ? readArtifact(expected, expectedSize) : nullptr;
  if (!theirs) {
    return nullptr;
  }
  std::string found = firstDifference(*mine, *theirs);
  return PyUnicode_DecodeUTF8(found.data(), static_cast<Py_ssize_t>(found.size()),
                              "backslashreplace");
  END_HANDLE_TH_ERRORS
}

/// Reads a dictionary of tensors by name; false with an exception set.
bool readWeights(PyObject *given, std::map<std::string, at::TensorBase> &weights) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &value);) {
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : nullptr;
    if (!name || !THPVariable_Check(value)) {
      if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "weights are tensors by name, got %R: %s", key,
                     Py_TYPE(value)->tp_name);
      }
      return false;
    }
    weights[name] = THPVariable_Unpack(value);
  }
  return true;
}

PyObject *open(PyObject *, PyObject *arguments) {
  HANDLE_TH_ERRORS
  PyObject *path = nullptr, *folder = nullptr, *given = nullptr;
  int allowHostCode = 0, checkWeights = 0, pack = 1;
  if (!PyArg_ParseTuple(arguments, "O&ppO&O!|p:open", PyUnicode_FSConverter, &path, &allowHostCode,
                        &checkWeights, PyUnicode_FSConverter, &folder, &PyDict_Type, &given,
                        &pack)) {
    return nullptr;
  }
  auto take = [](PyObject *bytes) {
    std::string text(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return text;
  };
  std::string name = take(path), weightsFolder = take(folder);
  std::map<std::string, at::TensorBase> weights;
  if (!readWeights(given, weights)) {
    return nullptr;
  }
  auto artifact = Artifact::fromFile(name, allowHostCode != 0, weightsFolder);
  if (!artifact.isOk()) {
    return raise("ArtifactError", artifact.status().message());
  }
  if (Status status = checkWeights ? (*artifact)->checkWeights() : Status::ok(); !status.isOk()) {
    return raise("ArtifactError", status.message());
  }
  auto executable = TorchExecutable::open(*artifact, weights, pack != 0);
  if (!executable.isOk()) {
    return raise("ArtifactError", executable.status().message());
  }
  return makeExecutableObject(executableType, std::move(*executable));
  END_HANDLE_TH_ERRORS
}

PyObject *releaseMemory(PyObject *, PyObject *) {
  BlockCache::ofProcess().clear();
#ifdef FRIT_HAS_COMPILER
  forgetKernels();
#endif
  Py_RETURN_NONE;
}

PyObject *memoryStats(PyObject *, PyObject *) {
  BlockCache &cache = BlockCache::ofProcess();
  return Py_BuildValue("{s:K,s:K,s:K}", "kept_bytes",
                       static_cast<unsigned long long>(cache.keptBytes()), "blocks_reused",
                       static_cast<unsigned long long>(cache.reused()), "blocks_made",
                       static_cast<unsigned long long>(cache.made()));
}

PyMethodDef functions[] = {
    {"release_memory", releaseMemory, METH_NOARGS,
     "release_memory()\n\nFrees the blocks kept for the temporaries of later calls, and the "
     "kernels kept for later graphs."},
    {"memory_stats", memoryStats, METH_NOARGS,
     "memory_stats() -> dict\n\nBytes kept for temporaries, blocks taken again, blocks made."},
    {"compile", compileGraph, METH_VARARGS,
     "compile(json, options, is_kept=None) -> CompileResult\n\nCompiles a graph in the "
     "torch.export schema; options is a JSON object. "
     "is_kept(digest, symbols) is asked once the graph is canonical; if it is true there is no "
     "artifact."},
    {"identity", identity, METH_NOARGS,
     "identity() -> str\n\nThe compiler's build, LLVM and host level; empty if nothing may be "
     "cached."},
    {"load", load, METH_VARARGS,
     "load(artifact, constants, poison=False) -> Executable\n\nMaps an artifact; constants are the "
     "tensors the graph was captured with."},
    {"describe_graph", describeGraph, METH_VARARGS,
     "describe_graph(nodes, node_type, fake_type, overload_type, describe_target, describe_value, "
     "others) -> str\n\nThe text of an FX graph; "
     "nodes that are neither calls nor placeholders nor outputs go to `others`."},
    {"capture_with", captureWith, METH_VARARGS,
     "capture_with(recorder, body) -> (address, error, is_memory)\n\nCaptures and launches what "
     "body() launches, as an executable would."},
    {"capture_traits", captureTraits, METH_VARARGS,
     "capture_traits(name, overload) -> (reason, is_random)\n\nWhy a CUDA graph never has calls of "
     "this operator; empty where it may."},
    {"specialize", specialize, METH_VARARGS,
     "specialize(executable, buckets, artifact, constants)\n\nFrom now on calls of these buckets "
     "(the number of an entry for each) run "
     "`artifact`."},
    {"difference", differenceOfArtifacts, METH_VARARGS,
     "difference(kept, expected) -> str\n\nWhat the first artifact says otherwise than the second; "
     "empty where both say the same."},
    {"open", open, METH_VARARGS,
     "open(path, allow_host_code, check_weights, weights_folder, weights, pack=True) -> "
     "Executable\n\nMaps an "
     "artifact's file; its weights stay where "
     "they are mapped, or are the tensors of a dictionary by name."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "frit._C",
                      "frit's compiler and runtime.",
                      -1,
                      functions,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

PyStructSequence_Field resultFields[] = {
    {"artifact", "bytes of the .frit artifact"},
    {"report", "JSON: kernels, aten_calls, phases"},
    {"kernels_compiled", "kernels that became code, once for each target"},
    {"kernels_reused", "kernels this process had compiled before"},
    {"kernels_forgotten", "older kernels that left the memory of the process for them"},
    {nullptr, nullptr}};
PyStructSequence_Desc resultDescription = {"frit._C.CompileResult", "What a compilation gives.",
                                           resultFields, 5};

} // namespace

} // namespace frit

/// Throws what a signal handler of Python raised. Python runs them on its main thread alone.
static void throwOnSignal() {
  PyGILState_STATE held = PyGILState_Ensure();
  bool isRaised = PyErr_CheckSignals() != 0;
  python_error error;
  if (isRaised) {
    error.persist();
  }
  PyGILState_Release(held);
  if (isRaised) {
    throw error;
  }
}

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__C() {
  using namespace frit;
  registerRowOperators();
  setInterruptCheck(&throwOnSignal);
  executableType = makeExecutableType();
  resultType = PyStructSequence_NewType(&resultDescription);
  PyObject *created = PyModule_Create(&module);
  if (!executableType || !resultType || !created ||
      PyModule_AddObjectRef(created, "Executable", reinterpret_cast<PyObject *>(executableType)) !=
          0 ||
      PyModule_AddObjectRef(created, "CompileResult", reinterpret_cast<PyObject *>(resultType)) !=
          0 ||
      PyModule_AddStringConstant(created, "torch_version", TORCH_VERSION) != 0) {
    Py_XDECREF(created);
    return nullptr;
  }
  return created;
}
