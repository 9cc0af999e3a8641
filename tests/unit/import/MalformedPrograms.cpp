// Errors of programs, one test per row of the table "Malformed programs" in tests/README.md
// (tests/lint/test_malformed_table.py checks that none is missing). Each text gives one short
// diagnostic with a location, and memory grows only with the text. Unusual texts that are valid
// programs must be imported.
#include "tests/unit/import/ProgramText.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::test;

namespace {

class Malformed : public ProgramText {
protected:
  static constexpr StringRef kSymbol = "Symbol('s0', integer=True)";
  static constexpr StringRef kSizes = "\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0', "
                                      "integer=True)\",\"hint\":{\"as_int\":5}}},{\"as_int\":4}]";
  static constexpr StringRef kLayout =
      "\"strides\":[{\"as_int\":4},{\"as_int\":1}],\"storage_offset\":{\"as_int\":0}";
  static constexpr StringRef kResult =
      "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"metadata\"";
  static constexpr StringRef kOther = "\"other\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}}";

  /// The program with this node before its last, and a tensor `w` like `x`.
  static std::string withNode(StringRef node, StringRef from = "", StringRef to = "",
                              bool behind = false) {
    std::string text = from.empty() ? valid : replaced(from, to);
    text.insert(text.find("\"x\":{\"dtype\""), "\"w\":" + tensorText() + ",");
    size_t at = text.find("{\"name\":\"y\",\"target\"");
    if (behind) {
      at = text.find("]", text.find("x + 0.5 * x"));
      return text.insert(at, "," + node.str());
    }
    return text.insert(at, node.str() + ",");
  }
  static std::string tensorText() {
    std::string text = valid;
    size_t begin = text.find("\"x\":{\"dtype\"") + 4, end = text.find("\"y\":{\"dtype\"");
    return text.substr(begin, text.rfind('}', end) + 1 - begin);
  }
  /// `w = op(arguments)`.
  static std::string node(StringRef target, StringRef arguments,
                          StringRef outputs = "{\"as_tensor\":{\"name\":\"w\"}}") {
    return ("{\"name\":\"w\",\"target\":\"" + target + "\",\"inputs\":[" + arguments +
            "],\"outputs\":[" + outputs + "],\"metadata\":{}}")
        .str();
  }
  static std::string argument(StringRef name, StringRef value) {
    return ("{\"name\":\"" + name + "\",\"arg\":" + value + ",\"kind\":1}").str();
  }
  static std::string x() { return argument("self", R"({"as_tensor":{"name":"x"}})"); }
};

TEST_F(Malformed, M01_Empty) {
  for (StringRef text : {"", " ", "\n\t ", "\xef\xbb\xbf"}) {
    expect(ErrorKind::Syntax, "expected an object, found the end of the text", text);
  }
  expect(ErrorKind::Syntax, "<json>:1:1: ", "");
  expect(ErrorKind::Schema, "<json>:1:1: expected an object, found a list", "[]");
  expect(ErrorKind::Schema, "field 'schema_version' of the program is missing", "{}");
  expect(ErrorKind::Syntax, "text after the end", std::string(valid) + "{}");
}

TEST_F(Malformed, M02_TruncatedAtEveryByte) {
  StringRef text(valid);
  for (size_t length = 0; length < text.size(); ++length) {
    // A copy of the exact size: a read beyond it is an error under the address sanitizer.
    std::string cut = text.take_front(length).str();
    Outcome outcome = check(cut);
    ASSERT_FALSE(outcome.imported) << length;
    ASSERT_NE(outcome.text.find("<json>:"), std::string::npos) << outcome.text;
  }
}

TEST_F(Malformed, M03_NestedAHundredThousandTimes) {
  for (StringRef open : {"[", "{\"a\":"}) {
    std::string bomb;
    for (int i = 0; i < 100000; ++i) {
      bomb += open.str();
    }
    expect(ErrorKind::Limit, "nested deeper than 64", "{\"x\":" + bomb);
    std::string text = valid;
    size_t at = text.find("{\"as_float\":0.5}");
    EXPECT_FALSE(check(text.replace(at, 16, bomb)).imported);
  }
  std::string nested;
  for (int i = 0; i < 100000; ++i) {
    nested += "Add(Integer(1), ";
  }
  expectReplaced(ErrorKind::Schema, "nested deeper than 64", kSymbol, nested);
}

TEST_F(Malformed, M04_AMillionNodes) {
  std::string text = valid;
  std::string from = "{\"name\":\"y\",\"target\"", nodes;
  for (int i = 0; i < 1'000'000; ++i) {
    nodes +=
        R"json({"name":"n","target":"_operator.mul","inputs":[{"name":"a","arg":{"as_sym_int":{"as_name":"n"}},"kind":1},{"name":"b","arg":{"as_int":2},"kind":1}],"outputs":[{"as_int":)json" +
        std::to_string(i) + "}],\"metadata\":{}},";
  }
  check(text.insert(text.find(from), nodes));
}

TEST_F(Malformed, M05_DuplicateKeys) {
  expect(ErrorKind::Schema, "key 'nodes' stands twice",
         "{\"graph_module\":{\"graph\":{\"nodes\":[],\"nodes\":[]}}}");
  expectReplaced(ErrorKind::Schema, "key 'target' stands twice",
                 "\"target\":", "\"target\":\"a\",\"target\":");
  expectReplaced(ErrorKind::Schema, "key 'x' stands twice", "\"x\":{\"dtype\"",
                 "\"x\":" + tensorText() + ",\"x\":{\"dtype\"");
  expectReplaced(ErrorKind::Schema, "key 's0' stands twice", "\"s0\":{",
                 "\"s0\":{\"min_val\":2,\"max_val\":3},\"s0\":{");
  expectReplaced(ErrorKind::Schema, "has more than one tag", "{\"as_int\":2}",
                 "{\"as_int\":2,\"as_bool\":true}");
  expectReplaced(ErrorKind::Schema, "an argument has no tag", "{\"as_int\":2}", "{}");
}

TEST_F(Malformed, M06_DuplicateAndEmptyNames) {
  expectReplaced(ErrorKind::Semantic,
                 "node 'y' (torch.ops.aten.add.Tensor): the name 'x' is defined twice", kResult,
                 "\"outputs\":[{\"as_tensor\":{\"name\":\"x\"}}],\"metadata\"");
  expectReplaced(ErrorKind::Limit, "a name has 1 to 4096 bytes", kResult,
                 "\"outputs\":[{\"as_tensor\":{\"name\":\"\"}}],\"metadata\"");
  std::string twice =
      replaced("{\"as_sym_int\":{\"as_name\":\"n\"}},{\"as_tensor\":{\"name\":\"x\"}}]",
               "{\"as_sym_int\":{\"as_name\":\"n\"}},{\"as_sym_int\":{\"as_name\":\"n\"}}]");
  StringRef spec = "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}";
  twice.replace(twice.find(spec.str()), spec.size(),
                "{\"user_input\":{\"arg\":{\"as_sym_int\":{\"as_name\":\"n\"}}}}");
  expect(ErrorKind::Semantic, "input 1: the name 'n' is defined twice", twice);
  // The name of a node is only for messages, and does not name a value.
  expectFine(replaced("\"name\":\"y\",\"target\"", "\"name\":\"m\",\"target\""));
}

TEST_F(Malformed, M07_DanglingForwardAndSelfReferences) {
  auto uses = [](StringRef name) {
    return ("\"other\",\"arg\":{\"as_tensor\":{\"name\":\"" + name + "\"}}").str();
  };
  expectReplaced(ErrorKind::Semantic,
                 "node 'y' (torch.ops.aten.add.Tensor): 'z' is used before anything defines it",
                 kOther, uses("z"));
  expectReplaced(ErrorKind::Semantic,
                 "node 'y' (torch.ops.aten.add.Tensor): 'y' is used before anything defines it",
                 kOther, uses("y"));
  std::string w = node("torch.ops.aten.neg.default", x());
  expectFine(withNode(w, kOther, uses("w")));
  expect(ErrorKind::Semantic,
         "node 'y' (torch.ops.aten.add.Tensor): 'w' is used before anything defines it",
         withNode(w, kOther, uses("w"), /*behind=*/true));
  expectReplaced(ErrorKind::Semantic, "used as another kind of value", kOther, uses("n"));
}

TEST_F(Malformed, M08_Cycles) {
  std::string w =
      node("torch.ops.aten.neg.default", argument("self", R"({"as_tensor":{"name":"y"}})"));
  for (bool behind : {false, true}) {
    expect(ErrorKind::Semantic,
           behind ? "node 'y' (torch.ops.aten.add.Tensor): 'w' is used before"
                  : "node 'w' (torch.ops.aten.neg.default): 'y' is used before",
           withNode(w, kOther, "\"other\",\"arg\":{\"as_tensor\":{\"name\":\"w\"}}", behind));
  }
}

TEST_F(Malformed, M09_UnusedAndMissingOutputs) {
  expectFine(withNode(node("torch.ops.aten.neg.default", x())));
  StringRef outputs = "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}},{\"as_sym_int\":{\"as_name\":"
                      "\"m\"}},{\"as_none\":true}],";
  expectReplaced(ErrorKind::Schema, "field 'outputs' of a graph is missing", outputs, "");
  expectReplaced(ErrorKind::Semantic, "the signature has 3 outputs, the graph 0", outputs,
                 "\"outputs\":[],");
  expectReplaced(ErrorKind::Semantic, "output 0: it is 'z' in the graph and 'y' in the signature",
                 outputs,
                 "\"outputs\":[{\"as_tensor\":{\"name\":\"z\"}},{\"as_sym_int\":{\"as_name\":\"m\"}"
                 "},{\"as_none\":true}],");
  std::string text = replaced("{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}",
                              "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"z\"}}}}");
  expect(ErrorKind::Semantic, "output 0: 'z' is used before anything defines it",
         text.replace(text.find(outputs.str()), outputs.size(),
                      "\"outputs\":[{\"as_tensor\":{\"name\":\"z\"}},{\"as_sym_int\":{\"as_name\":"
                      "\"m\"}},{\"as_none\":true}],"));
  expectReplaced(ErrorKind::Semantic, "the signature has 1 inputs, the graph 2",
                 "{\"user_input\":{\"arg\":{\"as_sym_int\":{\"as_name\":\"n\"}}}},", "");
  // An undefined name needs memory only for its text.
  std::string many = valid, meta = tensorText(), tables;
  for (int i = 0; i < 20000; ++i) {
    tables += "\"u" + std::to_string(i) + "\":" + meta + ",";
  }
  expectFine(many.insert(many.find("\"x\":{\"dtype\""), tables));
}

TEST_F(Malformed, M10_Arity) {
  expectReplaced(ErrorKind::Semantic,
                 "node 'y' (torch.ops.aten.add.Tensor): the operator returns 1 values, the node 0",
                 kResult, "\"outputs\":[],\"metadata\"");
  expect(ErrorKind::Semantic, "the operator returns 1 values, the node 2",
         withNode(node("torch.ops.aten.neg.default", x(),
                       R"({"as_tensor":{"name":"w"}},{"as_tensor":{"name":"w"}})")));
  expect(ErrorKind::Semantic, "argument 'other' is missing and has no default",
         withNode(node("torch.ops.aten.mul.Tensor", x())));
  std::string nameless = argument("", R"({"as_tensor":{"name":"x"}})");
  expect(ErrorKind::Semantic, "node 'w' (torch.ops.aten.neg.default): the operator has no argument",
         withNode(node("torch.ops.aten.neg.default", nameless + "," + nameless)));
  expect(ErrorKind::Semantic, "node 'w' (torch.ops.aten.neg.default): argument 'self' is missing",
         withNode(node("torch.ops.aten.neg.default", "")));
}

TEST_F(Malformed, M11_Keywords) {
  expectReplaced(ErrorKind::Semantic,
                 "node 'y' (torch.ops.aten.add.Tensor): the operator has no argument 'beta'",
                 "\"alpha\"", "\"beta\"");
  expectReplaced(ErrorKind::Semantic, "argument 'self' is given twice", "\"name\":\"other\"",
                 "\"name\":\"self\"");
}

TEST_F(Malformed, M12_TypeConfusion) {
  auto unsqueeze = [&](StringRef dim) {
    return withNode(node("torch.ops.aten.unsqueeze.default", x() + "," + argument("dim", dim)));
  };
  expect(ErrorKind::Semantic, "argument 'dim' is not a int", unsqueeze(R"({"as_string":"0"})"));
  expect(ErrorKind::Semantic, "argument 'dim' is not a int", unsqueeze(R"({"as_float":0.0})"));
  expect(ErrorKind::Semantic, "argument 'dim' is not a int",
         unsqueeze(R"({"as_tensor":{"name":"x"}})"));
  expect(ErrorKind::Semantic, "argument 'dim' is a list, its type is int",
         unsqueeze(R"({"as_ints":[0]})"));
  expect(ErrorKind::Semantic, "argument 'dim' is None, its type is int",
         unsqueeze(R"({"as_none":true})"));
  // A boolean is an integer to Python and to torch.
  expectReplaced(ErrorKind::Schema, "expected an integer, found a boolean", "{\"as_int\":2}",
                 "{\"as_int\":true}");
  expectReplaced(ErrorKind::Schema, "expected an integer, found a string", "{\"as_int\":2}",
                 "{\"as_int\":\"2\"}");
  expectReplaced(ErrorKind::Semantic, "argument 'alpha' is not a Scalar", "{\"as_float\":0.5}",
                 "{\"as_string\":\"0.5\"}");
  expectReplaced(ErrorKind::Semantic, "argument 'other' is a list, its type is Tensor", kOther,
                 "\"other\",\"arg\":{\"as_tensors\":[{\"name\":\"x\"}]}");
  expectReplaced(ErrorKind::Semantic, "argument 'other' is not a Tensor", kOther,
                 "\"other\",\"arg\":{\"as_string\":\"x\"}");
  expectReplaced(ErrorKind::Semantic, "argument 'self' is None",
                 "\"self\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}}",
                 "\"self\",\"arg\":{\"as_none\":true}");
  expectReplaced(ErrorKind::Schema, "found a number", "\"arg\":{\"as_tensor\":{\"name\":\"x\"}}",
                 "\"arg\":{\"as_tensor\":7}");
}

TEST_F(Malformed, M13_Numbers) {
  StringRef two = "{\"as_int\":2}";
  auto integer = [](StringRef text) { return ("{\"as_int\":" + text + "}").str(); };
  for (StringRef edge : {"9223372036854775807", "-9223372036854775808", "-0"}) {
    expectFine(replaced(two, integer(edge)));
  }
  for (StringRef beyond : {"9223372036854775808", "-9223372036854775809", "18446744073709551616"}) {
    expectReplaced(ErrorKind::Limit, ("integer " + beyond + " does not fit 64 bits").str(), two,
                   integer(beyond));
  }
  for (StringRef no : {"1e400", "2.0", "1e2", "0x10"}) {
    expectReplaced(ErrorKind::Schema, ("expected an integer, found " + no).str(), two, integer(no));
  }
  for (StringRef no : {"007", "-01", "+1", "NaN", "Infinity", "-Infinity", "-"}) {
    EXPECT_FALSE(check(replaced(two, integer(no))).imported) << no.str();
    EXPECT_FALSE(check(replaced("0.5}", (no + "}").str())).imported) << no.str();
  }
  for (StringRef no : {"1e400", "-1e400"}) {
    expectReplaced(ErrorKind::Schema, ("expected a finite number, found " + no).str(), "0.5}",
                   (no + "}").str());
  }
  expectReplaced(ErrorKind::Schema, "expected a number, \"NaN\"", "0.5}", "\"nan\"}");
  for (StringRef fine : {"-0", "-0.0", "1e-400", "5e-324", "1.7976931348623157e308", "\"NaN\"",
                         "\"-Infinity\"", "9223372036854775808"}) {
    expectFine(replaced("0.5}", (fine + "}").str()));
  }
  for (StringRef edge : {"9223372036854775807", "-9223372036854775808"}) {
    expectFine(replaced("\"hint\":{\"as_int\":5}", ("\"hint\":{\"as_int\":" + edge + "}").str()));
    check(replaced("\"min_val\":2", ("\"min_val\":" + edge).str()));
    check(replaced("\"max_val\":null", ("\"max_val\":" + edge).str()));
    check(replaced(kSymbol, ("Mul(Integer(" + edge + "), Symbol('s0', integer=True))").str()));
    check(replaced(kSymbol, ("Add(Integer(" + edge + "), Mul(Integer(" + edge +
                             "), Symbol('s0', integer=True)))")
                                .str()));
  }
  expectReplaced(ErrorKind::Schema, "expected a 64-bit integer", kSymbol,
                 "Integer(99999999999999999999)");
}

TEST_F(Malformed, M14_Dims) {
  expectReplaced(ErrorKind::Semantic, "tensor 'x' has the negative size -4", "{\"as_int\":4}]",
                 "{\"as_int\":-4}]");
  expectReplaced(ErrorKind::Semantic, "tensor 'x' has the negative size -9223372036854775808",
                 "{\"as_int\":4}]", "{\"as_int\":-9223372036854775808}]");
  expectReplaced(ErrorKind::Limit, "tensor 'x' has more bytes than 64 bits can count",
                 "{\"as_int\":4}]", "{\"as_int\":9223372036854775807}]");
  // Valid, because both tensors are empty.
  std::string text = valid;
  for (size_t at = 0; (at = text.find("{\"as_int\":4}]", at)) != std::string::npos;) {
    text.replace(at, 13, "{\"as_int\":0}]");
  }
  expectFine(text);
}

TEST_F(Malformed, M15_ProductsOverflow) {
  expectReplaced(ErrorKind::Limit, "tensor 'x' has more bytes than 64 bits can count",
                 "{\"as_int\":4}]", "{\"as_int\":4611686018427387904}]");
  expectReplaced(ErrorKind::Limit, "tensor 'x' has more bytes than 64 bits can count", kSizes,
                 "\"sizes\":[{\"as_int\":4294967296},{\"as_int\":4294967296}]");
  // The tensor is empty, whatever its other sizes.
  check(replaced(kSizes, "\"sizes\":[{\"as_int\":4611686018427387904},{\"as_int\":0}]"));
  check(replaced(kSymbol, "Mul(Integer(9223372036854775807), Integer(9223372036854775807))"));
}

TEST_F(Malformed, M16_Strides) {
  auto strides = [](StringRef first, StringRef second) {
    return ("\"strides\":[{\"as_int\":" + first + "},{\"as_int\":" + second +
            "}],\"storage_offset\":{\"as_int\":0}")
        .str();
  };
  expectReplaced(ErrorKind::Semantic, "tensor 'x' has the negative stride -4", kLayout,
                 strides("-4", "1"));
  expectReplaced(ErrorKind::Limit, "tensor 'x' reaches further than 64 bits can count", kLayout,
                 strides("4", "9223372036854775807"));
  expectReplaced(ErrorKind::Semantic, "2 sizes and 1 strides", "[{\"as_int\":4},{\"as_int\":1}]",
                 "[{\"as_int\":4}]");
  expectReplaced(ErrorKind::Semantic, "2 sizes and 3 strides", "[{\"as_int\":4},{\"as_int\":1}]",
                 "[{\"as_int\":4},{\"as_int\":1},{\"as_int\":1}]");
  expectFine(replaced(kLayout, strides("0", "0")));
}

TEST_F(Malformed, M17_StorageOffset) {
  auto offset = [](StringRef value) {
    return ("\"strides\":[{\"as_int\":4},{\"as_int\":1}],\"storage_offset\":{\"as_int\":" + value +
            "}")
        .str();
  };
  expectReplaced(ErrorKind::Semantic, "tensor 'x' has the negative storage offset -1", kLayout,
                 offset("-1"));
  for (StringRef huge : {"9223372036854775807", "1152921504606846976"}) {
    expectReplaced(ErrorKind::Limit, "tensor 'x' reaches further than 64 bits can count", kLayout,
                   offset(huge));
  }
  expectFine(replaced(kLayout, offset("4096")));
}

TEST_F(Malformed, M18_Ranks) {
  auto ones = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += (i ? "," : "") + std::string("{\"as_int\":1}");
    }
    return text;
  };
  expectReplaced(ErrorKind::Limit, "at most 64 dimensions", kSizes, "\"sizes\":[" + ones(65) + "]");
  std::string meta = tensorText();
  for (int rank : {0, 64}) {
    std::string of = meta;
    of.replace(of.find(kSizes.str()), kSizes.size(), "\"sizes\":[" + ones(rank) + "]");
    of.replace(of.find("\"strides\":["),
               StringRef("\"strides\":[{\"as_int\":4},{\"as_int\":1}]").size(),
               "\"strides\":[" + ones(rank) + "]");
    std::string text = valid;
    text.insert(text.find("\"x\":{\"dtype\""), "\"w\":" + of + ",");
    size_t at = text.find("{\"name\":\"y\",\"target\"");
    expectFine(text.insert(at, node("torch.ops.aten.neg.default", x()) + ","));
  }
}

