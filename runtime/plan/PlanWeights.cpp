#include "runtime/plan/PlanWeights.h"

#include "runtime/plan/StorageSpan.h"

#include <algorithm>

namespace frit {

static const format::Weight *entryOf(const DecodedPlan &plan, uint32_t number) {
  int32_t weight = plan.source->constants()->Get(number)->weight();
  const auto *weights = plan.artifact->root().weights();
  return weight < 0 || !weights || static_cast<uint32_t>(weight) >= weights->size()
             ? nullptr
             : weights->Get(static_cast<uint32_t>(weight));
}

/// "constant 3 ('layer.weight')": with the weight's own name, which the user knows.
static std::string placeOf(const DecodedPlan &plan, uint32_t number) {
  const format::Weight *weight = entryOf(plan, number);
  const flatbuffers::String *name =
      weight && weight->name() ? weight->name() : plan.source->constants()->Get(number)->name();
  return "constant " + std::to_string(number) + (name ? " ('" + name->str() + "')" : "");
}

Result<WeightView> weightOf(const DecodedPlan &plan, uint32_t number) {
  std::string place = placeOf(plan, number);
  const format::Weight *entry = entryOf(plan, number);
  if (!entry) {
    return Status::error(
        ErrorKind::BadInput,
        place + " of the graph is not in the file; compile a .pt2, which has its weights");
  }
  const format::Weight &weight = *entry;
  if (weight.given()) {
    return Status::error(ErrorKind::BadInput,
                         place + " of the graph is given by the caller, by name");
  }
  auto list = [](const auto *values) {
    return values ? std::vector<int64_t>(values->begin(), values->end()) : std::vector<int64_t>();
  };
  // The mapping is copy-on-write.
  auto *data = const_cast<uint8_t *>(plan.artifact->weights().data()) + weight.offset();
  WeightView view = {data, list(weight.sizes()), list(weight.strides()), weight.dtype(),
                     weight.bytes()};
  // The reader has checked that there are equally many and that the dtype is known (BodyChecks).
  std::optional<uint64_t> span = spanOf(view.sizes, view.strides);
  uint64_t bytes;
  if (!span || __builtin_mul_overflow(*span, bytesOf(view.dtype), &bytes) ||
      bytes > weight.bytes() || weight.offset() % bytesOf(view.dtype) != 0) {
    return Status::error(
        ErrorKind::BadArtifact,
        place + " reaches beyond its weight in the file, or begins inside of an element; "
                "compile it again");
  }
  TensorView seen = {data,
                     view.sizes.data(),
                     view.strides.data(),
                     static_cast<int64_t>(view.sizes.size()),
                     0,
                     view.dtype,
                     plan.tensors[plan.source->constants()->Get(number)->tensor()].device};
  if (Status status = fitsConstant(plan, number, seen); !status.isOk()) {
    return Status::error(ErrorKind::BadArtifact, status.message() + "; compile it again");
  }
  return view;
}

Status fitsConstant(const DecodedPlan &plan, uint32_t number, const TensorView &view) {
  auto wrong = [&](const std::string &what, const std::string &expected) {
    return Status::error(ErrorKind::BadInput,
                         placeOf(plan, number) + ": " + what + ", compiled for " + expected);
  };
  const TensorType &type = plan.tensors[plan.source->constants()->Get(number)->tensor()];
  if (view.dtype != type.dtype) {
    return wrong(std::string("its dtype is ") + nameOf(view.dtype), nameOf(type.dtype));
  }
  if (view.device != type.device) {
    return wrong(std::string("it lies on ") + format::EnumNameDevice(view.device),
                 format::EnumNameDevice(type.device));
  }
  if (type.rank < 0) {
    return Status::ok();
  }
  if (view.rank != type.rank) {
    return wrong("it has " + std::to_string(view.rank) + " dimensions", std::to_string(type.rank));
  }
  bool empty = false;
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    int64_t size = plan.initialInts[type.sizes[dim]];
    if (view.sizes[dim] != size) {
      return wrong("its size along dimension " + std::to_string(dim) + " is " +
                       std::to_string(view.sizes[dim]),
                   std::to_string(size));
    }
    empty |= size == 0;
  }
  for (int64_t dim = 0; dim < view.rank && type.hasStrides && !empty; ++dim) {
    int64_t stride = plan.initialInts[type.strides[dim]];
    if (view.strides[dim] != stride && view.sizes[dim] != 1) {
      return wrong("its stride along dimension " + std::to_string(dim) + " is " +
                       std::to_string(view.strides[dim]),
                   std::to_string(stride));
    }
  }
  return Status::ok();
}

std::optional<std::string> givenName(const DecodedPlan &plan, uint32_t number) {
  const format::Weight *weight = entryOf(plan, number);
  return weight && weight->given() ? std::optional(weight->name()->str()) : std::nullopt;
}

/// "'a', 'b' and 3 more".
static std::string inQuotes(const std::vector<std::string> &names) {
  constexpr size_t kMostNames = 4;
  std::string text;
  for (size_t at = 0; at < std::min(names.size(), kMostNames); ++at) {
    text += (at ? ", '" : "'") + names[at] + "'";
  }
  return text + (names.size() > kMostNames
                     ? " and " + std::to_string(names.size() - kMostNames) + " more"
                     : "");
}

Status checkGiven(const Artifact &artifact, const std::vector<std::string> &names) {
  std::vector<std::string> wanted, missing, unknown;
  for (uint32_t at = 0; artifact.root().weights() && at < artifact.root().weights()->size(); ++at) {
    if (const format::Weight &weight = *artifact.root().weights()->Get(at); weight.given()) {
      wanted.push_back(weight.name()->str());
    }
  }
  if (wanted.empty() && !names.empty()) {
    return Status::error(ErrorKind::BadInput, "the artifact brings its own weights, and takes none "
                                              "by name; compile it with --weights=none");
  }
  auto has = [](const std::vector<std::string> &list, const std::string &name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(missing),
               [&](const std::string &name) { return !has(names, name); });
  std::copy_if(names.begin(), names.end(), std::back_inserter(unknown),
               [&](const std::string &name) { return !has(wanted, name); });
  if (!missing.empty()) {
    return Status::error(ErrorKind::BadInput,
                         "the artifact was compiled without weights; missing: " +
                             inQuotes(missing));
  }
  return unknown.empty() ? Status::ok()
                         : Status::error(ErrorKind::BadInput, "the artifact has no weights " +
                                                                  inQuotes(unknown) + "; it has " +
                                                                  inQuotes(wanted));
}

} // namespace frit
