// Registers and places of a replayed plan, and the main check of the proof: a read must find the
// value that the graph passes.

#include "compiler/PlanReplay.h"
#include "ir/FritAttributes.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

Value baseOf(Value value, SmallVectorImpl<Operation *> *views) {
  for (Operation *op = value.getDefiningOp(); isLook(op); op = value.getDefiningOp()) {
    if (views) {
      views->push_back(op);
    }
    value = op->getOperand(0);
  }
  return value;
}

LogicalResult PlanReplay::fail(const std::string &by, const Twine &what) {
  if (message.empty()) {
    message = (by + ": " + what).str();
  }
  return failure();
}

std::string PlanReplay::nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto name = kArgumentNameAttr.get(graph, argument.getArgNumber());
    return "argument " + (name ? "'" + name.str() + "'" : std::to_string(argument.getArgNumber()));
  }
  Operation *op = value.getDefiningOp();
  std::string name = op->getName().getStringRef().str();
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    name = launch.getKernel().str();
  } else if (auto call = dyn_cast<AtenOp>(op)) {
    name = call.getOpName().str();
  }
  unsigned number = cast<OpResult>(value).getResultNumber();
  return "result " + std::to_string(number) + " of " + name;
}

std::string PlanReplay::listOf(ArrayRef<Value> values) {
  std::string text;
  for (Value value : values) {
    text += (text.empty() ? "" : ", ") + nameOf(value);
  }
  return text.empty() ? "nothing" : text;
}

LogicalResult PlanReplay::describe(uint32_t reg, Place &place, const std::string &by) {
  if (reg >= plan.tensors.size()) {
    return fail(by, "tensor register " + Twine(reg) + " is not there");
  }
  const format::TensorT &tensor = *plan.tensors[reg];
  place.elementBytes = bytesOfElement(tensor.dtype);
  place.isKnown = tensor.rank >= 0 && tensor.strides.size() == tensor.sizes.size();
  auto fill = [&](const std::vector<uint32_t> &from, SmallVectorImpl<Sampled> &to, int64_t scale) {
    for (uint32_t number : from) {
      std::optional<Sampled> value = samples.reg(number);
      if (!value) {
        return fail(by, "int register " + Twine(number) + " of tensor register " + Twine(reg) +
                            " is read before it is computed");
      }
      to.push_back(*value * scale);
    }
    return success();
  };
  place.sizes.clear();
  place.strides.clear();
  return failure(failed(fill(tensor.sizes, place.sizes, 1)) ||
                 failed(fill(tensor.strides, place.strides, place.elementBytes)));
}

/// Dtypes are compared by name, which graph and plan share.
LogicalResult PlanReplay::checkDtype(uint32_t reg, DTypeAttr wanted, const std::string &by) {
  StringRef name = format::EnumNameDtype(plan.tensors[reg]->dtype);
  if (!wanted || name.equals_insensitive(stringifyDType(wanted.getValue()))) {
    return success();
  }
  return fail(by, "tensor register " + Twine(reg) + " has dtype " + name.lower() +
                      ", and the graph's is " + stringifyDType(wanted.getValue()));
}

LogicalResult PlanReplay::define(uint32_t reg, const Place &place, const std::string &by) {
  if (reg >= registers.size()) {
    return fail(by, "tensor register " + Twine(reg) + " is not there");
  }
  if (registers[reg].isDefined) {
    return fail(by, "tensor register " + Twine(reg) + " is written twice");
  }
  registers[reg] = {true, true, place};
  return success();
}

LogicalResult PlanReplay::alive(uint32_t reg, const Place *&place, const std::string &by) {
  if (reg >= registers.size() || !registers[reg].isAlive) {
    return fail(by, "tensor register " + Twine(reg) +
                        " is used before it is made or after it was dropped");
  }
  place = &registers[reg].place;
  return success();
}

bool PlanReplay::hasSizes(const Place &place, RankedTensorType type) {
  if (!place.isKnown) {
    return true;
  }
  SmallVector<SizeExpr> sizes = getSizes(type);
  return sizes.size() == place.sizes.size() &&
         llvm::all_of(llvm::zip(sizes, place.sizes), [&](auto pair) {
           return samples.equal(samples.of(std::get<0>(pair)), std::get<1>(pair));
         });
}

LogicalResult PlanReplay::read(uint32_t reg, Value value, const std::string &by) {
  const Place *place;
  if (failed(alive(reg, place, by))) {
    return failure();
  }
  return readPlace(*place, value, by);
}

/// Where the base of an alias must lie if the alias lies at `place`.
Place PlanReplay::placeUnder(AliasOp alias, const Place &place) {
  Place under = place;
  auto type = cast<RankedTensorType>(alias.getBase().getType());
  Type element = type.getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  under.elementBytes = complex ? complex.getElementType().getIntOrFloatBitWidth() / 4
                               : std::max(1u, element.getIntOrFloatBitWidth() / 8);
  under.sizes.clear();
  under.strides.clear();
  under.offset = place.offset - samples.of(alias.getLayout().getOffset()) * place.elementBytes;
  for (auto [size, stride] : llvm::zip(getSizes(type), alias.getBaseLayout().getStrides())) {
    under.sizes.push_back(samples.of(size));
    under.strides.push_back(samples.of(stride) * under.elementBytes);
  }
  return under;
}