TEST_F(Malformed, M19_UnknownNames) {
  expectReplaced(ErrorKind::Unsupported, "tensor 'x' has dtype code 99", "\"dtype\":7",
                 "\"dtype\":99");
  expectReplaced(ErrorKind::Unsupported, "tensor 'x' has dtype code -1", "\"dtype\":7",
                 "\"dtype\":-1");
  expectReplaced(ErrorKind::Unsupported, "tensor 'x' has layout code 1", "\"layout\":7",
                 "\"layout\":1");
  expectReplaced(ErrorKind::Unsupported, "tensor 'x' lies on the device 'abacus'",
                 "\"type\":\"cpu\"", "\"type\":\"abacus\"");
  for (StringRef target :
       {"aten.add.Tensor", "_operator.launch", "torch.sym_nothing", "math.nothing"}) {
    Outcome outcome = check(replaced("torch.ops.aten.add.Tensor", target));
    EXPECT_FALSE(outcome.imported);
    EXPECT_NE(outcome.text.find(("node 'y' (" + target + "): ").str()), std::string::npos)
        << outcome.text;
  }
  for (StringRef target : {"torch.ops.aten", "torch.ops."}) {
    check(replaced("torch.ops.aten.add.Tensor", target));
  }
  // An unknown operator may belong to a library: it becomes a call, and loading the plan without
  // the library fails.
  for (StringRef target : {"torch.ops.aten.frobnicate.default", "torch.ops.aten.add.Sensor",
                           "torch.ops.mine.op.default"}) {
    expectFine(replaced("torch.ops.aten.add.Tensor", target));
  }
}

