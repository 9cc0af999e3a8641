#include "runtime/standalone/Npy.h"

#include "runtime/plan/DecodedPlan.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

namespace frit {

using format::Dtype;

namespace {

constexpr uint64_t kMaxHeader = 1 << 20;
constexpr uint64_t kMaxBytes = uint64_t(1) << 40;

struct Name {
  const char *text;
  Dtype dtype;
};
constexpr Name kNames[] = {{"|b1", Dtype::Bool}, {"|u1", Dtype::U8},   {"|i1", Dtype::I8},
                           {"<i2", Dtype::I16},  {"<i4", Dtype::I32},  {"<i8", Dtype::I64},
                           {"<u2", Dtype::U16},  {"<u4", Dtype::U32},  {"<u8", Dtype::U64},
                           {"<f2", Dtype::F16},  {"<f4", Dtype::F32},  {"<f8", Dtype::F64},
                           {"<c8", Dtype::C64},  {"<c16", Dtype::C128}};

Status bad(const std::string &path, const std::string &what) {
  return Status::error(ErrorKind::BadInput,
                       "'" + path + "' is not a .npy file frit can read: " + what);
}

/// The text after `'key':` in the header's dictionary.
std::string valueOf(const std::string &header, const std::string &key) {
  size_t at = header.find("'" + key + "'");
  at = at == std::string::npos ? at : header.find(':', at);
  if (at == std::string::npos) {
    return "";
  }
  at = header.find_first_not_of(" ", at + 1);
  if (at == std::string::npos) {
    return "";
  }
  char close = header[at] == '(' ? ')' : header[at] == '\'' ? '\'' : ',';
  size_t end = header.find(close, at + 1);
  return end == std::string::npos ? "" : header.substr(at, end - at + (close == ',' ? 0 : 1));
}

} // namespace

Result<NpyArray> readNpy(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status::error(ErrorKind::BadInput,
                         "cannot open '" + path + "': " + std::strerror(errno));
  }
  char start[8];
  file.read(start, 8);
  if (!file || std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3) {
    return bad(path, "it does not start like one");
  }
  uint32_t headerBytes = 0;
  file.read(reinterpret_cast<char *>(&headerBytes), start[6] == 1 ? 2 : 4);
  if (!file || headerBytes > kMaxHeader) {
    return bad(path, "its header is too long");
  }
  std::string header(headerBytes, '\0');
  file.read(header.data(), headerBytes);
  if (!file) {
    return bad(path, "it ends in its header");
  }
  NpyArray array;
  std::string descr = valueOf(header, "descr");
  bool known = false;
  for (const Name &name : kNames) {
    if (descr == "'" + std::string(name.text) + "'") {
      array.dtype = name.dtype;
      known = true;
    }
  }
  if (!known) {
    return bad(path, "dtype " + descr + " is not supported");
  }
  std::string shape = valueOf(header, "shape");
  if (shape.size() < 2 || shape[0] != '(') {
    return bad(path, "it has no shape");
  }
  uint64_t count = 1;
  for (const char *at = shape.c_str() + 1; *at && *at != ')';) {
    char *end;
    long long size = std::strtoll(at, &end, 10);
    if (end == at || size < 0 || array.sizes.size() >= 64 ||
        (size != 0 && count > kMaxBytes / static_cast<uint64_t>(size))) {
      return bad(path, "its shape " + shape + " is malformed");
    }
    array.sizes.push_back(size);
    count *= static_cast<uint64_t>(size);
    at = end;
    while (*at == ',' || *at == ' ') {
      ++at;
    }
  }
  bool fortran = valueOf(header, "fortran_order").rfind("True", 0) == 0;
  array.strides.resize(array.sizes.size());
  int64_t stride = 1;
  for (size_t step = 0; step < array.sizes.size(); ++step) {
    size_t dim = fortran ? step : array.sizes.size() - 1 - step;
    array.strides[dim] = stride;
    stride *= std::max<int64_t>(array.sizes[dim], 1);
  }
  uint64_t bytes = count * bytesOf(array.dtype);
  std::streampos here = file.tellg();
  file.seekg(0, std::ios::end);
  if (static_cast<uint64_t>(file.tellg() - here) < bytes) {
    return bad(path, "its data ends before " + std::to_string(bytes) + " bytes");
  }
  file.seekg(here);
  array.data.resize(bytes);
  file.read(array.data.data(), static_cast<std::streamsize>(bytes));
  return array;
}

Status writeNpy(const std::string &path, const NpyArray &array) {
  const char *descr = array.dtype == Dtype::BF16 ? "<u2" : nullptr;
  for (const Name &name : kNames) {
    descr = name.dtype == array.dtype ? name.text : descr;
  }
  if (!descr) {
    return Status::error(ErrorKind::Unsupported,
                         std::string(".npy has no name for ") + nameOf(array.dtype));
  }
  std::string shape;
  for (int64_t size : array.sizes) {
    shape += std::to_string(size) + ", ";
  }
  std::string header =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  auto headerBytes = static_cast<uint16_t>(header.size());
  // Avoids a partial file under the final name.
  std::string temporary = path + ".partial";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write("\x93NUMPY\x01\x00", 8);
  file.write(reinterpret_cast<const char *>(&headerBytes), 2);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(array.data.data(), static_cast<std::streamsize>(array.data.size()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return Status::error(ErrorKind::BadInput, "cannot write '" + path + "': " + reason);
  }
  return Status::ok();
}

} // namespace frit
