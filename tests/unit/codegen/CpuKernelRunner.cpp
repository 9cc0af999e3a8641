#include "tests/unit/codegen/CpuKernelRunner.h"

#include "codegen/cpu/LowerToLlvm.h"
#include "ir/FritOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <sys/mman.h>

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::test;

static MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<FritDialect, tensor::TensorDialect, math::MathDialect>();
    registerLlvmLowering(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

LogicalResult mlir::frit::test::scheduleCpuKernels(ModuleOp module, CpuLevel level,
                                                   StringRef choices) {
  PassManager passes(module.getContext());
  passes.addPass(createScheduleCpuKernelsPass(
      {.level = CpuTarget{level}.levelName().str(), .choices = choices.str()}));
  return passes.run(module);
}

CpuKernelRunner::CpuKernelRunner(StringRef text, CpuLevel level, StringRef choices) {
  auto module = parseSourceString<ModuleOp>(text, &getContext());
  if (!module) {
    ADD_FAILURE() << "kernel does not parse";
    return;
  }
  auto begin = std::chrono::steady_clock::now();
  if (failed(scheduleCpuKernels(*module, level, choices)) ||
      failed(generateCpuImage(*module, CpuTarget{level}, image))) {
    ADD_FAILURE() << "kernel does not compile";
    return;
  }
  compileMilliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  mapped = (image.bytes.size() + 4095) / 4096 * 4096;
  base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(base, image.bytes.data(), image.bytes.size());
  mprotect(base, mapped, PROT_READ | PROT_EXEC);
}

CpuKernelRunner::~CpuKernelRunner() {
  if (base) {
    munmap(base, mapped);
  }
}

static ::frit::Callbacks makeCallbacks() {
  using F = double (*)(double);
  return {{static_cast<F>(std::exp),   static_cast<F>(std::exp2),   static_cast<F>(std::expm1),
           static_cast<F>(std::log),   static_cast<F>(std::log2),   static_cast<F>(std::log10),
           static_cast<F>(std::log1p), static_cast<F>(std::sin),    static_cast<F>(std::cos),
           static_cast<F>(std::tan),   static_cast<F>(std::asin),   static_cast<F>(std::acos),
           static_cast<F>(std::atan),  static_cast<F>(std::sinh),   static_cast<F>(std::cosh),
           static_cast<F>(std::tanh),  static_cast<F>(std::asinh),  static_cast<F>(std::acosh),
           static_cast<F>(std::atanh), static_cast<F>(std::erf),    static_cast<F>(std::erfc),
           static_cast<F>(std::cbrt),  static_cast<F>(std::lgamma), static_cast<F>(std::tgamma)},
          {static_cast<double (*)(double, double)>(std::pow),
           static_cast<double (*)(double, double)>(std::atan2),
           static_cast<double (*)(double, double)>(std::fmod),
           static_cast<double (*)(double, double)>(std::hypot),
           static_cast<double (*)(double, double)>(std::remainder)}};
}

int32_t CpuKernelRunner::run(std::vector<void *> pointers, std::vector<int64_t> ints,
                             std::vector<double> floats, int64_t parts) {
  static const ::frit::Callbacks callbacks = makeCallbacks();
  error = {};
  auto evaluate = [&](SizeAttr size) {
    return *SizeExpr(size).evaluate([&](StringRef name) -> std::optional<int64_t> {
      unsigned position;
      name.drop_front().getAsInteger(10, position);
      return ints[position];
    });
  };
  int32_t code = 0;
  for (const KernelDesc &kernel : image.kernels) {
    std::vector<char> workspace(evaluate(kernel.workspaceBytes) + 64);
    ::frit::Context context{pointers.data(),  ints.data(), floats.data(),
                            workspace.data(), &callbacks,  &error};
    for (const LaunchDesc &launch : kernel.launches) {
      auto function =
          reinterpret_cast<::frit::KernelFunction>(static_cast<char *>(base) + launch.offset);
      int64_t units = evaluate(launch.units);
      for (int64_t part = parts; part-- > 0;) { // last part first: order must not matter
        int64_t begin = units * part / parts, end = units * (part + 1) / parts;
        if (begin < end) {
          int32_t result = function(&context, begin, end);
          code = code ? code : result;
        }
      }
    }
  }
  return code;
}

std::vector<CpuLevel> mlir::frit::test::getLevels() {
  std::vector<CpuLevel> levels{CpuLevel::X86_64_V3};
  if (CpuTarget::host().level == CpuLevel::X86_64_V4) {
    levels.push_back(CpuLevel::X86_64_V4);
  }
  return levels;
}

std::vector<float> mlir::frit::test::makeFloats(int64_t count, unsigned seed, bool special) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-3, 3);
  std::vector<float> values(count + 64, std::nanf(""));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = uniform(engine);
    if (special) {
      switch (engine() % 32) {
      case 0:
        values[i] = std::nanf("");
        break;
      case 1:
        values[i] = INFINITY;
        break;
      case 2:
        values[i] = -INFINITY;
        break;
      case 3:
        values[i] = -0.0f;
        break;
      default:
        break;
      }
    }
  }
  return values;
}

void mlir::frit::test::expectNear(float expected, float actual, float tolerance, int64_t at) {
  if (std::isnan(expected) || std::isnan(actual) || std::isinf(expected)) {
    EXPECT_TRUE((std::isnan(expected) && std::isnan(actual)) || expected == actual)
        << "at " << at << ": expected " << expected << ", found " << actual;
    return;
  }
  EXPECT_LE(std::abs(expected - actual), tolerance * (1 + std::abs(expected)))
      << "at " << at << ": expected " << expected << ", found " << actual;
}
