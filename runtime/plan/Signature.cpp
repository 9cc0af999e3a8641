#include "runtime/plan/Signature.h"

#include <cstdio>
#include <limits>

namespace frit {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : ""; }

} // namespace

std::string sizeText(const format::Symbol &symbol) {
  std::string text = (symbol.scale() == 1 ? "" : std::to_string(symbol.scale()) + " * ") +
                     (symbol.name() ? symbol.name()->str() : "a size");
  if (symbol.offset() != 0) {
    text += (symbol.offset() > 0 ? " + " : " - ") +
            std::to_string(symbol.offset()).substr(symbol.offset() < 0);
  }
  return text;
}

namespace {

class Describer {
public:
  explicit Describer(const DecodedPlan &plan)
      : plan(plan), source(*plan.source), sizes(plan.initialInts.size(), Dimension{"?"}) {
    if (source.int_constants()) {
      for (const format::IntConstant *constant : *source.int_constants()) {
        sizes[constant->reg()] = {"", constant->value(), constant->value()};
      }
    }
    if (source.symbols()) {
      for (const format::Symbol *symbol : *source.symbols()) {
        sizes[symbol->reg()] = {symbol->name() && symbol->name()->size() ? symbol->name()->str()
                                                                         : "?",
                                symbol->min(), symbol->max()};
        signature.symbols.push_back({textOf(symbol->name()), symbol->min(), symbol->max()});
        if (symbol->dim() >= 0 && !symbol->stride() &&
            (symbol->scale() != 1 || symbol->offset() != 0)) {
          auto scaled = [&](int64_t value) {
            int64_t product, sum;
            bool huge = __builtin_mul_overflow(value, symbol->scale(), &product) ||
                        __builtin_add_overflow(product, symbol->offset(), &sum);
            return huge ? std::numeric_limits<int64_t>::max() : sum;
          };
          uint32_t size = plan.tensors[source.inputs()->Get(symbol->input())->reg()]
                              .sizes[static_cast<size_t>(symbol->dim())];
          sizes[size] = {sizeText(*symbol), scaled(symbol->min()), scaled(symbol->max())};
        }
      }
    }
  }

  Signature run() {
    for (uint32_t at = 0; source.inputs() && at < source.inputs()->size(); ++at) {
      signature.inputs.push_back(inputOf(*source.inputs()->Get(at)));
    }
    for (uint32_t at = 0; source.outputs() && at < source.outputs()->size(); ++at) {
      signature.outputs.push_back(outputOf(*source.outputs()->Get(at)));
    }
    const auto *weights = plan.artifact->root().weights();
    for (uint32_t at = 0; weights && at < weights->size(); ++at) {
      if (const format::Weight &weight = *weights->Get(at); weight.given()) {
        signature.weights.push_back(givenOf(weight));
      }
    }
    return std::move(signature);
  }

private:
  const DecodedPlan &plan;
  const format::Plan &source;
  /// The meaning of each int register as a size.
  std::vector<Dimension> sizes;
  Signature signature;

  static Parameter scalarOf(Parameter::Kind kind) {
    Parameter one;
    one.kind = kind;
    return one;
  }

  Parameter tensorOf(uint32_t reg) {
    const TensorType &type = plan.tensors[reg];
    Parameter one = scalarOf(Parameter::Kind::Tensor);
    one.dtype = static_cast<DataType>(type.dtype);
    one.onGpu = type.device != format::Device::Cpu;
    one.hasShape = type.rank >= 0;
    for (uint32_t size : type.sizes) {
      one.shape.push_back(sizes[size]);
    }
    return one;
  }

  static Parameter givenOf(const format::Weight &weight) {
    Parameter one = scalarOf(Parameter::Kind::Tensor);
    one.name = textOf(weight.name());
    one.dtype = static_cast<DataType>(weight.dtype());
    for (uint32_t dim = 0; weight.sizes() && dim < weight.sizes()->size(); ++dim) {
      one.shape.push_back({"", weight.sizes()->Get(dim), weight.sizes()->Get(dim)});
    }
    return one;
  }

  Parameter inputOf(const format::Input &input) {
    Parameter one;
    switch (input.kind()) {
    case format::InputKind::Tensor:
    case format::InputKind::ScalarTensor:
      one = tensorOf(input.reg());
      one.mutated = input.mutated();
      break;
    case format::InputKind::Int:
      one.kind = Parameter::Kind::Int;
      break;
    case format::InputKind::Float:
      one.kind = Parameter::Kind::Float;
      break;
    case format::InputKind::Bool:
      one.kind = Parameter::Kind::Bool;
      break;
    case format::InputKind::None:
      break;
    }
    one.name = textOf(input.name());
    return one;
  }

  Parameter outputOf(const format::Output &output) {
    switch (output.kind()) {
    case format::OutputKind::Tensor:
      return tensorOf(output.reg());
    case format::OutputKind::IntTensor:
    case format::OutputKind::FloatTensor: {
      Parameter one = scalarOf(Parameter::Kind::Tensor);
      one.dtype = static_cast<DataType>(output.dtype());
      return one;
    }
    case format::OutputKind::Int:
      return scalarOf(Parameter::Kind::Int);
    case format::OutputKind::Float:
      return scalarOf(Parameter::Kind::Float);
    case format::OutputKind::Bool:
      return scalarOf(Parameter::Kind::Bool);
    case format::OutputKind::Input:
      return inputOf(*source.inputs()->Get(output.reg()));
    default:
      return {};
    }
  }
};

std::string sizeText(const Dimension &size) {
  return size.isFixed() ? std::to_string(size.min) : quoted(size.symbol);
}

template <typename T, typename F> std::string listOf(const std::vector<T> &items, F text) {
  std::string out;
  for (const T &item : items) {
    out += (out.empty() ? "" : ", ") + text(item);
  }
  return "[" + out + "]";
}

std::string parameterText(const Parameter &one) {
  constexpr const char *kinds[] = {"tensor", "int", "float", "bool", "none"};
  std::string text = "{\"name\": " + quoted(one.name) +
                     ", \"kind\": " + quoted(kinds[static_cast<size_t>(one.kind)]);
  if (one.kind == Parameter::Kind::Tensor) {
    text += ", \"dtype\": " + quoted(nameOf(one.dtype)) +
            ", \"device\": " + (one.onGpu ? "\"cuda\"" : "\"cpu\"") +
            ", \"shape\": " + (one.hasShape ? listOf(one.shape, sizeText) : "null") +
            ", \"mutated\": " + (one.mutated ? "true" : "false");
  }
  return text + "}";
}

std::string symbolText(const SizeRange &symbol) {
  return "{\"name\": " + quoted(symbol.name) + ", \"min\": " + std::to_string(symbol.min) +
         ", \"max\": " + std::to_string(symbol.max) + "}";
}

} // namespace

Signature describe(const DecodedPlan &plan) { return Describer(plan).run(); }

std::string signatureOf(const DecodedPlan &plan) {
  Signature signature = describe(plan);
  return "{\"inputs\": " + listOf(signature.inputs, parameterText) +
         ", \"outputs\": " + listOf(signature.outputs, parameterText) +
         ", \"symbols\": " + listOf(signature.symbols, symbolText) +
         ", \"weights\": " + listOf(signature.weights, parameterText) + "}";
}

} // namespace frit
