// Captures calls of operators through Python, where torch exposes its CUDAGraph
// (`frit.modes.cuda_capture`, or a test's replacement). It is built the same way against a torch
// with or without CUDA.

#pragma once

#include "runtime/torch/TorchCapture.h"

#include <Python.h>

namespace frit {

class PythonCapture : public OperatorCapture {
public:
  /// `recorder` has open(), capture(shared, body) and replay(graph).
  explicit PythonCapture(PyObject *recorder);

  Result<std::shared_ptr<void>> open() override;
  Result<Graph> capture(const std::shared_ptr<void> &shared,
                        const std::function<Status()> &body) override;
  Status replay(const Graph &graph) override;

private:
  std::shared_ptr<void> recorder;
};

/// `frit._C.capture_with(recorder, body)`, for tests: runs capture() with a recorder and a body
/// that returns an error's text or None. Returns (the address to launch, the error, whether memory
/// ran out).
PyObject *captureWith(PyObject *, PyObject *arguments);
/// `frit._C.capture_traits(name, overload)`: why calls of an operator are never captured, and
/// whether it draws random numbers.
PyObject *captureTraits(PyObject *, PyObject *arguments);

} // namespace frit
