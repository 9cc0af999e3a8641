// Makes, moves and reduces values. Arithmetic is in TensorArithmetic.cpp.
#include "passes/legalize/TensorBuilder.h"

#include "ir/Planted.h"
#include "ir/SourceLines.h"
#include "kernel/ReductionAlgebra.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::frit;

DType Scalar::dtype() const {
  if (auto *host = std::get_if<Value>(&value)) {
    Type type = host->getType();
    return isa<FloatType>(type) ? DType::F64 : type.isInteger(1) ? DType::Bool : DType::I64;
  }
  return std::holds_alternative<double>(value) ? DType::F64
         : std::holds_alternative<bool>(value) ? DType::Bool
                                               : DType::I64;
}

std::optional<double> Scalar::literal() const {
  if (auto *integer = std::get_if<int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (auto *number = std::get_if<double>(&value)) {
    return *number;
  }
  if (auto *boolean = std::get_if<bool>(&value)) {
    return *boolean ? 1.0 : 0.0;
  }
  return std::nullopt;
}

RankedTensorType TensorBuilder::typeOf(Sizes sizes, DType dtype) const {
  return getTensorType(sizes, getElementType(getContext(), dtype));
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

TypedAttr TensorBuilder::elementAttr(DType dtype, const Scalar &literal) {
  Type type = getElementType(getContext(), dtype);
  if (isFloating(dtype)) {
    // FloatAttr rounds once from double; torch goes through float for the half types.
    double value = *literal.literal();
    return FloatAttr::get(type,
                          isHalf(dtype) ? static_cast<double>(static_cast<float>(value)) : value);
  }
  if (dtype == DType::Bool) {
    return IntegerAttr::get(type, *literal.literal() != 0);
  }
  int64_t value = std::holds_alternative<int64_t>(literal.value)
                      ? std::get<int64_t>(literal.value)
                      : static_cast<int64_t>(*literal.literal());
  return IntegerAttr::get(type, APInt(getBits(dtype), static_cast<uint64_t>(value),
                                      /*isSigned=*/false, /*implicitTrunc=*/true));
}

static Tensor rankZero(OpBuilder &builder, Location loc, TypedAttr element, DType dtype) {
  auto type = RankedTensorType::get({}, element.getType());
  return {arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, element)), dtype};
}

Tensor TensorBuilder::constant(DType dtype, double value) {
  return rankZero(builder, loc, elementAttr(dtype, Scalar{value}), dtype);
}

Tensor TensorBuilder::constantInt(DType dtype, int64_t value) {
  return rankZero(builder, loc, elementAttr(dtype, Scalar{value}), dtype);
}

Tensor TensorBuilder::scalar(const Scalar &scalar, DType dtype) {
  if (scalar.literal()) {
    return rankZero(builder, loc, elementAttr(dtype, scalar), dtype);
  }
  Value host = std::get<Value>(scalar.value);
  auto type = RankedTensorType::get({}, host.getType());
  Value tensor = tensor::FromElementsOp::create(builder, loc, type, ValueRange{host});
  return cast({tensor, scalar.dtype()}, dtype);
}

Tensor TensorBuilder::sizeValue(SizeExpr size, DType dtype) {
  if (auto value = size.getConstant()) {
    return constantInt(dtype, *value);
  }
  return scalar(Scalar{SizeOp::create(builder, loc, builder.getI64Type(), size).getResult()},
                dtype);
}

Tensor TensorBuilder::iota(SizeExpr expr, Sizes sizes) {
  return {IotaOp::create(builder, loc, typeOf(sizes, DType::I64), expr), DType::I64};
}

