// Chooses the GPU instruction for each math or arith operation. There are three classes:
//
//   always     floor, ceil, trunc, roundeven, abs, fma and copysign are one instruction; exp2 is
//              `ex2.approx` (2 ulp, keeps denormals); rsqrt in f32 is `rsqrt.approx` (relative
//              error 2^-22.9) with one Newton step
//   contract   (default numerics) f32 division is `div.full` (2 ulp) and f32 sqrt is
//              `sqrt.approx` (1 ulp); without the flag both are rounded as IEEE requires
//   afn        (set where the error is hidden, ApproximateMath.cpp) exp and exp2 are
//              `ex2.approx.ftz`, of x * log2(e) the one, whose error grows with |x| to 5e-6 at
//              88, far below half an ulp of f16; results below 2^-126 are 0; f32 division is a
//              product with `rcp.approx` (2 ulp); rsqrt has no Newton step. tanh.approx (2^-11)
//              would be exact enough for tanh in bf16, but not for 1 + tanh(x), which is small
//              for x far below 0
//   afn arcp   f32 division is a product with `rcp.approx.ftz`: 0 for divisors beyond 2^126
//
// Everything else goes to libdevice, one call per lane. Vectors are unrolled here because none of
// the instructions has a vector form.

#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "ir/FritOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace {

using EmitLane = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// Applies `emit` to each lane of the operands and assembles the results.
Value unroll(OpBuilder &builder, Operation *op, ValueRange operands, EmitLane emit) {
  Location loc = op->getLoc();
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!type) {
    return emit(builder, loc, operands);
  }
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
    SmallVector<Value> scalars;
    for (Value operand : operands) {
      scalars.push_back(vector::ExtractOp::create(builder, loc, operand, lane));
    }
    lanes.push_back(emit(builder, loc, scalars));
  }
  return vector::FromElementsOp::create(builder, loc, type, lanes);
}

Value constant(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    attr = DenseElementsAttr::get(shaped, static_cast<Attribute>(attr));
  }
  return arith::ConstantOp::create(builder, loc, attr);
}

/// Improves y = rsqrt.approx(x) by a Newton step: y + y (1 - x y y) / 2. Where that is NaN, at 0
/// and infinity, y is right.
Value refineRsqrt(OpBuilder &builder, Location loc, Value x, Value y) {
  Type type = x.getType();
  Value scaled = arith::MulFOp::create(builder, loc, x, y);
  Value error = math::FmaOp::create(builder, loc, arith::NegFOp::create(builder, loc, scaled), y,
                                    constant(builder, loc, type, 1));
  Value half = arith::MulFOp::create(builder, loc, y, constant(builder, loc, type, 0.5));
  Value refined = math::FmaOp::create(builder, loc, half, error, y);
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, refined, refined);
  return arith::SelectOp::create(builder, loc, isNan, y, refined);
}

/// a / b as a product with the reciprocal of b. Lanes and loop steps that divide by the same number
/// share the reciprocal, which `div.full` would not allow. The divisor is scaled so that neither it
/// nor its reciprocal is denormal, and the quotient is scaled back.
Value emitQuotient(OpBuilder &builder, Location loc, Value a, Value b) {
  auto number = [&](double value) { return constant(builder, loc, b.getType(), value); };
  Value size = math::AbsFOp::create(builder, loc, b);
  Value isLarge =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, size, number(0x1p126));
  Value isSmall =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, size, number(0x1p-126));
  Value scale = arith::SelectOp::create(builder, loc, isSmall, number(0x1p24), number(1));
  scale = arith::SelectOp::create(builder, loc, isLarge, number(0x1p-2), scale);
  Value scaled = arith::MulFOp::create(builder, loc, b, scale);
  Value inverse =
      LLVM::CallIntrinsicOp::create(builder, loc, b.getType(),
                                    builder.getStringAttr("llvm.nvvm.rcp.approx.ftz.f"), scaled)
          .getResult(0);
  return arith::MulFOp::create(builder, loc, arith::MulFOp::create(builder, loc, a, inverse),
                               scale);
}

