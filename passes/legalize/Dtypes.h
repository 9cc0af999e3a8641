#pragma once

#include "ir/FritDialect.h"

#include <optional>

/// torch's type promotion: in which dtype torch would compute. Values carry their dtype because an
/// element type does not tell it (u8 and i8 share one).
namespace mlir::frit {

/// Whether the vocabulary has this dtype: bool, u8, i8 to i64, f16, bf16, f32, f64.
bool isSupported(DType dtype);
bool isFloating(DType dtype);
/// f16 and bf16: computed in f32, rounded to be stored.
bool isHalf(DType dtype);
/// u8 and bool: compared, divided and widened without sign.
bool isUnsigned(DType dtype);
/// Integers without bool.
bool isInteger(DType dtype);
unsigned getBits(DType dtype);

/// The type of an element in memory and in the vocabulary.
Type getElementType(MLIRContext *context, DType dtype);
/// The dtype the arithmetic runs in: f32 for the half types, else itself.
DType getMathDtype(DType dtype);
/// The dtype of a sum: f32 for the half types, i64 for integers and bool.
DType getAccumulatorDtype(DType dtype);

/// torch.promote_types.
DType promote(DType lhs, DType rhs);

/// torch.result_type, fed one operand at a time: tensors with dimensions decide
/// the category, then 0-d tensors, then Python scalars.
class Promotion {
public:
  void addTensor(DType dtype, int64_t rank);
  /// A Python scalar; of its dtype only the category counts.
  void addScalar(DType dtype);
  DType get() const;

private:
  static void join(std::optional<DType> &into, DType dtype);
  std::optional<DType> withDims, zeroDim, scalars;
};

} // namespace mlir::frit
