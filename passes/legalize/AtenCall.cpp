// Reading the arguments of an operator call.
#include "passes/legalize/AtenCall.h"
#include "ir/FritAttributes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::frit;

std::nullopt_t AtenCall::refuse(const Twine &why) {
  if (reason.empty()) {
    reason = why.str();
  }
  return std::nullopt;
}

unsigned AtenCall::placeOf(ArgumentRef which) const {
  if (which.getName().empty()) {
    return which.getPlace();
  }
  if (!schema) {
    schema = AtenSchema::lookup(op.getOpName());
  }
  size_t count = schema ? schema->arguments.size() : 0;
  for (size_t place = 0; place < count; ++place) {
    if (schema->arguments[place].name == which.getName()) {
      return place;
    }
  }
  if (reason.empty()) {
    reason = "the rule reads the argument " + which.getName().str() + ", which is in no schema";
  }
  return count;
}

Attribute AtenCall::attribute(unsigned i) const {
  return i < getNumArguments() ? op.getArguments()[i] : Attribute();
}

Value AtenCall::operandOf(Attribute attr) const {
  auto operand = dyn_cast_or_null<OperandAttr>(attr);
  return operand ? op.getOperands()[operand.getIndex()] : Value();
}

bool AtenCall::isNone(ArgumentRef which) const {
  Attribute attr = attribute(placeOf(which));
  return !attr || isa<UnitAttr>(attr);
}

bool AtenCall::isTensor(ArgumentRef which) const {
  Value operand = operandOf(attribute(placeOf(which)));
  return operand && isa<RankedTensorType>(operand.getType());
}

Tensor AtenCall::tensorOf(Attribute attr, unsigned i) {
  Value operand = operandOf(attr);
  if (!operand || !isa<RankedTensorType>(operand.getType())) {
    refuse("argument " + Twine(i) + " is not a tensor");
    return builder.constantInt(DType::I64, 0);
  }
  auto position = cast<OperandAttr>(attr).getIndex();
  return {operand, cast<DTypeAttr>(op.getOperandDtypes()[position]).getValue()};
}

Tensor AtenCall::tensor(ArgumentRef which) {
  unsigned i = placeOf(which);
  return tensorOf(attribute(i), i);
}

Tensor AtenCall::optionalTensor(ArgumentRef which) {
  return isNone(which) ? Tensor() : tensor(which);
}

SmallVector<Tensor> AtenCall::tensorList(ArgumentRef which) {
  unsigned i = placeOf(which);
  SmallVector<Tensor> tensors;
  auto list = dyn_cast_or_null<ArrayAttr>(attribute(i));
  if (!list) {
    refuse("argument " + Twine(i) + " is not a list of tensors");
    return tensors;
  }
  for (Attribute attr : list) {
    tensors.push_back(isa<UnitAttr>(attr) ? Tensor() : tensorOf(attr, i));
  }
  return tensors;
}

Scalar AtenCall::scalarOf(Attribute attr, unsigned i) {
  if (auto boolean = dyn_cast_or_null<BoolAttr>(attr)) {
    return {boolean.getValue()};
  }
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attr)) {
    return {integer.getValue().getSExtValue()};
  }
  if (auto number = dyn_cast_or_null<FloatAttr>(attr)) {
    return {number.getValueAsDouble()};
  }
  if (Value operand = operandOf(attr); operand && !isa<ShapedType, NoneType>(operand.getType())) {
    IntegerAttr integer;
    if (matchPattern(operand, m_Constant(&integer)) && operand.getType().isInteger(64)) {
      return {integer.getInt()};
    }
    return {operand};
  }
  refuse("argument " + Twine(i) + " is not a scalar");
  return {int64_t(0)};
}

Scalar AtenCall::scalar(ArgumentRef which) {
  unsigned i = placeOf(which);
  return scalarOf(attribute(i), i);
}

int64_t AtenCall::integer(ArgumentRef which) {
  unsigned i = placeOf(which);
  SizeExpr value = size(i);
  if (value && value.getConstant()) {
    return *value.getConstant();
  }
  refuse("argument " + Twine(i) + " is not a known integer");
  return 0;
}

double AtenCall::number(ArgumentRef which) {
  unsigned i = placeOf(which);
  Scalar value = scalar(i);
  if (auto literal = value.literal()) {
    return *literal;
  }
  refuse("argument " + Twine(i) + " is a number known at run time only");
  return 0;
}

bool AtenCall::boolean(ArgumentRef which) {
  unsigned i = placeOf(which);
  Scalar value = scalar(i);
  if (auto literal = value.literal()) {
    return *literal != 0;
  }
  refuse("argument " + Twine(i) + " is a bool known at run time only");
  return false;
}

StringRef AtenCall::string(ArgumentRef which) {
  auto text = dyn_cast_or_null<StringAttr>(attribute(placeOf(which)));
  return text ? text.getValue() : StringRef();
}

SizeExpr mlir::frit::getSizeExpr(Value integer) {
  MLIRContext *context = integer.getContext();
  if (auto size = integer.getDefiningOp<SizeOp>()) {
    return size.getSize();
  }
  IntegerAttr constant;
  if (matchPattern(integer, m_Constant(&constant))) {
    return SizeExpr::constant(context, constant.getInt());
  }
  if (auto argument = dyn_cast<BlockArgument>(integer)) {
    auto graph = dyn_cast<GraphOp>(argument.getOwner()->getParentOp());
    return graph ? SizeExpr(kArgumentSizeAttr.get(graph, argument.getArgNumber())) : SizeExpr();
  }
  return {};
}

