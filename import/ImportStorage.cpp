// The storages in which results of operators lie: new ones, or those of operands.
#include "import/GraphImporter.h"
#include "ir/AtenSharing.h"
#include "ir/FritAttributes.h"
#include "ir/Planted.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

/// Classes of new storage are numbered within the call, so that equal calls are equal. A result in
/// the storage of an operand has none.
ArrayAttr GraphImporter::storageClasses(ValueRange operands, ArrayRef<CallResult> results) {
  SmallVector<Attribute> classes;
  for (const CallResult &result : results) {
    StorageAttr own = result.storage;
    if (!own || (own.getKind() == StorageKind::Fresh && llvm::any_of(operands, [&](Value operand) {
                   return storageOf.lookup(operand) == own;
                 }))) {
      classes.push_back(builder.getUnitAttr());
    } else if (own.getKind() == StorageKind::Fresh) {
      auto first =
          llvm::find_if(results, [&](const CallResult &result) { return result.storage == own; });
      classes.push_back(StorageAttr::get(context, StorageKind::Fresh, first - results.begin()));
    } else {
      classes.push_back(own);
    }
  }
  return builder.getArrayAttr(classes);
}

/// The operand that an argument, or an item of its list, refers to; null if it is none.
static OperandAttr operandAt(Attribute argument, std::optional<size_t> item) {
  if (auto list = dyn_cast<ArrayAttr>(argument)) {
    size_t at = item.value_or(0);
    return at < list.size() ? dyn_cast<OperandAttr>(list[at]) : OperandAttr();
  }
  return dyn_cast<OperandAttr>(argument);
}

/// Says of a result of the graph what storage it lies in, and what its base is there.
void GraphImporter::addStorage(const ImportedValue &value, NamedAttrList &attrs) {
  if (!value.storage) {
    return;
  }
  kResultStorageAttr.add(attrs, value.storage);
  if (value.base.dtype && value.storage.getKind() == StorageKind::Fresh) {
    kResultBaseDtypeAttr.add(attrs, value.base.dtype);
    if (value.base.layout) {
      kResultBaseTypeAttr.add(attrs, TypeAttr::get(value.base.type));
      kResultBaseLayoutAttr.add(attrs, value.base.layout);
    }
  }
  if (value.base.number) {
    kResultBaseAttr.add(attrs, builder.getI64IntegerAttr(value.base.number));
  }
}

/// The result lies in the storage of an operand, as far as that is known.
void GraphImporter::shareOperand(AtenOp op, unsigned operand, bool isWritten, CallResult &result) {
  Value source = op.getOperand(operand);
  auto own = cast<DTypeAttr>(op.getOperandDtypes()[operand]);
  StorageAttr known = storageOf.lookup(source);
  if (!known) {
    result.storage = {};
    return;
  }
  bool isView = !isWritten && known.getKind() == StorageKind::Argument;
  result.storage =
      isView ? StorageAttr::get(context, StorageKind::ViewOfArgument, known.getIndex()) : known;
  // For autograd, the tensors that these return are not views, nor are those of an operator that
  // ends with a view only because it was decomposed.
  if (op.getOpName() == "aten.view.dtype" || op.getOpName() == "aten.detach.default" ||
      op.getOpName() == "aten._unsafe_view.default" || (current && !current->partOf.empty())) {
    result.base.number = ++baseCount;
    return;
  }
  result.base = baseOf.lookup(source);
  if (!result.base.dtype && !isWritten) {
    result.base.dtype = own;
    result.base.type = source.getType();
    result.base.layout = getTracedOperandLayout(op, operand);
  }
}

void GraphImporter::setStorage(AtenOp op, const AtenSchema &schema, const CallArguments &call,
                               ArrayRef<int64_t> lists, MutableArrayRef<CallResult> results) {
  Access access = getAccess(op);
  if (isPlanted(Mistake::SharedClone) && op.getOpName() == "aten.clone.default") {
    results[0].storage = storageOf.lookup(call.operands[0]);
  }
  size_t next = 0;
  for (auto [returned, length] : llvm::zip(schema.returns, lists)) {
    size_t count = length < 0 ? 1 : length;
    for (size_t i = 0; i < count; ++i) {
      CallResult &result = results[next++];
      if (!result.storage) {
        continue;
      }
      if (mayReturnOperands(op)) {
        result.storage = {};
        continue;
      }
      bool isHidden = returned.alias.empty() && access.views && access.writes.empty();
      for (auto [argument, given] : llvm::zip(schema.arguments, call.arguments)) {
        // foreach_(a!) and the like: item i of the result is item i of the argument.
        OperandAttr operand =
            operandAt(given, argument.isList() && length >= 0 ? std::optional(i) : std::nullopt);
        bool isShared = isHidden ? operand && operand.getIndex() == *access.views
                                 : !returned.alias.empty() && argument.alias == returned.alias;
        if (!operand || !isShared) {
          continue;
        }
        Sharing sharing = returned.isWrite ? Sharing::Always : getSharing(op, operand.getIndex());
        if (sharing == Sharing::Unknown) {
          result.storage = {};
        } else if (sharing == Sharing::Always) {
          shareOperand(op, operand.getIndex(), returned.isWrite, result);
        }
      }
    }
  }
  op.setResultStorageAttr(storageClasses(call.operands, results));
}
