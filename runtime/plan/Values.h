// The values of a program that runs artifacts: tensors as plain structs, the signature of a model,
// load options. Part of the public API (docs/Deploy.md), so only the standard library is included.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#define FRIT_API __attribute__((visibility("default")))

namespace frit {

enum class DataType : uint8_t {
  Bool,
  U8,
  I8,
  I16,
  I32,
  I64,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  C32,
  C64,
  C128,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ
};

/// Bytes of one element.
inline size_t bytesOf(DataType type) {
  constexpr uint8_t bytes[] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 4, 8, 16, 1, 1, 1, 1};
  return bytes[static_cast<size_t>(type)];
}

/// torch's name.
inline const char *nameOf(DataType type) {
  constexpr const char *names[] = {
      "bool",       "uint8",         "int8",        "int16",           "int32",
      "int64",      "uint16",        "uint32",      "uint64",          "float16",
      "bfloat16",   "float32",       "float64",     "complex32",       "complex64",
      "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"};
  return names[static_cast<size_t>(type)];
}

/// A tensor in host memory. `owner` keeps the memory alive as long as a copy of this object lives;
/// without it the caller does.
struct Tensor {
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes;
  /// In elements; empty: contiguous.
  std::vector<int64_t> strides;
  /// The first element, aligned at least for its type; 64 bytes are fastest.
  void *data = nullptr;
  std::shared_ptr<void> owner;
};

/// An argument or result: a tensor, a size (int64_t), a float, a boolean, or None.
using Value = std::variant<std::monostate, Tensor, int64_t, double, bool>;

struct Dimension {
  /// The name of a dynamic size, "?" if it is computed from others; empty for a fixed one, for
  /// which `min` and `max` are its size.
  std::string symbol;
  int64_t min = 0, max = std::numeric_limits<int64_t>::max();
  bool isFixed() const { return symbol.empty(); }
};

/// One input or result of a model.
struct Parameter {
  enum class Kind : uint8_t { Tensor, Int, Float, Bool, None } kind = Kind::None;
  std::string name;
  // For a tensor.
  DataType dtype = DataType::F32;
  bool onGpu = false;
  /// The model writes to it.
  bool mutated = false;
  /// False for results whose dimensions are known only after a call.
  bool hasShape = true;
  std::vector<Dimension> shape;
};

/// A dynamic size, by its name in shapes. Inputs that share it must agree.
struct SizeRange {
  std::string name;
  int64_t min, max;
};

struct Signature {
  std::vector<Parameter> inputs, outputs;
  std::vector<SizeRange> symbols;
  /// The weights to pass to load by name, for a file that was compiled without them.
  std::vector<Parameter> weights;
};

/// Counters since loading.
struct Statistics {
  uint64_t calls = 0, kernelLaunches = 0, allocations = 0;
  /// The peak of bytes that a call had allocated, results included.
  uint64_t peakBytes = 0;
};

struct LoadOptions {
  /// Run machine code from a file that others own or can write.
  bool allowHostCode = false;
  /// Compare every weight with its digest, which reads all of them.
  bool checkWeights = false;
  /// The folder of the weights file, for an artifact compiled with --weights=external.
  std::string weightsFolder;
  /// Pack the weights of the file that nothing can write to once, for products and convolutions on
  /// the CPU; they need as much memory again.
  bool pack = true;
  /// Threads for kernels, 0: one per processor. libtorch has its own.
  unsigned threads = 0;
  /// "cpu", "cuda" or "cuda:1" (tensors are copied to and from the device around a call), or
  /// "simt": GPU kernels, emulated with every access checked.
  std::string device = "cpu";
};

} // namespace frit
