#pragma once

#include "codegen/Codegen.h"
#include "runtime/artifact/KernelAbi.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <random>

/// Compiles one textual frit.kernel to an image, maps it like the runtime, and calls it over
/// a partition of its units, so that tests can compare results.
namespace mlir::frit::test {

/// Assigns every kernel its schedule for a CPU of this level, like the compiler. `choices` is the
/// option of the pass.
LogicalResult scheduleCpuKernels(ModuleOp module, CpuLevel level, StringRef choices = "");
class CpuKernelRunner {
public:
  CpuKernelRunner(StringRef text, CpuLevel level, StringRef choices = "");
  ~CpuKernelRunner();

  bool isValid() const { return base != nullptr; }
  /// `pointers`: operands, then results. Splits the units of each launch into `parts`.
  int32_t run(std::vector<void *> pointers, std::vector<int64_t> ints = {},
              std::vector<double> floats = {}, int64_t parts = 3);

  ::frit::ErrorRecord error;
  CpuImage image;
  double compileMilliseconds = 0;

private:
  void *base = nullptr;
  size_t mapped = 0;
};

/// The levels that this machine can run.
std::vector<CpuLevel> getLevels();

/// Sizes around vector edges.
inline const int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130, 257};

/// Values of both signs; with `special` some are zero, NaN or infinite.
std::vector<float> makeFloats(int64_t count, unsigned seed, bool special = false);

void expectNear(float expected, float actual, float tolerance, int64_t at);

} // namespace mlir::frit::test
