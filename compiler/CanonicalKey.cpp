// Writes the canonical form in one walk: values get numbers, and every attribute and type is
// printed once and then referred to by a number. Sizes are renamed before they are printed, because
// the order of a sum depends on the names in it. Printing the module would take four times as long.

#include "compiler/CanonicalKey.h"

#include "ir/FritAttributes.h"
#include "ir/FritOps.h"
#include "ir/SizeExpr.h"
#include "runtime/artifact/Artifact.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

namespace {
/// Attributes that only record how the program was written.
bool isRemark(StringRef name) {
  return name == kLegalizedAttr.getName() || name == kMutantsAttr.getName();
}

class Writer {
public:
  explicit Writer(ModuleOp module) : stream(text) {
    collectSymbols(module);
    replacer.addReplacement([this](SizeAttr size) -> std::pair<Attribute, WalkResult> {
      return {SizeExpr(size).substitute(sizes).getAttr(), WalkResult::skip()};
    });
    replacer.addReplacement([this](SymbolAttr symbol) -> std::pair<Attribute, WalkResult> {
      // Schedules use only the power of two of a hint.
      std::optional<int64_t> hint = symbol.getHint();
      if (hint && *hint > 1) {
        hint = int64_t(1) << llvm::Log2_64(static_cast<uint64_t>(*hint));
      }
      return {SymbolAttr::get(symbol.getContext(), nameOf(symbol.getName()), symbol.getMin(),
                              symbol.getMax(), hint, symbol.getDivisor(), symbol.getUnbacked(),
                              symbol.getBuckets(), nameOf(symbol.getBucketOf())),
              WalkResult::skip()};
    });
    replacer.addReplacement([this](FlatSymbolRefAttr graph) -> std::pair<Attribute, WalkResult> {
      auto known = graphs.find(graph.getValue());
      Attribute renamed =
          known == graphs.end()
              ? graph
              : FlatSymbolRefAttr::get(graph.getContext(), "graph" + std::to_string(known->second));
      return {renamed, WalkResult::skip()};
    });
    write(module.getOperation());
  }

  CanonicalForm finish(StringRef buckets) {
    writeBuckets(buckets);
    Digest digest = sha256({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    return {llvm::toHex(digest, /*LowerCase=*/true), std::move(symbols)};
  }

private:
  void collectSymbols(ModuleOp module) {
    for (auto graph : module.getOps<GraphOp>()) {
      graphs.try_emplace(graph.getSymName(), graphs.size());
      for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
        // The names are distinct from torch's, which begin with a letter.
        std::string name = "_" + std::to_string(symbols.size());
        if (sizes.try_emplace(symbol.getName(), SizeExpr::symbol(module.getContext(), name))
                .second) {
          symbols.push_back(symbol.getName().str());
        }
      }
    }
  }

  std::string nameOf(StringRef symbol) {
    auto known = sizes.find(symbol);
    return known == sizes.end() ? symbol.str() : known->second.getSymbol()->str();
  }

  template <typename T> void writeOnce(T value) {
    auto [known, isNew] = printed.try_emplace(value.getAsOpaquePointer(), printed.size());
    stream << ' ' << known->second;
    if (isNew) {
      stream << '=' << replacer.replace(value) << '\n';
    }
  }

  void number(Value value) {
    numbers.try_emplace(value, numbers.size());
    writeOnce(value.getType());
  }

  void write(Operation *op) {
    writeOnce(op->getName().getIdentifier());
    for (Value operand : op->getOperands()) {
      stream << " %" << numbers.at(operand);
    }
    DictionaryAttr attributes = op->getAttrDictionary();
    if (isa<GraphOp>(op)) {
      // The name is arbitrary; a call refers to the graph by its number.
      NamedAttrList kept(attributes);
      kept.erase(SymbolTable::getSymbolAttrName());
      for (NamedAttribute entry : attributes) {
        if (isRemark(entry.getName())) {
          kept.erase(entry.getName());
        }
      }
      attributes = kept.getDictionary(op->getContext());
    }
    writeOnce<Attribute>(attributes);
    for (Value result : op->getResults()) {
      number(result);
    }
    for (Region &region : op->getRegions()) {
      stream << " {";
      for (Block &block : region) {
        stream << " ^";
        for (Value argument : block.getArguments()) {
          number(argument);
        }
        stream << '\n';
        for (Operation &inner : block) {
          write(&inner);
        }
      }
      stream << '}';
    }
    stream << '\n';
  }

  /// Writes `%s77=8,16;x[0]=ramp` with the new names.
  void writeBuckets(StringRef buckets) {
    for (StringRef rest = buckets; !rest.empty();) {
      StringRef entry;
      std::tie(entry, rest) = rest.split(';');
      auto [name, list] = entry.split('=');
      stream << (name.consume_front("%") ? "%" + nameOf(name) : name.str()) << '=' << list << ';';
    }
  }

  std::string text;
  llvm::raw_string_ostream stream;
  AttrTypeReplacer replacer;
  llvm::StringMap<SizeExpr> sizes;
  llvm::StringMap<size_t> graphs;
  std::vector<std::string> symbols;
  llvm::DenseMap<const void *, size_t> printed;
  llvm::DenseMap<Value, size_t> numbers;
};
} // namespace

CanonicalForm canonicalForm(ModuleOp module, const std::string &buckets) {
  return Writer(module).finish(buckets);
}

} // namespace frit
