// The C++ API over libtorch, without Python: a .frit file as a function on at::Tensor, for models
// that call operators of ATen too. docs/Deploy.md is its guide, examples/libtorch a program.

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
  /// Maps the file and checks all of it but the contents of the weights, which are read when
  /// something touches them. Of a file for several devices the GPU's plan is taken where a driver
  /// is found, else the CPU's; `options.threads` and `options.device` say nothing here. An operator
  /// that this libtorch does not have is an error now. `weights` are those of a file that was
  /// compiled without: a tensor for each name, used where it lies and updated there if the program
  /// updates it.
  static Result<TorchModel> load(const std::string &path, const LoadOptions &options = {},
                                 const std::map<std::string, at::Tensor> &weights = {});

  TorchModel(TorchModel &&) noexcept;
  TorchModel &operator=(TorchModel &&) noexcept;
  ~TorchModel();

  const std::vector<Parameter> &inputs() const;
  const std::vector<Parameter> &outputs() const;
  /// The sizes that vary.
  const std::vector<SizeRange> &symbols() const;

  /// Runs the model on its inputs, flat and in order: tensors, int64_t, double, bool or None. They
  /// are compared with `inputs()`: dtype, device, sizes, strides. What an operator raises comes
  /// back as an error with its words. Results may outlive the model, and carry no gradients.
  ///
  /// Calls may come from several threads at once. Buffers that the model updates belong to it:
  /// calls that update them must not overlap.
  Result<std::vector<c10::IValue>> run(std::vector<c10::IValue> inputs) const;

  /// What the compiler said about the model, and what was done since loading (operators by name),
  /// as JSON.
  std::string report() const;
  std::string stats() const;
  Statistics statistics() const;

private:
  struct State;
  explicit TorchModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace frit
