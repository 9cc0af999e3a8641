// Cubins written by hand, with only the parts that a reader uses. The label follows the header,
// where the scripted driver finds it.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace frit {

struct CubinEntry {
  std::string name;
  std::vector<uint32_t> parameterBytes;
  uint32_t threads = 128, cluster = 1;
};

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

/// The attributes of one entry.
inline std::string cubinInfo(const CubinEntry &entry) {
  std::string info;
  auto sized = [&](uint8_t attribute, uint16_t size) {
    append<uint8_t>(info, 4), append(info, attribute), append(info, size);
  };
  uint16_t offset = 0, ordinal = 0;
  for (uint32_t bytes : entry.parameterBytes) {
    sized(0x17, 12), append<uint32_t>(info, 0), append(info, ordinal++), append(info, offset),
        append<uint32_t>(info, bytes << 18 | 0x1f000);
    offset = static_cast<uint16_t>(offset + bytes);
  }
  // An attribute without a value, then those of the parameters and the block.
  append<uint32_t>(info, 0x3501), append<uint8_t>(info, 3), append<uint8_t>(info, 0x19),
      append(info, offset);
  sized(0x05, 12), append(info, entry.threads), append<uint32_t>(info, 1),
      append<uint32_t>(info, 1);
  if (entry.cluster != 1) {
    sized(0x3d, 12), append(info, entry.cluster), append<uint32_t>(info, 1),
        append<uint32_t>(info, 1);
  }
  return info;
}

inline std::string cubinWith(const std::vector<std::pair<std::string, std::string>> &infos,
                             const std::string &label = "") {
  std::string names("\0.names\0", 8), elf(64, '\0'), table(64, '\0');
  elf += label + '\0';
  auto section = [&](uint32_t name, uint32_t type, const std::string &bytes) {
    append(table, name), append(table, type), append<uint64_t>(table, 0),
        append<uint64_t>(table, 0);
    append<uint64_t>(table, elf.size()), append<uint64_t>(table, bytes.size());
    table += std::string(24, '\0');
    elf += bytes;
  };
  for (const auto &[name, info] : infos) {
    auto at = static_cast<uint32_t>(names.size());
    names += ".nv.info." + name + '\0';
    section(at, 0x70000000, info);
  }
  section(1, 3, names);
  uint64_t offset = elf.size();
  auto count = static_cast<uint16_t>(infos.size() + 2);
  uint16_t machine = 190, size = 64, last = static_cast<uint16_t>(count - 1);
  elf.replace(0, 6,
              "\x7f"
              "ELF\2\1");
  std::memcpy(elf.data() + 18, &machine, 2), std::memcpy(elf.data() + 40, &offset, 8),
      std::memcpy(elf.data() + 58, &size, 2);
  std::memcpy(elf.data() + 60, &count, 2), std::memcpy(elf.data() + 62, &last, 2);
  return elf + table;
}

inline std::string cubinWith(const CubinEntry &entry, const std::string &label = "") {
  return cubinWith({{entry.name, cubinInfo(entry)}}, label);
}

} // namespace frit
