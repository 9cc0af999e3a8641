#include "runtime/torch/AtenCall.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/RowOperators.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

namespace frit {

using c10::IValue;
using c10::TypeKind;
using format::ValueKind;

namespace {

uint32_t itemCount(const format::Value &value) { return value.items() ? value.items()->size() : 0; }

bool isDynamic(const format::Value &value) {
  switch (value.kind()) {
  case ValueKind::Tensor:
  case ValueKind::IntReg:
  case ValueKind::BoolReg:
  case ValueKind::FloatReg:
    return true;
  case ValueKind::List:
    for (uint32_t at = 0; at < itemCount(value); ++at) {
      if (isDynamic(*value.items()->Get(at))) {
        return true;
      }
    }
    return false;
  default:
    return false;
  }
}

c10::TypePtr withoutOptional(c10::TypePtr type) {
  while (auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
  }
  return type;
}

/// A number as a tensor, as torch's Python layer makes it.
at::Tensor wrappedNumber(const c10::Scalar &number) {
  at::Tensor tensor = at::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

IValue scalarValue(const c10::Scalar &number, const c10::TypePtr &type) {
  switch (type->kind()) {
  case TypeKind::TensorType:
    return wrappedNumber(number);
  case TypeKind::FloatType:
    return number.toDouble();
  case TypeKind::BoolType:
    return number.toBool();
  case TypeKind::ComplexType:
    return number.toComplexDouble();
  case TypeKind::IntType:
  case TypeKind::SymIntType:
    return number.toLong();
  default:
    return IValue(number);
  }
}

at::Tensor tensorRegister(const format::Value &value, RunState *state) {
  return at::Tensor(tensorOf(state->tensors[value.reg()].handle));
}

IValue makeValue(const format::Value &value, const c10::TypePtr &declared, int32_t length,
                 RunState *state);

IValue makeList(const format::Value &value, const c10::TypePtr &type, RunState *state) {
  auto listType = type->cast<c10::ListType>();
  c10::TypePtr element = listType ? listType->getElementType() : c10::TypePtr(c10::IntType::get());
  uint32_t count = itemCount(value);
  auto fill = [&](auto &list) {
    list.reserve(count);
    for (uint32_t at = 0; at < count; ++at) {
      IValue item = makeValue(*value.items()->Get(at), element, -1, state);
      list.push_back(
          std::move(item).template to<typename std::decay_t<decltype(list)>::value_type>());
    }
    return IValue(list);
  };
  switch (element->kind()) {
  case TypeKind::TensorType: {
    c10::List<at::Tensor> list;
    return fill(list);
  }
  case TypeKind::OptionalType: {
    c10::List<std::optional<at::Tensor>> list;
    list.reserve(count);
    for (uint32_t at = 0; at < count; ++at) {
      const format::Value &item = *value.items()->Get(at);
      list.push_back(item.kind() == ValueKind::None
                         ? std::optional<at::Tensor>()
                         : makeValue(item, withoutOptional(element), -1, state).toTensor());
    }
    return IValue(list);
  }
  case TypeKind::FloatType: {
    c10::List<double> list;
    return fill(list);
  }
  case TypeKind::BoolType: {
    c10::List<bool> list;
    return fill(list);
  }
  case TypeKind::NumberType: {
    c10::impl::GenericList list(c10::NumberType::get());
    for (uint32_t at = 0; at < count; ++at) {
      list.push_back(makeValue(*value.items()->Get(at), element, -1, state));
    }
    return IValue(list);
  }
  case TypeKind::StringType: {
    c10::List<std::string> list;
    for (uint32_t at = 0; at < count; ++at) {
      const format::Value &item = *value.items()->Get(at);
      TORCH_CHECK(item.kind() == ValueKind::String,
                  "frit: the plan is malformed: a list of strings holds something else; "
                  "compile it again");
      list.push_back(flatbuffers::GetString(item.string()));
    }
    return IValue(list);
  }
  default: {
    c10::List<int64_t> list;
    return fill(list);
  }
  }
}

/// `state` is null during preparation, when no register is read.
IValue makeValue(const format::Value &value, const c10::TypePtr &declared, int32_t length,
                 RunState *state) {
  c10::TypePtr type = withoutOptional(declared);
  if (type->kind() == TypeKind::ListType && value.kind() != ValueKind::List &&
      value.kind() != ValueKind::None && length > 0) {
    // For int[2] padding=1, a single value is repeated.
    c10::TypePtr element = type->cast<c10::ListType>()->getElementType();
    if (element->kind() == TypeKind::IntType || element->kind() == TypeKind::SymIntType) {
      return c10::List<int64_t>(
          std::vector<int64_t>(length, makeValue(value, element, -1, state).toInt()));
    }
  }
  switch (value.kind()) {
  case ValueKind::None:
  case ValueKind::Default:
    return IValue();
  case ValueKind::Tensor:
    return tensorRegister(value, state);
  case ValueKind::IntReg:
    return scalarValue(c10::Scalar(state->ints[value.reg()]), type);
  case ValueKind::BoolReg:
    return scalarValue(c10::Scalar(state->ints[value.reg()] != 0), type);
  case ValueKind::FloatReg:
    return scalarValue(c10::Scalar(state->floats[value.reg()]), type);
  case ValueKind::Int:
    return scalarValue(c10::Scalar(value.integer()), type);
  case ValueKind::Bool:
    return scalarValue(c10::Scalar(value.integer() != 0), type);
  case ValueKind::Double:
    return scalarValue(c10::Scalar(value.real().value_or(0)), type);
  case ValueKind::Complex:
    return scalarValue(
        c10::Scalar(c10::complex<double>(value.real().value_or(0), value.imag().value_or(0))),
        type);
  case ValueKind::String:
    return type->kind() == TypeKind::DeviceObjType
               ? IValue(c10::Device(flatbuffers::GetString(value.string())))
               : IValue(flatbuffers::GetString(value.string())); // an empty string is not stored
  case ValueKind::List:
    return makeList(value, type, state);
  case ValueKind::Dtype:
    return static_cast<int64_t>(scalarTypeOf(static_cast<format::Dtype>(value.integer())));
  case ValueKind::Device:
    return IValue(deviceOf(static_cast<format::Device>(value.integer()),
                           static_cast<int64_t>(value.real().value_or(0))));
  case ValueKind::Layout: {
    constexpr c10::Layout layouts[] = {c10::kStrided, c10::kSparse, c10::kSparseCsr, c10::kMkldnn,
                                       c10::kJagged};
    return static_cast<int64_t>(layouts[value.integer()]);
  }
  case ValueKind::MemoryFormat: {
    constexpr c10::MemoryFormat formats[] = {
        c10::MemoryFormat::Contiguous, c10::MemoryFormat::Preserve, c10::MemoryFormat::ChannelsLast,
        c10::MemoryFormat::ChannelsLast3d};
    return static_cast<int64_t>(formats[value.integer()]);
  }
  }
  return IValue();
}

/// Whether enums of the format are in their ranges.
bool literalFits(const format::Value &value) {
  int64_t integer = value.integer();
  switch (value.kind()) {
  case ValueKind::Dtype:
    return integer >= 0 && integer <= static_cast<int64_t>(format::Dtype::MAX);
  case ValueKind::Device:
    return integer >= 0 && integer <= static_cast<int64_t>(format::Device::MAX);
  case ValueKind::Layout:
    return integer >= 0 && integer <= static_cast<int64_t>(format::Layout::MAX);
  case ValueKind::MemoryFormat:
    return integer >= 0 && integer <= static_cast<int64_t>(format::MemoryFormat::MAX);
  case ValueKind::List:
    for (uint32_t at = 0; at < itemCount(value); ++at) {
      if (!literalFits(*value.items()->Get(at))) {
        return false;
      }
    }
    return true;
  default:
    return true;
  }
}

/// Whether the operator is one of torch's own.
bool isOfTorch(const std::string &name) {
  return name.starts_with("aten::") || name.starts_with("prims::");
}

/// Whether a result may be converted to the promised dtype. torch's fake kernels are wrong about
/// the width of statistics, and about the mask of an empty tensor.
bool mayBecome(const std::string &name, const at::Tensor &tensor, c10::ScalarType wanted) {
  bool areFloats = at::isFloatingType(tensor.scalar_type()) && at::isFloatingType(wanted);
  return isOfTorch(name) && (tensor.numel() == 0 || areFloats);
}

/// How a result may differ from the plan (Artifact.fbs).
constexpr int64_t kOwnDtypeAndSizes = 1, kOwnStrides = 2;

/// Throws because a result differs from the trace.
[[noreturn]] void disagree(const std::string &name, const std::string &what) {
  throw AtenCall::Disagreement(name + " returned " + what +
                               "; its fake implementation disagrees with its kernel");
}

/// Checks a result against the plan's promise, and copies it if only its strides or the width of
/// its numbers differ.
at::Tensor fit(at::Tensor tensor, const format::Value &value, bool aliases, const DecodedPlan &plan,
               const RunState &state, const std::string &name, std::atomic<uint64_t> &copies) {
  const TensorType &type = plan.tensors[value.reg()];
  if (!tensor.defined() || type.rank < 0 || value.integer() == kOwnStrides) {
    return tensor;
  }
  bool isOwn = value.integer() == kOwnDtypeAndSizes;
  c10::ScalarType wanted = scalarTypeOf(type.dtype);
  bool fits = tensor.dim() == type.rank && (isOwn || tensor.scalar_type() == wanted ||
                                            (!aliases && mayBecome(name, tensor, wanted)));
  if (!fits && !isOwn) {
    disagree(name, c10::str("a ", tensor.dim(), "-d ", tensor.scalar_type(),
                            " tensor, the graph was traced with a ", type.rank, "-d ",
                            nameOf(type.dtype), " one"));
  }
  bool same = true, empty = false;
  for (int64_t dim = 0; fits && dim < tensor.dim(); ++dim) {
    int64_t size = state.ints[type.sizes[dim]];
    if (!isOwn && tensor.size(dim) != size) {
      disagree(name, c10::str("size ", tensor.size(dim), " along dimension ", dim,
                              ", the graph was traced with ", size));
    }
    fits &= tensor.size(dim) == size;
    empty |= size == 0;
    same &= size == 1 || !type.hasStrides || tensor.stride(dim) == state.ints[type.strides[dim]];
  }
  if (!fits) {
    return tensor;
  }
  if (!isOwn && tensor.scalar_type() != wanted) {
    copies.fetch_add(!empty, std::memory_order_relaxed);
    tensor = tensor.to(wanted);
  }
  if (same || empty || (isOwn && aliases)) {
    return tensor;
  }
  if (aliases) {
    disagree(name, "a view with other strides than the graph was traced with");
  }
  std::vector<int64_t> strides;
  for (uint32_t stride : type.strides) {
    strides.push_back(state.ints[stride]);
  }
  copies.fetch_add(1, std::memory_order_relaxed);
  at::Tensor copy = at::empty_strided(tensor.sizes(), strides, tensor.options());
  setLazyBits(*copy.unsafeGetTensorImpl(), lazyBitsOf(*tensor.unsafeGetTensorImpl()));
  copy.copy_(tensor);
  return copy;
}

} // namespace

Result<AtenCall> AtenCall::prepare(const DecodedPlan &plan, const format::Aten &source,
                                   const std::vector<bool> &frozen) {
  Result<std::optional<ConvolutionCall>> convolution = convolutionOf(source);
  FRIT_RETURN_IF_ERROR(convolution.status());
  std::string name = *convolution ? "aten::convolution" : source.name()->str();
  std::string overload = source.overload() && source.overload()->string_view() != "default"
                             ? source.overload()->str()
                             : "";
  std::string shown = name + (overload.empty() ? "" : "." + overload);
  registerRowOperators();
  auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!found) {
    return Status::error(ErrorKind::Unsupported,
                         "the installed torch has no operator " + shown +
                             "; import the library that registers it before loading");
  }
  AtenCall call(source, *found);
  call.asksLayout = name.starts_with("aten::sym_");
  Result<std::optional<ProductCall>> product = productOf(source);
  FRIT_RETURN_IF_ERROR(product.status());
  call.product = *product;
  Result<std::optional<AttentionCall>> attention = attentionOf(source);
  FRIT_RETURN_IF_ERROR(attention.status());
  call.attention = *attention;
  call.convolution = *convolution;
  call.order = orderOf(source);
  uint32_t weight = call.product       ? call.product->right
                    : call.convolution ? call.convolution->weight
                                       : kNoRegister;
  if (weight < frozen.size() && frozen[weight]) {
    call.packed = std::make_shared<PackedWeight>();
  }
  const c10::FunctionSchema &schema = found->schema();
  const auto &arguments = schema.arguments();
  std::vector<bool> given(arguments.size(), false);
  call.stack.resize(arguments.size());
  uint32_t count = source.arguments() ? source.arguments()->size() : 0;
  if (call.convolution) {
    count = kConvolutionArguments;
  }
  for (uint32_t at = 0; at < count; ++at) {
    const format::Value &value = *source.arguments()->Get(at);
    std::optional<int> position = static_cast<int>(at);
    if (value.name() && value.name()->size() != 0) {
      position = schema.argumentIndexWithName(value.name()->string_view());
    }
    if (!position || static_cast<size_t>(*position) >= arguments.size() || !literalFits(value)) {
      return Status::error(ErrorKind::BadArtifact,
                           shown + " does not take argument " +
                               (value.name() && value.name()->size() != 0
                                    ? "'" + value.name()->str() + "'"
                                    : std::to_string(at)) +
                               "; the installed torch differs from the one the graph is from");
    }
    if (value.kind() == ValueKind::Default) {
      continue;
    }
    const c10::Argument &argument = arguments[*position];
    given[*position] = true;
    int32_t length = argument.N() ? *argument.N() : -1;
    if (isDynamic(value)) {
      call.dynamic.push_back(
          {static_cast<uint32_t>(*position), &value, argument.real_type(), length});
      if (argument.alias_info() && argument.alias_info()->isWrite()) {
        if (source.assumes_no_writes()) {
          return Status::error(ErrorKind::BadInput,
                               shown + " writes to its argument '" + argument.name() +
                                   "', which the compiler could not know; export the program with "
                                   "run_decompositions(), which tells it");
        }
        if (value.kind() == ValueKind::Tensor) {
          call.written.push_back(value.reg());
        } else if (value.kind() == ValueKind::List && value.items()) {
          for (const format::Value *item : *value.items()) {
            if (item->kind() == ValueKind::Tensor) {
              call.written.push_back(item->reg());
            }
          }
        }
      }
    } else {
      call.stack[*position] = makeValue(value, argument.real_type(), length, nullptr);
    }
  }
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (given[at]) {
      continue;
    }
    if (arguments[at].default_value()) {
      call.stack[at] = *arguments[at].default_value();
    } else if (arguments[at].type()->kind() != TypeKind::OptionalType) {
      return Status::error(ErrorKind::BadArtifact,
                           shown + " needs argument '" + arguments[at].name() + "'");
    }
  }
  for (const c10::Argument &result : schema.returns()) {
    call.resultsAlias.push_back(result.alias_info() != nullptr);
  }
  uint32_t results = source.results() ? source.results()->size() : 0;
  if (results > schema.returns().size()) {
    return Status::error(ErrorKind::BadArtifact, shown + " has fewer results than the plan uses");
  }
  return call;
}

