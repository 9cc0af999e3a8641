#define OPENSSL_SUPPRESS_DEPRECATED

#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/Artifact_generated.h"
#include "runtime/artifact/BodyChecks.h"
#include "runtime/artifact/HostFeatures.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace frit {

namespace {

constexpr uint32_t kMaxDepth = 64;
constexpr uint32_t kMaxTables = 8'000'000;
constexpr uint64_t kMaxFileBytes = uint64_t(1) << 40;

Status refuse(std::string message) {
  return Status::error(ErrorKind::BadArtifact,
                       "not a usable .frit artifact: " + std::move(message) + "; compile it again");
}

/// A file descriptor that is closed on destruction.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) {
      ::close(number);
    }
  }
};

} // namespace

Digest sha256(std::span<const uint8_t> bytes) {
  Digest digest = {};
  // The functions that OpenSSL 3 prefers would link all of its ciphers into each library of frit.
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

Mapping::~Mapping() {
  if (address) {
    ::munmap(address, bytes);
  }
}

/// Maps a regular file, and refuses symbolic links; `info` receives its metadata.
static Status mapFile(const std::string &path, Mapping &mapping, struct stat &info) {
  auto failed = [&](const char *what) {
    return Status::error(ErrorKind::BadArtifact, std::string("cannot ") + what + " '" + path +
                                                     "': " + std::strerror(errno));
  };
  Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
  if (file.number < 0) {
    return failed("open");
  }
  if (::fstat(file.number, &info) != 0) {
    return failed("examine");
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::error(ErrorKind::BadArtifact, "'" + path + "' is not a regular file");
  }
  auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0 || size > kMaxFileBytes) {
    return refuse("'" + path + "' has " + std::to_string(size) + " bytes");
  }
  void *address =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number, 0);
  if (address == MAP_FAILED) {
    return failed("map");
  }
  mapping.address = address;
  mapping.bytes = size;
  return Status::ok();
}