/// The approximate f32 instruction for an operation; null if there is none.
Value emitApproximate(OpBuilder &builder, Operation *op) {
  auto interface = dyn_cast<arith::ArithFastMathInterface>(op);
  auto flags = interface ? interface.getFastMathFlagsAttr().getValue() : arith::FastMathFlags::none;
  bool contract = bitEnumContainsAny(flags, arith::FastMathFlags::contract);
  bool approximate = bitEnumContainsAny(flags, arith::FastMathFlags::afn);
  auto lanes = [&](ValueRange operands, const char *name) {
    return unroll(builder, op, operands, [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
      return LLVM::CallIntrinsicOp::create(b, loc, v[0].getType(), b.getStringAttr(name), v)
          .getResult(0);
    });
  };
  const char *exp2 = approximate ? "llvm.nvvm.ex2.approx.ftz.f32" : "llvm.nvvm.ex2.approx.f32";
  if (isa<math::Exp2Op>(op)) {
    return lanes(op->getOperands(), exp2);
  }
  if (isa<math::RsqrtOp>(op)) {
    Value inverse = lanes(op->getOperands(), "llvm.nvvm.rsqrt.approx.f");
    return approximate ? inverse : refineRsqrt(builder, op->getLoc(), op->getOperand(0), inverse);
  }
  if (isa<math::SqrtOp>(op) && contract) {
    return lanes(op->getOperands(), "llvm.nvvm.sqrt.approx.f");
  }
  if (isa<arith::DivFOp>(op) && approximate &&
      bitEnumContainsAny(flags, arith::FastMathFlags::arcp)) {
    Value inverse = lanes(op->getOperand(1), "llvm.nvvm.rcp.approx.ftz.f");
    return arith::MulFOp::create(builder, op->getLoc(), op->getOperand(0), inverse);
  }
  if (isa<arith::DivFOp>(op) && approximate) {
    return unroll(builder, op, op->getOperands(), [](OpBuilder &b, Location loc, ValueRange v) {
      return emitQuotient(b, loc, v[0], v[1]);
    });
  }
  if (isa<arith::DivFOp>(op) && contract) {
    return lanes(op->getOperands(), "llvm.nvvm.div.full");
  }
  if (isa<math::ExpOp>(op) && approximate) {
    Value log2e = constant(builder, op->getLoc(), op->getResult(0).getType(), 1.4426950408889634);
    Value scaled = arith::MulFOp::create(builder, op->getLoc(), op->getOperand(0), log2e);
    return lanes(scaled, exp2);
  }
  return nullptr;
}

struct LibdeviceNames {
  std::string f32, f64;
};

/// The libdevice function for an operation, if there is one.
std::optional<LibdeviceNames> getLibdeviceNames(Operation *op) {
  return TypeSwitch<Operation *, std::optional<LibdeviceNames>>(op)
      .Case([](math::AcosOp) { return LibdeviceNames{"__nv_acosf", "__nv_acos"}; })
      .Case([](math::AcoshOp) { return LibdeviceNames{"__nv_acoshf", "__nv_acosh"}; })
      .Case([](math::AsinOp) { return LibdeviceNames{"__nv_asinf", "__nv_asin"}; })
      .Case([](math::AsinhOp) { return LibdeviceNames{"__nv_asinhf", "__nv_asinh"}; })
      .Case([](math::AtanOp) { return LibdeviceNames{"__nv_atanf", "__nv_atan"}; })
      .Case([](math::Atan2Op) { return LibdeviceNames{"__nv_atan2f", "__nv_atan2"}; })
      .Case([](math::AtanhOp) { return LibdeviceNames{"__nv_atanhf", "__nv_atanh"}; })
      .Case([](math::CbrtOp) { return LibdeviceNames{"__nv_cbrtf", "__nv_cbrt"}; })
      .Case([](math::CosOp) { return LibdeviceNames{"__nv_cosf", "__nv_cos"}; })
      .Case([](math::CoshOp) { return LibdeviceNames{"__nv_coshf", "__nv_cosh"}; })
      .Case([](math::ErfOp) { return LibdeviceNames{"__nv_erff", "__nv_erf"}; })
      .Case([](math::ErfcOp) { return LibdeviceNames{"__nv_erfcf", "__nv_erfc"}; })
      .Case([](math::ExpOp) { return LibdeviceNames{"__nv_expf", "__nv_exp"}; })
      .Case([](math::Exp2Op) { return LibdeviceNames{"__nv_exp2f", "__nv_exp2"}; })
      .Case([](math::ExpM1Op) { return LibdeviceNames{"__nv_expm1f", "__nv_expm1"}; })
      .Case([](math::LogOp) { return LibdeviceNames{"__nv_logf", "__nv_log"}; })
      .Case([](math::Log10Op) { return LibdeviceNames{"__nv_log10f", "__nv_log10"}; })
      .Case([](math::Log1pOp) { return LibdeviceNames{"__nv_log1pf", "__nv_log1p"}; })
      .Case([](math::Log2Op) { return LibdeviceNames{"__nv_log2f", "__nv_log2"}; })
      .Case([](math::PowFOp) { return LibdeviceNames{"__nv_powf", "__nv_pow"}; })
      .Case([](math::RoundOp) { return LibdeviceNames{"__nv_roundf", "__nv_round"}; })
      .Case([](math::RsqrtOp) { return LibdeviceNames{"__nv_rsqrtf", "__nv_rsqrt"}; })
      .Case([](math::SinOp) { return LibdeviceNames{"__nv_sinf", "__nv_sin"}; })
      .Case([](math::SinhOp) { return LibdeviceNames{"__nv_sinhf", "__nv_sinh"}; })
      .Case([](math::TanOp) { return LibdeviceNames{"__nv_tanf", "__nv_tan"}; })
      .Case([](math::TanhOp) { return LibdeviceNames{"__nv_tanhf", "__nv_tanh"}; })
      .Case([](arith::RemFOp) { return LibdeviceNames{"__nv_fmodf", "__nv_fmod"}; })
      .Case([](frit::ElementFunctionOpInterface function) {
        std::string name = ("__nv_" + function->getName().stripDialect()).str();
        return LibdeviceNames{name + "f", name};
      })
      .Default([](Operation *) { return std::nullopt; });
}

