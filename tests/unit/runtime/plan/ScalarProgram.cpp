// Tests edge cases of every operation, because a wrong size expression gives a wrong pointer.

#include "runtime/plan/ScalarProgram.h"

#include "runtime/artifact/Artifact_generated.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace frit;
using format::Op;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// dst is register 0 of either file; a, b, c are 1, 2, 3.
struct Machine {
  std::vector<int64_t> ints = std::vector<int64_t>(4);
  std::vector<double> floats = std::vector<double>(4);
  ScalarError error = ScalarError::None;
  bool run(Op op) {
    format::Instruction instruction(op, 0, 1, 2, 3);
    EXPECT_TRUE(verifyProgram({&instruction, 1}, 4, 4).isOk());
    error = runProgram({&instruction, 1}, ints.data(), floats.data());
    return error == ScalarError::None;
  }
};

int64_t integer(Op op, int64_t a, int64_t b = 0, int64_t c = 0) {
  Machine machine;
  machine.ints = {0, a, b, c};
  EXPECT_TRUE(machine.run(op));
  return machine.ints[0];
}

double real(Op op, double a, double b = 0) {
  Machine machine;
  machine.floats = {0, a, b, 0};
  EXPECT_TRUE(machine.run(op));
  return machine.floats[0];
}

} // namespace

TEST(ScalarProgram, FloorDivAndModAsInPython) {
  EXPECT_EQ(integer(Op::FloorDiv, 7, 2), 3);
  EXPECT_EQ(integer(Op::FloorDiv, -7, 2), -4);
  EXPECT_EQ(integer(Op::FloorDiv, 7, -2), -4);
  EXPECT_EQ(integer(Op::FloorDiv, -7, -2), 3);
  EXPECT_EQ(integer(Op::Mod, 7, 2), 1);
  EXPECT_EQ(integer(Op::Mod, -7, 2), 1);
  EXPECT_EQ(integer(Op::Mod, 7, -2), -1);
  EXPECT_EQ(integer(Op::Mod, -6, 2), 0);
  for (int64_t a : {kMin, int64_t(-5), int64_t(0), int64_t(5), kMax}) {
    for (int64_t b : {int64_t(-7), int64_t(-2), int64_t(1), int64_t(3), kMax}) {
      EXPECT_EQ(static_cast<uint64_t>(integer(Op::FloorDiv, a, b)) * static_cast<uint64_t>(b) +
                    static_cast<uint64_t>(integer(Op::Mod, a, b)),
                static_cast<uint64_t>(a));
    }
  }
}

TEST(ScalarProgram, OverflowWrapsAndNeverTraps) {
  EXPECT_EQ(integer(Op::Add, kMax, 1), kMin);
  EXPECT_EQ(integer(Op::Sub, kMin, 1), kMax);
  EXPECT_EQ(integer(Op::Mul, kMax, 2), -2);
  EXPECT_EQ(integer(Op::Neg, kMin), kMin);
  EXPECT_EQ(integer(Op::Abs, kMin), kMin);
  EXPECT_EQ(integer(Op::FloorDiv, kMin, -1), kMin);
  EXPECT_EQ(integer(Op::Mod, kMin, -1), 0);
  EXPECT_EQ(integer(Op::TruncDiv, kMin, -1), kMin);
  EXPECT_EQ(integer(Op::TruncRem, kMin, -1), 0);
}

TEST(ScalarProgram, ErrorsAreThoseOfPython) {
  auto error = [](Op op, int64_t a, int64_t b, double real = 0) {
    Machine machine;
    machine.ints = {0, a, b, 0};
    machine.floats = {0, real, 0, 0};
    machine.run(op);
    return machine.error;
  };
  auto words = [](ScalarError one) {
    Status status = statusOf(one);
    return status.isOk() ? std::string() : status.message();
  };
  EXPECT_EQ(words(error(Op::FloorDiv, 5, 0)), "integer division or modulo by zero");
  EXPECT_EQ(words(error(Op::Mod, 5, 0)), "integer modulo by zero");
  EXPECT_EQ(words(error(Op::TrueDiv, 5, 0)), "division by zero");
  EXPECT_EQ(statusOf(error(Op::TrueDiv, 5, 0)).kind(), ErrorKind::ZeroDivision);
  for (Op op : {Op::TruncDiv, Op::TruncRem}) {
    EXPECT_EQ(words(error(op, 5, 0)), "ZeroDivisionError");
    EXPECT_EQ(statusOf(error(op, 5, 0)).kind(), ErrorKind::Runtime);
  }
  EXPECT_EQ(statusOf(error(Op::PythonInt, 0, 0, -kInf)).kind(), ErrorKind::Overflow);
  EXPECT_EQ(statusOf(error(Op::PythonInt, 0, 0, kDoubleNan)).kind(), ErrorKind::Value);
  EXPECT_EQ(words(error(Op::PythonInt, 0, 0, -2.5)), "");
}

