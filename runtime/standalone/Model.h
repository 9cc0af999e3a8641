// The C++ API without torch: a .frit file as a function on tensors in host memory. docs/Deploy.md
// is its guide, examples/standalone an example. It includes only the standard library.
//
//   auto model = frit::Model::load("model.frit");
//   if (!model.isOk()) {
//     std::fprintf(stderr, "%s\n", model.status().message().c_str());
//     return 1;
//   }
//   auto results = model->run({{frit::Tensor{frit::DataType::F32, {2, 8}, {}, numbers.data()}}});
//
// A model whose plan calls operators of ATen needs libtorch (runtime/torch/TorchModel.h); the error
// of load() names them.

#pragma once

#include "runtime/artifact/Status.h"
#include "runtime/plan/Values.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace frit {

class FRIT_API Model {
public:
  /// Maps the file and checks all of it but the contents of the weights, which are read when a
  /// kernel accesses them. The file may be replaced afterwards, but not written to. `weights` are
  /// those of a file that was compiled without: a tensor for each name, which is used in place and
  /// updated there if the program updates it.
  static Result<Model> load(const std::string &path, const LoadOptions &options = {},
                            const std::map<std::string, Tensor> &weights = {});

  Model(Model &&) noexcept;
  Model &operator=(Model &&) noexcept;
  ~Model();

  const std::vector<Parameter> &inputs() const;
  const std::vector<Parameter> &outputs() const;
  /// The dynamic sizes.
  const std::vector<SizeRange> &symbols() const;

  /// Runs the model on its inputs, flat and in order. They are compared with `inputs()`: dtype,
  /// sizes, strides. Their memory is read, and written if an input is `mutated`, only during the
  /// call. Results own their memory and may outlive the model; a result that is an input or a view
  /// of one shares the input's memory and owner.
  ///
  /// Thread-safe; calls wait for each other where they share the model's threads. Buffers that the
  /// model updates belong to it, and calls that update them must not overlap.
  Result<std::vector<Value>> run(std::span<const Value> inputs) const;

  /// The compiler's report on the model, as JSON.
  std::string report() const;
  Statistics statistics() const;

private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Copies a tensor's elements to `target`, contiguously.
FRIT_API void copyElements(const Tensor &tensor, void *target);

} // namespace frit
