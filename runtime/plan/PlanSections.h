// The sections of a plan that DecodedPlan is made from, in the order in which they are decoded.
// Each stops at the first error, which names its place.

#pragma once

#include "runtime/plan/DecodedPlan.h"
#include "runtime/plan/PlanPlace.h"

namespace frit {

/// Constants, programs and tensors.
Status decodeRegisters(const format::Plan &source, DecodedPlan &plan);
/// Inputs, symbols, buckets, constants, outputs and guards.
Status decodeSignature(const format::Plan &source, DecodedPlan &plan);
/// Kernels and steps.
Status decodeSteps(const format::Plan &source, DecodedPlan &plan);

/// The base class of all decoders: the place for errors, and checks of register numbers.
class PlanSection {
public:
  PlanSection(const format::Plan &source, DecodedPlan &plan) : source(source), plan(plan) {}

protected:
  Status wrong(const std::string &what) const { return place.malformed(what); }
  /// `optional`: kNoRegister is allowed.
  Status checkInt(uint32_t number, bool optional = false) const;
  Status checkFloat(uint32_t number) const;
  Status checkTensor(uint32_t number) const;
  /// Checks a register of the file that holds scalars of this type.
  Status checkScalar(uint32_t number, format::Dtype dtype) const;
  Status checkInts(Registers numbers, bool optional = false) const;
  /// Checks that a register's sizes and strides are known, so that it can be allocated.
  Status checkShaped(uint32_t tensor) const;
  /// Checks a tensor register, and makes it a tensor of the host.
  Status needHandle(uint32_t tensor);

  const format::Plan &source;
  DecodedPlan &plan;
  PlanPlace place;
};

template <typename T> Registers registersOf(const T *vector) {
  return vector ? Registers(vector->data(), vector->size()) : Registers();
}

template <typename T> size_t countOf(const T *vector) { return vector ? vector->size() : 0; }

} // namespace frit
