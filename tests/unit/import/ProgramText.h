// A small valid program, and checks of the importer's outcome for it and for malformed texts: a
// module, or one bounded diagnostic of a known kind that names a location.

#pragma once

#include "import/Importer.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sys/resource.h>

namespace mlir::frit::test {

inline const char *const valid = R"json({"graph_module":{"graph":{
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

/// Limits the bytes that the process may allocate during its lifetime; a larger allocation aborts.
class MemoryCap {
public:
  explicit MemoryCap(uint64_t bytes) {
#if !__has_feature(address_sanitizer)
    std::ifstream status("/proc/self/status");
    uint64_t used = 0;
    for (std::string word; status >> word;) {
      if (word == "VmData:") {
        status >> used;
      }
    }
    getrlimit(RLIMIT_DATA, &before);
    rlimit capped = before;
    capped.rlim_cur = std::min<uint64_t>(before.rlim_cur, used * 1024 + bytes);
    set = used != 0 && setrlimit(RLIMIT_DATA, &capped) == 0;
#endif
  }
  ~MemoryCap() {
    if (set) {
      setrlimit(RLIMIT_DATA, &before);
    }
  }

private:
  rlimit before = {};
  bool set = false;
};

struct Outcome {
  bool imported = false;
  unsigned diagnostics = 0;
  exported::Error error;
  std::string text;
};

class ProgramText : public testing::Test {
protected:
  using ErrorKind = exported::ErrorKind;

  /// Memory may grow with the length of the text, but not with numbers in it.
  static constexpr uint64_t kCapBytes = uint64_t(64) << 20, kCapOfByte = 16;

  Outcome run(StringRef json) {
    Outcome outcome;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      ++outcome.diagnostics;
      outcome.text += diagnostic.str();
      return success();
    });
    MemoryCap cap(kCapBytes + kCapOfByte * json.size());
    OwningOpRef<ModuleOp> module = importExportedProgram(&context, json, {}, &outcome.error);
    outcome.imported = static_cast<bool>(module);
    return outcome;
  }
  /// Checks for either a module or one diagnostic, which must be one short line with a location.
  Outcome check(StringRef json) {
    Outcome outcome = run(json);
    EXPECT_EQ(outcome.diagnostics, outcome.imported ? 0u : 1u) << outcome.text << "\n"
                                                               << json.take_front(400).str();
    EXPECT_LT(outcome.text.size(), 1200u);
    static const std::regex place(
        R"(<json>:\d+:\d+: |node '|tensor '|integer '|symbol '|(input|output|result) [\d']|the signature has )");
    EXPECT_TRUE(outcome.imported || std::regex_search(outcome.text, place))
        << "no place: " << outcome.text;
    EXPECT_TRUE(llvm::none_of(outcome.text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
        << outcome.text;
    EXPECT_EQ(outcome.text.find("\xe2\x80\xae"), std::string::npos) << "text that turns round";
    return outcome;
  }
  void expect(ErrorKind kind, StringRef message, StringRef json) {
    Outcome outcome = check(json);
    EXPECT_FALSE(outcome.imported) << "expected: " << message.str();
    EXPECT_EQ(stringify(outcome.error.kind).str(), stringify(kind).str()) << outcome.text;
    EXPECT_NE(outcome.text.find(message.str()), std::string::npos)
        << "expected: " << message.str() << "\nfound: " << outcome.text;
  }
  static std::string replaced(StringRef from, StringRef to) {
    std::string text = valid;
    size_t at = text.find(from.str());
    EXPECT_NE(at, std::string::npos) << from.str();
    return at == std::string::npos ? text : text.replace(at, from.size(), to.str());
  }
  void expectReplaced(ErrorKind kind, StringRef message, StringRef from, StringRef to) {
    expect(kind, message, replaced(from, to));
  }
  void expectFine(StringRef json) {
    Outcome outcome = check(json);
    EXPECT_TRUE(outcome.imported) << outcome.text;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

} // namespace mlir::frit::test