TEST(ScalarProgram, IntegerOperations) {
  EXPECT_EQ(integer(Op::TruncDiv, -7, 2), -3);
  EXPECT_EQ(integer(Op::TruncRem, -7, 2), -1);
  EXPECT_EQ(integer(Op::Min, -7, 2), -7);
  EXPECT_EQ(integer(Op::Max, -7, 2), 2);
  EXPECT_EQ(integer(Op::And, 6, 3), 2);
  EXPECT_EQ(integer(Op::Or, 6, 3), 7);
  EXPECT_EQ(integer(Op::Xor, 6, 3), 5);
  EXPECT_EQ(integer(Op::Shl, 3, 2), 12);
  EXPECT_EQ(integer(Op::Shl, 3, 64), 0);
  EXPECT_EQ(integer(Op::Shr, -8, 1), -4);
  EXPECT_EQ(integer(Op::Shr, -8, 100), -1);
  EXPECT_EQ(integer(Op::Pow, 3, 4), 81);
  EXPECT_EQ(integer(Op::Pow, -1, -3), -1);
  EXPECT_EQ(integer(Op::Pow, 5, 0), 1);
  EXPECT_EQ(integer(Op::Not, 0), 1);
  EXPECT_EQ(integer(Op::Not, 9), 0);
  EXPECT_EQ(integer(Op::BitNot, 0), -1);
  EXPECT_EQ(integer(Op::Select, 2, 10, 20), 10);
  EXPECT_EQ(integer(Op::Select, 0, 10, 20), 20);
  EXPECT_EQ(integer(Op::ToI8, 200), -56);
  EXPECT_EQ(integer(Op::ToU8, -1), 255);
  EXPECT_EQ(integer(Op::ToI16, 40000), -25536);
  EXPECT_EQ(integer(Op::ToI32, int64_t(1) << 33), 0);
  EXPECT_EQ(integer(Op::ToBool, -3), 1);
  EXPECT_EQ(integer(Op::Lt, -1, 0), 1);
  EXPECT_EQ(integer(Op::Ge, -1, 0), 0);
}

TEST(ScalarProgram, FloatFloorDivAndRemainderAsInEager) {
  EXPECT_EQ(real(Op::FFloorDiv, 1.0, 0.1), 9.0);
  EXPECT_EQ(real(Op::FFloorDiv, 6.0, 0.2), 29.0);
  EXPECT_EQ(real(Op::FFloorDiv, 1.0, 0.0), kInf);
  EXPECT_TRUE(std::signbit(real(Op::FFloorDiv, -0.0, 1.0)));
  EXPECT_EQ(real(Op::FMod, -7.5, 2), 0.5);
  EXPECT_EQ(real(Op::FRem, -7.5, 2), -1.5);
}

TEST(ScalarProgram, NanWinsMinAndMax) {
  EXPECT_TRUE(std::isnan(real(Op::FMin, kDoubleNan, 1)));
  EXPECT_TRUE(std::isnan(real(Op::FMin, 1, kDoubleNan)));
  EXPECT_TRUE(std::isnan(real(Op::FMax, kDoubleNan, 1)));
  EXPECT_TRUE(std::isnan(real(Op::FMax, 1, kDoubleNan)));
  EXPECT_EQ(real(Op::FMax, 1, 3), 3);
}

