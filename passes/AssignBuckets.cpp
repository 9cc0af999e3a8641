// Gives each dynamic size a second number, its bucket, which determines how much memory is
// allocated for it and to what size library calls are padded.
#include "ir/FritAttributes.h"
#include "passes/BucketPolicy.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-assign-buckets"

namespace mlir::frit {
#define GEN_PASS_DEF_ASSIGNBUCKETSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// One symbol and the buckets chosen for it.
struct Choice {
  SymbolAttr symbol;
  /// The names that users know it by, such as "x[0]".
  SmallVector<std::string> names;
  std::string policy = "off";
  BucketList sizes;
  /// The user requested its buckets: they are used and counted whether or not they save time.
  bool isAsked = false;
  /// The user's key that set the policy; empty if there was none.
  std::string key;
};

struct AssignBucketsPass : frit::impl::AssignBucketsPassBase<AssignBucketsPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    std::vector<BucketRequest> requests;
    if (std::string wrong = readBuckets(buckets, requests); !wrong.empty()) {
      graph.emitError() << wrong;
      return signalPassFailure();
    }
    if (policy != "auto" && policy != "ramp" && policy != "specialize" && policy != "off") {
      graph.emitError() << "bucket policy '" << policy
                        << "' is none of auto, ramp, specialize, off";
      return signalPassFailure();
    }
    SmallVector<Choice> choices = listSizes(graph);
    for (const BucketRequest &request : requests) {
      if (failed(apply(graph, request, choices))) {
        return signalPassFailure();
      }
    }
    if (failed(fillRamps(graph, choices))) {
      return signalPassFailure();
    }
    write(graph, choices);
  }

  /// The symbols that arguments bind, in the order of the arguments.
  static SmallVector<Choice> listSizes(GraphOp graph) {
    SmallVector<Choice> choices;
    auto meet = [&](SizeExpr size, const std::string &name) {
      std::optional<StringRef> found = size.getSymbol();
      if (!found) {
        return;
      }
      auto *known = llvm::find_if(
          choices, [&](const Choice &choice) { return choice.symbol.getName() == *found; });
      if (known == choices.end()) {
        for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
          if (symbol.getName() == *found && symbol.getBucketOf().empty()) {
            choices.emplace_back().symbol = symbol;
            choices.back().names.push_back(name);
          }
        }
      } else {
        known->names.push_back(name);
      }
    };
    for (unsigned number = 0; number < graph.getArgumentTypes().size(); ++number) {
      auto given = kArgumentNameAttr.get(graph, number);
      std::string name = given ? given.str() : "argument " + std::to_string(number);
      if (auto type = dyn_cast<RankedTensorType>(graph.getArgumentTypes()[number])) {
        for (auto [dim, size] : llvm::enumerate(getSizes(type))) {
          meet(size, name + "[" + std::to_string(dim) + "]");
        }
      }
    }
    for (unsigned number = 0; number < graph.getArgumentTypes().size(); ++number) {
      auto given = kArgumentNameAttr.get(graph, number);
      if (auto size = kArgumentSizeAttr.get(graph, number); size && given) {
        // An integer argument whose size is known already adds no name.
        std::optional<StringRef> symbol = SizeExpr(size).getSymbol();
        if (symbol && llvm::none_of(choices, [&](const Choice &choice) {
              return choice.symbol.getName() == *symbol;
            })) {
          meet(size, given.str());
        }
      }
    }
    return choices;
  }

  static bool isDimension(const Choice &choice) {
    return StringRef(choice.names.front()).ends_with("]");
  }

  LogicalResult apply(GraphOp graph, const BucketRequest &request,
                      SmallVectorImpl<Choice> &choices) {
    StringRef key = request.key;
    bool isSymbol = key.consume_front("%");
    auto *found = llvm::find_if(choices, [&](const Choice &choice) {
      return isSymbol ? choice.symbol.getName() == key : llvm::is_contained(choice.names, key);
    });
    if (found == choices.end()) {
      // A symbol that the caller knows need not occur in each of its graphs.
      return isSymbol ? success() : unknown(graph, key, choices);
    }
    BucketList sizes = clipBuckets(request.sizes, found->symbol.getMin(), found->symbol.getMax(),
                                   found->symbol.getDivisor());
    if (!found->key.empty() && (found->policy != request.policy || found->sizes != sizes)) {
      return graph.emitError() << "buckets of '" << found->key << "' and '" << key
                               << "' differ, but both are one size (" << found->symbol.getName()
                               << "); give them the same";
    }
    found->key = key.str();
    found->policy = request.policy;
    found->sizes = std::move(sizes);
    found->isAsked = request.policy != "off";
    return success();
  }

  LogicalResult unknown(GraphOp graph, StringRef key, ArrayRef<Choice> choices) {
    SmallVector<std::string> known;
    bool isTorchs = false;
    for (const Choice &choice : choices) {
      known.append(choice.names.begin(), choice.names.end());
      isTorchs |= choice.symbol.getName() == key;
    }
    InFlightDiagnostic error = graph.emitError() << "no size '" << key << "' for buckets";
    if (isTorchs) {
      error << ": torch's names of sizes change with the program";
    }
    if (known.empty()) {
      return error << "; the graph has no size that varies";
    }
    return error << "; known: " << llvm::join(known, ", ");
  }

  /// Ramps share the entries that lists leave; ramps that the user did not request come last.
  LogicalResult fillRamps(GraphOp graph, SmallVectorImpl<Choice> &choices) {
    for (Choice &choice : choices) {
      if (choice.key.empty() && policy != "off" && choice.symbol.getMin() >= 0 &&
          isDimension(choice)) {
        choice.policy = "ramp";
        choice.isAsked = policy != "auto";
      }
    }
    size_t listed = 0;
    for (const Choice &choice : choices) {
      listed += choice.sizes.size();
    }
    if (listed > kMaxBuckets) {
      return graph.emitError() << "bucket lists hold " << listed
                               << " sizes together; a graph takes at most " << kMaxBuckets;
    }
    unsigned available = kMaxBuckets - static_cast<unsigned>(listed);
    for (bool asked : {true, false}) {
      SmallVector<Choice *> ramps;
      SmallVector<BucketList> whole;
      SmallVector<unsigned> needed, more;
      for (Choice &choice : choices) {
        if (choice.policy == "ramp" && choice.isAsked == asked) {
          ramps.push_back(&choice);
          whole.push_back(rampBuckets(choice.symbol.getMin(), choice.symbol.getMax(),
                                      choice.symbol.getDivisor(), kLongestRamp));
          needed.push_back(entriesNeeded(choice.symbol, whole.back()));
        }
      }
      // First the entries up to a few times the hint, then the rest of each ramp.
      std::vector<unsigned> shares = shareBuckets(needed, available);
      for (auto [ramp, share] : llvm::zip(whole, shares)) {
        available -= share;
        more.push_back(ramp.size() - share);
      }
      std::vector<unsigned> further = shareBuckets(more, available);
      for (size_t i = 0; i != ramps.size(); ++i) {
        available -= further[i];
        unsigned share = shares[i] + further[i];
        // With too few entries, keep those around the hint and skip the smallest.
        unsigned skipped = share < needed[i] ? needed[i] - share : 0;
        ramps[i]->sizes.assign(whole[i].begin() + skipped, whole[i].begin() + skipped + share);
      }
    }
    return success();
  }

  /// Longer than the ramp of any graph can get.
  static constexpr unsigned kLongestRamp = 200;

  /// How many ramp entries lie at or below eight times the hint's power of two. As for schedules,
  /// only this power of the hint counts.
  static unsigned entriesNeeded(SymbolAttr symbol, ArrayRef<int64_t> ramp) {
    auto seen = static_cast<uint64_t>(std::max<int64_t>(symbol.getHint().value_or(16), 16));
    auto far =
        static_cast<int64_t>(8 * llvm::bit_floor(std::min<uint64_t>(seen, uint64_t(1) << 40)));
    return std::min<size_t>(llvm::upper_bound(ramp, far) - ramp.begin(), ramp.size());
  }

  void write(GraphOp graph, ArrayRef<Choice> choices) {
    MLIRContext *context = &getContext();
    Builder builder(context);
    SmallVector<Attribute> symbols, added, described;
    for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
      auto *choice =
          llvm::find_if(choices, [&](const Choice &other) { return other.symbol == symbol; });
      if (choice == choices.end() || choice->sizes.empty()) {
        LDBG() << symbol.getName() << " has no buckets: "
               << (choice == choices.end() ? "no argument binds it" : "policy " + choice->policy);
        symbols.push_back(symbol);
        continue;
      }
      symbols.push_back(SymbolAttr::get(context, symbol.getName(), symbol.getMin(), symbol.getMax(),
                                        symbol.getHint(), symbol.getDivisor(), symbol.getUnbacked(),
                                        choice->sizes, ""));
      std::string bucket = nameOf(symbol.getName());
      LDBG() << symbol.getName() << " (" << llvm::join(choice->names, ", ") << ") has "
             << choice->sizes.size() << " buckets: policy " << choice->policy
             << (choice->isAsked ? ", asked for" : "");
      std::optional<int64_t> hint = symbol.getHint();
      if (hint) {
        const int64_t *above = llvm::lower_bound(choice->sizes, *hint);
        hint = above == choice->sizes.end() ? *hint : *above;
      }
      added.push_back(SymbolAttr::get(context, bucket, symbol.getMin(), symbol.getMax(), hint, 1,
                                      false, {}, symbol.getName()));
      SmallVector<Attribute> names;
      for (const std::string &name : choice->names) {
        names.push_back(builder.getStringAttr(name));
      }
      described.push_back(builder.getDictionaryAttr({
          builder.getNamedAttr("asked", builder.getBoolAttr(choice->isAsked)),
          builder.getNamedAttr("bucket", builder.getStringAttr(bucket)),
          builder.getNamedAttr("names", builder.getArrayAttr(names)),
          builder.getNamedAttr("policy", builder.getStringAttr(choice->policy)),
          builder.getNamedAttr("symbol", builder.getStringAttr(symbol.getName())),
      }));
      ++numSymbols;
      numBuckets += choice->sizes.size();
    }
    if (!described.empty()) {
      symbols.append(added);
      graph.setSymbolsAttr(builder.getArrayAttr(symbols));
      kBucketedAttr.set(graph, builder.getArrayAttr(described));
    }
  }

  /// s77 -> b77.
  static std::string nameOf(StringRef symbol) {
    unsigned number;
    StringRef digits = symbol;
    return digits.consume_front("s") && !digits.getAsInteger(10, number) ? "b" + digits.str()
                                                                         : "b_" + symbol.str();
  }
};
} // namespace
