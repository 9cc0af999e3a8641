// The numbered rules of docs/Artifact.md for calls, one test per number, as in
// ArtifactConstraints.cpp.

#include "tests/unit/runtime/standalone/BrokenArtifact.h"

using namespace frit;

TEST(ArtifactConstraint, A28_ViewsLieInsideOfTheirStorage) {
  for (int64_t offset : {int64_t(-1), int64_t(3), int64_t(1) << 61, INT64_MAX, INT64_MIN}) {
    expectRefused("a view lies outside of its storage of 12 bytes", [&](Small &s) {
      s.step<format::ViewT>(2).offset = s.builder.intConstant(offset);
    });
  }
  Small last;
  last.step<format::ViewT>(2).offset = last.builder.intConstant(2);
  EXPECT_TRUE(use(last.pack()).isOk());
  for (int64_t size : {int64_t(-1), int64_t(1) << 60, INT64_MAX}) {
    Small huge;
    huge.plan().tensors[huge.y]->sizes = {huge.builder.intConstant(size)};
    expectError(use(huge.pack()), "no memory can hold", ErrorKind::Runtime);
  }
}

namespace {

/// A call of a damaged file with a changed argument.
Status call(const std::function<void(Small &)> &damage,
            const std::function<void(HostTensor &)> &change = {}, int64_t count = 3,
            size_t inputs = 1) {
  Small small;
  damage(small);
  auto artifact = Artifact::fromBytes(bytesOfString(small.pack()));
  FRIT_RETURN_IF_ERROR(artifact.status());
  return useCpu(*artifact, count, change, inputs);
}

void accepted(const Status &status) { EXPECT_TRUE(status.isOk()) << status.message(); }

void asItIs(Small &) {}

} // namespace

TEST(ArtifactConstraint, A29_ArgumentsAreThoseOfTheSignature) {
  auto refused = [](const Status &status, std::string_view part) {
    expectError(status, part, ErrorKind::BadInput);
  };
  accepted(call(asItIs));
  // Number, kind, dtype, rank and device.
  refused(call(asItIs, {}, 3, 0), "takes 1 inputs, got 0");
  refused(call(asItIs, {}, 3, 2), "takes 1 inputs, got 2");
  refused(call([](Small &s) {
            s.plan().inputs[0]->kind = format::InputKind::Int,
            s.plan().inputs[0]->reg = s.builder.newInt(), s.withoutTensors();
          }),
          "input 0 ('x'): an integer is needed");
  refused(call([](Small &s) {
            s.plan().inputs[0]->kind = format::InputKind::Float,
            s.plan().inputs[0]->reg = s.builder.newFloat(), s.withoutTensors();
          }),
          "input 0 ('x'): a float is needed");
  refused(call([](Small &s) { s.plan().tensors[s.x]->dtype = format::Dtype::I32; }),
          "its dtype is float32, compiled for int32");
  refused(call(asItIs, [](HostTensor &x) { x.sizes = {3, 1}, x.strides = {1, 1}; }),
          "it has 2 dimensions, compiled for 1");
  refused(call(asItIs, [](HostTensor &x) { x.sizes = {}, x.strides = {}; }),
          "it has 0 dimensions, compiled for 1");
  refused(call(asItIs, [](HostTensor &x) { x.device = format::Device::Cuda; }),
          "it lies on Cuda, compiled for Cpu");
  // Sizes: ranges of symbols, expressions of symbols, constant sizes.
  refused(call([](Small &s) { s.plan().symbols[0]->max = 8; }, {}, 9),
          "input 0 ('x'): its size along dimension 0 is 9, compiled for s0 between");
  refused(call([](Small &s) { s.plan().symbols[0]->divisor = 4; }, {}, 6),
          "is 6, compiled for s0, a multiple of 4");
  refused(call([](Small &s) { s.plan().symbols[0]->scale = 2, s.plan().symbols[0]->offset = -1; },
               {}, 4),
          "is 4, compiled for 2 * s0 - 1 with s0 between");
  refused(call([](Small &s) { s.plan().tensors[s.x]->sizes = {s.four}; }),
          "its size along dimension 0 is 3, compiled for 4");
  refused(call([](Small &s) {
            s.plan().tensors[s.x]->sizes = {
                s.builder.emit(s.program, format::Op::Add, s.s0, s.one)};
          }),
          "its size along dimension 0 is 3, compiled for 4");
  // Strides of dimensions whose size is not 1, except for empty tensors and if nothing relies on
  // them.
  auto every2nd = [](HostTensor &x) { x.strides = {2}; };
  refused(call(asItIs, every2nd), "its stride along dimension 0 is 2, compiled for 1");
  accepted(call(asItIs, every2nd, 1));
  refused(call([](Small &s) { s.plan().symbols[0]->stride = true, s.plan().symbols[0]->max = 1; },
               every2nd),
          "input 0 ('x'): its stride along dimension 0 is 2, compiled for s0 between");
  accepted(call(
      [](Small &s) {
        s.plan().guards.clear(), s.plan().steps.pop_back(), s.plan().outputs.pop_back();
      },
      every2nd, 0));
  accepted(call([](Small &s) { s.plan().inputs[0]->only_called = true; }, every2nd));
  // Its device, unless only operators of torch read it.
  auto onGpu = [](HostTensor &x) { x.device = format::Device::Cuda; };
  refused(call(asItIs, onGpu), "it lies on Cuda, compiled for Cpu");
  accepted(call([](Small &s) { s.plan().inputs[0]->only_called = true; }, onGpu));
  // The storage offset, if the plan relies on it.
  auto shifted = [](HostTensor &x) { x.offset = 4; };
  accepted(call(asItIs, shifted));
  refused(call([](Small &s) { s.plan().inputs[0]->offset = s.builder.intConstant(0); }, shifted),
          "its storage offset is 4, compiled for 0");
  accepted(call([](Small &s) { s.plan().inputs[0]->offset = s.four; }, shifted));
  // The operator that assumes it.
  refused(call(
              [](Small &s) {
                s.plan().symbols[0]->max = 8,
                s.plan().inputs[0]->origin = "aten.relu at model.py:3";
              },
              {}, 9),
          "; assumed by aten.relu at model.py:3");
}