TEST_F(Malformed, M20_SymbolsAndConstraints) {
  expectReplaced(ErrorKind::Unsupported, "which frit uses itself", kSymbol, "Symbol('d0')");
  expectReplaced(ErrorKind::Schema, "a symbol's name is a word", kSymbol, "Symbol('s 0')");
  for (StringRef keyword : {"def", "max", "floordiv", "symbols", "mod"}) {
    std::string text = valid;
    for (size_t at = 0; (at = text.find("Symbol('s0'", at)) != std::string::npos; at += 8) {
      text.replace(at + 8, 2, keyword.str());
    }
    check(text);
  }
  expectReplaced(ErrorKind::Semantic, "symbol 's0' has the empty range [2, 1]", "\"max_val\":null",
                 "\"max_val\":1");
  // The host computes expressions that sizes cannot express, and a division by zero raises at the
  // call.
  for (StringRef computed :
       {"FloorDiv(Symbol('s0'), Integer(0))", "Mod(Symbol('s0'), Integer(0))",
        "Pow(Symbol('s0'), Integer(1000000))",
        "Pow(Pow(Pow(Symbol('s0'), Integer(16)), Integer(16)), Integer(16))"}) {
    expectFine(replaced(kSymbol, computed));
  }
  expectReplaced(ErrorKind::Unsupported, "needs the function 'sin'", kSymbol, "sin(Symbol('s0'))");
  expectReplaced(ErrorKind::Unsupported, "needs the function 'Contains'", kSymbol,
                 "Contains(Symbol('s0'), Integer(2))");
  expectReplaced(ErrorKind::Schema, "expected ',' or ')'", kSymbol, "Add(Symbol('s0')");
  expectReplaced(ErrorKind::Schema, "text after the expression", kSymbol, "Symbol('s0') or 1");
  // A constraint is a range of numbers; it cannot express one symbol in terms of others or of
  // itself.
  expectReplaced(ErrorKind::Schema, "expected an integer, found a string", "\"max_val\":null",
                 "\"max_val\":\"s1\"");
  // Two symbols, each bound only by an expression of the other.
  std::string cyclic = valid;
  auto swap = [&](StringRef from, StringRef to) {
    cyclic.replace(cyclic.find(from.str()), from.size(), to.str());
  };
  swap("\"n\":{\"as_expr\":{\"expr_str\":\"Symbol('s0', integer=True)\"",
       "\"n\":{\"as_expr\":{\"expr_str\":\"Add(Symbol('s1'), Symbol('s2'))\"");
  swap("\"x\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0', integer=True)\"",
       "\"x\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Mul(Symbol('s2'), "
       "Symbol('s1'))\"");
  expect(ErrorKind::Unsupported, "is used, but no argument", cyclic);
  // Unbound sizes.
  expectReplaced(
      ErrorKind::Unsupported, "size symbol 's9' is used, but no argument",
      "\"y\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0', integer=True)",
      "\"y\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Mul(Integer(2), Symbol('s9', "
      "integer=True))");
}

