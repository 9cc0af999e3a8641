// Runs the text of a gpu.module: the SIMT lowering, the image and the emulator together, with bugs
// planted in the text.

#include "codegen/simt/LowerToSimt.h"

#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/cpu/ObjectImage.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "runtime/cpu/MathCallbacks.h"
#include "runtime/simt/SimtGrid.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <numeric>

using namespace mlir;

namespace {

const std::string kHead = R"(
module { gpu.module @kernels {
  llvm.mlir.global external @frit_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  gpu.func @frit_test(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64) kernel {
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    %dim = gpu.block_dim x
    %base = arith.muli %bid, %dim : index
    %index = arith.addi %base, %tid : index
    %i = arith.index_cast %index : index to i64
    %t = arith.index_cast %tid : index to i32
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %s = llvm.mlir.addressof @frit_shared : !llvm.ptr<3>
    %ps = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %c127 = arith.constant 127 : i32
    %r = arith.subi %c127, %t : i32
    %pr = llvm.getelementptr %s[%r] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
)";
const std::string kTail = "    gpu.return\n  }\n}}\n";

class LowerToSimt : public ::testing::Test {
protected:
  LowerToSimt() : y(256, -1.f) {
    for (int i = 0; i < 256; ++i) {
      x.push_back(0.01f * i);
    }
    DialectRegistry registry;
    mlir::frit::registerGpuTargetDialects(registry);
    mlir::frit::registerLlvmLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  ::frit::Status run(const std::string &body, uint32_t grid = 2) {
    auto module = parseSourceString<ModuleOp>(kHead + body + kTail, &context);
    EXPECT_TRUE(module);
    OwningOpRef<ModuleOp> host = ModuleOp::create(module->getLoc());
    EXPECT_TRUE(
        succeeded(mlir::frit::lowerToSimt(*module->getOps<gpu::GPUModuleOp>().begin(), *host)));
    mlir::frit::LlvmLowering lowering;
    mlir::frit::KernelCode image;
    EXPECT_TRUE(succeeded(mlir::frit::compileToImage(
        *host, lowering, mlir::frit::CpuTarget{mlir::frit::CpuLevel::X86_64_V3}, image)));
    void *code = mmap(nullptr, image.bytes.size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(code, image.bytes.data(), image.bytes.size());
    mprotect(code, image.bytes.size(), PROT_READ | PROT_EXEC);
    auto entry = reinterpret_cast<::frit::SimtFunction>(static_cast<char *>(code) +
                                                        image.entries.at("frit_test"));
    ::frit::SimtArguments arguments;
    arguments.buffers = {{"operand 0", x.data(), 1024}, {"result 0", y.data(), 1024, true, false}};
    arguments.ints = {256};
    arguments.callbacks = &::frit::mathCallbacks();
    auto status =
        ::frit::runSimtKernel(arguments, {{"frit_test", entry, {grid, 1, 1}, {128, 1, 1}, 512}});
    munmap(code, image.bytes.size());
    return status;
  }
  void expectError(const std::string &body, const char *message) {
    auto status = run(body);
    ASSERT_FALSE(status.isOk());
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }

  MLIRContext context;
  std::vector<float> x, y;
};

} // namespace

TEST_F(LowerToSimt, mathOfTheHost) {
  auto status = run(R"(
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    %e = math.exp %v : f32
    %q = math.rsqrt %e : f32
    %f = math.floor %e : f32
    %w = vector.from_elements %q, %f : vector<2xf32>
    %h = math.tanh %w : vector<2xf32>
    %a = vector.extract %h[0] : f32 from vector<2xf32>
    %b = vector.extract %h[1] : f32 from vector<2xf32>
    %p = math.powf %a, %b : f32
    llvm.store %p, %py : f32, !llvm.ptr<1>
  )");
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int i = 0; i < 256; ++i) {
    double e = float(std::exp(double(x[i])));
    EXPECT_NEAR(y[i], std::pow(std::tanh(1 / std::sqrt(e)), std::tanh(std::floor(e))), 1e-6);
  }
}

TEST_F(LowerToSimt, sharedMemoryBarrierAndShuffle) {
  auto status = run(R"(
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %o, %valid = gpu.shuffle xor %v, %c1, %c32 : f32
    llvm.store %o, %ps : f32, !llvm.ptr<3>
    gpu.barrier
    %w = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %w, %py : f32, !llvm.ptr<1>
  )");
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(y[i], x[(i / 128 * 128 + 127 - i % 128) ^ 1]);
  }
}

TEST_F(LowerToSimt, outOfBoundsIsCaught) {
  const char *copy = R"(
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    llvm.store %v, %py : f32, !llvm.ptr<1>
  )";
  EXPECT_TRUE(run(copy, 2).isOk());
  auto status = run(copy, 3);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), "kernel frit_test, block (2, 0, 0), thread (0, 0, 0): load of 4 "
                              "bytes at offset 1024 of operand 0 "
                              "(1024 bytes) is out of bounds");
}

TEST_F(LowerToSimt, missingBarrierIsCaught) {
  expectError(R"(
    %zero = arith.constant 0.0 : f32
    llvm.store %zero, %ps : f32, !llvm.ptr<3>
    gpu.barrier
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    llvm.store %v, %ps : f32, !llvm.ptr<3>
    %w = llvm.load %pr : !llvm.ptr<3> -> f32
    llvm.store %w, %py : f32, !llvm.ptr<1>
  )",
              "of shared memory (512 bytes) races with a ");
}

TEST_F(LowerToSimt, divergentBarrierIsCaught) {
  expectError(R"(
    %c64 = arith.constant 64 : i32
    %half = arith.cmpi slt, %t, %c64 : i32
    scf.if %half {
      gpu.barrier
    }
  )",
              "thread (0, 0, 0) waits at barrier 0, but thread (64, 0, 0) has returned");
}
