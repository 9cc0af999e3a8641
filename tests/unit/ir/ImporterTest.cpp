// Programs from outside are hostile until read: whatever the text, the importer gives a module or exactly one
// diagnostic of a known kind, and never reads beyond it. The corpus is one small valid program, damaged in
// every way the reader could meet.
#include "ir/Importer.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::frit;
using exported::ErrorKind;

namespace {

const char *const valid = R"json({"graph_module":{"graph":{
"inputs":[{"as_sym_int":{"as_name":"n"}},{"as_tensor":{"name":"x"}}],
"outputs":[{"as_tensor":{"name":"y"}},{"as_sym_int":{"as_name":"m"}},{"as_none":true}],
"nodes":[
{"name":"m","target":"_operator.mul","inputs":[{"name":"a","arg":{"as_sym_int":{"as_name":"n"}},"kind":1},{"name":"b","arg":{"as_int":2},"kind":1}],"outputs":[{"as_sym_int":{"as_name":"m"}}],"metadata":{}},
{"name":"y","target":"torch.ops.aten.add.Tensor","inputs":[{"name":"self","arg":{"as_tensor":{"name":"x"}},"kind":1},{"name":"other","arg":{"as_tensor":{"name":"x"}},"kind":1},{"name":"alpha","arg":{"as_float":0.5},"kind":2}],"outputs":[{"as_tensor":{"name":"y"}}],"metadata":{"source":"m.py:3 in f: x + 0.5 * x"}}],
"tensor_values":{
"x":{"dtype":7,"sizes":[{"as_expr":{"expr_str":"Symbol('s0', integer=True)","hint":{"as_int":5}}},{"as_int":4}],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[{"as_int":4},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7},
"y":{"dtype":7,"sizes":[{"as_expr":{"expr_str":"Symbol('s0', integer=True)","hint":{"as_int":5}}},{"as_int":4}],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[{"as_int":4},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7}},
"sym_int_values":{"n":{"as_expr":{"expr_str":"Symbol('s0', integer=True)","hint":{"as_int":5}}},"m":{"as_expr":{"expr_str":"Mul(Integer(2), Symbol('s0', integer=True))","hint":{"as_int":10}}}},
"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},"sym_float_values":{}},
"signature":{"input_specs":[{"user_input":{"arg":{"as_sym_int":{"as_name":"n"}}}},{"user_input":{"arg":{"as_tensor":{"name":"x"}}}}],
"output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"y"}}}},{"user_output":{"arg":{"as_sym_int":{"as_name":"m"}}}},{"user_output":{"arg":{"as_none":true}}}]},
"module_call_graph":[],"metadata":{},"treespec_namedtuple_fields":{}},
"opset_version":{"aten":10},"range_constraints":{"s0":{"min_val":2,"max_val":null}},
"schema_version":{"major":8,"minor":20},"verifiers":[],"torch_version":"2.13.0","guards_code":[]})json";

struct Outcome {
  bool imported = false;
  unsigned diagnostics = 0;
  exported::Error error;
  std::string text;
};

class Importer : public testing::Test {
protected:
  Outcome run(StringRef json) {
    Outcome outcome;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      ++outcome.diagnostics;
      outcome.text += diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = importExportedProgram(&context, json, {}, &outcome.error);
    outcome.imported = static_cast<bool>(module);
    return outcome;
  }
  /// One diagnostic or a module, never both, never neither.
  Outcome check(StringRef json) {
    Outcome outcome = run(json);
    EXPECT_EQ(outcome.diagnostics, outcome.imported ? 0u : 1u) << outcome.text << "\n" << json.take_front(400).str();
    EXPECT_LT(outcome.text.size(), 1200u);
    return outcome;
  }
  void expect(ErrorKind kind, StringRef message, StringRef json) {
    Outcome outcome = check(json);
    EXPECT_FALSE(outcome.imported) << "expected: " << message.str();
    EXPECT_EQ(stringify(outcome.error.kind).str(), stringify(kind).str()) << outcome.text;
    EXPECT_NE(outcome.text.find(message.str()), std::string::npos) << "expected: " << message.str() << "\nfound: " << outcome.text;
  }
  void expectReplaced(ErrorKind kind, StringRef message, StringRef from, StringRef to) {
    std::string text = valid;
    size_t at = text.find(from.str());
    ASSERT_NE(at, std::string::npos) << from.str();
    expect(kind, message, text.replace(at, from.size(), to.str()));
  }
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(Importer, ReadsTheValidProgram) {
  Outcome outcome = check(valid);
  EXPECT_TRUE(outcome.imported) << outcome.text;
}

TEST_F(Importer, SurvivesTruncationAtEveryByte) {
  StringRef text(valid);
  for (size_t length = 0; length < text.size(); ++length) {
    // A copy of the exact size: a read beyond it is an error under the address sanitizer.
    std::string cut = text.take_front(length).str();
    Outcome outcome = check(cut);
    ASSERT_FALSE(outcome.imported) << length;
  }
}

TEST_F(Importer, SurvivesDamagedBytes) {
  std::mt19937 random(7);
  const StringRef alphabet = "{}[]\",:0123456789-.eEtfn\\u_as\n\x01\xff ";
  for (int round = 0; round < 4000; ++round) {
    std::string text = valid;
    for (unsigned i = 0, n = 1 + random() % 3; i < n; ++i) {
      size_t at = random() % text.size();
      char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
      case 0: text[at] = c; break;
      case 1: text.insert(at, 1, c); break;
      case 2: text.erase(at, 1 + random() % 8); break;
      }
    }
    check(text);
  }
}

TEST_F(Importer, SurvivesSwappedValues) {
  // Structure-aware: any value of the text takes the place of any other.
  std::vector<std::pair<size_t, size_t>> spans;
  StringRef text(valid);
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c != '{' && c != '[' && c != '"' && (c < '0' || c > '9')) {
      continue;
    }
    size_t end = i + 1;
    if (c == '"') {
      end = text.find('"', i + 1) + 1;
    } else if (c == '{' || c == '[') {
      int depth = 1;
      for (; depth > 0 && end < text.size(); ++end) {
        depth += text[end] == '{' || text[end] == '[' ? 1 : text[end] == '}' || text[end] == ']' ? -1 : 0;
      }
    }
    spans.emplace_back(i, end);
    i = c == '"' ? end - 1 : i;
  }
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    auto from = spans[random() % spans.size()], to = spans[random() % spans.size()];
    std::string changed = (text.take_front(to.first) + text.slice(from.first, from.second) + text.drop_front(to.second)).str();
    check(changed);
  }
}