/// Checks everything but the contents of the weights, and copies the body. The weights in `bytes`
/// must stay alive, the rest need not.
Status Artifact::attach(std::span<const uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof(Header)) {
    return refuse(std::to_string(bytes.size()) + " bytes are too few for its header");
  }
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.magic != kMagic) {
    return refuse("it does not start with the magic bytes of one");
  }
  if (header.version != kFormatVersion) {
    return refuse("its format version is " + std::to_string(header.version) +
                  ", this runtime reads " + std::to_string(kFormatVersion));
  }
  if (header.headerBytes != sizeof(Header)) {
    return refuse("its header is said to be " + std::to_string(header.headerBytes) +
                  " bytes, that of this version has " + std::to_string(sizeof(Header)));
  }
  if (header.bodyBytes > kMaxBodyBytes || header.bodyBytes == 0 ||
      header.bodyBytes > bytes.size() - sizeof(Header)) {
    return refuse("its body is said to be " + std::to_string(header.bodyBytes) +
                  " bytes, the file has " + std::to_string(bytes.size() - sizeof(Header)) +
                  " (limit " + std::to_string(kMaxBodyBytes) + ")");
  }
  auto isZero = [](uint8_t byte) { return byte == 0; };
  if (!std::all_of(header.reserved.begin(), header.reserved.end(), isZero)) {
    return refuse("its header has bytes that mean nothing in this version");
  }
  uint64_t bodyEnd = sizeof(Header) + header.bodyBytes;
  uint64_t nextPage = (bodyEnd + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment;
  if (header.weightsOffset == 0 ? (header.weightsBytes != 0 || bytes.size() != bodyEnd)
                                : (header.weightsOffset != nextPage || nextPage > bytes.size() ||
                                   bytes.size() - nextPage != header.weightsBytes)) {
    return refuse("its weights section does not fit the file of " + std::to_string(bytes.size()) +
                  " bytes");
  }
  if (header.weightsOffset != 0) {
    std::span<const uint8_t> padding = bytes.subspan(bodyEnd, nextPage - bodyEnd);
    if (!std::all_of(padding.begin(), padding.end(), isZero)) {
      return refuse("the bytes between its body and its weights are not zero");
    }
  }

  bodyCopy.resize((bodyEnd + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  auto *copy = reinterpret_cast<uint8_t *>(bodyCopy.data());
  std::memcpy(copy, bytes.data(), bodyEnd);
  std::memset(copy + offsetof(Header, sha256), 0, header.sha256.size());
  if (sha256({copy, bodyEnd}) != header.sha256) {
    return refuse("its SHA-256 does not match its content");
  }

  flatbuffers::Verifier verifier(copy + sizeof(Header), header.bodyBytes, kMaxDepth, kMaxTables);
  if (!format::VerifyArtifactBuffer(verifier)) {
    return refuse("its body is malformed");
  }
  body = format::GetArtifact(copy + sizeof(Header));
  sizeOfBody = header.bodyBytes;

  FRIT_RETURN_IF_ERROR(findWeights(header.weightsOffset != 0 ? bytes.subspan(header.weightsOffset)
                                                             : std::span<const uint8_t>()));
  return checkBody(*body, weightBytes.size());
}

/// Finds the weights: in the section after the body, or in the file that the body names by its
/// digest.
Status Artifact::findWeights(std::span<const uint8_t> section) {
  FRIT_RETURN_IF_ERROR(checkWeightsPlace(*body, section.size()));
  if (!body->weights_file()) {
    if (!weightsFolder.empty()) {
      return Status::error(
          ErrorKind::BadInput,
          "the artifact has no file of weights; load it without a folder of weights");
    }
    weightBytes = section;
    return Status::ok();
  }
  std::string name = weightsFileName({body->weights_file()->sha256()->data(), sizeof(Digest)});
  if (weightsFolder.empty()) {
    return Status::error(
        ErrorKind::BadInput,
        "the artifact's weights are in a file of their own, '" + name +
            "'; name its folder (frit.load(path, weights=FOLDER), frit-run --weights=FOLDER)");
  }
  std::string path = weightsFolder + "/" + name;
  struct stat info;
  FRIT_RETURN_IF_ERROR(mapFile(path, weightsMapping, info));
  if (weightsMapping.bytes != body->weights_file()->bytes()) {
    return Status::error(ErrorKind::BadArtifact, "'" + path + "' has " +
                                                     std::to_string(weightsMapping.bytes) +
                                                     " bytes, the artifact's weights have " +
                                                     std::to_string(body->weights_file()->bytes()));
  }
  weightBytes = {static_cast<const uint8_t *>(weightsMapping.address), weightsMapping.bytes};
  return Status::ok();
}

std::string weightsFileName(std::span<const uint8_t> digest) {
  std::string name;
  for (uint8_t byte : digest) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name + ".weights";
}

Result<std::shared_ptr<const Artifact>> Artifact::subgraph(std::string_view name) const {
  for (uint32_t at = 0; body->subgraphs() && at < body->subgraphs()->size(); ++at) {
    const format::Subgraph &one = *body->subgraphs()->Get(at);
    if (one.name()->string_view() == name) {
      auto made = fromBytes({one.bytes()->data(), one.bytes()->size()});
      if (made.isOk()) {
        std::const_pointer_cast<Artifact>(*made)->distrust = distrust;
      }
      return made;
    }
  }
  return refuse("it has no graph '" + std::string(name) + "', which a step calls");
}

Result<std::shared_ptr<const Artifact>> Artifact::fromBytes(std::span<const uint8_t> bytes) {
  std::shared_ptr<Artifact> artifact(new Artifact());
  FRIT_RETURN_IF_ERROR(artifact->attach(bytes));
  // Host code is trusted here: the bytes come from this process's compiler or were read by the
  // caller, who decides to use them.
  artifact->weightsCopy.assign(artifact->weightBytes.begin(), artifact->weightBytes.end());
  artifact->weightBytes = artifact->weightsCopy;
  return std::shared_ptr<const Artifact>(std::move(artifact));
}

Result<std::shared_ptr<const Artifact>>
Artifact::fromFile(const std::string &path, bool allowHostCode, const std::string &weightsFolder) {
  std::shared_ptr<Artifact> artifact(new Artifact());
  artifact->weightsFolder = weightsFolder;
  struct stat info;
  FRIT_RETURN_IF_ERROR(mapFile(path, artifact->mapping, info));
  FRIT_RETURN_IF_ERROR(artifact->attach(
      {static_cast<const uint8_t *>(artifact->mapping.address), artifact->mapping.bytes}));

  bool owned = info.st_uid == ::geteuid() || info.st_uid == 0;
  bool writable = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!allowHostCode && (!owned || writable)) {
    artifact->distrust = "'" + path + "' " +
                         (owned ? "can be written by others" : "belongs to another user") +
                         ", so its host code is not mapped; fix owner or mode of the file, or "
                         "allow host code explicitly";
  }
  return std::shared_ptr<const Artifact>(std::move(artifact));
}

const format::Plan *Artifact::plan(format::Target target) const {
  const format::Plan *first = nullptr;
  for (uint32_t at = 0; body->plans() && at < body->plans()->size(); ++at) {
    const format::Plan *plan = body->plans()->Get(at);
    if (plan->target() == target) {
      if (plan->image() == kNoRegister ||
          missingFeatures(*body->images()->Get(plan->image())).empty()) {
        return plan;
      }
      first = first ? first : plan;
    }
  }
  return first;
}

std::string missingFeatures(const format::CodeImage &image) {
  std::vector<std::string_view> features;
  for (uint32_t at = 0; image.features() && at < image.features()->size(); ++at) {
    features.push_back(image.features()->Get(at)->string_view());
  }
  return missingFeatures(image.level()->string_view(), features);
}

std::string levelText(const format::CodeImage &image) {
  std::string text = image.level()->str();
  for (uint32_t at = 0; image.features() && at < image.features()->size(); ++at) {
    text += ",+" + image.features()->Get(at)->str();
  }
  return text;
}

std::string_view Artifact::graphName() const {
  return body->graph() ? std::string_view(body->graph()->c_str(), body->graph()->size()) : "graph";
}

std::string_view Artifact::report() const {
  return body->report() ? std::string_view(body->report()->c_str(), body->report()->size()) : "{}";
}

Status Artifact::checkWeights() const {
  std::vector<const format::Weight *> weights;
  if (body->weights()) {
    std::copy_if(body->weights()->begin(), body->weights()->end(), std::back_inserter(weights),
                 [](auto *weight) { return !weight->given(); });
  }
  std::sort(weights.begin(), weights.end(),
            [](auto *a, auto *b) { return a->offset() < b->offset(); });
  // Several weights may share bytes. Bytes that belong to no weight must be zero, so that nothing
  // can be hidden there.
  uint64_t seen = 0;
  auto padding = [&](uint64_t end) {
    bool zero = seen >= end || std::all_of(weightBytes.begin() + static_cast<ptrdiff_t>(seen),
                                           weightBytes.begin() + static_cast<ptrdiff_t>(end),
                                           [](uint8_t byte) { return byte == 0; });
    return zero ? Status::ok() : refuse("bytes that belong to no weight are not zero");
  };
  for (const format::Weight *weight : weights) {
    FRIT_RETURN_IF_ERROR(padding(weight->offset()));
    seen = std::max(seen, weight->offset() + weight->bytes());
    Digest digest = sha256(weightBytes.subspan(weight->offset(), weight->bytes()));
    if (!std::equal(digest.begin(), digest.end(), weight->sha256()->begin())) {
      return refuse("weight '" + (weight->name() ? weight->name()->str() : std::string()) +
                    "' does not match its SHA-256");
    }
  }
  return padding(weightBytes.size());
}

Status Artifact::hostCodeTrusted() const {
  return distrust.empty() ? Status::ok() : Status::error(ErrorKind::Unsupported, distrust);
}

} // namespace frit
