// Images are self-contained: a reference to a symbol of the process is refused by name.
#include "codegen/cpu/ObjectImage.h"
#include "codegen/cpu/LowerToLlvm.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::frit;

/// The diagnostic of compiling `text`, empty if it succeeds.
static std::string compile(StringRef text, KernelCode &image) {
  DialectRegistry registry;
  registerLlvmLowering(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << message;
  LlvmLowering lowering;
  bool compiled =
      succeeded(compileToImage(*module, lowering, CpuTarget{CpuLevel::X86_64_V3}, image));
  EXPECT_EQ(compiled, message.empty());
  return message;
}

TEST(ObjectImage, CallsOutsideAreRefusedByName) {
  KernelCode image;
  std::string message = compile(R"(
    func.func private @sinh(f64) -> f64
    func.func @k(%x: f64) -> f64 {
      %0 = func.call @sinh(%x) : (f64) -> f64
      return %0 : f64
    })",
                                image);
  EXPECT_NE(message.find("'sinh', which is outside"), std::string::npos) << message;
}

TEST(ObjectImage, LibraryFunctionsThatAppearByThemselvesAreRefused) {
  KernelCode image;
  // There is no instruction for a remainder of floats: it would call fmodf.
  std::string message = compile(R"(
    func.func @k(%x: f32, %y: f32) -> f32 {
      %0 = arith.remf %x, %y : f32
      return %0 : f32
    })",
                                image);
  EXPECT_NE(message.find("fmod"), std::string::npos) << message;
}

TEST(ObjectImage, ConstantsAndCallsInsideAreLinked) {
  KernelCode image;
  std::string message = compile(R"(
    func.func @f(%x: f64) -> f64 attributes {no_inline} {
      %c = arith.constant 3.25 : f64
      %0 = arith.mulf %x, %c : f64
      return %0 : f64
    }
    func.func @k(%x: f64) -> f64 {
      %0 = func.call @f(%x) : (f64) -> f64
      return %0 : f64
    })",
                                image);
  EXPECT_EQ(message, "");
  EXPECT_EQ(image.entries.size(), 2u);
  EXPECT_NE(image.bytes.find(std::string("\0\0\0\0\0\0\x0a\x40", 8)), std::string::npos);
}
