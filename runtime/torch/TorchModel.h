// The C++ API over libtorch, without Python: a .frit file as a function on at::Tensor, for models
// that also call operators of ATen. docs/Deploy.md is its guide, examples/libtorch an example.

#pragma once

#include "runtime/artifact/Status.h"
#include "runtime/plan/Values.h"

#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace frit {

class FRIT_API TorchModel {
public:
  /// Maps the file and checks all of it but the contents of the weights, which are read on first
  /// access. Of a file for several devices the GPU's plan is used if there is a driver, else the
  /// CPU's; `options.threads` and `options.device` have no effect. An operator that this libtorch
  /// lacks is an error here. `weights` are those of a file that was compiled without: a tensor for
  /// each name, which is used in place and updated there if the program updates it.
  static Result<TorchModel> load(const std::string &path, const LoadOptions &options = {},
                                 const std::map<std::string, at::Tensor> &weights = {});

  TorchModel(TorchModel &&) noexcept;
  TorchModel &operator=(TorchModel &&) noexcept;
  ~TorchModel();

  const std::vector<Parameter> &inputs() const;
  const std::vector<Parameter> &outputs() const;
  /// The dynamic sizes.
  const std::vector<SizeRange> &symbols() const;

  /// Runs the model on its inputs, flat and in order: tensors, int64_t, double, bool or None. They
  /// are compared with `inputs()`: dtype, device, sizes, strides. Exceptions of operators are
  /// returned as errors with their message. Results may outlive the model, and have no gradients.
  ///
  /// Thread-safe. Buffers that the model updates belong to it, and calls that update them must not
  /// overlap.
  Result<std::vector<c10::IValue>> run(std::vector<c10::IValue> inputs) const;

  /// The compiler's report on the model, and the counters since loading (operators by name), as
  /// JSON.
  std::string report() const;
  std::string stats() const;
  Statistics statistics() const;

private:
  struct State;
  explicit TorchModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace frit
