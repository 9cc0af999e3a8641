#include "runtime/plan/Signature.h"

#include <cstdio>

namespace frit {

using namespace format;

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

class Describer {
public:
  explicit Describer(const DecodedPlan &plan) : plan(plan), source(*plan.source), names(plan.initialInts.size()) {
    if (source.int_constants()) {
      for (const IntConstant *constant : *source.int_constants()) {
        names[constant->reg()] = std::to_string(constant->value());
      }
    }
    if (source.symbols()) {
      for (const Symbol *symbol : *source.symbols()) {
        names[symbol->reg()] = quoted(textOf(symbol->name()));
      }
    }
  }

  std::string run() {
    return "{\"inputs\": " + listOf(source.inputs(), [&](const Input &input) { return inputText(input); }) +
           ", \"outputs\": " + listOf(source.outputs(), [&](const Output &output) { return outputText(output); }) +
           ", \"symbols\": " + listOf(source.symbols(), [&](const Symbol &symbol) { return symbolText(symbol); }) + "}";
  }

private:
  const DecodedPlan &plan;
  const Plan &source;
  /// Of each int register, as JSON; empty for what is computed.
  std::vector<std::string> names;

  template <typename T, typename F> std::string listOf(const T *items, F text) {
    std::string out;
    for (uint32_t at = 0; items && at < items->size(); ++at) {
      out += (at ? ", " : "") + text(*items->Get(at));
    }
    return "[" + out + "]";
  }

  std::string tensorText(uint32_t reg) {
    const TensorType &type = plan.tensors[reg];
    std::string shape;
    for (uint32_t size : type.sizes) {
      shape += (shape.empty() ? "" : ", ") + (names[size].empty() ? "\"?\"" : names[size]);
    }
    return "\"kind\": \"tensor\", \"dtype\": " + quoted(nameOf(type.dtype)) + ", \"device\": " +
           (type.device == Device::Cpu ? "\"cpu\"" : "\"cuda\"") + ", \"shape\": " + (type.rank < 0 ? "null" : "[" + shape + "]");
  }

  std::string inputText(const Input &input) {
    std::string head = "{\"name\": " + quoted(textOf(input.name())) + ", ";
    switch (input.kind()) {
    case InputKind::Tensor:
    case InputKind::ScalarTensor:
      return head + tensorText(input.reg()) + ", \"mutated\": " + (input.mutated() ? "true}" : "false}");
    case InputKind::Int:
      return head + "\"kind\": \"int\"}";
    case InputKind::Float:
      return head + "\"kind\": \"float\"}";
    case InputKind::Bool:
      return head + "\"kind\": \"bool\"}";
    default:
      return head + "\"kind\": \"none\"}";
    }
  }

  std::string outputText(const Output &output) {
    switch (output.kind()) {
    case OutputKind::Tensor:
      return "{" + tensorText(output.reg()) + "}";
    case OutputKind::IntTensor:
    case OutputKind::FloatTensor:
      return "{\"kind\": \"tensor\", \"dtype\": " + quoted(nameOf(output.dtype())) + ", \"device\": \"cpu\", \"shape\": []}";
    case OutputKind::Int:
      return "{\"kind\": \"int\"}";
    case OutputKind::Float:
      return "{\"kind\": \"float\"}";
    case OutputKind::Bool:
      return "{\"kind\": \"bool\"}";
    case OutputKind::Input:
      return inputText(*source.inputs()->Get(output.reg()));
    default:
      return "{\"kind\": \"none\"}";
    }
  }

  std::string symbolText(const Symbol &symbol) {
    return "{\"name\": " + quoted(textOf(symbol.name())) + ", \"min\": " + std::to_string(symbol.min()) +
           ", \"max\": " + std::to_string(symbol.max()) + "}";
  }
};

} // namespace

std::string signatureOf(const DecodedPlan &plan) { return Describer(plan).run(); }

} // namespace frit