TEST(ScalarProgram, RoundsToNarrowFormats) {
  EXPECT_EQ(real(Op::FToF32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(roundToF16(0.1), 0.0999755859375);
  EXPECT_EQ(roundToF16(65519.0), 65504.0);
  EXPECT_EQ(roundToF16(65520.0), kInf);
  EXPECT_EQ(roundToF16(std::ldexp(1.0, -24)), std::ldexp(1.0, -24));
  EXPECT_EQ(roundToF16(std::ldexp(1.0, -25)), 0.0);
  EXPECT_EQ(roundToF16(std::ldexp(1.5, -25)), std::ldexp(1.0, -24));
  EXPECT_EQ(roundToBF16(0.1), 0.10009765625);
  EXPECT_EQ(roundToBF16(1.00390625), 1.0); // a tie goes to even
  EXPECT_TRUE(std::isnan(roundToBF16(kDoubleNan)));
}

TEST(ScalarProgram, Conversions) {
  Machine machine;
  machine.floats = {0, -2.9, 0, 0};
  EXPECT_TRUE(machine.run(Op::FloatToInt));
  EXPECT_EQ(machine.ints[0], -2);
  machine.floats[1] = kDoubleNan;
  EXPECT_TRUE(machine.run(Op::FloatToInt));
  EXPECT_EQ(machine.ints[0], kMin);
  machine.ints[1] = 7;
  machine.ints[2] = 2;
  EXPECT_TRUE(machine.run(Op::TrueDiv));
  EXPECT_EQ(machine.floats[0], 3.5);
  machine.ints[1] = 0;
  machine.floats[2] = 1;
  machine.floats[3] = 2;
  EXPECT_TRUE(machine.run(Op::FSelect));
  EXPECT_EQ(machine.floats[0], 2);
}

TEST(ScalarProgram, WhatGuardsAreMadeOf) {
  Machine machine;
  auto holds = [&](Op op, int64_t a, int64_t b, int64_t c = 0) {
    machine.ints[1] = a;
    machine.ints[2] = b;
    machine.ints[3] = c;
    EXPECT_TRUE(machine.run(op));
    return machine.ints[0] != 0;
  };
  EXPECT_TRUE(holds(Op::InRange, 2, 2, 2));
  EXPECT_TRUE(holds(Op::InRange, kMin, kMin, -5));
  EXPECT_FALSE(holds(Op::InRange, 1, 2, 9));
  EXPECT_FALSE(holds(Op::InRange, 10, 2, 9));
  EXPECT_TRUE(holds(Op::Divides, 21, 7));
  EXPECT_TRUE(holds(Op::Divides, 0, 7));
  EXPECT_TRUE(holds(Op::Divides, -14, 7));
  EXPECT_FALSE(holds(Op::Divides, 22, 7));
  EXPECT_TRUE(holds(Op::NoBits, 32, 15));
  EXPECT_FALSE(holds(Op::NoBits, 40, 15));
  machine.ints[2] = 0;
  EXPECT_FALSE(machine.run(Op::Divides));
  std::vector<int64_t> guards(300, 1);
  EXPECT_TRUE(allHold(guards));
  EXPECT_TRUE(allHold({}));
  guards[299] = 0;
  EXPECT_FALSE(allHold(guards));
}

TEST(ScalarProgram, RegistersOutsideTheirFileAreRefused) {
  auto refused = [](Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t c) {
    format::Instruction instruction(op, dst, a, b, c);
    return !verifyProgram({&instruction, 1}, 4, 2).isOk();
  };
  EXPECT_FALSE(refused(Op::Add, 3, 3, 3, 99));
  EXPECT_TRUE(refused(Op::Add, 4, 0, 0, 0));
  EXPECT_TRUE(refused(Op::Add, 0, 4, 0, 0));
  EXPECT_TRUE(refused(Op::Add, 0, 0, 4, 0));
  EXPECT_TRUE(refused(Op::Select, 0, 0, 0, 4));
  EXPECT_TRUE(refused(Op::FAdd, 2, 0, 0, 0));
  EXPECT_TRUE(refused(Op::IntToFloat, 0, 4, 0, 0));
  EXPECT_TRUE(refused(Op::FloatToInt, 0, 2, 0, 0));
  EXPECT_TRUE(refused(static_cast<Op>(999), 0, 0, 0, 0));
  for (int op = 0; op <= static_cast<int>(Op::MAX); ++op) {
    EXPECT_FALSE(refused(static_cast<Op>(op), 1, 1, 1, 1)) << op;
    EXPECT_TRUE(refused(static_cast<Op>(op), 9, 9, 9, 9)) << op;
  }
}
