// The lattice of dtypes and the three priorities of torch's promotion.
#include "passes/legalize/Dtypes.h"

#include "ir/Planted.h"

using namespace mlir;
using namespace mlir::frit;

bool mlir::frit::isSupported(DType dtype) {
  return isFloating(dtype) || isInteger(dtype) || dtype == DType::Bool;
}

bool mlir::frit::isFloating(DType dtype) {
  return isHalf(dtype) || dtype == DType::F32 || dtype == DType::F64;
}

bool mlir::frit::isHalf(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

bool mlir::frit::isUnsigned(DType dtype) { return dtype == DType::U8 || dtype == DType::Bool; }

bool mlir::frit::isInteger(DType dtype) {
  return dtype == DType::U8 || dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 ||
         dtype == DType::I64;
}

unsigned mlir::frit::getBits(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return 1;
  case DType::U8:
  case DType::I8:
    return 8;
  case DType::I16:
  case DType::F16:
  case DType::BF16:
    return 16;
  case DType::I32:
  case DType::F32:
    return 32;
  default:
    return 64;
  }
}

Type mlir::frit::getElementType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F32:
    return Float32Type::get(context);
  case DType::F64:
    return Float64Type::get(context);
  default:
    return IntegerType::get(context, getBits(dtype));
  }
}

DType mlir::frit::getMathDtype(DType dtype) { return isHalf(dtype) ? DType::F32 : dtype; }

DType mlir::frit::getAccumulatorDtype(DType dtype) {
  return isFloating(dtype)             ? getMathDtype(dtype)
         : isPlanted(Mistake::Value32) ? DType::I32
                                       : DType::I64;
}

DType mlir::frit::promote(DType lhs, DType rhs) {
  if (lhs == rhs) {
    return lhs;
  }
  if (isFloating(lhs) != isFloating(rhs)) {
    return isFloating(lhs) ? lhs : rhs;
  }
  if (isFloating(lhs)) {
    if (isHalf(lhs) && isHalf(rhs)) {
      return DType::F32;
    }
    return getBits(lhs) > getBits(rhs) ? lhs : rhs;
  }
  if (lhs == DType::Bool || rhs == DType::Bool) {
    return lhs == DType::Bool ? rhs : lhs;
  }
  if (getBits(lhs) == getBits(rhs)) {
    return DType::I16; // u8 with i8
  }
  return getBits(lhs) > getBits(rhs) ? lhs : rhs;
}

void Promotion::join(std::optional<DType> &into, DType dtype) {
  into = into ? promote(*into, dtype) : dtype;
}

void Promotion::addTensor(DType dtype, int64_t rank) { join(rank > 0 ? withDims : zeroDim, dtype); }

void Promotion::addScalar(DType dtype) {
  join(scalars, isFloating(dtype) ? DType::F32 : dtype == DType::Bool ? DType::Bool : DType::I64);
}

/// The dtype of operands of two priorities: of the higher one, unless the lower one has a higher
/// category.
static std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) {
    return higher ? higher : lower;
  }
  if (isFloating(*higher) || isPlanted(Mistake::Promotion)) {
    return higher;
  }
  if (*higher == DType::Bool || isFloating(*lower)) {
    return promote(*higher, *lower);
  }
  return higher;
}

DType Promotion::get() const {
  return combine(withDims, combine(zeroDim, scalars)).value_or(DType::F32);
}