class MathRewriter {
public:
  explicit MathRewriter(gpu::GPUModuleOp module) : module(module) {}

  /// Returns false if there is no lowering for the operation.
  bool rewrite(Operation *op) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    OpBuilder builder(op);
    Value value;
    if (isa<math::IsNaNOp>(op)) {
      value = arith::CmpFOp::create(builder, op->getLoc(), arith::CmpFPredicate::UNO,
                                    op->getOperand(0), op->getOperand(0));
    } else if (isa<FloatType>(element) || isa<math::AbsIOp, math::CtPopOp>(op)) {
      value = replacement(builder, op, element);
    }
    if (value) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
    // A division without a special form stays as it is.
    return value || isa<arith::DivFOp>(op);
  }

private:
  Value replacement(OpBuilder &builder, Operation *op, Type element) {
    Location loc = op->getLoc();
    ValueRange operands = op->getOperands();
    Type type = op->getResult(0).getType();
    auto same = [&](auto tag) -> Value {
      return decltype(tag)::create(builder, loc, type, operands);
    };
    if (isa<math::FloorOp>(op)) {
      return LLVM::FFloorOp::create(builder, loc, operands[0]);
    }
    if (isa<math::CeilOp>(op)) {
      return LLVM::FCeilOp::create(builder, loc, operands[0]);
    }
    if (isa<math::TruncOp>(op)) {
      return LLVM::FTruncOp::create(builder, loc, operands[0]);
    }
    if (isa<math::RoundEvenOp>(op)) {
      return LLVM::RoundEvenOp::create(builder, loc, operands[0]);
    }
    if (isa<math::AbsFOp>(op)) {
      return LLVM::FAbsOp::create(builder, loc, operands[0]);
    }
    if (isa<math::AbsIOp>(op)) {
      return LLVM::AbsOp::create(builder, loc, type, operands[0], /*is_int_min_poison=*/false);
    }
    if (isa<math::CtPopOp>(op)) {
      return LLVM::CtPopOp::create(builder, loc, operands[0]);
    }
    if (isa<math::FmaOp>(op)) {
      return same(LLVM::FMAOp());
    }
    if (isa<math::CopySignOp>(op)) {
      return same(LLVM::CopySignOp());
    }
    if (isa<math::SqrtOp>(op)) {
      return LLVM::SqrtOp::create(builder, loc, operands[0]);
    }
    return callLibdevice(builder, op, element);
  }

  /// Calls the f32 or f64 function for each lane; half types pass through f32.
  Value callLibdevice(OpBuilder &builder, Operation *op, Type element) {
    auto names = getLibdeviceNames(op);
    if (!names) {
      return nullptr;
    }
    bool half = element.getIntOrFloatBitWidth() < 32;
    Type computed = half ? builder.getF32Type() : element;
    StringRef name = computed.isF64() ? names->f64 : names->f32;
    auto callee = declare(name, computed, op->getNumOperands());
    return unroll(builder, op, op->getOperands(), [&](OpBuilder &b, Location loc, ValueRange v) {
      SmallVector<Value> arguments(v);
      if (half) {
        for (Value &argument : arguments) {
          argument = arith::ExtFOp::create(b, loc, computed, argument);
        }
      }
      Value result = LLVM::CallOp::create(b, loc, callee, arguments).getResult();
      return half ? Value(arith::TruncFOp::create(b, loc, element, result)) : result;
    });
  }

  LLVM::LLVMFuncOp declare(StringRef name, Type type, unsigned arity) {
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name)) {
      return known;
    }
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    SmallVector<Type> inputs(arity, type);
    return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                                    LLVM::LLVMFunctionType::get(type, inputs));
  }

  gpu::GPUModuleOp module;
};

} // namespace

void frit::rewriteApproximateMath(gpu::GPUModuleOp module) {
  SmallVector<Operation *> candidates;
  module.walk([&](Operation *op) {
    if (isa<math::Exp2Op, math::ExpOp, math::RsqrtOp, math::SqrtOp, arith::DivFOp>(op) &&
        getElementTypeOrSelf(op->getResult(0).getType()).isF32()) {
      candidates.push_back(op);
    }
  });
  for (Operation *op : candidates) {
    OpBuilder builder(op);
    if (Value value = emitApproximate(builder, op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
  }
}

LogicalResult frit::rewriteMathForGpu(gpu::GPUModuleOp module) {
  rewriteApproximateMath(module);
  SmallVector<Operation *> candidates;
  module.walk([&](Operation *op) {
    if (frit::isMathFunction(op) || isa<arith::DivFOp, arith::RemFOp>(op)) {
      candidates.push_back(op);
    }
  });
  MathRewriter rewriter(module);
  for (Operation *op : candidates) {
    if (!rewriter.rewrite(op)) {
      return op->emitError("kernel '")
             << op->getParentOfType<gpu::GPUFuncOp>().getName() << "': '" << op->getName()
             << "' on " << op->getResult(0).getType() << " has no form on a GPU";
    }
  }
  return success();
}