SizeExpr AtenCall::sizeOf(Attribute attr, unsigned i) {
  SizeExpr size;
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attr)) {
    size = builder.size(integer.getValue().getSExtValue());
  } else if (Value operand = operandOf(attr); operand && operand.getType().isInteger(64)) {
    size = getSizeExpr(operand);
  }
  if (!size) {
    refuse("argument " + Twine(i) + " is not a known size");
    return builder.size(0);
  }
  return size;
}

SizeExpr AtenCall::size(ArgumentRef which) {
  unsigned i = placeOf(which);
  return sizeOf(attribute(i), i);
}

SmallVector<SizeExpr> AtenCall::sizes(ArgumentRef which) {
  unsigned i = placeOf(which);
  SmallVector<SizeExpr> sizes;
  if (auto list = dyn_cast_or_null<ArrayAttr>(attribute(i))) {
    for (Attribute attr : list) {
      sizes.push_back(sizeOf(attr, i));
    }
  } else {
    sizes.push_back(size(i));
  }
  return sizes;
}

SmallVector<int64_t> AtenCall::integers(ArgumentRef which) {
  unsigned i = placeOf(which);
  SmallVector<int64_t> values;
  for (SizeExpr size : sizes(i)) {
    if (!size.getConstant()) {
      refuse("argument " + Twine(i) + " has the symbolic entry " + size.str());
      return values;
    }
    values.push_back(*size.getConstant());
  }
  return values;
}

int64_t AtenCall::dim(ArgumentRef which, int64_t rank) {
  int64_t value = integer(which);
  int64_t extent = std::max<int64_t>(rank, 1);
  if (value < -extent || value >= extent) {
    refuse("dimension " + Twine(value) + " is out of range for rank " + Twine(rank));
    return 0;
  }
  return value < 0 ? value + extent : value;
}

SmallVector<int64_t> AtenCall::dims(ArgumentRef which, int64_t rank) {
  SmallVector<int64_t> dims;
  if (!isNone(which)) {
    dims = integers(which);
  }
  if (rank == 0) {
    return {};
  }
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) {
      dims.push_back(d);
    }
    return dims;
  }
  for (int64_t &dim : dims) {
    if (dim < -rank || dim >= rank) {
      refuse("dimension " + Twine(dim) + " is out of range for rank " + Twine(rank));
      return {};
    }
    dim += dim < 0 ? rank : 0;
  }
  llvm::sort(dims);
  dims.erase(llvm::unique(dims), dims.end());
  return dims;
}

DType AtenCall::resultDtype(unsigned i) const {
  return cast<DTypeAttr>(op.getResultDtypes()[i]).getValue();
}

SmallVector<SizeExpr> AtenCall::resultSizes(unsigned i) const {
  auto type = dyn_cast<RankedTensorType>(op.getResult(i).getType());
  return type ? getSizes(type) : SmallVector<SizeExpr>();
}

Tensor AtenCall::finish(Tensor x, unsigned i) {
  SmallVector<SizeExpr> to = resultSizes(i);
  if (x.sizes().size() > to.size()) {
    refuse("result " + Twine(i) + " has another rank than its rule gives");
    return x;
  }
  return builder.broadcast(builder.cast(x, resultDtype(i), /*implicit=*/true), to);
}

LayoutAttr AtenCall::resultLayout(unsigned i) const {
  std::optional<ArrayAttr> layouts = op.getResultLayouts();
  return layouts && i < layouts->size() ? dyn_cast<LayoutAttr>((*layouts)[i]) : LayoutAttr();
}

LayoutAttr AtenCall::operandLayout(ArgumentRef which) const {
  auto operand = dyn_cast_or_null<OperandAttr>(attribute(placeOf(which)));
  std::optional<ArrayAttr> layouts = op.getOperandLayouts();
  if (!operand || !layouts || operand.getIndex() >= static_cast<int64_t>(layouts->size())) {
    return {};
  }
  return dyn_cast<LayoutAttr>((*layouts)[operand.getIndex()]);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void RuleTable::add(std::initializer_list<StringRef> names, Rule rule) {
  for (StringRef name : names) {
    bool isNew = rules.try_emplace(name, rule).second;
    assert(isNew && "an operator has two rules");
    (void)isNew;
  }
}

void RuleTable::addSingle(std::initializer_list<StringRef> names, SingleRule rule) {
  add(names, [rule = std::move(rule)](AtenCall &call) -> Values {
    Tensor result = rule(call, call.build());
    if (call.refused()) {
      return std::nullopt;
    }
    return SmallVector<Tensor>{call.finish(result)};
  });
}

const Rule *RuleTable::find(StringRef name) const {
  auto it = rules.find(name);
  return it == rules.end() ? nullptr : &it->second;
}

std::vector<std::string> RuleTable::getNames() const {
  std::vector<std::string> names;
  for (const auto &entry : rules) {
    names.push_back(entry.getKey().str());
  }
  llvm::sort(names);
  return names;
}

std::string RuleTable::findOverload(StringRef prefix) const {
  for (const std::string &name : getNames()) {
    if (StringRef(name).starts_with(prefix)) {
      return name;
    }
  }
  return {};
}

const RuleTable &mlir::frit::getRules() {
  static const RuleTable table = [] {
    RuleTable rules;
    for (auto add :
         {addElementwiseRules, addBinaryRules, addActivationRules, addComparisonRules, addCastRules,
          addMakingRules, addMovingRules, addScatteringRules, addAddedRowsRules, addIndexingRules,
          addReductionRules, addNormRules, addSoftmaxRules, addLossRules, addBackwardRules,
          addCompositeRules, addLibraryRules}) {
      add(rules);
    }
    return rules;
  }();
  return table;
}
