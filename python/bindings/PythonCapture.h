// Captures calls of operators through Python, where torch shows its CUDAGraph
// (`frit.modes.cuda_capture`, or what a test passes in its place). Built the same against a torch
// with CUDA and one without.

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

/// `frit._C.capture_with(recorder, body)`: for tests, what capture() makes of a recorder and a body
/// that returns an error's text or None: (the address to launch, the error, whether it was one of
/// memory).
PyObject *captureWith(PyObject *, PyObject *arguments);
/// `frit._C.capture_traits(name, overload)`: why calls of an operator are never captured, and
/// whether it draws random numbers.
PyObject *captureTraits(PyObject *, PyObject *arguments);

} // namespace frit
