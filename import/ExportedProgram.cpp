// The schema of torch.export (torch/_export/serde/schema.py), version 8. Unused fields are skipped;
// an unknown tag of a union is an error, because skipping it would change the program.
#include "import/ExportedProgram.h"

#include "import/SchemaReader.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir::frit::exported;
using llvm::StringRef;
using llvm::Twine;

std::string Device::str() const { return index ? (type + ":" + Twine(*index)).str() : type.str(); }

bool SchemaReader::inputSpec(InputSpec &out) {
  using SpecKind = InputSpec::Kind;
  return oneOf("an input spec", [&](StringRef tag) {
    auto kind = llvm::StringSwitch<std::optional<SpecKind>>(tag)
                    .Case("user_input", SpecKind::UserInput)
                    .Case("parameter", SpecKind::Parameter)
                    .Case("buffer", SpecKind::Buffer)
                    .Case("tensor_constant", SpecKind::TensorConstant)
                    .Case("custom_obj", SpecKind::CustomObject)
                    .Case("token", SpecKind::Token)
                    .Case("constant_input", SpecKind::ConstantInput)
                    .Default(std::nullopt);
    if (!kind) {
      return unknownKind("input", tag);
    }
    out.kind = *kind;
    return json.object([&](StringRef key) {
      if (key == "arg") {
        if (*kind == SpecKind::UserInput) {
          return argument(out.value);
        }
        out.value.kind = Kind::Tensor;
        return named(out.value.text);
      }
      if (key == "parameter_name" || key == "buffer_name" || key == "tensor_constant_name") {
        return name(out.target);
      }
      return key == "persistent" ? json.boolean(out.persistent) : json.skip();
    });
  });
}

bool SchemaReader::outputSpec(OutputSpec &out) {
  using SpecKind = OutputSpec::Kind;
  return oneOf("an output spec", [&](StringRef tag) {
    auto kind = llvm::StringSwitch<std::optional<SpecKind>>(tag)
                    .Case("user_output", SpecKind::UserOutput)
                    .Case("loss_output", SpecKind::LossOutput)
                    .Case("buffer_mutation", SpecKind::BufferMutation)
                    .Case("gradient_to_parameter", SpecKind::GradientToParameter)
                    .Case("gradient_to_user_input", SpecKind::GradientToUserInput)
                    .Case("user_input_mutation", SpecKind::UserInputMutation)
                    .Case("token", SpecKind::Token)
                    .Case("parameter_mutation", SpecKind::ParameterMutation)
                    .Default(std::nullopt);
    if (!kind) {
      return unknownKind("output", tag);
    }
    out.kind = *kind;
    return json.object([&](StringRef key) {
      if (key == "arg") {
        if (*kind == SpecKind::UserOutput) {
          return argument(out.value);
        }
        out.value.kind = Kind::Tensor;
        return named(out.value.text);
      }
      bool target = key == "buffer_name" || key == "parameter_name" || key == "user_input_name";
      return target ? name(out.target) : json.skip();
    });
  });
}

bool SchemaReader::graphModule() {
  bool seen = false, signature = false;
  return json.object([&](StringRef key) {
    if (key == "graph") {
      seen = true;
      return graph(program.graph);
    }
    if (key != "signature") {
      return json.skip();
    }
    signature = true;
    return json.object([&](StringRef part) {
      if (part == "input_specs") {
        return json.array(
            [&] { return grow(program.inputSpecs) && inputSpec(program.inputSpecs.back()); });
      }
      if (part == "output_specs") {
        return json.array(
            [&] { return grow(program.outputSpecs) && outputSpec(program.outputSpecs.back()); });
      }
      return json.skip();
    });
  }) && require(seen, "graph", "graph_module") &&
         require(signature, "signature", "graph_module");
}

bool SchemaReader::ranges() {
  return table<RangeConstraint>(program.ranges, [&](RangeConstraint &range) {
    return json.object([&](StringRef key) {
      bool min = key == "min_val";
      if (!min && key != "max_val") {
        return json.skip();
      }
      if (json.consumeNull()) {
        return true;
      }
      int64_t value = 0;
      bool good = json.integer(value);
      (min ? range.min : range.max) = value;
      return good;
    });
  });
}

bool SchemaReader::version() {
  bool good = json.object([&](StringRef key) {
    return key == "major"   ? json.integer(program.major)
           : key == "minor" ? json.integer(program.minor)
                            : json.skip();
  });
  if (good && program.major != 8) {
    return json.fail(
        ErrorKind::Unsupported,
        "torch.export schema version " + Twine(program.major) + "." + Twine(program.minor) +
            " cannot be read, only version 8: export the model again with torch 2.11 to 2.13");
  }
  return good;
}

bool SchemaReader::read() {
  bool graph = false;
  return json.object([&](StringRef key) {
    if (key == "graph_module") {
      graph = true;
      return graphModule();
    }
    if (key == "range_constraints") {
      return ranges();
    }
    if (key == "schema_version") {
      return version();
    }
    return key == "torch_version" ? json.string(program.torchVersion) : json.skip();
  }) && json.atEnd() &&
         require(program.major >= 0, "schema_version", "the program") &&
         require(graph, "graph_module", "the program");
}

std::unique_ptr<Program> mlir::frit::exported::readProgram(StringRef json, Error &error) {
  auto program = std::make_unique<Program>();
  json.consume_front("\xEF\xBB\xBF");
  if (!SchemaReader(json, *program, error).read()) {
    return nullptr;
  }
  return program;
}

llvm::StringSet<> mlir::frit::exported::findIntegersOfAnySign(const Graph &graph) {
  llvm::StringSet<> integers;
  for (const auto &[name, value] : graph.ints) {
    StringRef text = value.expr;
    if (text.consume_front("Symbol('") && text.consume_back("', integer=True)")) {
      integers.insert(text);
    }
  }
  for (const auto &[name, tensor] : graph.tensors) {
    auto remove = [&](const SymValue &size) {
      llvm::SmallVector<StringRef> parts;
      size.expr.split(parts, '\'');
      for (StringRef part : parts) {
        integers.erase(part);
      }
    };
    llvm::for_each(tensor.sizes, remove);
    llvm::for_each(tensor.strides, remove);
    remove(tensor.offset);
  }
  return integers;
}
