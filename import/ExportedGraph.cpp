// Graphs in the schema of torch.export: arguments, tensors, nodes.
#include "import/SchemaReader.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir::frit::exported;
using llvm::StringRef;
using llvm::Twine;

bool SchemaReader::oneOf(StringRef what, llvm::function_ref<bool(StringRef)> body) {
  bool seen = false;
  return json.object([&](StringRef tag) {
    if (seen) {
      return json.fail(ErrorKind::Schema, what + " has more than one tag");
    }
    seen = true;
    return body(tag);
  }) && (seen || json.fail(ErrorKind::Schema, what + " has no tag"));
}

bool SchemaReader::name(StringRef &out) {
  if (!json.string(out)) {
    return false;
  }
  if (out.empty() || out.size() > maxName) {
    return json.fail(ErrorKind::Limit, "a name has 1 to " + Twine(maxName) + " bytes");
  }
  return true;
}

bool SchemaReader::named(StringRef &out) {
  return json.object([&](StringRef key) { return key == "name" ? name(out) : json.skip(); }) &&
         require(!out.empty(), "name", "a tensor argument");
}

bool SchemaReader::device(Device &out) {
  return json.object([&](StringRef key) {
    if (key == "type") {
      return name(out.type);
    }
    if (key == "index") {
      if (json.consumeNull()) {
        return true;
      }
      out.index.emplace();
      return json.integer(*out.index);
    }
    return json.skip();
  }) && require(!out.type.empty(), "type", "a device");
}

bool SchemaReader::symValue(StringRef literal, SymValue &out) {
  return oneOf("a symbolic scalar", [&](StringRef tag) {
    if (tag == "as_expr") {
      out.isExpr = true;
      return json.object([&](StringRef key) {
        if (key == "expr_str") {
          return json.string(out.expr);
        }
        if (key != "hint" || json.consumeNull()) {
          return key == "hint" ? !json.failed() : json.skip();
        }
        return oneOf("a hint", [&](StringRef hintTag) {
          if (hintTag != "as_int") {
            return json.skip();
          }
          out.hint.emplace();
          return json.integer(*out.hint);
        });
      }) && require(!out.expr.empty(), "expr_str", "a symbolic expression");
    }
    if (tag != literal) {
      return json.fail(ErrorKind::Schema, "tag '" + tag.take_front(40) +
                                              "' stands where as_expr or " + literal + " belongs");
    }
    if (tag == "as_float") {
      return json.real(out.real);
    }
    if (tag == "as_bool") {
      bool value = false;
      bool good = json.boolean(value);
      out.integer = value;
      return good;
    }
    return json.integer(out.integer);
  });
}

bool SchemaReader::symValues(std::vector<SymValue> &out) {
  return json.array([&] {
    if (out.size() >= maxRank) {
      return json.fail(ErrorKind::Limit, "a tensor has at most " + Twine(maxRank) + " dimensions");
    }
    return symValue("as_int", out.emplace_back());
  });
}

