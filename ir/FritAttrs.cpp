// Text forms of the attributes, and queries of indexing maps.
#include "ir/FritOps.h"
#include "ir/SizeText.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::frit;

#include "ir/FritAttrInterfaces.cpp.inc"
#include "ir/FritEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/FritAttrs.cpp.inc"

void FritDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/FritAttrs.cpp.inc"
      >();
}

LogicalResult TorchEnumAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                    StringRef kind, int64_t, StringRef) {
  if (kind != "layout" && kind != "memory_format" && kind != "device") {
    return emitError() << "'" << kind << "' is none of layout, memory_format and device";
  }
  return success();
}

LogicalResult ComplexAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  FloatAttr real, FloatAttr imag) {
  if (!real.getType().isF64() || !imag.getType().isF64()) {
    return emitError() << "the parts of a complex literal are f64";
  }
  return success();
}

/// A letter and a number stand for a dim, a parameter or a value.
SizeSymbolAttr SizeSymbolAttr::get(MLIRContext *context, StringRef name) {
  SizeSymbolKind kind = llvm::StringSwitch<SizeSymbolKind>(name.take_front())
                            .Case("d", SizeSymbolKind::Dim)
                            .Case("p", SizeSymbolKind::Parameter)
                            .Case("v", SizeSymbolKind::Value)
                            .Default(SizeSymbolKind::Graph);
  unsigned position = 0;
  if (kind != SizeSymbolKind::Graph && name.drop_front().getAsInteger(10, position)) {
    kind = SizeSymbolKind::Graph;
    position = 0;
  }
  return Base::get(context, kind, position, name);
}

SizeSymbolAttr SizeSymbolAttr::dim(MLIRContext *context, unsigned position) {
  return Base::get(context, SizeSymbolKind::Dim, position, ("d" + Twine(position)).str());
}

SizeSymbolAttr SizeSymbolAttr::parameter(MLIRContext *context, unsigned position) {
  return Base::get(context, SizeSymbolKind::Parameter, position, ("p" + Twine(position)).str());
}

SizeSymbolAttr SizeSymbolAttr::value(MLIRContext *context, unsigned position) {
  return Base::get(context, SizeSymbolKind::Value, position, ("v" + Twine(position)).str());
}

LogicalResult BufferAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 BufferKind kind, std::optional<unsigned> argument, SizeAttr) {
  if ((kind == BufferKind::Argument) != argument.has_value()) {
    return emitError() << "a buffer names an argument exactly if its storage is that argument's";
  }
  return success();
}

static ParseResult parseSizeList(AsmParser &parser, SmallVectorImpl<SizeAttr> &sizes,
                                 AsmParser::Delimiter delimiter) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    auto size = parseSize(parser);
    if (failed(size)) {
      return failure();
    }
    sizes.push_back(*size);
    return success();
  });
}

static void printSizeList(AsmPrinter &printer, ArrayRef<SizeAttr> sizes) {
  llvm::interleaveComma(sizes, printer.getStream(),
                        [&](SizeAttr size) { printSize(printer.getStream(), size); });
}

//===----------------------------------------------------------------------===//
// #frit.size, #frit.size_call, #frit.dims, #frit.layout
//===----------------------------------------------------------------------===//

Attribute SizeAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) {
    return {};
  }
  auto size = parseSize(parser);
  if (failed(size) || parser.parseGreater()) {
    return {};
  }
  return size->getAttr();
}

void SizeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printSize(printer.getStream(), *this);
  printer << '>';
}

Attribute SizeCallAttr::parse(AsmParser &parser, Type) {
  parser.emitError(parser.getCurrentLocation(),
                   "a size function is written inside #frit.size, not alone");
  return {};
}

void SizeCallAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifySizeFunction(getFunction()) << ' ' << getLhs() << ", " << getRhs()
          << '>';
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<SizeAttr> sizes;
  if (parser.parseLess() || parseSizeList(parser, sizes, AsmParser::Delimiter::Square) ||
      parser.parseGreater()) {
    return {};
  }
  return DimsAttr::get(parser.getContext(), sizes);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printSizeList(printer, getSizes());
  printer << "]>";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<SizeAttr> strides;
  if (parser.parseLess() || parseSizeList(parser, strides, AsmParser::Delimiter::Square)) {
    return {};
  }
  SizeExpr offset = SizeExpr::constant(parser.getContext(), 0);
  if (succeeded(parser.parseOptionalComma())) {
    auto parsed =
        parser.parseKeyword("offset") ? FailureOr<SizeExpr>(failure()) : parseSize(parser);
    if (failed(parsed)) {
      return {};
    }
    offset = *parsed;
  }
  if (parser.parseGreater()) {
    return {};
  }
  return LayoutAttr::get(parser.getContext(), strides, offset);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printSizeList(printer, getStrides());
  printer << ']';
  if (!SizeExpr(getOffset()).isConstant(0)) {
    printer << ", offset ";
    printSize(printer.getStream(), getOffset());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// #frit.symbol
//===----------------------------------------------------------------------===//

Attribute SymbolAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t min = 0, divisor = 1;
  std::optional<int64_t> max, hint;
  bool unbacked = false;
  SmallVector<int64_t> buckets;
  std::string bucketOf;
  if (parser.parseLess() || parser.parseString(&name)) {
    return {};
  }
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key)) {
      return {};
    }
    if (key == "unbacked") {
      unbacked = true;
      continue;
    }
    if (key == "buckets") {
      auto parseBucket = [&] { return parser.parseInteger(buckets.emplace_back()); };
      if (parser.parseEqual() ||
          parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseBucket)) {
        return {};
      }
      int64_t low = 0;
      for (int64_t bucket : buckets) {
        if (bucket <= low) {
          parser.emitError(loc, "buckets must be positive and ascending, found ")
              << bucket << " after " << low;
          return {};
        }
        low = bucket;
      }
      continue;
    }
    if (key == "bucket_of") {
      if (parser.parseEqual() || parser.parseString(&bucketOf)) {
        return {};
      }
      continue;
    }
    int64_t value;
    if (parser.parseEqual() || parser.parseInteger(value)) {
      return {};
    }
    if (key == "min") {
      min = value;
    } else if (key == "max") {
      max = value;
    } else if (key == "hint") {
      hint = value;
    } else if (key == "divisor" && value >= 1) {
      divisor = value;
    } else {
      parser.emitError(loc, "unknown fact '")
          << key
          << "' of a symbol: expected min, max, hint, divisor >= 1, buckets, bucket_of or "
             "unbacked";
      return {};
    }
  }
  if (parser.parseGreater()) {
    return {};
  }
  return SymbolAttr::get(parser.getContext(), name, min, max, hint, divisor, unbacked, buckets,
                         bucketOf);
}

void SymbolAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getName());
  printer << ", min = " << getMin();
  if (getMax()) {
    printer << ", max = " << *getMax();
  }
  if (getHint()) {
    printer << ", hint = " << *getHint();
  }
  if (getDivisor() != 1) {
    printer << ", divisor = " << getDivisor();
  }
  if (getUnbacked()) {
    printer << ", unbacked";
  }
  if (!getBuckets().empty()) {
    printer << ", buckets = [" << getBuckets() << ']';
  }
  if (!getBucketOf().empty()) {
    printer << ", bucket_of = ";
    printer.printString(getBucketOf());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// #frit.assume
//===----------------------------------------------------------------------===//

Attribute AssumptionAttr::parse(AsmParser &parser, Type) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&name)) {
    return {};
  }
  std::optional<GuardKind> kind = symbolizeGuardKind(name);
  if (!kind) {
    parser.emitError(loc, "unknown kind of assumption '") << name << "'";
    return {};
  }
  SmallVector<int64_t> operands;
  SmallVector<SizeAttr> sizes;
  std::string origin;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    SMLoc keyLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key)) {
      return {};
    }
    ParseResult parsed = success();
    if (key == "operands") {
      parsed = parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(operands.emplace_back());
      });
    } else if (key == "sizes") {
      parsed = parseSizeList(parser, sizes, AsmParser::Delimiter::Square);
    } else if (key == "origin") {
      parsed = parser.parseString(&origin);
    } else {
      parsed = parser.emitError(keyLoc, "expected operands, sizes or origin, found '")
               << key << "'";
    }
    if (parsed) {
      return {};
    }
  }
  if (parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<AssumptionAttr>(loc, parser.getContext(), *kind, operands, sizes,
                                           origin);
}

void AssumptionAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyGuardKind(getKind());
  if (!getOperands().empty()) {
    printer << ", operands [" << getOperands() << ']';
  }
  if (!getSizes().empty()) {
    printer << ", sizes [";
    printSizeList(printer, getSizes());
    printer << ']';
  }
  printer << ", origin ";
  printer.printString(getOrigin());
  printer << '>';
}

LogicalResult AssumptionAttr::verify(function_ref<InFlightDiagnostic()> emitError, GuardKind kind,
                                     ArrayRef<int64_t> operands, ArrayRef<SizeAttr> sizes,
                                     StringRef origin) {
  struct Form {
    size_t operands;
    std::optional<size_t> sizes;
  };
  Form form = {};
  switch (kind) {
  case GuardKind::Equal:
  case GuardKind::Divisor:
    form = {0, 2};
    break;
  case GuardKind::Range:
    form = {0, 3};
    break;
  case GuardKind::Strides:
    form = {1, std::nullopt};
    break;
  case GuardKind::Aligned:
    form = {1, 1};
    break;
  case GuardKind::Index32:
    form = {0, 1};
    break;
  case GuardKind::Disjoint:
    form = {2, 0};
    break;
  }
  StringRef name = stringifyGuardKind(kind);
  if (operands.size() != form.operands || (form.sizes && sizes.size() != *form.sizes)) {
    return emitError() << "assumption '" << name << "' has " << operands.size() << " operands and "
                       << sizes.size() << " sizes";
  }
  for (int64_t operand : operands) {
    if (operand < 0) {
      return emitError() << "assumption '" << name << "' speaks of operand " << operand;
    }
  }
  if (kind == GuardKind::Divisor || kind == GuardKind::Aligned) {
    std::optional<int64_t> by = SizeExpr(sizes.back()).getConstant();
    if (!by || *by < 1) {
      return emitError() << "assumption '" << name << "' needs a positive constant";
    }
  }
  if (origin.empty()) {
    return emitError() << "assumption '" << name << "' does not say who makes it";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// #frit.map
//===----------------------------------------------------------------------===//

static ParseResult parseNames(AsmParser &parser, char letter, unsigned &count,
                              AsmParser::Delimiter delimiter) {
  count = 0;
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name)) {
      return failure();
    }
    std::string expected = (Twine(letter) + Twine(count)).str();
    if (name != expected) {
      return parser.emitError(loc, "expected '") << expected << "', found '" << name << "'";
    }
    ++count;
    return success();
  });
}

