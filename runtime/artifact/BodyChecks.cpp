#include "runtime/artifact/BodyChecks.h"

#include <bit>
#include <cstring>
#include <set>

namespace frit {

using namespace format;

namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr uint32_t kMaxFeatures = 64;

Status refuseBody(std::string message) {
  return Status::error(ErrorKind::BadArtifact,
                       "not a usable .frit artifact: " + std::move(message) + "; compile it again");
}

/// Checks a name. `place` makes the description of its owner, only for an error.
template <typename Place> Status checkName(const flatbuffers::String *name, Place place) {
  std::string wrong = badName(name);
  return wrong.empty() ? Status::ok() : refuseBody("the name of " + place() + " " + wrong);
}

/// Checks a name that is required and must not be empty.
template <typename Place> Status checkNamed(const flatbuffers::String *name, Place place) {
  return !name || name->size() == 0 ? refuseBody(place() + " has no name") : checkName(name, place);
}

Status checkText(const flatbuffers::String *text, const char *place) {
  return !text || isUtf8(text->string_view())
             ? Status::ok()
             : refuseBody(std::string("its ") + place + " is no UTF-8");
}

Status checkPlans(const format::Artifact &body) {
  std::set<std::pair<Target, uint32_t>> seen;
  uint32_t images = body.images() ? body.images()->size() : 0;
  for (const Plan *plan : *body.plans()) {
    if (plan->target() > Target::MAX) {
      return refuseBody("it has a plan for the unknown target " +
                        std::to_string(static_cast<int>(plan->target())));
    }
    std::string name = EnumNameTarget(plan->target());
    bool isOfImage = plan->image() != kNoRegister;
    if (isOfImage && (plan->target() != Target::Cpu || plan->image() >= images ||
                      body.images()->Get(plan->image())->kind() != ImageKind::Cpu)) {
      return refuseBody("its plan for " + name + " is of code image " +
                        std::to_string(plan->image()) + ", which is not there or not for it");
    }
    // Several plans of a target must have an image each.
    auto [first, last] = std::pair(seen.lower_bound({plan->target(), 0}),
                                   seen.upper_bound({plan->target(), kNoRegister}));
    if (first != last && (!isOfImage || std::prev(last)->second == kNoRegister ||
                          seen.count({plan->target(), plan->image()}))) {
      return refuseBody("it has two plans for " + name);
    }
    seen.emplace(plan->target(), plan->image());
  }
  return Status::ok();
}

Status checkImage(const CodeImage &image, const std::string &place) {
  if (image.kind() > ImageKind::MAX || !image.level() || image.level()->size() == 0) {
    return refuseBody(place + " is of an unknown kind or for no machine");
  }
  FRIT_RETURN_IF_ERROR(checkName(image.level(), [&] { return place; }));
  if (image.features() && image.features()->size() > kMaxFeatures) {
    return refuseBody(place + " wants " + std::to_string(image.features()->size()) +
                      " features (limit " + std::to_string(kMaxFeatures) + ")");
  }
  for (uint32_t at = 0; image.features() && at < image.features()->size(); ++at) {
    FRIT_RETURN_IF_ERROR(checkNamed(image.features()->Get(at), [&] {
      return "feature " + std::to_string(at) + " of " + place;
    }));
  }
  if (!std::has_single_bit(image.alignment()) || image.alignment() > kPageBytes) {
    return refuseBody(place + " wants an alignment of " + std::to_string(image.alignment()) +
                      " bytes");
  }
  uint64_t size = image.bytes() ? image.bytes()->size() : 0;
  for (uint32_t at = 0; image.entries() && at < image.entries()->size(); ++at) {
    const Entry &entry = *image.entries()->Get(at);
    auto named = [&] { return "entry " + std::to_string(at) + " of " + place; };
    if (entry.offset() >= size) {
      return refuseBody(named() + " lies outside of its " + std::to_string(size) + " bytes");
    }
    FRIT_RETURN_IF_ERROR(checkNamed(entry.name(), named));
  }
  return Status::ok();
}

Status checkModule(const GpuModule &module, const std::string &place) {
  if (module.kind() > GpuCodeKind::MAX || !module.bytes() || module.bytes()->size() == 0) {
    return refuseBody(place + " is of an unknown kind or empty");
  }
  for (uint32_t at = 0; module.entries() && at < module.entries()->size(); ++at) {
    FRIT_RETURN_IF_ERROR(checkName(module.entries()->Get(at),
                                   [&] { return "entry " + std::to_string(at) + " of " + place; }));
  }
  return Status::ok();
}

Status checkWeight(const Weight &weight, const std::string &place, uint64_t weightBytes) {
  FRIT_RETURN_IF_ERROR(checkName(weight.name(), [&] { return place; }));
  std::string name = weight.name() ? "weight '" + weight.name()->str() + "'" : place;
  if (weight.offset() > weightBytes || weight.bytes() > weightBytes - weight.offset()) {
    return refuseBody(name + " lies outside of the file");
  }
  if (weight.given() && (weight.offset() != 0 || weight.bytes() != 0 || weight.sha256() ||
                         !weight.name() || weight.name()->size() == 0)) {
    return refuseBody(name +
                      " is given by the caller: it has a name and neither bytes nor a digest");
  }
  if (!weight.given() && (!weight.sha256() || weight.sha256()->size() != sizeof(Digest))) {
    return refuseBody(name + " has no digest");
  }
  if (weight.dtype() > Dtype::MAX) {
    return refuseBody(name + " has an unknown dtype");
  }
  uint32_t rank = weight.sizes() ? weight.sizes()->size() : 0;
  if (rank > kMaxRank || rank != (weight.strides() ? weight.strides()->size() : 0)) {
    return refuseBody(name + " has sizes and strides that do not fit each other");
  }
  if (!isAligned<int64_t>(weight.sizes()) || !isAligned<int64_t>(weight.strides())) {
    return refuseBody(name + " has a list that begins inside of a number");
  }
  return Status::ok();
}

} // namespace