TEST_F(Malformed, M23_TextsAndNames) {
  expectFine(std::string("\xef\xbb\xbf") + valid);
  expect(ErrorKind::Syntax, "<json>:1:", std::string("\xff\xfe{\0", 4));
  expectReplaced(ErrorKind::Syntax, "not UTF-8", "x + 0.5", "x \xff 0.5");
  expectReplaced(ErrorKind::Syntax, "not UTF-8", "x + 0.5", "x \xed\xa0\x80 0.5");
  expectReplaced(ErrorKind::Syntax, "control character", "x + 0.5", "x \n 0.5");
  expectReplaced(ErrorKind::Syntax, "control character", "x + 0.5", StringRef("x \0 0.5", 7));
  expectReplaced(ErrorKind::Syntax, "unknown escape", "x + 0.5", "x \\q 0.5");
  expectReplaced(ErrorKind::Syntax, "four hexadecimal digits", "x + 0.5", "x \\u00g0 0.5");
  StringRef node = "{\"name\":\"m\",\"target\"";
  std::string megabyte(1 << 20, 'x');
  for (StringRef name : {StringRef(megabyte), StringRef("a\\u0000b"), StringRef("\\u202eevil"),
                         StringRef("\\ud800"), StringRef("a\\nb"), StringRef("")}) {
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
    for (size_t next = 0; (next = text.find("{\"name\":\"x\"}", next)) != std::string::npos;
         next += name.size()) {
      text.replace(next + 9, 1, name.str());
    }
    check(text);
  }
}