Attribute MapAttr::parse(AsmParser &parser, Type) {
  unsigned numDims, numValues;
  SmallVector<SizeAttr> results, exprs, lows, highs;
  if (parser.parseLess() || parseNames(parser, 'd', numDims, AsmParser::Delimiter::Paren) ||
      parseNames(parser, 'v', numValues, AsmParser::Delimiter::OptionalSquare) ||
      parser.parseArrow() || parseSizeList(parser, results, AsmParser::Delimiter::Paren)) {
    return {};
  }
  if (succeeded(parser.parseOptionalKeyword("where"))) {
    // `expr in low to high`, or `low <= expr < high` where the parser of the operation reads it:
    // inside a dialect attribute MLIR requires every `<` to have its `>`.
    auto clause = [&]() -> ParseResult {
      auto expr = parseSize(parser);
      if (failed(expr)) {
        return failure();
      }
      FailureOr<SizeExpr> low = *expr, high = *expr;
      if (succeeded(parser.parseOptionalLess())) {
        if (parser.parseEqual() || failed(expr = parseSize(parser)) || parser.parseLess() ||
            failed(high = parseSize(parser))) {
          return failure();
        }
      } else if (parser.parseKeyword("in") || failed(low = parseSize(parser)) ||
                 parser.parseKeyword("to") || failed(high = parseSize(parser))) {
        return failure();
      }
      lows.push_back(*low);
      exprs.push_back(*expr);
      highs.push_back(*high);
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, clause)) {
      return {};
    }
  }
  if (parser.parseGreater()) {
    return {};
  }
  return MapAttr::get(parser.getContext(), numDims, numValues, results, exprs, lows, highs);
}

void MapAttr::print(AsmPrinter &printer) const {
  auto names = [&](char letter, unsigned count) {
    llvm::interleaveComma(llvm::seq(count), printer.getStream(),
                          [&](unsigned i) { printer << letter << i; });
  };
  printer << "<(";
  names('d', getNumDims());
  printer << ')';
  if (getNumValues()) {
    printer << '[';
    names('v', getNumValues());
    printer << ']';
  }
  printer << " -> (";
  printSizeList(printer, getResults());
  printer << ')';
  if (hasBounds()) {
    printer << " where [";
    llvm::interleaveComma(llvm::seq<size_t>(0, getBoundExprs().size()), printer.getStream(),
                          [&](size_t i) {
                            printSize(printer.getStream(), getBoundExprs()[i]);
                            printer << " in ";
                            printSize(printer.getStream(), getBoundLows()[i]);
                            printer << " to ";
                            printSize(printer.getStream(), getBoundHighs()[i]);
                          });
    printer << ']';
  }
  printer << '>';
}

MapAttr MapAttr::getIdentity(MLIRContext *context, unsigned rank) {
  SmallVector<SizeAttr> results;
  for (unsigned i = 0; i < rank; ++i) {
    results.push_back(SizeExpr::dim(context, i));
  }
  return get(context, rank, results);
}

MapAttr MapAttr::get(MLIRContext *context, unsigned numDims, ArrayRef<SizeAttr> results) {
  return get(context, numDims, 0, results, {}, {}, {});
}

bool MapAttr::isIdentity() const {
  return !hasBounds() && getNumValues() == 0 && getResults().size() == getNumDims() &&
         llvm::all_of(llvm::enumerate(getResults()), [](auto it) {
           auto dim = SizeExpr(it.value()).getDim();
           return dim && *dim == it.index();
         });
}

std::optional<SmallVector<unsigned>> MapAttr::getPermutation() const {
  if (hasBounds() || getResults().size() != getNumDims()) {
    return std::nullopt;
  }
  SmallVector<unsigned> permutation;
  llvm::SmallBitVector seen(getNumDims());
  for (SizeAttr result : getResults()) {
    auto dim = SizeExpr(result).getDim();
    if (!dim || *dim >= getNumDims() || seen[*dim]) {
      return std::nullopt;
    }
    seen.set(*dim);
    permutation.push_back(*dim);
  }
  return permutation;
}
