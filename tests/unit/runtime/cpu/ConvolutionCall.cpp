// Calls of frit::convolution: valid arguments, and operands that the kernel supports.

#include "runtime/cpu/ConvolutionCall.h"

#include "runtime/artifact/ArtifactBuilder.h"
#include "tests/unit/runtime/cpu/SizedTensor.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

using namespace frit;
using format::ValueKind;

namespace {

std::unique_ptr<format::ValueT> value(ValueKind kind, int64_t number = 0) {
  auto made = std::make_unique<format::ValueT>();
  made->kind = kind;
  made->integer = number;
  if (kind == ValueKind::Tensor) {
    made->reg = static_cast<uint32_t>(number);
  }
  if (kind == ValueKind::Double) {
    made->real = static_cast<double>(number);
  }
  return made;
}

std::unique_ptr<format::ValueT> pair(int64_t first, int64_t second) {
  auto made = value(ValueKind::List);
  made->items.push_back(value(ValueKind::Int, first));
  made->items.push_back(value(ValueKind::Int, second));
  return made;
}

format::AtenT someCall() {
  format::AtenT call;
  call.name = "frit::convolution";
  for (int64_t reg : {3, 4}) {
    call.arguments.push_back(value(ValueKind::Tensor, reg));
  }
  call.arguments.push_back(value(ValueKind::None));
  call.arguments.push_back(pair(2, 1));
  call.arguments.push_back(pair(1, 0));
  call.arguments.push_back(pair(1, 3));
  call.arguments.push_back(value(ValueKind::Bool, 0));
  call.arguments.push_back(pair(0, 0));
  call.arguments.push_back(value(ValueKind::Int, 1));
  call.arguments.push_back(value(ValueKind::Tensor, 5));
  call.arguments.push_back(value(ValueKind::None));
  call.arguments.push_back(value(ValueKind::Tensor, 6));
  call.arguments.push_back(value(ValueKind::Double, 0));
  call.arguments.push_back(value(ValueKind::None));
  call.arguments.push_back(pair(2, 0));
  call.results.push_back(value(ValueKind::Tensor, 7));
  return call;
}

Result<std::optional<ConvolutionCall>> parsed(const format::AtenT &call) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Aten::Pack(builder, &call));
  return convolutionOf(*flatbuffers::GetRoot<format::Aten>(builder.GetBufferPointer()));
}

TEST(ConvolutionCalls, AreRead) {
  auto read = parsed(someCall());
  ASSERT_TRUE(read.status().isOk() && *read);
  const ConvolutionCall &call = **read;
  EXPECT_EQ(call.input, 3u);
  EXPECT_EQ(call.bias, kNoRegister);
  EXPECT_EQ(call.scale, 5u);
  EXPECT_EQ(call.shift, kNoRegister);
  EXPECT_EQ(call.added, 6u);
  EXPECT_EQ(call.stride[0], 2);
  EXPECT_EQ(call.dilation[1], 3);
  EXPECT_EQ(call.low, 0.0f);
  EXPECT_FALSE(call.high);
  EXPECT_EQ(call.paddingBehind[0], 2);
  EXPECT_TRUE(call.isPaddingWritten);
}

TEST(ConvolutionCalls, ArePaddedEvenlyUnlessTheySay) {
  format::AtenT call = someCall();
  call.arguments.back() = value(ValueKind::None);
  auto read = parsed(call);
  ASSERT_TRUE(read.status().isOk() && *read);
  EXPECT_EQ((*read)->paddingBehind[0], 1);
  EXPECT_FALSE((*read)->isPaddingWritten);
}

TEST(ConvolutionCalls, OfOtherOperatorsAreNone) {
  format::AtenT call = someCall();
  call.name = "aten::convolution";
  auto read = parsed(call);
  EXPECT_TRUE(read.status().isOk() && !*read);
}