TEST_F(Malformed, M24_GraphsInGraphs) {
  // invoke_subgraph(graph, "id", x) whose graph contains another one.
  auto nested = [&](int depth) {
    std::string inner =
        R"({"name":"r","target":"torch.ops.aten.neg.default","inputs":[{"name":"self","arg":{"as_tensor":{"name":"x"}},"kind":1}],"outputs":[{"as_tensor":{"name":"r"}}],"metadata":{}})";
    for (int i = 0; i < depth; ++i) {
      std::string tensors = "\"x\":" + tensorText() + ",\"r\":" + tensorText();
      std::string graph =
          R"({"inputs":[{"as_tensor":{"name":"x"}}],"outputs":[{"as_tensor":{"name":"r"}}],"nodes":[)" +
          inner + R"(],"tensor_values":{)" + tensors +
          R"(},"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},"sym_float_values":{}})";
      inner =
          R"({"name":"r","target":"torch.ops.higher_order.invoke_subgraph","inputs":[{"name":"","arg":{"as_graph":{"name":"g","graph":)" +
          graph +
          R"(}},"kind":1},{"name":"","arg":{"as_string":"g"},"kind":1},{"name":"","arg":{"as_tensor":{"name":"x"}},"kind":1}],"outputs":[{"as_tensor":{"name":"r"}}],"metadata":{}})";
    }
    std::string text = valid;
    text.insert(text.find("\"x\":{\"dtype\""), "\"r\":" + tensorText() + ",");
    return text.insert(text.find("{\"name\":\"y\",\"target\""), inner + ",");
  };
  expectFine(nested(1));
  EXPECT_FALSE(check(nested(9)).imported);
  for (int depth : {9, 20, 300}) {
    expect(ErrorKind::Limit, "deeper than", nested(depth));
  }
}