TEST_F(Importer, CapsDepth) {
  for (StringRef open : {"[", "{\"a\":"}) {
    std::string bomb;
    for (int i = 0; i < 100000; ++i) {
      bomb += open.str();
    }
    expect(ErrorKind::Limit, "nested deeper than 64", "{\"x\":" + bomb);
    std::string text = valid;
    size_t at = text.find("{\"as_float\":0.5}");
    check(text.replace(at, 16, bomb));
  }
  std::string nested;
  for (int i = 0; i < 200; ++i) {
    nested += "Add(Integer(1), ";
  }
  expectReplaced(ErrorKind::Schema, "nested deeper than 64", "Symbol('s0', integer=True)", nested);
}

TEST_F(Importer, NamesWhatIsWrongWithTheText) {
  expect(ErrorKind::Syntax, "expected an object, found the end of the text", "");
  expect(ErrorKind::Schema, "expected an object, found a list", "[]");
  expect(ErrorKind::Schema, "field 'schema_version' of the program is missing", "{}");
  expect(ErrorKind::Syntax, "text after the end", std::string(valid) + "{}");
  expect(ErrorKind::Schema, "key 'nodes' stands twice", "{\"graph_module\":{\"graph\":{\"nodes\":[],\"nodes\":[]}}}");
  expectReplaced(ErrorKind::Syntax, "not UTF-8", "x + 0.5", "x \xff 0.5");
  expectReplaced(ErrorKind::Syntax, "control character", "x + 0.5", "x \n 0.5");
  expectReplaced(ErrorKind::Syntax, "unknown escape", "x + 0.5", "x \\q 0.5");
}

TEST_F(Importer, NamesWhatIsWrongWithValues) {
  expectReplaced(ErrorKind::Limit, "does not fit 64 bits", "{\"as_int\":2}", "{\"as_int\":9223372036854775808}");
  expectReplaced(ErrorKind::Schema, "expected an integer, found 1e400", "{\"as_int\":2}", "{\"as_int\":1e400}");
  expectReplaced(ErrorKind::Schema, "expected an integer, found a boolean", "{\"as_int\":2}", "{\"as_int\":true}");
  expectReplaced(ErrorKind::Schema, "expected a finite number, found 1e400", "0.5}", "1e400}");
  expectReplaced(ErrorKind::Schema, "expected a number, \"NaN\"", "0.5}", "\"nan\"}");
  expectReplaced(ErrorKind::Schema, "has more than one tag", "{\"as_int\":2}", "{\"as_int\":2,\"as_bool\":true}");
  expectReplaced(ErrorKind::Schema, "an argument has no tag", "{\"as_int\":2}", "{}");
  expectReplaced(ErrorKind::Unsupported, "argument of the kind 'as_quaternion'", "{\"as_int\":2}", "{\"as_quaternion\":2}");
  expectReplaced(ErrorKind::Unsupported, "schema version 7.20", "\"major\":8", "\"major\":7");
  expectReplaced(ErrorKind::Unsupported, "schema version 9.20", "\"major\":8", "\"major\":9");
}