TEST(ArtifactConstraint, A30_GuardsHold) {
  auto refused = [](const Status &status, std::string_view part) {
    expectError(status, part, ErrorKind::BadInput);
  };
  auto guard = [](format::GuardKind kind, format::Op op, int64_t b, int64_t c,
                  const char *requirement) {
    return [=](Small &s) {
      s.plan().programs[0]->code[1] = {op, s.holds, s.s0, s.builder.intConstant(b),
                                       s.builder.intConstant(c)};
      s.plan().guards[0]->kind = kind, s.plan().guards[0]->requirement = requirement,
      s.plan().guards[0]->origin = "aten.add at model.py:3";
    };
  };
  auto equal = guard(format::GuardKind::Equal, format::Op::Eq, 3, 0, "s0 must equal 3");
  auto range =
      guard(format::GuardKind::Range, format::Op::InRange, 2, 5, "s0 must be between 2 and 5");
  auto divisor =
      guard(format::GuardKind::Divisor, format::Op::Divides, 3, 0, "s0 must be a multiple of 3");
  auto bits =
      guard(format::GuardKind::Divisor, format::Op::NoBits, 3, 0, "s0 must be a multiple of 4");
  auto index =
      guard(format::GuardKind::Index32, format::Op::InRange, 0, 5, "s0 must fit the index");
  for (const auto &[damage, good, bad, message] :
       {std::tuple(equal, 3, 4, "s0 must equal 3"),
        std::tuple(range, 5, 6, "s0 must be between 2 and 5"),
        std::tuple(range, 2, 1, "s0 must be between 2 and 5"),
        std::tuple(divisor, 6, 7, "s0 must be a multiple of 3"),
        std::tuple(bits, 8, 6, "s0 must be a multiple of 4"),
        std::tuple(index, 5, 6, "s0 must fit the index")}) {
    accepted(call(damage, {}, good));
    refused(call(damage, {}, bad), "input 0 ('x'): its size along dimension 0 (s0) is " +
                                       std::to_string(bad) + ", but " + message);
    refused(call(damage, {}, bad), "; assumed by aten.add at model.py:3");
  }
  refused(use(Small().pack(), 0), "s0 must be at least 1");
  auto aligned = [](Small &s) {
    format::GuardT &guard = *s.plan().guards[0];
    guard.kind = format::GuardKind::Aligned, guard.input = 0, guard.bytes = 64;
  };
  accepted(call(aligned));
  refused(call(aligned, [](HostTensor &x) { x.data += 32; }),
          "input 0 ('x'): its address is no multiple of 64 bytes");
  // Of several guards, the one that does not hold is named.
  refused(call(
              [&](Small &s) {
                uint32_t three = s.builder.intConstant(3);
                s.plan().guards[0]->holds = s.builder.emit(s.program, format::Op::Ge, s.s0, s.one);
                auto &second = *s.plan().guards.emplace_back(
                    std::make_unique<format::GuardT>(*s.plan().guards[0]));
                second.requirement = "s0 must equal 3",
                second.holds = s.builder.emit(s.program, format::Op::Eq, s.s0, three);
              },
              {}, 4),
          "but s0 must equal 3");
}