CallTraits AtenCall::traits() const {
  CallTraits traits = traitsOf(handle);
  traits.written = written;
  // Attention without dropout draws nothing.
  std::optional<int> dropout = handle.schema().argumentIndexWithName("dropout_p");
  bool isKnown = dropout && std::none_of(dynamic.begin(), dynamic.end(), [&](const Dynamic &one) {
                   return static_cast<int>(one.position) == *dropout;
                 });
  const c10::IValue *value = isKnown ? &stack[static_cast<size_t>(*dropout)] : nullptr;
  traits.isRandom &= !(value && value->isDouble() && value->toDouble() == 0);
  return traits;
}

CallTraits AtenCall::traitsOf(const c10::OperatorHandle &handle) {
  const std::string &name = handle.operator_name().name;
  std::string space = name.substr(0, name.find("::"));
  CallTraits traits;
  traits.isRandom = handle.hasTag(at::Tag::nondeterministic_seeded);
  traits.isMutable = handle.schema().is_mutable();
  bool communicates = space.find("c10d") != std::string::npos;
  traits.isUnproven = !isOfTorch(name) && !communicates && !handle.schema().returns().empty();
  if (space == "frit_callback") {
    traits.uncapturable = "it has a Python step, " + name;
  } else if (communicates || space == "symm_mem") {
    traits.uncapturable = "it communicates with other processes (" + name + ")";
  } else if (handle.hasTag(at::Tag::data_dependent_output)) {
    traits.uncapturable = "it reads a value back from the GPU (" + name + ")";
  } else if (handle.hasTag(at::Tag::cudagraph_unsafe)) {
    traits.uncapturable = "it calls " + name + ", which says that CUDA graphs may not have it";
  }
  return traits;
}