TEST_F(Importer, NamesWhatIsWrongWithTheProgram) {
  expectReplaced(ErrorKind::Semantic, "'z' is used before anything defines it", "\"arg\":{\"as_tensor\":{\"name\":\"x\"}}", "\"arg\":{\"as_tensor\":{\"name\":\"z\"}}");
  expectReplaced(ErrorKind::Semantic, "'y' is used before anything defines it", "\"arg\":{\"as_tensor\":{\"name\":\"x\"}}", "\"arg\":{\"as_tensor\":{\"name\":\"y\"}}");
  expectReplaced(ErrorKind::Semantic, "the name 'x' is defined twice", "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"metadata\"", "\"outputs\":[{\"as_tensor\":{\"name\":\"x\"}}],\"metadata\"");
  expectReplaced(ErrorKind::Semantic, "used as another kind of value", "\"arg\":{\"as_tensor\":{\"name\":\"x\"}}", "\"arg\":{\"as_tensor\":{\"name\":\"n\"}}");
  expectReplaced(ErrorKind::Semantic, "the operator has no argument 'beta'", "\"alpha\"", "\"beta\"");
  expectReplaced(ErrorKind::Semantic, "argument 'self' is given twice", "\"name\":\"other\"", "\"name\":\"self\"");
  expectReplaced(ErrorKind::Semantic, "argument 'other' is a list, its type is Tensor", "\"other\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}}", "\"other\",\"arg\":{\"as_tensors\":[{\"name\":\"x\"}]}");
  expectReplaced(ErrorKind::Semantic, "argument 'other' is not a Tensor", "\"other\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}}", "\"other\",\"arg\":{\"as_string\":\"x\"}");
  expectReplaced(ErrorKind::Semantic, "argument 'self' is None", "\"self\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}}", "\"self\",\"arg\":{\"as_none\":true}");
  expectReplaced(ErrorKind::Semantic, "the operator returns 1 values, the node 0", "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"metadata\"", "\"outputs\":[],\"metadata\"");
  expectReplaced(ErrorKind::Semantic, "negative size -4", "{\"as_int\":4}]", "{\"as_int\":-4}]");
  expectReplaced(ErrorKind::Semantic, "2 sizes and 1 strides", "[{\"as_int\":4},{\"as_int\":1}]", "[{\"as_int\":4}]");
  expectReplaced(ErrorKind::Limit, "more bytes than 64 bits can count", "{\"as_int\":4}]", "{\"as_int\":4611686018427387904}]");
  expectReplaced(ErrorKind::Unsupported, "has dtype code 99", "\"dtype\":7", "\"dtype\":99");
  expectReplaced(ErrorKind::Unsupported, "has layout code 1", "\"layout\":7", "\"layout\":1");
  expectReplaced(ErrorKind::Semantic, "the signature has 1 inputs", "{\"user_input\":{\"arg\":{\"as_sym_int\":{\"as_name\":\"n\"}}}},", "");
  expectReplaced(ErrorKind::Semantic, "empty range [2, 1]", "\"max_val\":null", "\"max_val\":1");
  expectReplaced(ErrorKind::Unsupported, "neither an operator of torch.ops nor scalar arithmetic", "torch.ops.aten", "os.system");
  expectReplaced(ErrorKind::Unsupported, "the higher-order operator 'cond' needs Python", "torch.ops.aten.add.Tensor", "torch.ops.higher_order.cond");
}