bool isUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      // Nearly all text is ASCII, and every load checks all of it, so this reads eight bytes at a
      // time.
      uint64_t eight = 0;
      while (text.size() - at >= sizeof(eight)) {
        std::memcpy(&eight, text.data() + at, sizeof(eight));
        if (eight & 0x8080808080808080u) {
          break;
        }
        at += sizeof(eight);
      }
      for (; at < text.size() && static_cast<unsigned char>(text[at]) < 0x80; ++at) {
      }
      continue;
    }
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > text.size() - at) {
      return false;
    }
    uint32_t code = lead & (0xffu >> (length + 1));
    for (size_t next = 1; next < length; ++next) {
      auto byte = static_cast<unsigned char>(text[at + next]);
      if ((byte & 0xc0) != 0x80) {
        return false;
      }
      code = code << 6 | (byte & 0x3fu);
    }
    bool shortest = length == 2 || code >= (length == 3 ? 0x800u : 0x10000u);
    if (!shortest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return false;
    }
    at += length;
  }
  return true;
}

std::string badName(const flatbuffers::String *name) {
  if (!name) {
    return "";
  }
  if (name->size() > kMaxNameBytes) {
    return "has " + std::to_string(name->size()) + " bytes (limit " +
           std::to_string(kMaxNameBytes) + ")";
  }
  return isUtf8(name->string_view()) ? "" : "is no UTF-8";
}

Status checkBody(const format::Artifact &body, uint64_t weightBytes) {
  FRIT_RETURN_IF_ERROR(checkName(body.graph(), [] { return std::string("its graph"); }));
  FRIT_RETURN_IF_ERROR(checkText(body.report(), "report"));
  for (uint32_t at = 0; body.sources() && at < body.sources()->size(); ++at) {
    FRIT_RETURN_IF_ERROR(checkText(body.sources()->Get(at), "list of source lines"));
  }
  if (body.plans()) {
    FRIT_RETURN_IF_ERROR(checkPlans(body));
  }
  for (uint32_t at = 0; body.images() && at < body.images()->size(); ++at) {
    FRIT_RETURN_IF_ERROR(checkImage(*body.images()->Get(at), "code image " + std::to_string(at)));
  }
  for (uint32_t at = 0; body.gpu_modules() && at < body.gpu_modules()->size(); ++at) {
    FRIT_RETURN_IF_ERROR(
        checkModule(*body.gpu_modules()->Get(at), "GPU module " + std::to_string(at)));
  }
  for (uint32_t at = 0; body.subgraphs() && at < body.subgraphs()->size(); ++at) {
    const Subgraph &graph = *body.subgraphs()->Get(at);
    FRIT_RETURN_IF_ERROR(
        checkNamed(graph.name(), [&] { return "subgraph " + std::to_string(at); }));
    if (!graph.bytes()) {
      return refuseBody("subgraph " + std::to_string(at) + " has no content");
    }
  }
  for (uint32_t at = 0; body.weights() && at < body.weights()->size(); ++at) {
    FRIT_RETURN_IF_ERROR(
        checkWeight(*body.weights()->Get(at), "weight " + std::to_string(at), weightBytes));
  }
  return Status::ok();
}

Status checkWeightsPlace(const format::Artifact &body, uint64_t sectionBytes) {
  const WeightsFile *file = body.weights_file();
  if (!file) {
    return Status::ok();
  }
  if (sectionBytes != 0) {
    return refuseBody("it has weights inside, and names a file of them");
  }
  if (!file->sha256() || file->sha256()->size() != sizeof(Digest)) {
    return refuseBody("its file of weights has no digest");
  }
  return Status::ok();
}

} // namespace frit