Status AtenCall::run(const DecodedPlan &plan, RunState &state) const {
  count.fetch_add(1, std::memory_order_relaxed);
  torch::jit::Stack arguments;
  if (std::optional<at::Tensor> own = runOwnProduct(plan, state)) {
    arguments.emplace_back(std::move(*own));
  } else if (std::optional<at::Tensor> first = runOwnAttention(plan, state)) {
    arguments.emplace_back(std::move(*first));
    arguments.emplace_back(); // the second result has no reader
  } else if (std::optional<at::Tensor> own = runOwnConvolution(plan, state)) {
    arguments.emplace_back(std::move(*own));
  } else if (std::optional<std::pair<at::Tensor, at::Tensor>> both = runOwnOrder(plan, state)) {
    arguments.emplace_back(std::move(both->first));
    arguments.emplace_back(std::move(both->second));
  } else {
    arguments = stack;
    for (const Dynamic &argument : dynamic) {
      arguments[argument.position] =
          makeValue(*argument.value, argument.type, argument.length, &state);
    }
    if (convolution) {
      padConvolution(arguments);
    }
    if (asksLayout) {
      // Excluded, or torch would pass the operator a resolved copy of a tensor with lazy bits.
      c10::impl::ExcludeDispatchKeyGuard asItIs(
          c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}));
      handle.callBoxed(&arguments);
    } else {
      handle.callBoxed(&arguments);
    }
    if (convolution) {
      arguments[0] = finishConvolution(std::move(arguments[0]).toTensor(), state);
    }
  }
  for (uint32_t tensor : written) {
    c10::TensorImpl *impl = implOf(state.tensors[tensor].handle);
    if (!impl->is_inference()) {
      impl->bump_version();
    }
  }
  auto isOperand = [&](const at::Tensor &result) {
    auto shares = [&](const format::Value &value) {
      return value.kind() == ValueKind::Tensor && result.has_storage() &&
             implOf(state.tensors[value.reg()].handle)->has_storage() &&
             result.unsafeGetTensorImpl()->storage().is_alias_of(
                 implOf(state.tensors[value.reg()].handle)->storage());
    };
    return std::any_of(dynamic.begin(), dynamic.end(), [&](const Dynamic &argument) {
      const auto *items = argument.value->items();
      return shares(*argument.value) ||
             (items && std::any_of(items->begin(), items->end(),
                                   [&](const format::Value *item) { return shares(*item); }));
    });
  };
  uint32_t results = source->results() ? source->results()->size() : 0;
  auto store = [&](const format::Value &value, IValue &&result, bool aliases) {
    switch (value.kind()) {
    case ValueKind::Tensor:
      if (result.isTensor()) {
        if (source->fresh() && !aliases && result.toTensor().defined() &&
            isOperand(result.toTensor())) {
          strideCopies.fetch_add(1, std::memory_order_relaxed);
          result = result.toTensor().clone();
        }
        setSlot(state.tensors[value.reg()], fit(std::move(result).toTensor(), value, aliases, plan,
                                                state, name(), strideCopies));
      }
      break;
    case ValueKind::IntReg:
      state.ints[value.reg()] = result.isBool() ? result.toBool() : result.toScalar().toLong();
      break;
    case ValueKind::BoolReg:
      state.ints[value.reg()] = result.toScalar().toBool();
      break;
    case ValueKind::FloatReg:
      state.floats[value.reg()] = result.toScalar().toDouble();
      break;
    default:
      break;
    }
  };
  for (uint32_t at = 0; at < results; ++at) {
    const format::Value &value = *source->results()->Get(at);
    if (value.kind() == ValueKind::List) {
      c10::List<at::Tensor> list = arguments[at].toTensorList();
      if (list.size() != itemCount(value)) {
        disagree(name(),
                 c10::str(list.size(), " tensors, the graph was traced with ", itemCount(value)));
      }
      for (uint32_t item = 0; item < itemCount(value); ++item) {
        store(*value.items()->Get(item), IValue(list.get(item)), resultsAlias[at]);
      }
    } else {
      store(value, std::move(arguments[at]), resultsAlias[at]);
    }
  }
  return Status::ok();
}

} // namespace frit
