// Looks calls up in the measured table of EagerRefusals.def, by the dtype to which their operands
// promote.
#include "passes/legalize/EagerRefusals.h"

#include "ir/AtenSchemas.h"
#include "ir/FritAttributes.h"
#include "passes/legalize/Dtypes.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
struct Refusal {
  /// Whether scalars take part in the promotion.
  bool scalars;
  /// The refused dtypes as a bit mask.
  uint32_t dtypes;
};
} // namespace

static const llvm::StringMap<Refusal> &refusals() {
  static const llvm::StringMap<Refusal> table = [] {
    auto bit = [](DType dtype) { return 1u << static_cast<unsigned>(dtype); };
    const uint32_t Bool = bit(DType::Bool), U8 = bit(DType::U8), I8 = bit(DType::I8),
                   I16 = bit(DType::I16), I32 = bit(DType::I32), I64 = bit(DType::I64),
                   F16 = bit(DType::F16), BF16 = bit(DType::BF16), F32 = bit(DType::F32),
                   F64 = bit(DType::F64);
    llvm::StringMap<Refusal> map;
#define EAGER_REFUSES(NAME, SCALARS, DTYPES) map.try_emplace(NAME, Refusal{SCALARS, DTYPES});
#include "passes/legalize/EagerRefusals.def"
#undef EAGER_REFUSES
    return map;
  }();
  return table;
}

/// The same as `operand_dtype` in python/frit/eager/promotion.py, by which the table was measured.
static std::optional<DType> operandDtype(AtenOp op, const AtenSchema &schema, bool scalars) {
  Promotion promotion;
  bool hasTensor = false;
  auto add = [&](Attribute attr, bool promotes) {
    if (auto operand = dyn_cast<OperandAttr>(attr)) {
      auto type = dyn_cast<RankedTensorType>(op.getOperand(operand.getIndex()).getType());
      auto dtype = dyn_cast<DTypeAttr>(op.getOperandDtypes()[operand.getIndex()]);
      if (type && dtype) {
        promotion.addTensor(dtype.getValue(), type.getRank());
        hasTensor = true;
      } else if (promotes &&
                 isa<IntegerType, FloatType>(op.getOperand(operand.getIndex()).getType())) {
        Type scalar = op.getOperand(operand.getIndex()).getType();
        promotion.addScalar(isa<FloatType>(scalar) ? DType::F64
                            : scalar.isInteger(1)  ? DType::Bool
                                                   : DType::I64);
      }
    } else if (promotes && isa<BoolAttr>(attr)) {
      promotion.addScalar(DType::Bool);
    } else if (promotes && isa<IntegerAttr>(attr)) {
      promotion.addScalar(DType::I64);
    } else if (promotes && isa<FloatAttr>(attr)) {
      promotion.addScalar(DType::F64);
    }
  };
  for (auto [argument, attr] : llvm::zip(schema.arguments, op.getArguments())) {
    if (argument.name == "dtype") {
      if (auto named = dyn_cast<DTypeAttr>(attr)) {
        return named.getValue();
      }
    }
    bool promotes = scalars && argument.getElementType() == "Scalar" && !argument.keywordOnly;
    if (auto list = dyn_cast<ArrayAttr>(attr)) {
      llvm::for_each(list, [&](Attribute one) { add(one, false); });
    } else if (!argument.keywordOnly || isa<OperandAttr>(attr)) {
      add(attr, promotes);
    }
  }
  return hasTensor ? std::optional(promotion.get()) : std::nullopt;
}

std::optional<DType> mlir::frit::refusedDtype(AtenOp op) {
  auto found = refusals().find(op.getOpName());
  auto device = op->getParentOfType<GraphOp>().getDeviceAttr();
  if (found == refusals().end() || (device && device.getValue() != "cpu")) {
    return {};
  }
  std::optional<AtenSchema> schema = AtenSchema::lookup(op.getOpName());
  std::optional<DType> dtype =
      schema ? operandDtype(op, *schema, found->second.scalars) : std::nullopt;
  bool isRefused = dtype && (found->second.dtypes >> static_cast<unsigned>(*dtype) & 1);
  return isRefused ? dtype : std::nullopt;
}