TEST_F(Importer, NamesWhatIsWrongWithTensors) {
  StringRef layout = "\"strides\":[{\"as_int\":4},{\"as_int\":1}],\"storage_offset\":{\"as_int\":0}";
  expectReplaced(ErrorKind::Semantic, "negative stride", layout, "\"strides\":[{\"as_int\":-4},{\"as_int\":1}],\"storage_offset\":{\"as_int\":0}");
  expectReplaced(ErrorKind::Semantic, "negative storage offset -1", layout, "\"strides\":[{\"as_int\":4},{\"as_int\":1}],\"storage_offset\":{\"as_int\":-1}");
  expectReplaced(ErrorKind::Unsupported, "lies on the device 'abacus'", "\"type\":\"cpu\"", "\"type\":\"abacus\"");
  std::string ones;
  for (int i = 0; i < 65; ++i) {
    ones += (i ? "," : "") + std::string("{\"as_int\":1}");
  }
  expectReplaced(ErrorKind::Limit, "at most 64 dimensions", "\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0', integer=True)\",\"hint\":{\"as_int\":5}}},{\"as_int\":4}]",
                 "\"sizes\":[" + ones + "]");
}

TEST_F(Importer, NamesWhatIsWrongWithNames) {
  StringRef node = "{\"name\":\"m\",\"target\"";
  EXPECT_TRUE(check(std::string("\xef\xbb\xbf") + valid).imported) << "a byte order mark is none of the text";
  expectReplaced(ErrorKind::Limit, "a name has 1 to 4096 bytes", "\"as_tensor\":{\"name\":\"y\"}}],\"metadata\"", "\"as_tensor\":{\"name\":\"\"}}],\"metadata\"");
  std::string megabyte(1 << 20, 'x');
  for (StringRef name : {StringRef(megabyte), StringRef("a\\u0000b"), StringRef("\\u202eevil"), StringRef("\\ud800"), StringRef("")}) {
    std::string text = valid;
    size_t at = text.find(node.str());
    check(text.replace(at + 9, 1, name.str()));
    text = valid;
    at = text.find("torch.ops.aten.add.Tensor");
    check(text.replace(at, 25, "torch.ops." + name.str() + ".add.Tensor"));
    text = valid;
    at = text.find("m.py:3 in f");
    check(text.replace(at, 4, name.str()));
    text = valid;
    for (size_t next = 0; (next = text.find("{\"name\":\"x\"}", next)) != std::string::npos; next += name.size()) {
      text.replace(next + 9, 1, name.str());
    }
    check(text);
  }
}

TEST_F(Importer, ReadsAMillionNodesOrSaysThatTheyAreTooMany) {
  std::string text = valid;
  std::string from = "{\"name\":\"y\",\"target\"", nodes;
  for (int i = 0; i < 1'000'000; ++i) {
    nodes += R"json({"name":"n","target":"_operator.mul","inputs":[{"name":"a","arg":{"as_sym_int":{"as_name":"n"}},"kind":1},{"name":"b","arg":{"as_int":2},"kind":1}],"outputs":[{"as_int":)json" + std::to_string(i) + "}],\"metadata\":{}},";
  }
  check(text.insert(text.find(from), nodes));
}

TEST_F(Importer, NamesWhatIsWrongWithSizes) {
  StringRef symbol = "Symbol('s0', integer=True)";
  expectReplaced(ErrorKind::Unsupported, "needs the function 'sin'", symbol, "sin(Symbol('s0'))");
  expectReplaced(ErrorKind::Unsupported, "needs the function 'StrictLessThan'", symbol, "StrictLessThan(Symbol('s0'), Integer(2))");
  expectReplaced(ErrorKind::Unsupported, "needs a division by zero", symbol, "FloorDiv(Symbol('s0'), Integer(0))");
  expectReplaced(ErrorKind::Unsupported, "which frit uses itself", symbol, "Symbol('d0')");
  expectReplaced(ErrorKind::Unsupported, "a power whose exponent", symbol, "Pow(Symbol('s0'), Integer(1000000))");
  expectReplaced(ErrorKind::Unsupported, "of a degree above 64", symbol, "Pow(Pow(Pow(Symbol('s0'), Integer(16)), Integer(16)), Integer(16))");
  expectReplaced(ErrorKind::Schema, "a symbol's name is a word", symbol, "Symbol('s 0')");
  expectReplaced(ErrorKind::Schema, "expected ',' or ')'", symbol, "Add(Symbol('s0')");
  expectReplaced(ErrorKind::Schema, "expected a 64-bit integer", symbol, "Integer(99999999999999999999)");
  expectReplaced(ErrorKind::Schema, "text after the expression", symbol, "Symbol('s0') or 1");
  // Sizes that nothing binds.
  expectReplaced(ErrorKind::Unsupported, "size symbol 's9' is used, but no argument", "\"y\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0', integer=True)", "\"y\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Mul(Integer(2), Symbol('s9', integer=True))");
}

} // namespace