LogicalResult PlanReplay::readPlace(const Place &place, Value value, const std::string &by) {
  if (auto alias = value.getDefiningOp<AliasOp>()) {
    return readPlace(placeUnder(alias, place), alias.getBase(), by);
  }
  SmallVector<Operation *> views;
  Value base = baseOf(value, &views);
  bool isAliased = llvm::any_of(views, llvm::IsaPred<AliasOp>);
  const Place *held = memory.find(place.storage, base);
  if (!held) {
    return fail(by, "reads " + nameOf(base) + " where the storage holds " +
                        listOf(memory.held(place.storage)));
  }
  for (int other : sharedWith.lookup(base)) {
    if (!memory.find(other, base)) {
      return fail(by, "reads " + nameOf(base) + ", which may lie in storage that was written over");
    }
  }
  if (!held->isKnown || !place.isKnown || isAliased) {
    return success();
  }
  if (views.empty() ? !memory.same(*held, place) : !sameThrough(views, *held, place, value)) {
    return fail(by, "reads " + nameOf(base) + " from other places of its storage than it lies at");
  }
  return success();
}

LogicalResult PlanReplay::write(uint32_t reg, Value value, const std::string &by) {
  const Place *place;
  if (failed(alive(reg, place, by))) {
    return failure();
  }
  if (!hasSizes(*place, cast<RankedTensorType>(value.getType()))) {
    return fail(by, "writes " + nameOf(value) + " with other sizes than it has");
  }
  if (!memory.fits(*place)) {
    return fail(by, "writes " + nameOf(value) + " beyond the end of its storage");
  }
  if (memory.kindOf(place->storage) == PlanMemory::Kind::Constant) {
    return fail(by, "writes " + nameOf(value) + " over a constant");
  }
  memory.write(*place, value);
  written.insert(place->storage);
  return success();
}

namespace {
/// Indices of a tensor at one sample: corners, neighbours of the first element, and some in the
/// middle.
class Indices {
public:
  explicit Indices(ArrayRef<int64_t> sizes) : sizes(sizes) {}

  template <typename F> bool all(F &&agrees) {
    SmallVector<int64_t> index(sizes.size(), 0);
    bool good = agrees(index);
    for (size_t dim = 0; dim != sizes.size() && good; ++dim) {
      for (int64_t at : {int64_t(1), sizes[dim] - 1}) {
        if (at > 0 && at < sizes[dim] && good) {
          index[dim] = at;
          good = agrees(index);
          index[dim] = 0;
        }
      }
    }
    for (uint64_t round = 0; round != 4 && good; ++round) {
      for (size_t dim = 0; dim != sizes.size(); ++dim) {
        // Round 0 is the last element.
        uint64_t mixed = (round * 7 + dim * 13 + 5) * 2654435761u;
        index[dim] = round == 0 ? sizes[dim] - 1
                                : static_cast<int64_t>(mixed % static_cast<uint64_t>(sizes[dim]));
      }
      good = agrees(index);
    }
    return good;
  }

private:
  ArrayRef<int64_t> sizes;
};
} // namespace

static int64_t addressOf(const Place &place, ArrayRef<int64_t> index, unsigned sample) {
  int64_t address = place.offset[sample];
  for (auto [at, stride] : llvm::zip(index, place.strides)) {
    address += at * stride[sample];
  }
  return address;
}

bool PlanReplay::sameThrough(ArrayRef<Operation *> views, const Place &base, const Place &shown,
                             Value value) {
  if (base.origin != shown.origin || base.elementBytes != shown.elementBytes ||
      !hasSizes(shown, cast<RankedTensorType>(value.getType()))) {
    return false;
  }
  for (unsigned sample = 0; sample != samples.count(); ++sample) {
    auto sizesOf = [&](Value tensor) {
      SmallVector<int64_t> sizes;
      for (SizeExpr size : getSizes(cast<RankedTensorType>(tensor.getType()))) {
        sizes.push_back(samples.of(size)[sample]);
      }
      return sizes;
    };
    /// Maps an index of a view's result to one of its operand.
    auto through = [&](Operation *view,
                       ArrayRef<int64_t> index) -> std::optional<SmallVector<int64_t>> {
      SmallVector<int64_t> source;
      if (auto reindex = dyn_cast<ReindexOp>(view)) {
        for (SizeAttr result : reindex.getMap().getResults()) {
          if (auto dim = SizeExpr(result).getDim()) {
            source.push_back(index[*dim]);
            continue;
          }
          auto at = SizeExpr(result).evaluate([&](SizeSymbolAttr name) -> std::optional<int64_t> {
            if (name.isDim() && name.getPosition() < index.size()) {
              return index[name.getPosition()];
            }
            auto symbol = samples.symbol(name);
            return symbol ? std::optional((*symbol)[sample]) : std::nullopt;
          });
          if (!at) {
            return std::nullopt;
          }
          source.push_back(*at);
        }
        return source;
      }
      int64_t linear = 0;
      for (auto [at, size] : llvm::zip(index, sizesOf(view->getResult(0)))) {
        linear = linear * size + at;
      }
      source = sizesOf(view->getOperand(0));
      // The outermost dim takes all that is left: the sizes of a sample need not have as many
      // elements where only the program knows that they have (`x.view(a, b)` with numbers from
      // data).
      size_t outermost =
          llvm::find_if(source, [](int64_t size) { return size != 1; }) - source.begin();
      for (size_t dim = source.size(); dim-- > 0;) {
        int64_t size = source[dim];
        source[dim] = size == 0 ? 0 : dim == outermost ? linear : linear % size;
        linear = size == 0 || dim == outermost ? 0 : linear / size;
      }
      return source;
    };
    SmallVector<int64_t> sizes = sizesOf(value);
    if (llvm::any_of(sizes, [](int64_t size) { return size <= 0; })) {
      continue;
    }
    bool agree = Indices(sizes).all([&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> at(index);
      for (Operation *view : views) {
        auto source = through(view, at);
        if (!source) {
          return false;
        }
        at = std::move(*source);
      }
      return addressOf(shown, index, sample) == addressOf(base, at, sample);
    });
    if (!agree) {
      return false;
    }
  }
  return true;
}

} // namespace frit