Tensor TensorBuilder::checkedIndex(Tensor index, SizeExpr extent, std::optional<IndexError> raises,
                                   std::optional<int64_t> at) {
  Tensor counting = iota(dim(0), {extent});
  SmallVector<SizeAttr> results = {SizeExpr::value(getContext(), 0)};
  auto map = MapAttr::get(getContext(), index.rank(), 1, results, {}, {}, {});
  auto gather =
      GatherOp::create(builder, loc, index.value.getType(), counting.value, ValueRange{index.value},
                       map, raises ? IndexCheck::NonNegative : IndexCheck::Wrap);
  if (raises) {
    gather.setRaises(*raises);
  }
  if (at) {
    gather.setDimension(*at);
  }
  return {gather, DType::I64};
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

Tensor TensorBuilder::reindex(Tensor x, MapAttr map, Sizes sizes, TypedAttr fill) {
  RankedTensorType type = typeOf(sizes, x.dtype);
  if (map.isIdentity() && !fill && type == x.type()) {
    return x;
  }
  return {ReindexOp::create(builder, loc, type, x.value, map, fill), x.dtype};
}

Tensor TensorBuilder::reindex(Tensor x, ArrayRef<SizeExpr> results, Sizes sizes) {
  SmallVector<SizeAttr> attrs(results.begin(), results.end());
  return reindex(x, MapAttr::get(getContext(), sizes.size(), attrs), sizes);
}

void TensorBuilder::assumeEqual(SizeExpr a, SizeExpr b) {
  SmallVector<std::string> lines;
  collectSourceLines(loc, lines);
  std::string origin = "elementwise operands" + (lines.empty() ? "" : " (" + lines.front() + ")");
  SizeAttr pair[] = {a, b};
  GuardOp::create(builder, loc,
                  AssumptionAttr::get(getContext(), GuardKind::Equal, {}, pair, origin));
}

void TensorBuilder::assumeBetween(SizeExpr a, int64_t low, int64_t high) {
  SmallVector<std::string> lines;
  collectSourceLines(loc, lines);
  std::string origin =
      "the type that holds the number" + (lines.empty() ? "" : " (" + lines.front() + ")");
  SizeAttr sizes[] = {a, size(low), size(high)};
  GuardOp::create(builder, loc,
                  AssumptionAttr::get(getContext(), GuardKind::Range, {}, sizes, origin));
}

Tensor TensorBuilder::broadcast(Tensor x, Sizes sizes) {
  SmallVector<SizeExpr> from = x.sizes(), results;
  size_t lead = sizes.size() - from.size();
  for (auto [i, size] : llvm::enumerate(from)) {
    bool stretched = isOne(size) && !isOne(sizes[lead + i]);
    if (!stretched && size != sizes[lead + i]) {
      assumeEqual(size, sizes[lead + i]);
    }
    results.push_back(stretched ? this->size(0) : dim(lead + i));
  }
  return reindex(x, results, sizes);
}

SmallVector<SizeExpr> TensorBuilder::broadcastSizes(Sizes lhs, Sizes rhs) {
  if (lhs.size() < rhs.size()) {
    std::swap(lhs, rhs);
  }
  SmallVector<SizeExpr> sizes(lhs);
  size_t lead = lhs.size() - rhs.size();
  for (auto [i, size] : llvm::enumerate(rhs)) {
    SizeExpr &other = sizes[lead + i];
    // torch has proved the two sizes equal; a constant says more.
    if (isOne(other) || (!isOne(size) && size.getConstant())) {
      other = size;
    }
  }
  return sizes;
}

Tensor TensorBuilder::reshape(Tensor x, Sizes sizes) {
  SmallVector<SizeExpr> from = x.sizes();
  if (ArrayRef<SizeExpr>(from) == sizes) {
    return x;
  }
  SmallVector<SizeExpr> results(from.size(), size(0));
  size_t i = 0, j = 0;
  while (i < from.size() || j < sizes.size()) {
    if (i < from.size() && j < sizes.size() && from[i] == sizes[j]) {
      results[i++] = dim(j++);
    } else if (i < from.size() && isOne(from[i])) {
      ++i;
    } else if (j < sizes.size() && isOne(sizes[j])) {
      ++j;
    } else {
      return {ReshapeOp::create(builder, loc, typeOf(sizes, x.dtype), x.value), x.dtype};
    }
  }
  return reindex(x, results, sizes);
}

Tensor TensorBuilder::permute(Tensor x, ArrayRef<int64_t> order) {
  SmallVector<SizeExpr> from = x.sizes(), sizes, results(from.size());
  for (auto [i, source] : llvm::enumerate(order)) {
    sizes.push_back(from[source]);
    results[source] = dim(i);
  }
  return reindex(x, results, sizes);
}

Tensor TensorBuilder::unsqueeze(Tensor x, int64_t dim) {
  SmallVector<SizeExpr> sizes = x.sizes();
  sizes.insert(sizes.begin() + dim, size(1));
  return reshape(x, sizes);
}

Tensor TensorBuilder::slice(Tensor x, int64_t dim, SizeExpr start, SizeExpr length, int64_t step) {
  SmallVector<SizeExpr> sizes = x.sizes(), results;
  for (unsigned i = 0; i < sizes.size(); ++i) {
    results.push_back(i == dim ? this->dim(i) * step + start : this->dim(i));
  }
  sizes[dim] = length;
  return reindex(x, results, sizes);
}

Tensor TensorBuilder::concat(ArrayRef<Tensor> pieces, int64_t dim, Sizes sizes) {
  SmallVector<Value> values;
  DType dtype = pieces.front().dtype;
  for (Tensor piece : pieces) {
    if (!piece.sizes()[dim].isConstant(0)) {
      values.push_back(piece.value);
    }
  }
  if (values.empty()) {
    values.push_back(pieces.front().value);
  }
  RankedTensorType type = typeOf(sizes, dtype);
  if (values.size() == 1 && values.front().getType() == type) {
    return {values.front(), dtype};
  }
  return {ConcatOp::create(builder, loc, type, values, dim), dtype};
}

//===----------------------------------------------------------------------===//
// Reducing
//===----------------------------------------------------------------------===//

SizeExpr TensorBuilder::extent(Tensor x, ArrayRef<int64_t> dims) {
  SmallVector<SizeExpr> sizes = x.sizes();
  SizeExpr total = size(1);
  for (int64_t dim : dims) {
    total = total * sizes[dim];
  }
  return total;
}

Tensor TensorBuilder::scan(ReduceKind kind, Tensor x, int64_t dim) {
  return {
      ScanOp::create(builder, loc, x.value.getType(), kind, x.value, static_cast<uint64_t>(dim)),
      x.dtype};
}

Tensor TensorBuilder::reduce(ReduceKind kind, Tensor x, ArrayRef<int64_t> dims, bool keep) {
  SmallVector<SizeExpr> kept, withOnes;
  for (auto [i, extent] : llvm::enumerate(x.sizes())) {
    bool reduced = llvm::is_contained(dims, static_cast<int64_t>(i));
    withOnes.push_back(reduced ? size(1) : extent);
    if (!reduced) {
      kept.push_back(extent);
    }
  }
  bool positions = isArgReduction(kind);
  bool ordered = positions || kind == ReduceKind::Max || kind == ReduceKind::Min;
  DType dtype = positions ? DType::I64 : x.dtype;
  if (x.rank() == 0 && isPlanted(Mistake::RankZero)) {
    return cast(x, dtype);
  }
  bool isUnsigned = ordered && x.dtype == DType::U8;
  Tensor result{
      ReduceOp::create(builder, loc, typeOf(kept, dtype), kind, x.value, dims, isUnsigned), dtype};
  return keep ? reshape(result, withOnes) : result;
}