TEST_F(Malformed, M25_OutputsThatMutate) {
  StringRef spec = "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}";
  auto mutation = [](StringRef value, StringRef target) {
    return ("{\"user_input_mutation\":{\"arg\":{\"name\":\"" + value +
            "\"},\"user_input_name\":\"" + target + "\"}}")
        .str();
  };
  expectFine(replaced(spec, mutation("y", "x")));
  expectReplaced(ErrorKind::Semantic, "output 0: it mutates 'z', which is not an input", spec,
                 mutation("y", "z"));
  expectReplaced(ErrorKind::Semantic, "output 0: it mutates 'n', which is no tensor", spec,
                 mutation("y", "n"));
  expectReplaced(ErrorKind::Semantic, "output 0: it is 'y' in the graph and 'x' in the signature",
                 spec, mutation("x", "x"));
  // Values are expanded as by copy_.
  auto withSizes = [&](StringRef sizes, StringRef strides) {
    std::string text = replaced(spec, mutation("y", "x"));
    size_t at = text.find("\"sizes\":", text.find("\"y\":{\"dtype\""));
    text.replace(at, text.find(",\"requires_grad\"", at) - at, ("\"sizes\":" + sizes).str());
    at = text.find("\"strides\":", at);
    return text.replace(at, text.find(",\"storage_offset\"", at) - at,
                        ("\"strides\":" + strides).str());
  };
  expectFine(withSizes("[{\"as_int\":4}]", "[{\"as_int\":1}]"));
  expectFine(withSizes("[]", "[]"));
  for (StringRef sizes : {"[{\"as_int\":2}]", "[{\"as_int\":7},{\"as_int\":4}]"}) {
    StringRef strides =
        sizes.contains('7') ? "[{\"as_int\":4},{\"as_int\":1}]" : "[{\"as_int\":1}]";
    expect(ErrorKind::Semantic,
           "output 0: the value written to 'x' has sizes that cannot be expanded",
           withSizes(sizes, strides));
  }
  // The input itself is a result too, and is returned with its value after the write.
  auto both = [&](StringRef second, StringRef name) {
    std::string text = replaced(spec, mutation("y", "x"));
    StringRef sizeSpec = "{\"user_output\":{\"arg\":{\"as_sym_int\":{\"as_name\":\"m\"}}}}",
              size = "{\"as_sym_int\":{\"as_name\":\"m\"}},{\"as_none\":true}]";
    text.replace(text.find(sizeSpec.str()), sizeSpec.size(), second.str());
    return text.replace(text.find(size.str()),
                        StringRef("{\"as_sym_int\":{\"as_name\":\"m\"}}").size(),
                        ("{\"as_tensor\":{\"name\":\"" + name + "\"}}").str());
  };
  expectFine(both("{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}", "x"));
  expect(ErrorKind::Semantic, "output 1: it mutates 'x', and so does output 0",
         both(mutation("y", "x"), "y"));
}

} // namespace