TEST(ConvolutionCalls, WithOtherArgumentsAreRefused) {
  std::vector<format::AtenT> calls;
  for (size_t at : {0, 3, 6, 8, 12, 14}) {
    calls.push_back(someCall());
    calls.back().arguments[at] = value(ValueKind::String);
  }
  calls.push_back(someCall());
  calls.back().arguments.pop_back();
  calls.push_back(someCall());
  calls.back().arguments[6] = value(ValueKind::Bool, 1);
  for (const format::AtenT &call : calls) {
    EXPECT_FALSE(parsed(call).status().isOk());
  }
}

std::optional<Convolution> made(const SizedTensor &input, const SizedTensor &weight,
                                int64_t groups = 1, const SizedTensor *scale = nullptr,
                                const SizedTensor *added = nullptr) {
  ConvolutionCall call = {0,      1,      kNoRegister, 2,      kNoRegister, 3, {1, 1},
                          {1, 1}, {1, 1}, {1, 1},      groups, {},          {}};
  TensorView views[] = {input.view(), weight.view(), scale ? scale->view() : TensorView(),
                        added ? added->view() : TensorView()};
  return convolutionFrom(call, {&views[0], &views[1], nullptr, scale ? &views[2] : nullptr, nullptr,
                                added ? &views[3] : nullptr});
}

TEST(ConvolutionOperands, AreReadFromTheirStrides) {
  SizedTensor input{{2, 4, 5, 6}, {120, 30, 6, 1}}, last{{2, 4, 5, 6}, {120, 1, 24, 4}};
  SizedTensor weight{{8, 4, 3, 3}, {36, 9, 3, 1}}, weightLast{{8, 4, 3, 3}, {40, 1, 12, 4}};
  for (const SizedTensor &one : {input, last}) {
    for (const SizedTensor &other : {weight, weightLast}) {
      auto found = made(one, other);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->resultHeight, 5);
      EXPECT_EQ(found->resultWidth, 6);
      EXPECT_EQ(found->depth(), 36);
    }
  }
  EXPECT_TRUE(made(input, {{8, 2, 3, 3}, {18, 9, 3, 1}}, 2));
}

TEST(ConvolutionOperands, AreRefused) {
  SizedTensor input{{2, 4, 5, 6}, {120, 30, 6, 1}}, weight{{8, 4, 3, 3}, {36, 9, 3, 1}};
  EXPECT_FALSE(made({{2, 4, 5, 6}, {120, 30, 6, 1}, format::Dtype::F64}, weight));
  EXPECT_FALSE(made({{2, 3, 5, 6}, {120, 30, 6, 1}}, weight));          // other channels
  EXPECT_FALSE(made({{0, 4, 5, 6}, {120, 30, 6, 1}}, weight));          // nothing
  EXPECT_FALSE(made({{2, 4, 0, 0}, {120, 30, 6, 1}}, weight));          // too small
  EXPECT_FALSE(made(input, {{8, 4, 3, 2}, {36, 9, 3, 1}}));             // a filter with gaps
  EXPECT_FALSE(made(input, {{8, 4, 3, 3}, {0, 0, 0, 0}}));              // or repeated
  EXPECT_FALSE(made({{1, 4, 1 << 16, 1 << 16}, {0, 0, 0, 0}}, weight)); // offsets of 64 bits
  SizedTensor scale{{8}, {1}}, few{{4}, {1}}, apart{{8}, {2}};
  EXPECT_TRUE(made(input, weight, 1, &scale));
  EXPECT_FALSE(made(input, weight, 1, &few));
  EXPECT_FALSE(made(input, weight, 1, &apart));
  SizedTensor added{{2, 8, 5, 6}, {240, 1, 48, 8}}, first{{2, 8, 5, 6}, {240, 30, 6, 1}};
  EXPECT_TRUE(made(input, weight, 1, &scale, &added));
  EXPECT_FALSE(made(input, weight, 1, &scale, &first));
}

} // namespace
