// The functions of the device math library that kernels use.
#include "codegen/gpu/ptx/Libdevice.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>
#include <thread>

using namespace mlir::frit;

static std::shared_ptr<const std::string> take(llvm::ArrayRef<llvm::StringRef> functions) {
  auto bytes = takeFromLibdevice(functions);
  EXPECT_TRUE(static_cast<bool>(bytes)) << llvm::toString(bytes.takeError());
  return bytes ? *bytes : nullptr;
}

TEST(Libdevice, APartHasItsFunctionsAndIsMadeOnce) {
  if (getLibdevice().empty()) {
    GTEST_SKIP() << "this build has no libdevice";
  }
  auto part = take({"__nv_expf", "__nv_sinf"});
  EXPECT_EQ(part, take({"__nv_expf", "__nv_sinf"}));
  EXPECT_NE(part, take({"__nv_expf"}));
  EXPECT_LT(part->size() * 8, getLibdevice().size());
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(*part, "part"), context);
  ASSERT_TRUE(static_cast<bool>(module)) << llvm::toString(module.takeError());
  for (const char *name : {"__nv_expf", "__nv_sinf"}) {
    ASSERT_TRUE((*module)->getFunction(name)) << name;
    EXPECT_FALSE((*module)->getFunction(name)->isDeclaration()) << name;
  }
  EXPECT_FALSE((*module)->getFunction("__nv_logf"));
}

TEST(Libdevice, WhatItHasNotIsSaid) {
  auto none = takeFromLibdevice({"__nv_no_such_function"});
  ASSERT_FALSE(static_cast<bool>(none));
  std::string message = llvm::toString(none.takeError());
  EXPECT_EQ(message, getLibdevice().empty() ? message : "there is no '__nv_no_such_function'");
}

TEST(Libdevice, ManyThreadsGetTheSame) {
  if (getLibdevice().empty()) {
    GTEST_SKIP() << "this build has no libdevice";
  }
  std::vector<std::shared_ptr<const std::string>> parts(4);
  std::vector<std::thread> threads;
  for (auto &part : parts) {
    threads.emplace_back([&part] { part = take({"__nv_tanhf", "__nv_erff"}); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const auto &part : parts) {
    EXPECT_EQ(part, parts.front());
  }
}
