// Reads a cubin's declarations of its entries. Each has a section `.nv.info.<entry>`, a list of
// attributes as ptxas and nvJitLink of CUDA 11 to 13 write it for all architectures. Only
// attributes that a launch depends on are read; parameters with unknown attributes are not trusted.

#include "runtime/artifact/GpuCode.h"

#include <algorithm>
#include <cstring>

namespace frit {

namespace {

constexpr size_t kHeader = 64, kSection = 64;
constexpr uint16_t kCudaMachine = 190;
constexpr uint32_t kNoBits = 8, kInfo = 0x70000000;

enum Form : uint8_t { NoValue = 1, ByteValue, HalfValue, SizedValue };
enum Attribute : uint8_t {
  MostThreads = 0x05,
  Threads = 0x10,
  ParameterInfo = 0x17,
  ParameterBytes = 0x19,
  ClusterBlocks = 0x3d
};

Status wrong(const std::string &what) {
  return Status::error(ErrorKind::BadArtifact,
                       "not a usable .frit artifact: " + what + "; compile it again");
}

template <typename T> T numberAt(std::span<const uint8_t> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct Section {
  uint32_t name, type;
  std::span<const uint8_t> bytes;
};

Result<std::vector<Section>> readSections(std::span<const uint8_t> bytes) {
  // 64-bit class, little endian.
  if (bytes.size() < kHeader ||
      std::memcmp(bytes.data(),
                  "\x7f"
                  "ELF\2\1",
                  6) != 0 ||
      numberAt<uint16_t>(bytes, 18) != kCudaMachine) {
    return wrong("its cubin is no ELF file for a GPU");
  }
  auto table = numberAt<uint64_t>(bytes, 40);
  uint64_t count = numberAt<uint16_t>(bytes, 60);
  if (count != 0 && (numberAt<uint16_t>(bytes, 58) != kSection || table > bytes.size() ||
                     count * kSection > bytes.size() - table)) {
    return wrong("the sections of its cubin lie outside of it");
  }
  std::vector<Section> sections;
  for (uint64_t number = 0; number < count; ++number) {
    size_t at = table + number * kSection;
    auto type = numberAt<uint32_t>(bytes, at + 4);
    auto offset = numberAt<uint64_t>(bytes, at + 24), size = numberAt<uint64_t>(bytes, at + 32);
    bool hasBytes = type != kNoBits && type != 0;
    if (hasBytes && (offset > bytes.size() || size > bytes.size() - offset)) {
      return wrong("section " + std::to_string(number) + " of its cubin lies outside of it");
    }
    sections.push_back({numberAt<uint32_t>(bytes, at), type,
                        hasBytes ? bytes.subspan(offset, size) : bytes.first(0)});
  }
  return sections;
}

/// The name that begins at `at`; it must be terminated by a zero.
std::string_view nameAt(std::span<const uint8_t> names, uint32_t at) {
  if (at >= names.size()) {
    return {};
  }
  auto rest = names.subspan(at);
  auto end = std::find(rest.begin(), rest.end(), 0);
  return {reinterpret_cast<const char *>(rest.data()),
          end == rest.end() ? 0 : static_cast<size_t>(end - rest.begin())};
}

uint64_t productAt(std::span<const uint8_t> value) {
  uint64_t product = 1;
  for (size_t at : {0, 4, 8}) {
    product = std::min<uint64_t>(product * numberAt<uint32_t>(value, at), 1u << 20);
  }
  return product;
}

struct Parameter {
  uint16_t ordinal, offset;
  uint32_t bytes;
};

Status takeParameters(std::vector<Parameter> parameters, uint64_t bytes, GpuEntry &entry,
                      const std::string &place) {
  std::sort(parameters.begin(), parameters.end(),
            [](const Parameter &a, const Parameter &b) { return a.ordinal < b.ordinal; });
  uint64_t end = 0;
  for (size_t number = 0; number < parameters.size(); ++number) {
    const Parameter &one = parameters[number];
    if (one.ordinal != number || one.offset != end) {
      return wrong(place + "does not say of each parameter where it lies");
    }
    if (one.bytes != 8 && (parameters.size() != 1 || one.bytes == 0 || one.bytes % 8 != 0)) {
      return wrong(place + "takes a parameter of " + std::to_string(one.bytes) +
                   " bytes that is neither a number of 8 bytes nor a table of such");
    }
    end += one.bytes;
    entry.parameters += one.bytes == 8 ? 'n' : 't';
    entry.tableBytes = one.bytes == 8 ? 0 : one.bytes;
  }
  return end == bytes
             ? Status::ok()
             : wrong(place + "has " + std::to_string(bytes) + " bytes of parameters, and says of " +
                     std::to_string(end) + " what they are");
}

Status readInfo(std::span<const uint8_t> info, GpuEntry &entry) {
  std::string place = "the cubin of entry '" + std::string(entry.name.substr(0, 200)) + "' ";
  std::vector<Parameter> parameters;
  uint64_t bytes = 0;
  for (size_t at = 0; at != info.size();) {
    if (info.size() - at < 4) {
      return wrong(place + "ends inside of an attribute");
    }
    uint8_t form = info[at], attribute = info[at + 1];
    auto half = numberAt<uint16_t>(info, at + 2);
    at += 4;
    size_t size = form == SizedValue ? half : 0;
    if (form < NoValue || form > SizedValue || size > info.size() - at) {
      return wrong(place + "has an attribute of an unknown form or that does not end");
    }
    std::span<const uint8_t> value = info.subspan(at, size);
    at += size;
    bool isProduct = attribute == MostThreads || attribute == Threads || attribute == ClusterBlocks;
    if ((isProduct || attribute == ParameterInfo)
            ? size != 12
            : attribute == ParameterBytes && form != HalfValue) {
      return wrong(place + "has an attribute of an unknown form or that does not end");
    }
    if (isProduct) {
      (attribute == ClusterBlocks ? entry.cluster : entry.threads) = productAt(value);
    } else if (attribute == ParameterBytes) {
      bytes = half;
    } else if (attribute == ParameterInfo) {
      parameters.push_back({numberAt<uint16_t>(value, 4), numberAt<uint16_t>(value, 6),
                            numberAt<uint32_t>(value, 8) >> 18});
    }
  }
  return takeParameters(std::move(parameters), bytes, entry, place);
}

} // namespace

Result<std::vector<GpuEntry>> readCubin(std::span<const uint8_t> bytes) {
  auto sections = readSections(bytes);
  FRIT_RETURN_IF_ERROR(sections.status());
  std::vector<GpuEntry> entries;
  if (sections->empty()) {
    return entries;
  }
  uint16_t names = numberAt<uint16_t>(bytes, 62);
  if (names >= sections->size()) {
    return wrong("the names of its cubin's sections are not there");
  }
  for (const Section &section : *sections) {
    constexpr std::string_view kPrefix = ".nv.info.";
    std::string_view name = nameAt((*sections)[names].bytes, section.name);
    if (section.type == kInfo && name.starts_with(kPrefix)) {
      GpuEntry &entry = entries.emplace_back();
      entry.name = name.substr(kPrefix.size());
      FRIT_RETURN_IF_ERROR(readInfo(section.bytes, entry));
    }
  }
  return entries;
}

} // namespace frit
