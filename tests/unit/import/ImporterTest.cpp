// Programs are untrusted input: for any text, the importer returns a module or exactly one
// diagnostic of a known kind, and never reads beyond the text. Here a small valid program is
// damaged at random; MalformedPrograms.cpp has specific errors.
#include "tests/unit/import/ProgramText.h"

#include <random>

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::test;

namespace {

class Importer : public ProgramText {};

TEST_F(Importer, ReadsTheValidProgram) {
  Outcome outcome = check(valid);
  EXPECT_TRUE(outcome.imported) << outcome.text;
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
      case 0:
        text[at] = c;
        break;
      case 1:
        text.insert(at, 1, c);
        break;
      case 2:
        text.erase(at, 1 + random() % 8);
        break;
      }
    }
    check(text);
  }
}

TEST_F(Importer, SurvivesSwappedValues) {
  // Structure-aware: any value of the text replaces any other.
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
        depth += text[end] == '{' || text[end] == '['   ? 1
                 : text[end] == '}' || text[end] == ']' ? -1
                                                        : 0;
      }
    }
    spans.emplace_back(i, end);
    i = c == '"' ? end - 1 : i;
  }
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    auto from = spans[random() % spans.size()], to = spans[random() % spans.size()];
    std::string changed = (text.take_front(to.first) + text.slice(from.first, from.second) +
                           text.drop_front(to.second))
                              .str();
    check(changed);
  }
}

TEST_F(Importer, NamesVersionsAndKindsItDoesNotKnow) {
  expectReplaced(ErrorKind::Unsupported, "argument of the kind 'as_quaternion'", "{\"as_int\":2}",
                 "{\"as_quaternion\":2}");
  expectReplaced(ErrorKind::Unsupported, "schema version 7.20", "\"major\":8", "\"major\":7");
  expectReplaced(ErrorKind::Unsupported, "schema version 9.20", "\"major\":8", "\"major\":9");
  expectReplaced(ErrorKind::Unsupported, "neither an operator of torch.ops nor scalar arithmetic",
                 "torch.ops.aten", "os.system");
  expectReplaced(ErrorKind::Unsupported, "the higher-order operator 'flex_attention' needs Python",
                 "torch.ops.aten.add.Tensor", "torch.ops.higher_order.flex_attention");
}

} // namespace