bool SchemaReader::tensorMeta(TensorMeta &out) {
  unsigned fields = 0;
  bool good = json.object([&](StringRef key) {
    unsigned bit = llvm::StringSwitch<unsigned>(key)
                       .Case("dtype", 1)
                       .Case("sizes", 2)
                       .Case("strides", 4)
                       .Case("storage_offset", 8)
                       .Case("device", 16)
                       .Case("layout", 32)
                       .Default(0);
    fields |= bit;
    switch (bit) {
    case 1:
      return json.integer(out.dtype);
    case 2:
      return symValues(out.sizes);
    case 4:
      return symValues(out.strides);
    case 8:
      return symValue("as_int", out.offset);
    case 16:
      return device(out.device);
    case 32:
      return json.integer(out.layout);
    default:
      return json.skip();
    }
  });
  StringRef names[] = {"dtype", "sizes", "strides", "storage_offset", "device", "layout"};
  for (unsigned i = 0; good && i < 6; ++i) {
    good = require(fields >> i & 1, names[i], "a tensor");
  }
  return good;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

bool SchemaReader::list(Argument &out, llvm::function_ref<bool(Argument &)> item) {
  out.kind = Kind::List;
  return json.array([&] { return grow(out.items) && item(out.items.back()); });
}

bool SchemaReader::symbolicArgument(Kind byName, Kind literal, Argument &out) {
  return oneOf("a symbolic argument", [&](StringRef tag) {
    if (tag == "as_name") {
      out.kind = byName;
      return name(out.text);
    }
    out.kind = literal;
    if (tag == "as_int" && literal == Kind::Int) {
      return json.integer(out.integer);
    }
    if (tag == "as_float" && literal == Kind::Float) {
      return json.real(out.real);
    }
    if (tag == "as_bool" && literal == Kind::Bool) {
      return argumentBody("as_bool", out);
    }
    return json.fail(ErrorKind::Schema,
                     "tag '" + tag.take_front(40) + "' does not belong to this argument");
  });
}

bool SchemaReader::optionalTensor(Argument &out) {
  return oneOf("an optional tensor", [&](StringRef tag) {
    if (tag != "as_tensor" && tag != "as_none") {
      return json.fail(ErrorKind::Schema,
                       "tag '" + tag.take_front(40) + "' does not belong to an optional tensor");
    }
    return argumentBody(tag, out);
  });
}

bool SchemaReader::argument(Argument &out) {
  return oneOf("an argument", [&](StringRef tag) { return argumentBody(tag, out); });
}

/// One value of a kind that is not a list.
bool SchemaReader::item(Kind kind, Argument &out) {
  out.kind = kind;
  bool good = true, boolean = false;
  Device device;
  switch (kind) {
  case Kind::None:
    return json.skip();
  case Kind::Tensor:
  case Kind::CustomObject:
    return named(out.text);
  case Kind::SymInt:
    return symbolicArgument(kind, Kind::Int, out);
  case Kind::SymFloat:
    return symbolicArgument(kind, Kind::Float, out);
  case Kind::SymBool:
    return symbolicArgument(kind, Kind::Bool, out);
  case Kind::Int:
  case Kind::ScalarType:
  case Kind::MemoryFormat:
  case Kind::Layout:
    return json.integer(out.integer);
  case Kind::Float:
    return json.real(out.real);
  case Kind::Bool:
    good = json.boolean(boolean);
    out.integer = boolean;
    return good;
  case Kind::String:
    return json.string(out.text);
  case Kind::Operator:
    return name(out.text);
  case Kind::Device:
    good = this->device(device);
    out.text = device.type;
    out.integer = device.index.value_or(-1);
    return good;
  case Kind::Complex:
    return json.object([&](StringRef key) {
      return key == "real"   ? json.real(out.real)
             : key == "imag" ? json.real(out.imaginary)
                             : json.skip();
    });
  case Kind::Graph:
    return json.object([&](StringRef key) {
      if (key == "name") {
        return name(out.text);
      }
      if (key != "graph") {
        return json.skip();
      }
      size_t begin = json.offset();
      out.graph = std::make_shared<Graph>();
      bool readGraph = graph(*out.graph);
      out.graphText = json.slice(begin);
      return readGraph;
    }) && require(out.graph && !out.text.empty(), "graph", "a graph argument");
  case Kind::List:
    break;
  }
  return json.fail(ErrorKind::Schema, "a list cannot stand here");
}

bool SchemaReader::argumentBody(StringRef tag, Argument &out) {
  // Lists have the plural of the tag; `_lists` and nested tensors are lists of lists.
  unsigned depth = 0;
  StringRef single = tag;
  if (single.consume_back("_lists") || single == "as_nested_tensors") {
    depth = 2;
    single = tag == "as_nested_tensors" ? "as_tensor" : single;
  } else if (single != "as_optional_tensors" && single != "as_optional_tensor" &&
             single.consume_back("s")) {
    depth = 1;
  }
  if (tag == "as_optional_tensor") {
    return optionalTensor(out);
  }
  if (tag == "as_arguments") { // frit's own: values of several kinds
    return list(out, [this](Argument &element) { return argument(element); });
  }
  if (tag == "as_optional_tensors") {
    return list(out, [this](Argument &element) { return optionalTensor(element); });
  }
  auto kind = llvm::StringSwitch<std::optional<Kind>>(single)
                  .Case("as_none", Kind::None)
                  .Case("as_tensor", Kind::Tensor)
                  .Case("as_int", Kind::Int)
                  .Case("as_float", Kind::Float)
                  .Case("as_bool", Kind::Bool)
                  .Case("as_string", Kind::String)
                  .Case("as_operator", Kind::Operator)
                  .Case("as_sym_int", Kind::SymInt)
                  .Case("as_sym_float", Kind::SymFloat)
                  .Case("as_sym_bool", Kind::SymBool)
                  .Case("as_scalar_type", Kind::ScalarType)
                  .Case("as_memory_format", Kind::MemoryFormat)
                  .Case("as_layout", Kind::Layout)
                  .Case("as_device", Kind::Device)
                  .Case("as_complex", Kind::Complex)
                  .Case("as_graph", Kind::Graph)
                  .Case("as_custom_obj", Kind::CustomObject)
                  .Default(std::nullopt);
  bool listed = kind && (depth == 0 || (*kind >= Kind::Tensor && *kind <= Kind::String));
  if (!listed) {
    return json.fail(ErrorKind::Unsupported, "argument of the kind '" + tag.take_front(40) +
                                                 "' is not one this version reads");
  }
  auto element = [&](Argument &e) { return item(*kind, e); };
  if (depth == 0) {
    return item(*kind, out);
  }
  return depth == 1 ? list(out, element)
                    : list(out, [&](Argument &row) { return list(row, element); });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

bool SchemaReader::namedArgument(NamedArgument &out) {
  bool seen = false;
  return json.object([&](StringRef key) {
    if (key == "name") {
      return json.string(out.name);
    }
    if (key == "arg") {
      seen = true;
      return argument(out.value);
    }
    return json.skip();
  }) && require(seen, "arg", "a node's input");
}

bool SchemaReader::node(Node &out) {
  bool inputs = false, outputs = false;
  return json.object([&](StringRef key) {
    if (key == "target") {
      return name(out.target);
    }
    if (key == "name") {
      return json.consumeNull() || (!json.failed() && json.string(out.name));
    }
    if (key == "inputs") {
      inputs = true;
      return json.array([&] { return grow(out.inputs) && namedArgument(out.inputs.back()); });
    }
    if (key == "outputs") {
      outputs = true;
      return json.array([&] { return grow(out.outputs) && argument(out.outputs.back()); });
    }
    if (key == "metadata") {
      return json.object([&](StringRef field) {
        return field == "source"        ? json.string(out.source)
               : field == "whole"       ? json.string(out.whole)
               : field == "part_of"     ? json.string(out.partOf)
               : field == "stack_trace" ? json.string(out.stackTrace)
                                        : json.skip();
      });
    }
    return json.skip();
  }) && require(!out.target.empty(), "target", "a node") &&
         require(inputs, "inputs", "a node") && require(outputs, "outputs", "a node");
}

bool SchemaReader::graph(Graph &out) {
  unsigned fields = 0;
  bool good = json.object([&](StringRef key) {
    if (key == "inputs") {
      fields |= 1;
      return json.array([&] { return grow(out.inputs) && argument(out.inputs.back()); });
    }
    if (key == "outputs") {
      fields |= 2;
      return json.array([&] { return grow(out.outputs) && argument(out.outputs.back()); });
    }
    if (key == "nodes") {
      fields |= 4;
      return json.array([&] { return grow(out.nodes) && node(out.nodes.back()); });
    }
    if (key == "tensor_values") {
      fields |= 8;
      return table<TensorMeta>(out.tensors, [&](TensorMeta &meta) { return tensorMeta(meta); });
    }
    if (key == "sym_int_values") {
      return table<SymValue>(out.ints, [&](SymValue &value) { return symValue("as_int", value); });
    }
    if (key == "sym_float_values") {
      return table<SymValue>(out.floats,
                             [&](SymValue &value) { return symValue("as_float", value); });
    }
    if (key == "sym_bool_values") {
      return table<SymValue>(out.bools,
                             [&](SymValue &value) { return symValue("as_bool", value); });
    }
    return json.skip();
  });
  return good && require(fields & 1, "inputs", "a graph") &&
         require(fields & 2, "outputs", "a graph") && require(fields & 4, "nodes", "a graph") &&
         require(fields & 8, "tensor_values", "a graph");
}
