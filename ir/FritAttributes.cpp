// The verifier of the attributes that ir/FritAttributes.def declares.
#include "ir/FritAttributes.h"
#include "ir/FritOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
enum class Place { Anywhere, OnGraph, OnKernel, OnGraphOrKernel, OnFunction };

struct Declaration {
  bool (*hasType)(Attribute);
  std::string type;
  Place place;
};

/// A type of the table: its test and its name in messages.
template <typename T> struct TypeCheck {
  static bool test(Attribute attr) { return isa<T>(attr); }
  static std::string getName() { return StringRef(T::name).str(); }
};
template <> struct TypeCheck<Attribute> {
  static bool test(Attribute) { return true; }
  static std::string getName() { return "any attribute"; }
};
template <typename T> struct TypeCheck<ArrayOf<T>> {
  static bool test(Attribute attr) {
    auto array = dyn_cast<ArrayAttr>(attr);
    return array && llvm::all_of(array, [](Attribute entry) { return isa_and_nonnull<T>(entry); });
  }
  static std::string getName() { return "an array of " + TypeCheck<T>::getName(); }
};

using Declarations = llvm::StringMap<Declaration>;
} // namespace

static const Declarations &operationAttrs() {
#define FRIT_OPERATION_ATTR(NAME, TEXT, TYPE, PLACE, MEANING)                                      \
  {TEXT, {TypeCheck<TYPE>::test, TypeCheck<TYPE>::getName(), Place::PLACE}},
  static const Declarations all{
#include "ir/FritAttributes.def"
  };
  return all;
}

static const Declarations &argumentAttrs() {
#define FRIT_ARGUMENT_ATTR(NAME, TEXT, TYPE, PLACE, MEANING)                                       \
  {TEXT, {TypeCheck<TYPE>::test, TypeCheck<TYPE>::getName(), Place::PLACE}},
  static const Declarations all{
#include "ir/FritAttributes.def"
  };
  return all;
}

static const Declarations &resultAttrs() {
#define FRIT_RESULT_ATTR(NAME, TEXT, TYPE, PLACE, MEANING)                                         \
  {TEXT, {TypeCheck<TYPE>::test, TypeCheck<TYPE>::getName(), Place::PLACE}},
  static const Declarations all{
#include "ir/FritAttributes.def"
  };
  return all;
}

static bool mayStand(Place place, Operation *op) {
  switch (place) {
  case Place::Anywhere:
    return true;
  case Place::OnGraph:
    return isa<GraphOp>(op);
  case Place::OnKernel:
    return isa<KernelOp>(op);
  case Place::OnGraphOrKernel:
    return isa<GraphOp, KernelOp>(op);
  case Place::OnFunction:
    return isa<FunctionOpInterface>(op);
  }
  llvm_unreachable("every place is tested");
}

/// `of` is what has the attribute: "an operation", "argument 2".
static LogicalResult check(const Declarations &declared, Operation *op, NamedAttribute attr,
                           const Twine &of) {
  auto known = declared.find(attr.getName());
  if (known == declared.end()) {
    return op->emitOpError() << of << " has the attribute '" << attr.getName().getValue()
                             << "', which ir/FritAttributes.def does not declare";
  }
  const Declaration &declaration = known->second;
  if (!mayStand(declaration.place, op)) {
    return op->emitOpError() << of << " has the attribute '" << attr.getName().getValue()
                             << "', which does not belong here";
  }
  if (!declaration.hasType(attr.getValue())) {
    return op->emitOpError() << of << " has the attribute '" << attr.getName().getValue()
                             << "', which must be " << declaration.type << ", found "
                             << attr.getValue();
  }
  return success();
}

LogicalResult FritDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  return check(operationAttrs(), op, attr, "itself");
}

LogicalResult FritDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attr) {
  return check(argumentAttrs(), op, attr, "argument " + Twine(argument));
}

LogicalResult FritDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                       NamedAttribute attr) {
  return check(resultAttrs(), op, attr, "result " + Twine(result));
}
