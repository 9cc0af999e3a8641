// Arithmetic, comparisons and casts on tensors of one dtype.
#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "passes/legalize/TensorBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

void TensorBuilder::unify(Tensor &a, Tensor &b) {
  if (getSizes(a.type()) == getSizes(b.type())) {
    return;
  }
  SmallVector<SizeExpr> sizes = broadcastSizes(a.sizes(), b.sizes());
  a = broadcast(a, sizes);
  b = broadcast(b, sizes);
}

template <typename OpTy> Tensor TensorBuilder::binary(Tensor a, Tensor b, DType dtype) {
  unify(a, b);
  return {OpTy::create(builder, loc, a.value, b.value)->getResult(0), dtype};
}

/// A floating operation that may be contracted into a fused multiply-add, unless
/// `frit-limit-contraction` forbids it.
template <typename OpTy> Tensor TensorBuilder::floating(Tensor a, Tensor b) {
  Tensor result = binary<OpTy>(a, b, a.dtype);
  if (contract) {
    cast<OpTy>(result.value.getDefiningOp()).setFastmath(arith::FastMathFlags::contract);
  }
  return result;
}

Tensor TensorBuilder::add(Tensor a, Tensor b) {
  if (a.dtype == DType::Bool) {
    return bitOr(a, b);
  }
  if (isPlanted(Mistake::SignedOverflow) && isInteger(a.dtype) && !isUnsigned(a.dtype)) {
    Tensor sum = binary<arith::AddIOp>(a, b, a.dtype);
    cast<arith::AddIOp>(sum.value.getDefiningOp())
        .setOverflowFlags(arith::IntegerOverflowFlags::nsw);
    return sum;
  }
  return isFloating(a.dtype) ? floating<arith::AddFOp>(a, b) : binary<arith::AddIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::sub(Tensor a, Tensor b) {
  return isFloating(a.dtype) ? floating<arith::SubFOp>(a, b) : binary<arith::SubIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::mul(Tensor a, Tensor b) {
  if (a.dtype == DType::Bool) {
    return bitAnd(a, b);
  }
  return isFloating(a.dtype) ? floating<arith::MulFOp>(a, b) : binary<arith::MulIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::addProduct(Tensor c, Tensor a, Tensor b) {
  return contract || !isFloating(c.dtype) ? add(c, mul(a, b)) : math<math::FmaOp>(a, b, c);
}

Tensor TensorBuilder::subProduct(Tensor c, Tensor a, Tensor b) {
  return contract || !isFloating(c.dtype) ? sub(c, mul(a, b)) : math<math::FmaOp>(neg(a), b, c);
}

Tensor TensorBuilder::div(Tensor a, Tensor b) {
  if (isFloating(a.dtype)) {
    Tensor quotient = binary<arith::DivFOp>(a, b, a.dtype);
    if (!contract) {
      // Must round as in eager: no multiplication by a reciprocal may replace the division.
      kIeeeAttr.mark(quotient.value.getDefiningOp());
    }
    return quotient;
  }
  return isUnsigned(a.dtype) ? binary<arith::DivUIOp>(a, b, a.dtype)
                             : binary<arith::DivSIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::rem(Tensor a, Tensor b) {
  if (isFloating(a.dtype)) {
    return binary<arith::RemFOp>(a, b, a.dtype);
  }
  return isUnsigned(a.dtype) ? binary<arith::RemUIOp>(a, b, a.dtype)
                             : binary<arith::RemSIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::neg(Tensor a) {
  if (isFloating(a.dtype)) {
    return {arith::NegFOp::create(builder, loc, a.value), a.dtype};
  }
  return sub(constantInt(a.dtype, 0), a);
}

Tensor TensorBuilder::abs(Tensor a) {
  if (isUnsigned(a.dtype)) {
    return a;
  }
  return isFloating(a.dtype) ? math<math::AbsFOp>(a) : math<math::AbsIOp>(a);
}

Tensor TensorBuilder::maximum(Tensor a, Tensor b) {
  if (isFloating(a.dtype)) {
    return binary<arith::MaximumFOp>(a, b, a.dtype);
  }
  return isUnsigned(a.dtype) ? binary<arith::MaxUIOp>(a, b, a.dtype)
                             : binary<arith::MaxSIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::minimum(Tensor a, Tensor b) {
  if (isFloating(a.dtype)) {
    return binary<arith::MinimumFOp>(a, b, a.dtype);
  }
  return isUnsigned(a.dtype) ? binary<arith::MinUIOp>(a, b, a.dtype)
                             : binary<arith::MinSIOp>(a, b, a.dtype);
}

Tensor TensorBuilder::bitAnd(Tensor a, Tensor b) { return binary<arith::AndIOp>(a, b, a.dtype); }
Tensor TensorBuilder::bitOr(Tensor a, Tensor b) { return binary<arith::OrIOp>(a, b, a.dtype); }
Tensor TensorBuilder::bitXor(Tensor a, Tensor b) { return binary<arith::XOrIOp>(a, b, a.dtype); }

Tensor TensorBuilder::logicalNot(Tensor a) { return bitXor(a, constantInt(DType::Bool, 1)); }

Tensor TensorBuilder::compare(Compare predicate, Tensor a, Tensor b) {
  unify(a, b);
  if (isFloating(a.dtype)) {
    static constexpr arith::CmpFPredicate table[] = {
        arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
        arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return {
        arith::CmpFOp::create(builder, loc, table[static_cast<int>(predicate)], a.value, b.value),
        DType::Bool};
  }
  using P = arith::CmpIPredicate;
  static constexpr P withSign[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  static constexpr P withoutSign[] = {P::eq, P::ne, P::ult, P::ule, P::ugt, P::uge};
  P chosen = (isUnsigned(a.dtype) ? withoutSign : withSign)[static_cast<int>(predicate)];
  return {arith::CmpIOp::create(builder, loc, chosen, a.value, b.value), DType::Bool};
}

Tensor TensorBuilder::isNan(Tensor a) {
  return {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, a.value, a.value),
          DType::Bool};
}

Tensor TensorBuilder::select(Tensor condition, Tensor a, Tensor b) {
  SmallVector<SizeExpr> sizes = broadcastSizes(condition.sizes(), a.sizes());
  sizes = broadcastSizes(sizes, b.sizes());
  return {arith::SelectOp::create(builder, loc, broadcast(condition, sizes).value,
                                  broadcast(a, sizes).value, broadcast(b, sizes).value),
          a.dtype};
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// For the planted mistake LateWrap: an operation on small integers, computed in `to` from the
/// start.
static Tensor computedWide(TensorBuilder &b, Tensor x, DType to) {
  Operation *def = x.value.getDefiningOp();
  if (!isInteger(x.dtype) || getBits(x.dtype) > 16 || getBits(to) <= getBits(x.dtype) ||
      !isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(def)) {
    return x;
  }
  Tensor lhs = b.cast({def->getOperand(0), x.dtype}, to),
         rhs = b.cast({def->getOperand(1), x.dtype}, to);
  return isa<arith::AddIOp>(def)   ? b.add(lhs, rhs)
         : isa<arith::SubIOp>(def) ? b.sub(lhs, rhs)
                                   : b.mul(lhs, rhs);
}

/// One arith operation between two dtypes that have a direct conversion.
Tensor TensorBuilder::convert(Tensor x, DType to) {
  RankedTensorType type = typeOf(x.sizes(), to);
  auto make = [&](auto tag) -> Tensor {
    using OpTy = typename decltype(tag)::type;
    return {OpTy::create(builder, loc, type, x.value)->getResult(0), to};
  };
  bool fromFloat = isFloating(x.dtype), toFloat = isFloating(to);
  if (fromFloat && toFloat) {
    return getBits(to) > getBits(x.dtype) ? make(std::type_identity<arith::ExtFOp>())
                                          : make(std::type_identity<arith::TruncFOp>());
  }
  if (fromFloat) {
    return make(std::type_identity<arith::FPToSIOp>());
  }
  if (toFloat) {
    return isUnsigned(x.dtype) ? make(std::type_identity<arith::UIToFPOp>())
                               : make(std::type_identity<arith::SIToFPOp>());
  }
  if (getBits(to) < getBits(x.dtype)) {
    return make(std::type_identity<arith::TruncIOp>());
  }
  if (getBits(to) == getBits(x.dtype)) {
    return {x.value, to}; // u8 and i8
  }
  return isUnsigned(x.dtype) ? make(std::type_identity<arith::ExtUIOp>())
                             : make(std::type_identity<arith::ExtSIOp>());
}

/// As torch on the CPU: a half type is reached and left through f32; an integer
/// smaller than a register is reached through one (u8 from i64, i8 and i16
/// from i32), so that a value in the register's range wraps; NaN and values beyond the
/// register give what the machine gives. Bool is "not zero", NaN included.
Tensor TensorBuilder::cast(Tensor x, DType to, bool implicit) {
  DType from = x.dtype;
  if (from == to) {
    return x;
  }
  if (isPlanted(Mistake::LateWrap)) {
    if (Tensor wide = computedWide(*this, x, to); wide.value != x.value) {
      return wide;
    }
  }
  if (to == DType::Bool) {
    return compare(Compare::NE, isHalf(from) ? convert(x, DType::F32) : x,
                   constantInt(getMathDtype(from), 0));
  }
  if (isHalf(to)) {
    Tensor wide = from == DType::F32 ? x : convert(x, DType::F32);
    Tensor result = convert(wide, to);
    if (implicit) {
      kImplicitAttr.mark(result.value.getDefiningOp());
    }
    return result;
  }
  if (isHalf(from) && to != DType::F32) {
    return cast(convert(x, DType::F32), to, implicit);
  }
  if (isFloating(from) && isInteger(to) && getBits(to) < 32) {
    if (isPlanted(Mistake::CastRange) && to == DType::U8) {
      return convert(convert(minimum(x, broadcast(constant(from, 127), x.sizes())), DType::I8), to);
    }
    return convert(convert(x, to == DType::U8 ? DType::I64 : DType::I32), to);
  }
  return convert(x, to);
}
