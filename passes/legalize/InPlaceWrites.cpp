// `index_put(cache, ...)` followed by a store to the cache copies the cache twice to write one row
// of it.
#include "passes/legalize/InPlaceWrites.h"

#include "ir/AtenSchemas.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

static Attribute layoutOf(std::optional<ArrayAttr> layouts, unsigned number) {
  return layouts && number < layouts->size() ? (*layouts)[number] : Attribute();
}

bool mlir::frit::writeInPlace(AtenOp op) {
  auto [base, overload] = op.getOpName().rsplit('.');
  bool writesPart =
      llvm::StringSwitch<bool>(base)
          .Cases({"aten.index_put", "aten.index_add", "aten.index_copy", "aten.index_fill",
                  "aten.put"},
                 true)
          .Cases({"aten.scatter", "aten.scatter_add", "aten.scatter_reduce", "aten.masked_scatter"},
                 true)
          .Default(false);
  return writesPart && makeInPlace(op);
}

bool mlir::frit::makeInPlace(AtenOp op) {
  auto [base, overload] = op.getOpName().rsplit('.');
  if (op.getNumResults() != 1 || op.getMutatedOperands() || op.getArguments().empty()) {
    return false;
  }
  std::string name = (base + "_." + overload).str();
  std::optional<AtenSchema> schema = AtenSchema::lookup(name);
  auto target = dyn_cast<OperandAttr>(op.getArguments()[0]);
  if (!schema || !target || schema->arguments.size() != op.getArguments().size() ||
      !schema->arguments[0].isWrite) {
    return false;
  }
  unsigned number = target.getIndex();
  // The clone has the operand's layout. A result that is promised in another layout is left as it
  // is.
  if (op.getOperand(number).getType() != op.getResult(0).getType() ||
      op.getOperandDtypes()[number] != op.getResultDtypes()[0] ||
      layoutOf(op.getOperandLayouts(), number) != layoutOf(op.getResultLayouts(), 0)) {
    return false;
  }
  Builder builder(op.getContext());
  op.setOpName(name);
  op.setMutatedOperandsAttr(builder.getDenseI64ArrayAttr({number}));
  if (op.getResultStorage()) {
    op.setResultStorageAttr(builder.getArrayAttr({builder.getUnitAttr()}));
  }
  return true;
}
